"""One server behind the gateway, through everything that can happen to it."""

import os
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError

from tests.serve.harness import SHELF, WATER, journal, office, tool, until, write_tools
from toolwise.catalog.mcp_config import server_config
from toolwise.errors import UpstreamUnavailable
from toolwise.serve.gateway import upstream as module
from toolwise.serve.gateway.upstream import Upstream

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def up(
    folder: Path, entry: dict[str, Any], **options: Any
) -> AsyncIterator[tuple[Upstream, list[str]]]:
    """A supervised server, listed once, and the changes that were told."""
    told: list[str] = []
    server = server_config("a", entry, os.environ)
    made = Upstream(server, folder / "logs" / "a.log", lambda u: told.append(u.name), **options)
    with anyio.fail_after(30):
        async with anyio.create_task_group() as group:
            group.start_soon(made.run)
            await made.first_listing()
            yield made, told
            group.cancel_scope.cancel()


def pids(marker: Path) -> list[int]:
    """Processes whose command line names ``marker``."""
    found = subprocess.run(["pgrep", "-f", str(marker)], capture_output=True, text=True, check=False)
    return [int(pid) for pid in found.stdout.split()]


async def test_it_is_started_listed_and_called(tmp_path: Path):
    """All pages are one listing, and results come as the server gave them."""
    tools = [tool(f"tool_{number}") for number in range(300)]
    async with up(tmp_path, office(tmp_path, "a", tools, "--pages", "7")) as (server, told):
        assert [t["name"] for t in server.status.listing] == [t["name"] for t in tools]
        assert (server.status.connected, server.status.protocol, told) == (True, "2025-06-18", ["a"])
        result = await server.call("tool_7", {"x": [1]})
        assert result.structured_content == {"got": {"x": [1]}, "by": "tool_7"}
    assert pids(tmp_path / "a.json") == []
    assert (tmp_path / "logs" / "a.log").read_text(encoding="utf-8") == "the office is open\n"


async def test_a_killed_server_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Its listing stays and is marked stale meanwhile; an equal listing afterwards is no change."""
    monkeypatch.setattr(module, "FIRST_WAIT", 0.2)
    async with up(tmp_path, office(tmp_path, "a", [WATER])) as (server, told):
        (first,) = pids(tmp_path / "a.json")
        os.kill(first, signal.SIGKILL)
        await until(lambda: not server.status.connected)
        assert (server.status.stale, len(server.status.listing)) == (True, 1)
        with pytest.raises(UpstreamUnavailable, match="is not connected"):
            await server.call("water_plants", {})
        await until(lambda: server.status.connected)
        assert (await server.call("water_plants", {})).is_error is False
        assert pids(tmp_path / "a.json") != [first]
        assert told == ["a"]


async def test_a_server_that_dies_during_a_call_fails_that_call(tmp_path: Path):
    """At once, not after the timeout."""
    async with up(tmp_path, office(tmp_path, "a", [tool("it_dies")])) as (server, _):
        with anyio.fail_after(5), pytest.raises(UpstreamUnavailable, match="was lost during the call"):
            await server.call("it_dies", {})


async def test_a_call_that_takes_too_long_is_given_up_and_cancelled(tmp_path: Path):
    """The server is told, the connection stays."""
    async with up(tmp_path, office(tmp_path, "a", [tool("be_slow"), WATER]), call_timeout=0.3) as (server, _):
        with pytest.raises(UpstreamUnavailable, match=r"did not answer within 0\.3 s"):
            await server.call("be_slow", {})
        await until(lambda: ["notifications/cancelled"] in journal(tmp_path, "a"))
        assert (await server.call("water_plants", {})).structured_content


async def test_errors_and_nonsense_are_of_one_call(tmp_path: Path):
    """An error of the tool is a result, one of JSON-RPC is raised, an answer that is none is named."""
    tools = [tool("it_fails"), tool("it_refuses"), tool("say_nonsense"), WATER]
    async with up(tmp_path, office(tmp_path, "a", tools)) as (server, _):
        assert (await server.call("it_fails", {})).is_error
        with pytest.raises(MCPError, match=r"not \{\}"):
            await server.call("it_refuses", {})
        with pytest.raises(UpstreamUnavailable, match="gave an answer that the protocol does not know"):
            await server.call("say_nonsense", {})
        assert (await server.call("water_plants", {})).structured_content
        assert server.status.connected


async def test_garbage_on_standard_output_is_survived(tmp_path: Path):
    """Lines that are no messages are passed over, at the start and during calls."""
    async with up(tmp_path, office(tmp_path, "a", [WATER], "--garbage")) as (server, _):
        assert (await server.call("water_plants", {})).structured_content


async def test_a_huge_result_arrives(tmp_path: Path):
    """Four million letters."""
    async with up(tmp_path, office(tmp_path, "a", [tool("be_huge")])) as (server, _):
        result = await server.call("be_huge", {})
        assert len(result.content[0].text) == 4_000_000  # type: ignore[union-attr]


async def test_a_changed_list_is_listed_again_once(tmp_path: Path):
    """Ten notices are one listing and one change; a notice without a change is none."""
    entry = office(tmp_path, "a", [tool("it_announces")])
    async with up(tmp_path, entry) as (server, told):
        write_tools(tmp_path, "a", [tool("it_announces"), SHELF])
        for _ in range(10):
            await server.call("it_announces", {})
        await until(lambda: len(server.status.listing) == 2)
        await anyio.sleep(2 * module.DEBOUNCE)
        assert told == ["a", "a"]
        listed = journal(tmp_path, "a").count(["list"])
        assert listed <= 4
        await server.call("it_announces", {})
        await until(lambda: journal(tmp_path, "a").count(["list"]) == listed + 1)
        await anyio.sleep(module.DEBOUNCE)
        assert told == ["a", "a"]


async def test_a_server_that_never_answers_is_given_up(tmp_path: Path):
    """After the start timeout, and its process is gone."""
    async with up(tmp_path, office(tmp_path, "a", [WATER], "--hang"), start_timeout=0.5) as (server, told):
        assert server.status.error.startswith("it failed with TimeoutError: it took longer than 0.5 s")
        assert (server.status.connected, told) == (False, [])
    assert pids(tmp_path / "a.json") == []


async def test_a_server_that_cannot_be_started_is_tried_more_and_more_rarely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The reason is kept, and thousands of failures overflow nothing."""
    monkeypatch.setattr(module, "FIRST_WAIT", 0.001)
    monkeypatch.setattr(module, "LONGEST_WAIT", 0.004)
    async with up(tmp_path, {"command": str(tmp_path / "none")}) as (server, _):
        assert "none could not be started" in server.status.error
        server.status.failures = 5000
        await until(lambda: server.status.failures > 5005)


async def test_a_full_log_makes_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """One old log is kept."""
    monkeypatch.setattr(module, "LONGEST_LOG", 10)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").write_text("what was said before", encoding="utf-8")
    async with up(tmp_path, office(tmp_path, "a", [WATER])):
        pass
    assert (tmp_path / "logs" / "a.old.log").read_text(encoding="utf-8") == "what was said before"
    assert (tmp_path / "logs" / "a.log").read_text(encoding="utf-8") == "the office is open\n"
