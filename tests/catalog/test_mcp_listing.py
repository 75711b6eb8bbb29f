"""Answers to MCP tools/list."""

from typing import Any

import pytest

from toolwise.bench.shapes import tool
from toolwise.catalog.mcp_listing import McpListingReader
from toolwise.records import Catalogue

A, B = tool("a", "Does a."), tool("b", "Does b.")


def read(content: object, server: str = "srv") -> Catalogue:
    return McpListingReader().read(content, "listing.json", server)


@pytest.mark.parametrize(
    "content",
    [
        {"tools": [A, B]},
        {"jsonrpc": "2.0", "id": 1, "result": {"tools": [A, B]}},
        [{"tools": [A], "nextCursor": "2"}, {"tools": [B]}],
        [{"jsonrpc": "2.0", "id": 1, "result": {"tools": [A], "nextCursor": "2"}}, {"tools": [B]}],
        [A, B],
    ],
)
def test_every_wrapping_is_read(content: object):
    """One page or many, bare or JSON-RPC, or the tools alone: the same two tools."""
    assert McpListingReader().recognises(content)
    catalogue = read(content)
    assert [(tool.id, tool.name, tool.server) for tool in catalogue.tools] == [
        ("srv/a", "a", "srv"),
        ("srv/b", "b", "srv"),
    ]
    assert catalogue.problems == ()


def test_all_fields_are_read():
    """Title, output schema and annotations have their places."""
    more: dict[str, Any] = {
        "outputSchema": {"type": "object"},
        "annotations": {"title": "T", "readOnlyHint": True},
    }
    (read_tool,) = read([{**A, **more}]).tools
    assert (read_tool.title, read_tool.returns, read_tool.annotations) == (
        "T",
        more["outputSchema"],
        more["annotations"],
    )
    assert read_tool.source == "mcp"
    assert read([{**A, **more, "title": "Own"}]).tools[0].title == "Own"


def test_a_page_may_name_its_server():
    """``server`` beside the tools goes before the given name; no name at all leaves the tool's alone."""
    assert [t.id for t in read([{"server": "x", "tools": [A]}, {"tools": [A]}]).tools] == ["x/a", "srv/a"]
    assert [t.id for t in read({"tools": [A]}, server="").tools] == ["a"]


@pytest.mark.parametrize(
    ("bad", "tool_name", "pointer"),
    [
        (None, "#2", ""),
        ("text", "#2", ""),
        ([], "#2", ""),
        ({}, "srv/#2", "/name"),
        ({"name": "", "description": "d"}, "srv/#2", "/name"),
        ({"name": 3, "description": "d"}, "srv/#2", "/name"),
    ],
)
def test_what_is_no_tool_is_left_out_and_reported(bad: object, tool_name: str, pointer: str):
    """The report has the position and the pointer; the other tools are served."""
    catalogue = read({"tools": [A, bad, B]})
    assert [t.name for t in catalogue.tools] == ["a", "b"]
    assert [(p.tool, p.pointer, p.kept) for p in catalogue.problems] == [(tool_name, pointer, False)]


def test_a_broken_page_loses_no_other_page():
    """A page whose tools are null is reported with its number."""
    catalogue = read([{"tools": [A]}, {"result": {"tools": None}}, {"tools": [B]}])
    assert [t.name for t in catalogue.tools] == ["a", "b"]
    assert [(p.tool, p.pointer) for p in catalogue.problems] == [("page 2", "/result/tools")]


def test_missing_pages_are_reported():
    """A cursor on the last page means that there was more."""
    (problem,) = read({"result": {"tools": [A], "nextCursor": "more"}}).problems
    assert (problem.tool, problem.pointer, problem.kept) == ("page 1", "/result/nextCursor", False)


def test_an_empty_listing_is_a_listing():
    """A server without tools is no error."""
    assert read({"tools": []}) == Catalogue(())
