"""What may be trained on, and the guard against everything else."""

import json

import pytest

from toolwise.config import settings
from toolwise.errors import CatalogueError, SourceNotFound
from toolwise.learn.data import (
    PERMITTED,
    is_reserved,
    libraries,
    reserved_servers,
    server_of,
    to_tool,
    tool_corpus,
)

DATA = settings().data

needs_data = pytest.mark.skipif(
    not (DATA / "mcp_tasks" / "reserved_servers.txt").is_file(), reason=f"the data sets are not at {DATA}"
)


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def a_data_folder(root):
    """A tiny copy of the data layout: one open server, one reserved, one train and one test workspace."""
    tools = [
        {"id": "open/read", "name": "read", "group": "open", "description": "Read a file", "parameters": {}},
        {"id": "kept/drop", "name": "drop", "group": "kept", "description": "Drop a table", "parameters": {}},
    ]
    folder = root / "mcp_tasks"
    write(folder / "tools.jsonl", tools)
    (folder / "reserved_servers.txt").write_text("kept\n", encoding="utf-8")
    spaces = [
        {"id": "w1", "split": "train", "tools": ["open/read"]},
        {"id": "w2", "split": "test", "tools": ["kept/drop"]},
    ]
    (folder / "workspaces.json").write_text(json.dumps(spaces), encoding="utf-8")
    train = [
        {"id": "1", "query": "show me a.txt", "tools": ["open/read"], "workspace": "w1"},
        {"id": "2", "query": "cook dinner", "tools": [], "workspace": "w1"},
    ]
    write(folder / "queries.train.jsonl", train)
    write(
        folder / "queries.test.jsonl", [{"id": "3", "query": "x", "tools": ["kept/drop"], "workspace": "w2"}]
    )
    write(root / "toucan_mcp" / "tools.jsonl", tools)
    return root


def test_reserved_tools_are_known_by_group_and_by_id():
    """Either the group or any prefix of the id that ends at a slash gives a tool away."""
    reserved = frozenset({"kept", "a/b"})
    assert is_reserved({"id": "other/x", "group": "kept"}, reserved)
    assert is_reserved({"id": "kept/x"}, reserved)
    assert is_reserved({"id": "a/b/c"}, reserved)
    assert not is_reserved({"id": "keptish/x", "group": "open"}, reserved)
    assert not is_reserved({"id": "kept"}, reserved)


def test_the_server_is_the_group_or_the_first_part_of_the_id():
    """A tool without either has no server."""
    assert server_of({"id": "a/b", "group": "c"}) == "c"
    assert server_of({"id": "a/b"}) == "a"
    assert server_of({"id": "b"}) == ""


def test_tools_carry_their_searchable_text():
    """Description and parameter names, nested ones after the outer ones."""
    schema = {
        "properties": {
            "where": {"type": "object", "properties": {"city": {"type": "string"}}},
            "when": {"type": "string"},
        }
    }
    tool = to_tool({"id": "s/t", "name": "t", "description": "Do it.", "parameters": schema})
    assert tool.text.description == "Do it."
    assert tool.text.parameters == ("where", "when", "city")


def test_only_training_workspaces_and_answerable_requests_are_read(tmp_path):
    """The test workspace is not there, nor the request that no tool serves."""
    (library,) = libraries(a_data_folder(tmp_path), ["mcp_tasks"])
    assert library.name == "mcp_tasks/w1"
    assert [request.text for request in library.requests] == ["show me a.txt"]
    assert library.requests[0].gold == (0,)


def test_reserved_servers_leave_the_corpus(tmp_path):
    """Of the text source only the open server's tool remains."""
    assert [tool.id for tool in tool_corpus(a_data_folder(tmp_path))] == ["open/read"]


def test_a_request_for_a_reserved_tool_stops_everything(tmp_path):
    """A leak in the training split is an error, not a silent omission."""
    folder = a_data_folder(tmp_path)
    leak = [{"id": "9", "query": "drop it", "tools": ["kept/drop"], "workspace": "w1"}]
    write(folder / "mcp_tasks" / "queries.train.jsonl", leak)
    with pytest.raises(CatalogueError, match="reserved for testing"):
        libraries(folder, ["mcp_tasks"])


def test_without_the_list_of_reserved_servers_nothing_is_read(tmp_path):
    """No list, no training."""
    folder = a_data_folder(tmp_path)
    (folder / "mcp_tasks" / "reserved_servers.txt").unlink()
    with pytest.raises(SourceNotFound, match="nothing may be trained"):
        tool_corpus(folder)


@pytest.mark.parametrize("name", ["ultratool", "toollens", "toolbench", "livemcp", "mcp_bench", "bfcl_live"])
def test_other_data_sets_are_refused(tmp_path, name):
    """A data set that is not on the list cannot be loaded for training."""
    with pytest.raises(CatalogueError, match="not permitted"):
        libraries(a_data_folder(tmp_path), [name])


def test_no_split_for_testing_is_permitted():
    """Of the sets that have dev or test splits of ours, only the training split is named."""
    assert PERMITTED["mcp_tasks"] == ("train",)
    assert PERMITTED["sealtools"] == ("dev",)
    assert not PERMITTED.keys() & {"ultratool", "toollens", "toolbench", "livemcp", "mcp_bench"}


@needs_data
def test_no_reserved_server_is_in_the_training_data():
    """Neither the corpus nor any library holds a tool of a reserved server."""
    reserved = reserved_servers(DATA)
    tools = [*tool_corpus(DATA), *(tool for library in libraries(DATA) for tool in library.tools)]
    assert len(reserved) > 100
    assert len(tools) > 10_000
    assert not [t.id for t in tools if t.server in reserved or is_reserved({"id": t.id}, reserved)]


@needs_data
def test_no_request_of_a_dev_or_test_split_is_in_the_training_data():
    """No training text occurs among the requests of the held-out splits."""
    held_out = [
        *(DATA / "mcp_tasks" / f"queries.{split}.jsonl" for split in ("dev", "test")),
        *(DATA / "sealtools").glob("queries.test*.jsonl"),
        *(
            p
            for name in ("ultratool", "toollens", "livemcp", "mcp_bench")
            for p in (DATA / name).glob("q*test.jsonl")
        ),
    ]
    kept = {
        json.loads(line)["query"]
        for path in held_out
        for line in path.read_text(encoding="utf-8").splitlines()
    }
    trained = {request.text for library in libraries(DATA) for request in library.requests}
    assert len(kept) > 3_000
    assert not kept & trained
