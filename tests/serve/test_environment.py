"""MCP servers as the environment of an agent."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the [gateway] extra is not installed")

from tests.serve.harness import SHELF, journal, node, office, python_server, tool, write_tools
from toolwise.catalog.mcp_config import server_config
from toolwise.catalog.mcp_live import list_servers
from toolwise.records import Observation, Tool
from toolwise.serve.environment import Environment

NAMES = ("paper_fails", "paper_refuses", "paper_dies", "paper_slow", "paper_nonsense", "paper_environment")
TOOLS = [SHELF, *(tool(name) for name in NAMES)]


@contextmanager
def environment(
    servers: dict[str, Any], tools: tuple[Tool, ...] | None = None, *, call_timeout: float = 20.0
) -> Iterator[Environment]:
    """The servers with the tools they list, or with those given."""
    known = list_servers(servers, "test", timeout=20).tools if tools is None else tools
    configs = [server_config(name, entry, os.environ) for name, entry in servers.items()]
    with Environment(configs, known, call_timeout=call_timeout, start_timeout=20) as found:
        yield found


def test_a_call_reaches_its_server_and_comes_back(tmp_path: Path):
    """By id; the arguments are those given, the text is the result."""
    with environment({"archive": office(tmp_path, "archive", TOOLS)}) as place:
        assert place("archive/list_shelves", {"floor": 2}) == Observation('{"floor": 2}')
        assert place.away == {}
    assert journal(tmp_path, "archive")[-1] == ["call", "list_shelves", {"floor": 2}]


def test_whatever_goes_wrong_is_an_observation(tmp_path: Path):
    """Errors of a tool and refusals tell of the tool; silence, nonsense and death of its server do not."""
    with environment({"archive": office(tmp_path, "archive", TOOLS)}, call_timeout=1.0) as place:
        assert place("archive/paper_fails", {}) == Observation("out of paper", ok=False)
        assert place("archive/paper_refuses", {"a": 1}) == Observation("not {'a': 1}", ok=False)
        for name in ("nonsense", "slow", "dies"):
            seen = place(f"archive/paper_{name}", {})
            assert (seen.ok, seen.telling) == (False, False), name
        assert "server 'archive'" in seen.text


def test_a_server_that_does_not_start_is_away(tmp_path: Path):
    """It is named with the reason; the others serve."""
    servers = {
        "archive": office(tmp_path, "archive", [SHELF]),
        "gone": {"command": str(tmp_path / "no-such-server")},
    }
    tools = list_servers({"archive": servers["archive"]}, "test").tools
    ghost = replace(tools[0], id="gone/list_shelves", server="gone")
    with environment(servers, (*tools, ghost)) as place:
        assert list(place.away) == ["gone"]
        assert place("archive/list_shelves", {"floor": 1}).ok
        seen = place("gone/list_shelves", {})
        assert (seen.ok, seen.telling) == (False, False)
        assert "could not be started" in seen.text


def test_only_what_was_audited_is_called(tmp_path: Path):
    """A tool that is not given, and one whose definition has changed since, never reach the server."""
    entry = office(tmp_path, "archive", [SHELF, tool("list_doors")])
    known = list_servers({"archive": entry}, "test").tools
    write_tools(tmp_path, "archive", [SHELF | {"description": "Now I delete."}, tool("list_doors")])
    with environment({"archive": entry}, known[:1]) as place:
        assert "not what the index holds" in place("archive/list_shelves", {"floor": 1}).text
        assert place("archive/list_doors", {}).text == "there is no such tool here"
    assert not [line for line in journal(tmp_path, "archive") if line[0] == "call"]


def test_secrets_of_the_configuration_do_not_reach_the_model(tmp_path: Path):
    """What a server repeats of them is masked."""
    entry = office(tmp_path, "archive", [SHELF]) | {"env": {"KEY": "sesame-12345678"}}
    with environment({"archive": entry}) as place:
        assert place("archive/list_shelves", {"note": "sesame-12345678"}).text == '{"note": "***"}'


def test_it_may_be_called_from_within_a_running_loop(tmp_path: Path):
    """As an agent in somebody's server would."""

    async def within(place: Environment) -> Observation:
        return place("archive/list_shelves", {"floor": 3})

    with environment({"archive": office(tmp_path, "archive", [SHELF])}) as place:
        assert asyncio.run(within(place)) == Observation('{"floor": 3}')


def test_after_the_end_nothing_is_called(tmp_path: Path):
    """An agent that holds on to it is told so."""
    with environment({"archive": office(tmp_path, "archive", [SHELF])}) as place:
        pass
    assert not place("archive/list_shelves", {}).ok


def test_an_interrupt_does_not_wait_for_a_silent_tool(tmp_path: Path):
    """A call under way in another thread is given up at once."""
    entry = office(tmp_path, "archive", TOOLS)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt), environment({"archive": entry}, call_timeout=60.0) as place:

        def wait() -> None:
            with suppress(CancelledError):
                place("archive/paper_slow", {})

        caller = threading.Thread(target=wait)
        caller.start()
        while ["call", "paper_slow", {}] not in journal(tmp_path, "archive"):
            time.sleep(0.02)
        raise KeyboardInterrupt
    caller.join(10)
    assert not caller.is_alive()
    assert time.monotonic() - start < 30


@pytest.mark.slow
def test_real_servers_answer(tmp_path: Path):
    """The reference servers for files, memory and time."""
    pytest.importorskip("mcp_server_time", reason="mcp-server-time is not installed: `make servers`")
    (tmp_path / "notes.txt").write_text("buy milk", encoding="utf-8")
    servers = {
        "files": node("mcp-server-filesystem", str(tmp_path)),
        "memory": node("mcp-server-memory", env={"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}),
        "time": python_server("time"),
    }
    with environment(servers) as place:
        assert place("files/read_text_file", {"path": str(tmp_path / "notes.txt")}).text == "buy milk"
        assert not place("files/read_text_file", {"path": "/etc/hostname"}).ok
        assert "entities" in place("memory/read_graph", {}).text
        assert "Europe/Lisbon" in place("time/get_current_time", {"timezone": "Europe/Lisbon"}).text
