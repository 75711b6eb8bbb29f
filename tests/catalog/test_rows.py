"""Rows of our own catalogue format."""

import pytest

from toolwise.catalog.rows import RowReader
from toolwise.records import Catalogue


def read(*rows: object, server: str = "") -> Catalogue:
    return RowReader().read(list(rows), "tools.jsonl", server)


def test_a_row_is_kept_as_it_is():
    """Id verbatim, blanks and slashes included; the group is the server."""
    row = {
        "id": "Get /v1/a b",
        "name": "get a",
        "description": "Gets a.",
        "parameters": {"type": "object"},
        "group": "web shop",
        "returns": "text",
        "annotations": {"readOnlyHint": True},
        "category": "ignored",
    }
    (tool,) = read(row).tools
    assert (tool.id, tool.name, tool.server, tool.description) == (
        "Get /v1/a b",
        "get a",
        "web shop",
        "Gets a.",
    )
    assert (tool.parameters, tool.returns, tool.annotations) == (
        {"type": "object"},
        "text",
        {"readOnlyHint": True},
    )
    assert tool.source == "jsonl"
    assert read(row).problems == ()


@pytest.mark.parametrize(
    ("row", "server"),
    [({"server": "a", "group": "b"}, "a"), ({"group": "b"}, "b"), ({}, "given"), ({"server": ""}, "given")],
)
def test_the_server_is_the_rows_own_or_the_given_one(row: dict, server: str):
    """``server`` goes before ``group``, and both before the given name."""
    (tool,) = read({"id": "x", "name": "x", "description": "d", **row}, server="given").tools
    assert tool.server == server


@pytest.mark.parametrize(
    ("row", "tool_id", "name", "reported", "kept"),
    [
        ({"id": "x", "description": "d"}, "x", "x", ("x", "/name"), True),
        ({"name": "n", "group": "g", "description": "d"}, "g/n", "n", ("g/n", "/id"), True),
        ({"id": 7, "name": "n", "description": "d"}, "n", "n", ("n", "/id"), True),
        ({"id": "x", "name": "n", "description": "d", "server": {}}, "x", "n", ("x", "/server"), True),
        (
            {"id": "x", "name": "n", "description": "d", "parameters": None},
            "x",
            "n",
            ("x", "/parameters"),
            True,
        ),
        ({"description": "d"}, None, None, ("#2", "/id"), False),
        (None, None, None, ("#2", ""), False),
        (["x"], None, None, ("#2", ""), False),
    ],
)
def test_a_broken_row_is_mended_or_left_out_and_reported(
    row: object, tool_id: str | None, name: str | None, reported: tuple[str, str], kept: bool
):
    """The rows around it are served; the report names the row or its position."""
    good = [{"id": f"g{i}", "name": f"g{i}", "description": "d"} for i in (1, 2)]
    catalogue = read(good[0], row, good[1])
    served = [(tool.id, tool.name) for tool in catalogue.tools]
    assert served == [("g1", "g1"), *([(tool_id, name)] if tool_id else []), ("g2", "g2")]
    assert [(p.tool, p.pointer, p.kept) for p in catalogue.problems] == [(*reported, kept)]


def test_one_id_twice_is_settled_within_a_file():
    """The ids of one catalogue are unique whatever its rows say."""
    rows = [{"id": "x", "name": "x", "description": text} for text in ("a", "b", "a")]
    assert [tool.id for tool in read(*rows).tools] == ["x", "x#2"]
