"""Answers in the shapes of hosts."""

import copy
import json

import pytest
from jsonschema import Draft202012Validator
from tests.builders import exposure, tool

from toolwise import registry
from toolwise.expose import Export, to_anthropic, to_langchain, to_mcp, to_openai

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
ANSWER = exposure(tool("web.de/search", "Search the web", title="Search", parameters=SCHEMA))
NAME = ANSWER.tools[0].name


def test_mcp():
    """A tools/list result, with title, hints and result schema where there are any."""
    hints = {"readOnlyHint": True}
    full = exposure(
        tool("a/b", "Does it", title="B", parameters=SCHEMA, annotations=hints, returns={"type": "object"})
    )
    assert to_mcp(full) == Export(
        {
            "tools": [
                {
                    "name": "a__b",
                    "title": "B",
                    "description": "Does it",
                    "inputSchema": SCHEMA,
                    "outputSchema": {"type": "object"},
                    "annotations": hints,
                }
            ]
        }
    )
    assert to_mcp(exposure(tool("a/b"))).payload["tools"] == [
        {"name": "a__b", "inputSchema": {"type": "object", "properties": {}}}
    ]


def test_openai():
    """A function in a tool."""
    assert to_openai(ANSWER).payload == [
        {
            "type": "function",
            "function": {"name": NAME, "description": "Search the web", "parameters": SCHEMA},
        }
    ]


def test_anthropic():
    """Flat, with input_schema."""
    assert to_anthropic(ANSWER).payload == [
        {"name": NAME, "description": "Search the web", "input_schema": SCHEMA}
    ]


def test_langchain():
    """Arguments of StructuredTool."""
    assert to_langchain(ANSWER).payload == [
        {"name": NAME, "description": "Search the web", "args_schema": SCHEMA}
    ]


@pytest.mark.parametrize("name", registry.names("format"))
def test_no_tools_is_an_empty_payload(name):
    """An abstention has a shape too."""
    payload = registry.get("format", name)(exposure()).payload
    assert payload == ({"tools": []} if name == "mcp" else [])


STRANGE = [
    None,
    True,
    False,
    [],
    "x",
    {},
    {"type": None},
    {"type": "string"},
    {"properties": None},
    {"anyOf": [SCHEMA]},
    {"anyOf": 3},
    {"$ref": "#/$defs/gone"},
]


@pytest.mark.parametrize("name", registry.names("format"))
@pytest.mark.parametrize("schema", STRANGE, ids=repr)
def test_every_format_takes_every_schema(name, schema):
    """One strange tool never spoils an answer: what comes out is JSON with an object schema in its place."""
    answer = exposure(tool("a/b", parameters=schema), tool("c/d", parameters=SCHEMA))
    before = copy.deepcopy(schema)
    payload = registry.get("format", name)(answer).payload
    assert schema == before
    json.dumps(payload, allow_nan=False)
    items = payload["tools"] if name == "mcp" else payload
    items = [item.get("function", item) for item in items]
    found = [
        next(item[k] for k in ("inputSchema", "parameters", "input_schema", "args_schema") if k in item)
        for item in items
    ]
    assert found[1] == SCHEMA
    assert isinstance(found[0], dict)
    if name != "mcp" or schema != {"type": "string"}:
        assert found[0]["type"] == "object"
    if name != "mcp":
        Draft202012Validator.check_schema(found[0])


@pytest.mark.parametrize("junk", ["yes", ["x"], 3, True])
def test_mcp_leaves_out_what_clients_would_reject(junk):
    """Hints or a result schema that are no objects would make a client refuse the whole list."""
    answer = exposure(tool("a/b", annotations=junk, returns=junk))
    assert set(to_mcp(answer).payload["tools"][0]) == {"name", "inputSchema"}


def test_an_mcp_client_reads_the_listing():
    """The official types accept the payload."""
    types = pytest.importorskip("mcp.types")
    answer = exposure(
        tool(
            "a/b",
            "x",
            title="B",
            parameters=SCHEMA,
            annotations={"readOnlyHint": True},
            returns={"type": "object"},
        ),
        *(
            tool(f"s/{i}", parameters=schema, annotations=schema, returns=schema)
            for i, schema in enumerate(STRANGE)
        ),
    )
    found = types.ListToolsResult.model_validate({**to_mcp(answer).payload, "resultType": "complete"})
    assert [t.name for t in found.tools] == [t.name for t in answer.tools]


@pytest.mark.parametrize("name", ["openai", "anthropic", "langchain"])
def test_what_had_to_change_is_noted(name):
    """With the id of the tool; a clean schema has no note."""
    answer = exposure(tool("a/b", parameters=SCHEMA), tool("c/d", parameters={"anyOf": [SCHEMA]}))
    notes = registry.get("format", name)(answer).notes
    assert notes
    assert all(note.startswith("c/d: ") for note in notes)
