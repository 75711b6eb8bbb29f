"""Function schemas as model APIs and agent frameworks take them: OpenAI, Anthropic, Gemini, LangChain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from pydantic import BaseModel
from pydantic.errors import PydanticUserError

from toolwise.catalog.merge import unique
from toolwise.catalog.normalise import ABSENT, make_tool, problems
from toolwise.catalog.plain import Fault
from toolwise.catalog.shape import is_titled_schema, page, schema_key, shape_of
from toolwise.records import Catalogue, Json, Problem, Tool
from toolwise.schema import kind

_Part: TypeAlias = tuple[Json, str]
"""One function and the pointer to it within its item."""


class FunctionReader:
    """Reads lists of function schemas; ids are ``server/name``, or the name where no server is given.

    Knows OpenAI chat (``{"type": "function", "function": {...}}``) and responses
    (``{"type": "function", "name", "parameters"}``), Anthropic (``input_schema``),
    Gemini (``functionDeclarations``), LangChain (``args_schema``, ``args``, a JSON
    Schema with a title) and plain ``{"name", "description", "parameters"}``.
    """

    def recognises(self, content: object) -> bool:
        """Whether most items of ``content`` are function schemas."""
        return shape_of(content) == "functions"

    def read(self, content: object, source: str, server: str) -> Catalogue:
        """Read a list of functions, a single one, or an object with them under ``tools`` or ``functions``."""
        tools: list[Tool] = []
        found: list[Problem] = []
        for number, item in enumerate(_listed(content), 1):
            more_tools, more = read_functions(item, source=source, server=server, label=f"#{number}")
            tools += more_tools
            found += more
        return unique(tools, found, source)


def _listed(content: Json) -> list[Json]:
    if isinstance(content, dict):
        inner = page(content)
        listed = inner[1] if inner else content.get("functions")
        return listed if isinstance(listed, list) else [content]
    return content if isinstance(content, list) else [content]


def read_functions(item: Json, *, source: str, server: str, label: str) -> tuple[list[Tool], list[Problem]]:
    """The tools of one item (Gemini puts several into one) and their problems."""
    tools: list[Tool] = []
    found: list[Problem] = []
    for function, at in _parts(item):
        tool, more = _read(function, at, source=source, server=server, label=label)
        tools += [tool] if tool else []
        found += more
    return tools, found


def _parts(item: Json) -> Iterator[_Part]:
    if isinstance(item, dict):
        for key in ("functionDeclarations", "function_declarations"):
            if isinstance(item.get(key), list):
                yield from ((part, f"/{key}/{i}") for i, part in enumerate(item[key]))
                return
        if isinstance(item.get("function"), dict):
            yield item["function"], "/function"
            return
    yield item, ""


def _read(
    function: Json, at: str, *, source: str, server: str, label: str
) -> tuple[Tool | None, list[Problem]]:
    if not isinstance(function, dict):
        message = f"the function is {kind(function)}; expected an object"
        return None, [Problem(source, label, at, message, kept=False)]
    titled = is_titled_schema(function)
    name = function.get("name") or function.get("title")
    if not isinstance(name, str) or not name:
        message = (
            f"the name is {kind(name) if name != '' else 'empty'}; expected a string. The tool is left out"
        )
        return None, [Problem(source, label, f"{at}/name", message, kept=False)]
    key = None if titled else schema_key(function)
    parameters, below, extra = _schema(function, key, titled)
    tool, faults = make_tool(
        id=f"{server}/{name}" if server else name,
        name=name,
        server=server,
        title=function.get("title") if "name" in function else "",
        description=function.get("description", ABSENT),
        parameters=parameters,
        returns=function.get("returns", function.get("response", function.get("outputSchema"))),
        annotations=function.get("annotations"),
        source="function",
        pointers={"parameters": below},
    )
    placed = [(at + pointer.replace("/args/properties/", "/args/", 1), text) for pointer, text in faults]
    return tool, problems([*((at + p, text) for p, text in extra), *placed], source=source, tool=tool.id)


def _schema(function: dict[str, Json], key: str | None, titled: bool) -> tuple[Json, str, list[Fault]]:
    """The parameter schema of a function, the pointer it is at, and what was wrong with getting it."""
    if titled:
        return function, "", []
    if key is None:
        return ABSENT, "/parameters", []
    value = function[key]
    if key == "args" and isinstance(value, dict):
        return {"type": "object", "properties": value}, "/args", []
    if isinstance(value, type) and issubclass(value, BaseModel):
        try:
            return value.model_json_schema(), f"/{key}", []
        except PydanticUserError as error:
            return ABSENT, f"/{key}", [(f"/{key}", f"{value.__name__} has no JSON Schema: {error.message}")]
    return value, f"/{key}", []
