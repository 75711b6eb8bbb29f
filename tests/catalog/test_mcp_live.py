"""Tools from running servers: real ones, and scripted ones that misbehave."""

import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolwise.catalog import mcp_live
from toolwise.catalog.mcp_live import list_servers
from toolwise.errors import CatalogueError, MissingExtra
from toolwise.records import Catalogue, Problem

pytest.importorskip("mcp", reason="the [gateway] extra is not installed")

SERVERS = Path(__file__).parent.parent / "servers"
NODE = SERVERS / "node_modules" / ".bin"
SOURCE = "hosts.json"


def scripted(behaviour: str, *args: str, **entry: Any) -> dict[str, Any]:
    return {"command": sys.executable, "args": [str(SERVERS / "scripted.py"), behaviour, *args], **entry}


def node(name: str, *args: str, **entry: Any) -> dict[str, Any]:
    if not (NODE / name).exists():
        pytest.skip("tests/servers/node_modules is absent: npm ci --prefix tests/servers")
    return {"command": str(NODE / name), "args": list(args), **entry}


def ids(catalogue: Catalogue) -> list[str]:
    return [tool.id for tool in catalogue.tools]


def of_server(catalogue: Catalogue, server: str) -> list[Problem]:
    return [problem for problem in catalogue.problems if problem.tool == server]


# Real servers


def test_reference_servers_in_javascript_are_listed(tmp_path: Path):
    """Filesystem, memory and everything are started together and listed in the order of the configuration."""
    config = {
        "files": node("mcp-server-filesystem", str(tmp_path)),
        "memory": node("mcp-server-memory", env={"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}),
        "everything": node("mcp-server-everything"),
    }
    catalogue = list_servers(config, SOURCE)
    assert catalogue.problems == ()
    servers = [tool.server for tool in catalogue.tools]
    assert servers == ["files"] * 14 + ["memory"] * 9 + ["everything"] * 13
    tools = {tool.id: tool for tool in catalogue.tools}
    write = tools["files/write_file"]
    assert write.annotations["destructiveHint"] is True
    assert set(write.parameters["properties"]) == {"path", "content"}
    assert write.returns["type"] == "object"
    assert write.title == "Write File"
    assert not (NODE.parent / "@modelcontextprotocol/server-memory/dist/memory.jsonl").exists()


def test_reference_servers_in_python_are_listed():
    """The git and time servers speak the newest revision of the protocol and are listed all the same."""
    config = {
        name: {"command": sys.executable, "args": ["-m", f"mcp_server_{name}"]} for name in ("git", "time")
    }
    catalogue = list_servers(config, SOURCE)
    assert catalogue.problems == ()
    assert {"git/git_commit", "git/git_log", "time/get_current_time", "time/convert_time"} <= set(
        ids(catalogue)
    )
    commit = next(tool for tool in catalogue.tools if tool.id == "git/git_commit")
    assert commit.annotations["readOnlyHint"] is False


# Scripted servers


def test_every_page_is_read_and_the_server_is_named_by_its_key():
    """Three pages give three tools, under the configured name and not the name the server gives itself."""
    catalogue = list_servers({"office": scripted("paged")}, SOURCE)
    assert ids(catalogue) == ["office/list_rooms", "office/water_plants", "office/open_door"]
    assert {tool.server for tool in catalogue.tools} == {"office"}
    assert catalogue.problems == ()


def test_one_bad_tool_never_loses_the_others():
    """A null schema, a missing name and a tool that is no object leave their neighbours whole."""
    catalogue = list_servers({"s": scripted("bad-tool")}, SOURCE)
    tools = {tool.id: tool for tool in catalogue.tools}
    assert list(tools) == ["s/first", "s/broken", "s/last"]
    assert [problem.kept for problem in catalogue.problems] == [True, False, False]
    last = tools["s/last"]
    assert (last.title, last.annotations, last.returns) == ("Last", {"readOnlyHint": True}, {})


@pytest.mark.parametrize(("behaviour", "tool"), [("deep", "nested"), ("surrogate", "half")])
def test_lines_the_sdk_cannot_parse_are_read_all_the_same(behaviour: str, tool: str):
    """A 400-deep schema and half a surrogate pair make the SDK drop the line; both tools survive it."""
    catalogue = list_servers({"s": scripted(behaviour)}, SOURCE)
    assert ids(catalogue) == ["s/good", f"s/{tool}"]
    json.dumps(catalogue.tools[1].parameters)
    catalogue.tools[1].description.encode("utf-8")


def test_garbage_on_standard_output_is_survived(capfd: pytest.CaptureFixture[str]):
    """Lines that are no JSON are skipped, and nothing of it reaches our own output."""
    assert ids(list_servers({"s": scripted("garbage")}, SOURCE)) == ["s/survivor"]
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ("stuck", "has come before"),
        ("empty-cursor", "the cursor of page 1 is ''"),
        ("number-cursor", "the cursor of page 1 is 7"),
    ],
)
def test_cursors_that_lead_nowhere_are_cut_and_reported(behaviour: str, words: str):
    """A cursor that repeats, is empty or no string ends the listing; the tools so far are kept once."""
    catalogue = list_servers({"s": scripted(behaviour)}, SOURCE)
    assert ids(catalogue) == ["s/only"]
    (problem,) = of_server(catalogue, "s")
    assert words in problem.message
    assert (problem.pointer, problem.kept) == ("/nextCursor", True)


def test_a_listing_without_end_is_cut(monkeypatch: pytest.MonkeyPatch):
    """A server that always has one more page is cut at the limit."""
    monkeypatch.setattr(mcp_live, "_MAX_PAGES", 5)
    catalogue = list_servers({"s": scripted("endless")}, SOURCE)
    assert ids(catalogue) == [f"s/tool_{page}" for page in range(5)]
    assert "no end after 5 pages" in of_server(catalogue, "s")[0].message


def test_servers_that_fail_never_lose_the_others():
    """A crash, a missing program and a bad entry are problems with reasons; the good server is served."""
    config = {
        "crash": scripted("exit"),
        "missing": {"command": "no-such-program-here"},
        "entry": 17,
        "null": scripted("null-tools"),
        "good": scripted("garbage"),
    }
    catalogue = list_servers(config, SOURCE)
    assert ids(catalogue) == ["good/survivor"]
    reasons = {problem.tool: problem.message for problem in catalogue.problems}
    assert list(reasons) == ["crash", "missing", "entry", "null"]
    assert "cannot find my" in reasons["crash"]
    assert "\x1b" not in reasons["crash"]
    assert "no-such-program-here could not be started" in reasons["missing"]
    assert "expected an object" in reasons["entry"]
    assert "holds no list of tools" in reasons["null"]
    assert not any(problem.kept for problem in catalogue.problems)
    assert {problem.source for problem in catalogue.problems} == {SOURCE}


def test_pages_before_a_death_are_kept():
    """A server that dies on page 2 keeps the tools of page 1, and its death is reported."""
    catalogue = list_servers({"s": scripted("dies-on-page-2")}, SOURCE)
    assert ids(catalogue) == ["s/list_rooms"]
    (problem,) = of_server(catalogue, "s")
    assert "out of paper" in problem.message
    assert "kept from before: 1 tool" in problem.message


def test_a_server_that_hangs_is_given_up_in_time():
    """A silent server costs its time-out and the grace to stop it, and nobody else's tools."""
    start = time.monotonic()
    catalogue = list_servers({"hang": scripted("hang"), "good": scripted("garbage")}, SOURCE, timeout=1.5)
    assert time.monotonic() - start < 15
    assert ids(catalogue) == ["good/survivor"]
    assert of_server(catalogue, "hang")[0].message == "it did not answer within 1.5 s"


def test_where_no_server_can_be_listed_each_says_why():
    """A problem for every one of them, without its secrets; whoever needs tools decides what to do."""
    config = {"a": scripted("exit"), "b": {"url": "http://127.0.0.1:9/mcp?key=topsecret"}}
    catalogue = list_servers(config, SOURCE)
    assert (catalogue.tools, catalogue.unreachable) == ((), ("a", "b"))
    assert of_server(catalogue, "a")[0].message.startswith("it failed")
    assert of_server(catalogue, "b")[0].message.startswith("it failed with ConnectError")
    assert "topsecret" not in repr(catalogue)


def test_disabled_servers_are_not_started(tmp_path: Path):
    """``"disabled": true`` leaves a server out without a problem."""
    config = {"off": {"command": str(tmp_path / "nothing"), "disabled": True}, "on": scripted("garbage")}
    catalogue = list_servers(config, SOURCE)
    assert (ids(catalogue), catalogue.problems) == (["on/survivor"], ())
    assert list_servers({"off": config["off"]}, SOURCE) == Catalogue(())


def test_a_server_sees_only_a_minimal_environment(monkeypatch: pytest.MonkeyPatch):
    """Our variables stay with us unless the entry hands them on by name."""
    monkeypatch.setenv("MY_PRIVATE_KEY", "hush")
    monkeypatch.setenv("HANDED_ON", "yes")
    catalogue = list_servers({"s": scripted("environment", env={"GIVEN": "${HANDED_ON}"})}, SOURCE)
    seen = json.loads(catalogue.tools[0].description)
    assert seen["GIVEN"] == "yes"
    assert "PATH" in seen
    assert {"MY_PRIVATE_KEY", "HANDED_ON"}.isdisjoint(seen)


def test_arguments_and_directory_reach_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Variables in arguments are filled in, and ``cwd`` is where the server runs."""
    monkeypatch.setenv("SHELF", "top")
    entry = {
        "command": sys.executable,
        "args": ["here.py", "arguments", "${SHELF}", "${FLOOR:-3}"],
        "cwd": str(tmp_path),
    }
    (tmp_path / "here.py").write_text((SERVERS / "scripted.py").read_text(encoding="utf-8"), encoding="utf-8")
    catalogue = list_servers({"s": entry}, SOURCE)
    assert json.loads(catalogue.tools[0].description) == ["top", "3"]


def test_progress_is_told_for_each_server():
    """Progress counts servers, failed ones included."""
    heard: list[tuple[str, int, int]] = []
    config = {"a": scripted("garbage"), "b": scripted("exit"), "c": 1}
    list_servers(config, SOURCE, lambda stage, done, total: heard.append((stage, done, total)))
    assert heard == [("servers", 1, 3), ("servers", 2, 3), ("servers", 3, 3)]


def test_it_can_be_called_where_an_event_loop_is_running():
    """A notebook or server with a running loop gets the same answer."""

    async def notebook() -> Catalogue:
        return list_servers({"s": scripted("garbage")}, SOURCE)

    assert ids(asyncio.run(notebook())) == ["s/survivor"]


def test_a_configuration_that_is_no_object_is_refused():
    """A list of servers is not what hosts use."""
    with pytest.raises(CatalogueError, match="'mcpServers' is not an object"):
        list_servers([scripted("paged")], SOURCE)  # type: ignore[arg-type]


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    """Without the SDK the error holds the line that installs it."""
    monkeypatch.setattr(mcp_live, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r'pip install "toolwise\[gateway\]"'):
        list_servers({}, SOURCE)


# Servers over HTTP


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with subprocess.Popen([sys.executable, str(SERVERS / "over_http.py"), str(port)]) as process:
        try:
            deadline = time.monotonic() + 30
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def test_a_server_is_reached_over_http_with_its_headers(address: str, monkeypatch: pytest.MonkeyPatch):
    """The configured headers are sent, and a page of more than 1 MiB arrives."""
    monkeypatch.setenv("BELL_KEY", "open sesame")
    catalogue = list_servers({"web": {"url": f"{address}/mcp", "headers": {"X-Key": "${BELL_KEY}"}}}, SOURCE)
    assert ids(catalogue) == ["web/long_story", "web/ring_bell"]
    assert catalogue.problems == ()


def test_the_older_event_stream_is_spoken_too(address: str):
    """A server of type sse is reached with its headers."""
    entry = {"type": "sse", "url": f"{address}/sse", "headers": {"X-Key": "open sesame"}}
    assert ids(list_servers({"old": entry}, SOURCE)) == ["old/ring_bell"]


def test_a_refusal_over_http_is_reported_without_the_key(address: str):
    """The status is in the reason; the key that was refused is not."""
    config = {
        "web": {"url": f"{address}/mcp", "headers": {"X-Key": "wrong password"}},
        "good": scripted("garbage"),
    }
    (problem,) = list_servers(config, SOURCE).problems
    assert "HTTP 401" in problem.message
    assert "wrong password" not in problem.message
