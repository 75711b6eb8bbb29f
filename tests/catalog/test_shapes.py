"""Every strange shape beside twenty ordinary tools: the twenty are served, the strange one is reported."""

import json
from typing import Any

import pytest

from toolwise.bench.shapes import GOOD, SHAPES, nested
from toolwise.catalog import from_definitions, with_text
from toolwise.catalog.mcp_listing import McpListingReader
from toolwise.records import Catalogue

# What is reported of the tools of a case: (tool, pointer); cases that are not here are in order.
REPORTED: dict[str, set[tuple[str, str]]] = {
    "dangling reference": {("acme/sieve_flour", "/inputSchema/properties/grain/$ref")},
    "python cycle": {("acme/unroll_carpet", "/inputSchema/properties/inner")},
    "null schema": {("acme/store_statue", "/inputSchema")},
    "no schema": {("acme/polish_statue", "/inputSchema")},
    "null properties": {
        ("acme/polish_slate", "/inputSchema/properties"),
        ("acme/polish_slate", "/inputSchema/required"),
    },
    "root is a string": {("acme/shout_word", "/inputSchema/type")},
    "draft 04": {("acme/plot_hexagon", "/inputSchema/properties/edge/exclusiveMinimum")},
    "null description": {("acme/paypal_cancel_invoice", "/description")},
    "no description": {("acme/paypalCancelInvoice", "/description")},
    "empty description": {("acme/shopify.archive-order", "/description")},
    "duplicate name": {("acme/lookup#2", "")},
}


def read(definitions: list[dict[str, Any]]) -> Catalogue:
    listing = {"tools": [*GOOD[:10], *definitions, *GOOD[10:]]}
    return McpListingReader().read(listing, "acme.json", "acme")


@pytest.mark.parametrize("case", SHAPES)
def test_a_strange_tool_is_served_and_loses_no_other(case: str):
    """All twenty good tools and the strange ones are in the catalogue, each under its own name."""
    definitions = SHAPES[case].definitions
    served = sorted(tool.name for tool in read(definitions).tools)
    assert served == sorted(item["name"] for item in [*GOOD, *definitions])


@pytest.mark.parametrize("case", SHAPES)
def test_a_strange_tool_is_reported_by_name_and_pointer(case: str):
    """Problems name the tool and the JSON pointer, and nothing else is reported."""
    problems = read(SHAPES[case].definitions).problems
    assert {(p.tool, p.pointer) for p in problems} == REPORTED.get(case, set())
    assert all(p.kept and p.source == "acme.json" and p.message for p in problems)


@pytest.mark.parametrize("case", SHAPES)
def test_a_strange_tool_can_be_stored_and_searched(case: str):
    """Every tool is JSON and UTF-8, and its searchable text is bounded."""
    for tool in map(with_text, read(SHAPES[case].definitions).tools):
        json.dumps([tool.parameters, tool.returns], allow_nan=False).encode("utf-8")
        assert len(tool.text.description) <= 2_000
        assert len(tool.text.parameters) <= 60
        assert len(tool.text.details) <= 2_000


@pytest.mark.parametrize(
    "case", [case for case in SHAPES if case not in ("python cycle", "null schema", "no schema")]
)
def test_a_schema_is_kept_as_it_came(case: str):
    """What JSON can hold is stored unchanged, 400 levels and 20,000 values included."""
    for definition in SHAPES[case].definitions:
        (tool,) = McpListingReader().read([definition], "acme.json", "").tools
        assert tool.parameters == definition["inputSchema"]
        assert tool.returns == definition.get("outputSchema")


@pytest.mark.parametrize("case", SHAPES)
def test_definitions_held_in_python_fare_the_same(case: str):
    """from_definitions serves the same tools with the same hashes as a listing."""
    listed = {tool.id: tool.content_hash for tool in read(SHAPES[case].definitions).tools}
    held = from_definitions([*GOOD[:10], *SHAPES[case].definitions, *GOOD[10:]], server="acme")
    assert {tool.id: tool.content_hash for tool in held.tools} == listed


def only(case: str) -> Any:
    return with_text(McpListingReader().read(SHAPES[case].definitions, "acme.json", "").tools[0])


def test_a_cycle_is_cut_where_it_closes():
    """A schema that contains itself is stored down to the place where it would start over."""
    assert only("python cycle").parameters == {
        "type": "object",
        "properties": {"depth": {"type": "integer"}, "inner": {}},
    }


def test_a_recursive_reference_gives_its_names_once():
    """Names behind a reference are searchable, each once."""
    assert only("recursive reference").text.parameters == ("trunk", "label", "twigs")
    assert only("recursive reference").text.details == "caption of the branch"


def test_the_front_of_a_huge_description_is_searchable():
    """A description of 200,000 characters is searched by its first 2,000 and kept whole."""
    tool = only("huge description")
    assert tool.text.description == tool.description[:2_000]
    assert len(tool.description) > 200_000


def test_a_few_values_of_a_huge_enum_are_searchable():
    """Of 20,000 values the first eight are in the text."""
    assert only("huge enum").text.details == "P0, P1, P2, P3, P4, P5, P6, P7"


def test_instructions_are_cut_from_the_text_and_kept_in_the_tool():
    """What speaks to the agent is not searchable, and stays in the definition for the audit."""
    tool = only("hidden instructions")
    assert tool.text.description.strip() == "Subtracts one number from another."
    assert tool.description == SHAPES["hidden instructions"].definitions[0]["description"]


def test_honest_joiners_stay():
    """The Persian non-joiner and the flag's tag sequence are no hidden text."""
    tool = only("honest joiners")
    assert tool.text.description == tool.description


def test_two_levels_too_many_are_cut_and_reported():
    """Beyond 820 levels of JSON a schema is cut; the place is in the report."""
    catalogue = McpListingReader().read(
        [{"name": "deep", "description": "d", "inputSchema": nested(450)}], "x", ""
    )
    (problem,) = catalogue.problems
    assert "nested more than 820 levels" in problem.message
    assert problem.pointer.startswith("/inputSchema/properties/box/properties/box/")
    json.dumps(catalogue.tools[0].parameters)
