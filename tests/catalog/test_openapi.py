"""OpenAPI documents -> one tool per operation."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwise.catalog.normalise import with_text
from toolwise.catalog.openapi import OpenApiReader
from toolwise.errors import UnknownFormat
from toolwise.records import Catalogue, Tool

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["#/components", "#/components/schemas/Note", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["$ref", "schema", "name", "in", "content", "application/json", "properties", "200", "get"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)

NOTES: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Note Keeper", "version": "1"},
    "paths": {
        "/notes": {
            "get": {
                "operationId": "listNotes",
                "summary": "List notes",
                "description": "Newest first.",
                "parameters": [
                    {
                        "name": "limit",
                        "in": "query",
                        "description": "how many",
                        "schema": {"type": "integer"},
                    },
                    {"name": "Authorization", "in": "header", "schema": {"type": "string"}},
                    {"name": "session", "in": "cookie", "schema": {"type": "string"}},
                ],
                "responses": {
                    "200": {
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Note"}}}
                    }
                },
            },
            "post": {
                "summary": "Add a note",
                "requestBody": {"$ref": "#/components/requestBodies/Note"},
                "responses": {"201": {"description": "added"}},
            },
        },
        "/notes/{noteId}": {
            "parameters": [{"name": "noteId", "in": "path", "required": True, "schema": {"type": "string"}}],
            "delete": {"operationId": "removeNote", "description": "Remove a note"},
            "put": {
                "operationId": "moveNote",
                "description": "Move a note",
                "requestBody": {
                    "required": True,
                    "content": {
                        "text/plain": {"schema": {"type": "string"}},
                        "application/json": {
                            "schema": {
                                "type": "object",
                                "properties": {"noteId": {"type": "string"}, "shelf": {"type": "string"}},
                                "required": ["shelf"],
                            }
                        },
                    },
                },
            },
        },
    },
    "components": {
        "schemas": {
            "Note": {
                "type": "object",
                "properties": {
                    "text": {"type": "string", "description": "what it says"},
                    "replies": {"type": "array", "items": {"$ref": "#/components/schemas/Note"}},
                },
                "required": ["text"],
            }
        },
        "requestBodies": {
            "Note": {
                "required": True,
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Note"}}},
            }
        },
    },
}


def read(document: object, server: str = "") -> Catalogue:
    return OpenApiReader().read(document, "docs/notes api.yaml", server)


def by_name(document: object = NOTES) -> dict[str, Tool]:
    return {tool.name: tool for tool in read(document).tools}


def changed(path: str, method: str, **fields: Any) -> dict[str, Any]:
    document = copy.deepcopy(NOTES)
    document["paths"].setdefault(path, {}).setdefault(method, {}).update(fields)
    return document


def test_every_operation_is_a_tool():
    """Ids are server/name; the name is the operationId, or method and path in words."""
    catalogue = read(NOTES)
    assert [tool.id for tool in catalogue.tools] == [
        "note-keeper/listNotes",
        "note-keeper/post_notes",
        "note-keeper/removeNote",
        "note-keeper/moveNote",
    ]
    assert {tool.server for tool in catalogue.tools} == {"note-keeper"}
    assert catalogue.problems == ()


def test_the_server_is_given_or_the_title_or_the_file():
    """In this order."""
    untitled = {**NOTES, "info": None}
    assert read(NOTES, "mine").tools[0].server == "mine"
    assert read(NOTES).tools[0].server == "note-keeper"
    assert read(untitled).tools[0].server == "notes-api"


def test_summary_and_description_make_the_description():
    """Both, once each."""
    assert by_name()["listNotes"].description == "List notes\nNewest first."
    assert by_name()["post_notes"].description == "Add a note"


@pytest.mark.parametrize(
    ("name", "hints"),
    [
        ("listNotes", {"readOnlyHint": True}),
        ("post_notes", {"readOnlyHint": False}),
        ("moveNote", {"readOnlyHint": False}),
        ("removeNote", {"readOnlyHint": False, "destructiveHint": True}),
    ],
)
def test_hints_follow_from_the_method(name: str, hints: dict[str, bool]):
    """Reading methods are read-only, DELETE destroys, the others change."""
    assert by_name()[name].annotations == hints


def test_query_parameters_keep_their_descriptions():
    """Headers that every client sends and cookies are no parameters."""
    assert by_name()["listNotes"].parameters == {
        "type": "object",
        "properties": {"limit": {"type": "integer", "description": "how many"}},
    }


def test_path_parameters_are_required():
    """Parameters of the path belong to each of its operations."""
    assert by_name()["removeNote"].parameters == {
        "type": "object",
        "properties": {"noteId": {"type": "string"}},
        "required": ["noteId"],
    }


def test_a_body_that_clashes_with_a_parameter_keeps_both():
    """The JSON body is preferred, and its property of a taken name gets a prefix."""
    assert by_name()["moveNote"].parameters == {
        "type": "object",
        "properties": {
            "noteId": {"type": "string"},
            "body_noteId": {"type": "string"},
            "shelf": {"type": "string"},
        },
        "required": ["noteId", "shelf"],
    }


def test_a_recursive_body_keeps_its_reference():
    """Component schemas move to the tool's own $defs, so the schema is complete and finite."""
    tool = by_name()["post_notes"]
    note = {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "what it says"},
            "replies": {"type": "array", "items": {"$ref": "#/$defs/Note"}},
        },
        "required": ["text"],
    }
    assert tool.parameters == {
        "type": "object",
        "properties": note["properties"],
        "required": ["text"],
        "$defs": {"Note": note},
    }
    assert with_text(tool).text.parameters == ("text", "replies")
    assert by_name()["listNotes"].returns == {"$ref": "#/$defs/Note", "$defs": {"Note": note}}


def test_a_body_that_is_no_object_is_one_parameter():
    """A list, or a combination of schemas, is called ``body``."""
    body = {"content": {"application/json": {"schema": {"type": "array", "items": {}}}}, "description": "all"}
    tool = by_name(changed("/notes", "patch", operationId="p", requestBody=body))["p"]
    assert tool.parameters["properties"] == {"body": {"type": "array", "items": {}, "description": "all"}}
    assert "required" not in tool.parameters


def test_an_operations_parameter_replaces_that_of_its_path():
    """Same name, the operation's counts."""
    own = [{"name": "noteId", "in": "path", "required": True, "schema": {"type": "integer"}}]
    tool = by_name(changed("/notes/{noteId}", "get", operationId="g", parameters=own))["g"]
    assert tool.parameters["properties"] == {"noteId": {"type": "integer"}}


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"parameters": [{"$ref": "#/components/parameters/Gone"}]}, "/paths/~1x/get/parameters/0"),
        ({"parameters": [{"$ref": "other.yaml#/P"}]}, "/paths/~1x/get/parameters/0"),
        ({"parameters": [None]}, "/paths/~1x/get/parameters/0"),
        ({"parameters": {}}, "/paths/~1x/get/parameters"),
        ({"parameters": [{"name": "a", "in": "body"}]}, "/paths/~1x/get/parameters/0/in"),
        ({"parameters": [{"name": "a", "in": "query", "schema": None}]}, "/paths/~1x/get/properties/a"),
        ({"requestBody": {"$ref": "#/nowhere"}}, "/paths/~1x/get/requestBody"),
        (
            {
                "requestBody": {
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Gone"}}}
                }
            },
            "/paths/~1x/get/requestBody",
        ),
        (
            {"parameters": [{"name": "a", "in": "query", "schema": {"$ref": "#/components/schemas/Gone"}}]},
            "/paths/~1x/get/properties/a/$ref",
        ),
    ],
)
def test_a_broken_part_is_reported_and_the_tool_kept(fields: dict[str, Any], pointer: str):
    """The report has the pointer into the document; all other operations are served."""
    catalogue = read(changed("/x", "get", operationId="odd", description="d", **fields))
    assert len(catalogue.tools) == 5
    assert [(p.tool, p.pointer, p.kept) for p in catalogue.problems] == [("note-keeper/odd", pointer, True)]


@pytest.mark.parametrize(
    ("item", "name", "pointer"),
    [
        ({"get": None}, "get_bad", "/paths/~1bad/get"),
        ({"get": [1]}, "get_bad", "/paths/~1bad/get"),
        (None, "bad", "/paths/~1bad"),
        ({"$ref": "#/nowhere"}, "bad", "/paths/~1bad"),
        ({"$ref": "#/paths/~1bad"}, "bad", "/paths/~1bad"),
    ],
)
def test_a_broken_operation_is_left_out_and_reported(item: object, name: str, pointer: str):
    """What is no operation loses no other."""
    document = {**NOTES, "paths": {"/bad": item, **NOTES["paths"]}}
    catalogue = read(document)
    assert len(catalogue.tools) == 4
    assert [(p.tool, p.pointer, p.kept) for p in catalogue.problems] == [
        (f"note-keeper/{name}", pointer, False)
    ]


def test_a_path_item_may_be_a_reference():
    """As of OpenAPI 3.1 path items have components of their own."""
    document = copy.deepcopy(NOTES)
    document["components"]["pathItems"] = {"Ping": {"head": {"operationId": "ping", "description": "d"}}}
    document["paths"]["/ping"] = {"$ref": "#/components/pathItems/Ping"}
    assert by_name(document)["ping"].annotations == {"readOnlyHint": True}


def test_the_schemas_a_tool_carries_are_bounded():
    """A chain of 1,000 schemas is followed for 64; the next one admits anything."""
    document = changed(
        "/chain",
        "get",
        operationId="chain",
        description="d",
        parameters=[{"name": "a", "in": "query", "schema": {"$ref": "#/components/schemas/L0"}}],
    )
    links = {
        f"L{i}": {"properties": {"next": {"$ref": f"#/components/schemas/L{i + 1}"}}} for i in range(1_000)
    }
    document["components"]["schemas"] |= links
    catalogue = read(document)
    definitions = catalogue.tools[-1].parameters["$defs"]
    assert len(definitions) == 65
    assert definitions["L64"] == {}
    assert [p.pointer for p in catalogue.problems] == ["/paths/~1chain/get"]


def test_swagger_is_refused_with_advice():
    """Swagger 2 has another structure."""
    with pytest.raises(UnknownFormat, match=r"Swagger 2\.0; expected OpenAPI 3\. Convert it"):
        read({"swagger": "2.0", "paths": {}})


@pytest.mark.parametrize("paths", [None, [], "x"])
def test_a_document_without_paths_is_refused(paths: object):
    """The message says what was found."""
    with pytest.raises(UnknownFormat, match="'paths' is"):
        read({"openapi": "3.1.0", "paths": paths})


def test_the_document_is_not_changed():
    """Reading leaves the content as it was."""
    before = json.dumps(NOTES)
    read(NOTES)
    assert json.dumps(NOTES) == before


@given(JSON, JSON, JSON, JSON)
def test_nothing_is_raised_for_a_broken_operation(parameters: Any, body: Any, responses: Any, component: Any):
    """Whatever an operation holds, the four sound ones are served."""
    document = copy.deepcopy(NOTES)
    document["components"]["schemas"]["Odd"] = component
    operation = {"operationId": "odd", "parameters": parameters, "requestBody": body, "responses": responses}
    document["paths"]["/odd"] = {"get": operation}
    assert {"listNotes", "post_notes", "removeNote", "moveNote"} <= set(by_name(document))
