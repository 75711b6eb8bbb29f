"""Real MCP servers, from the configuration a host would use to a selected tool set."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from toolwise import Selector, build_index

SERVERS = Path(__file__).parent / "servers"
NODE = SERVERS / "node_modules" / ".bin"


def write_config(path: Path, servers: dict[str, object]) -> Path:
    """An ``mcpServers`` file."""
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return path


def python_servers() -> dict[str, object]:
    """The reference servers on PyPI."""
    return {
        name: {"command": sys.executable, "args": ["-m", f"mcp_server_{name}"]} for name in ("git", "time")
    }


def test_python_servers_are_listed_indexed_and_selected_from(tmp_path: Path) -> None:
    """Git and time start over stdio; a request for each finds its tool first."""
    config = write_config(tmp_path / "mcp.json", python_servers())
    report = build_index([config], tmp_path / "index")
    assert report.problems == ()
    assert {id_.partition("/")[0] for id_ in report.added} == {"git", "time"}
    selector = Selector.open(tmp_path / "index")
    clock = selector.select("What time is it in Lisbon now?").tools[0]
    assert (clock.id, clock.level) == ("time/get_current_time", 1)
    staged = selector.select("show the staged changes of my repository")
    assert "git/git_diff_staged" in {tool.id for tool in staged.tools}
    assert build_index([config], tmp_path / "index").unchanged == report.tools


def test_node_servers_join_them(tmp_path: Path) -> None:
    """filesystem, memory and everything beside git and time: five servers in one index."""
    if not NODE.is_dir():
        pytest.skip("tests/servers/node_modules is absent: run `make servers`")
    servers = python_servers()
    servers["files"] = {"command": str(NODE / "mcp-server-filesystem"), "args": [str(tmp_path)]}
    servers["memory"] = {
        "command": str(NODE / "mcp-server-memory"),
        "env": {"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")},
    }
    servers["everything"] = {"command": str(NODE / "mcp-server-everything"), "args": ["stdio"]}
    servers["gone"] = {"command": str(NODE / "no-such-server")}
    report = build_index([write_config(tmp_path / "mcp.json", servers)], tmp_path / "index")
    assert {id_.partition("/")[0] for id_ in report.added} == {"git", "time", "files", "memory", "everything"}
    assert [problem.tool for problem in report.problems if not problem.kept] == ["gone"]
    selector = Selector.open(tmp_path / "index")
    expected = {
        "Read the text file notes.txt": "files/read_text_file",
        "Add an entity called Ada to the knowledge graph": "memory/create_entities",
        "Convert 14:30 in Tokyo to New York time": "time/convert_time",
        "Which branches does the repository have?": "git/git_branch",
    }
    for request, tool in expected.items():
        assert tool in {exposed.id for exposed in selector.select(request).tools}, request


def test_the_command_line_lists_live_servers(tmp_path: Path) -> None:
    """The server's own chatter stays off our stdout."""
    config = write_config(tmp_path / "mcp.json", {"time": python_servers()["time"]})
    command = [sys.executable, "-m", "toolwise", "index", config, "--into", tmp_path / "i", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["added"] == ["time/convert_time", "time/get_current_time"]
