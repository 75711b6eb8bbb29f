"""Function schemas of model APIs and frameworks."""

from typing import Any

import pytest
from pydantic import BaseModel

from toolwise.catalog.functions import FunctionReader
from toolwise.records import Catalogue

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
PLAIN = {"name": "rain", "description": "Tells the rain.", "parameters": SCHEMA}


class Arguments(BaseModel):
    """Arguments as a framework holds them."""

    city: str


def read(content: object, server: str = "") -> Catalogue:
    return FunctionReader().read(content, "functions.json", server)


@pytest.mark.parametrize(
    "item",
    [
        {"type": "function", "function": PLAIN},
        {"type": "function", **PLAIN, "strict": True},
        {"name": "rain", "description": "Tells the rain.", "input_schema": SCHEMA},
        PLAIN,
        {"functionDeclarations": [PLAIN]},
        {"function_declarations": [PLAIN]},
        {"name": "rain", "description": "Tells the rain.", "args_schema": SCHEMA},
        {"name": "rain", "description": "Tells the rain.", "args": SCHEMA["properties"]},
    ],
)
def test_every_dialect_is_read(item: dict[str, Any]):
    """OpenAI chat and responses, Anthropic, Gemini and LangChain say the same of a tool."""
    for content in ([item], item, {"tools": [item]}):
        assert FunctionReader().recognises(content)
        (tool,) = read(content).tools
        assert (tool.id, tool.name, tool.description) == ("rain", "rain", "Tells the rain.")
        assert tool.parameters == SCHEMA
        assert tool.source == "function"
        assert read(content).problems == ()


def test_a_json_schema_with_a_title_is_a_function():
    """The title is the name, and the schema itself the parameters."""
    schema = {"title": "rain", "description": "Tells the rain.", **SCHEMA}
    (tool,) = read([schema]).tools
    assert (tool.name, tool.parameters, tool.title) == ("rain", schema, "")


def test_a_pydantic_model_gives_its_schema():
    """A class held in Python in the place of the schema is asked for it."""
    (tool,) = read([{"name": "rain", "description": "d", "args_schema": Arguments}]).tools
    assert tool.parameters["properties"] == {"city": {"title": "City", "type": "string"}}


def test_the_server_goes_before_the_name():
    """With a server the id is server/name."""
    (tool,) = read([PLAIN], server="weather").tools
    assert (tool.id, tool.server) == ("weather/rain", "weather")


@pytest.mark.parametrize(
    ("bad", "tool_name", "pointer", "kept"),
    [
        (None, "#2", "", False),
        ({"type": "function", "function": None}, "#2", "/name", False),
        ({"type": "function", "function": {"description": "d"}}, "#2", "/function/name", False),
        ({"functionDeclarations": [None]}, "#2", "/functionDeclarations/0", False),
        ({"type": "web_search"}, "#2", "/name", False),
        (
            {"type": "function", "function": {"name": "n", "description": "d", "parameters": None}},
            "n",
            "/function/parameters",
            True,
        ),
        (
            {"name": "n", "description": "d", "input_schema": {"properties": None}},
            "n",
            "/input_schema/properties",
            True,
        ),
        ({"name": "n", "description": "d", "args": {"a": None}}, "n", "/args/a", True),
        (
            {"type": "function", "function": {"name": "n", "parameters": {}}},
            "n",
            "/function/description",
            True,
        ),
    ],
)
def test_a_broken_function_is_reported_and_loses_no_other(
    bad: object, tool_name: str, pointer: str, kept: bool
):
    """The report has name or position, and the pointer within the item."""
    good = {"type": "function", "function": PLAIN}
    catalogue = read([good, bad, {"type": "function", "function": {**PLAIN, "name": "snow"}}])
    served = [tool.name for tool in catalogue.tools]
    assert served == ["rain", *([tool_name] if kept else []), "snow"]
    assert [(p.tool, p.pointer, p.kept) for p in catalogue.problems] == [(tool_name, pointer, kept)]


def test_a_function_without_parameters_is_in_order():
    """Model APIs let parameters be left out."""
    catalogue = read([{"type": "function", "name": "ping", "description": "Pings."}])
    assert catalogue.tools[0].parameters is None
    assert catalogue.problems == ()
