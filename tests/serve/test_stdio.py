"""The gateway as a process: its end, its children, its state folder, its secrets."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters

from tests.serve.harness import (
    LONGEST,
    SHELF,
    WATER,
    call,
    found,
    http_client,
    names,
    office,
    tool,
)

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def config(folder: Path, servers: dict[str, Any]) -> Path:
    path = folder / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return path


def command(folder: Path, servers: dict[str, Any], *options: str) -> list[str]:
    start = [sys.executable, "-m", "toolwise", "gateway", "--config", str(config(folder, servers))]
    return [*start, "--state", str(folder / "state"), *options]


@contextmanager
def process(arguments: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A gateway that is killed at the end, whatever happens."""
    with subprocess.Popen(
        arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as started:
        try:
            yield started
        finally:
            started.kill()


def children(marker: Path) -> list[str]:
    """Processes whose command line names ``marker``."""
    done = subprocess.run(["pgrep", "-f", f"office.py {marker}"], capture_output=True, text=True, check=False)
    return done.stdout.split()


def until(true: Callable[[], Any]) -> None:
    deadline = time.monotonic() + LONGEST
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def ask(gateway: subprocess.Popen[str], *messages: dict[str, Any]) -> dict[str, Any]:
    """The answer to the last of some messages."""
    assert gateway.stdin is not None
    assert gateway.stdout is not None
    for message in messages:
        gateway.stdin.write(json.dumps(message) + "\n")
    gateway.stdin.flush()
    answer: dict[str, Any] = {}
    while answer.get("id") != messages[-1]["id"]:
        answer = json.loads(gateway.stdout.readline())
    return answer


@pytest.mark.anyio
async def test_an_agent_finds_and_calls_over_standard_streams(tmp_path: Path):
    """As a host starts it, in the newest era; when the client leaves, gateway and servers end."""
    made = command(tmp_path, {"a": office(tmp_path, "a", [SHELF])}, "--split-calls")
    server = StdioServerParameters(command=made[0], args=made[1:])
    with anyio.fail_after(LONGEST):
        async with Client(server) as agent:
            assert "call_read_tool" in await names(agent)
            assert await found(agent, "list the shelves of the archive") == ["a__list_shelves"]
            result = await call(agent, "a__list_shelves", "call_read_tool", floor=4)
            assert (result.structured_content or {})["got"] == {"floor": 4}
    assert children(tmp_path / "a.json") == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_it_in_order(tmp_path: Path, number: signal.Signals, code: int):
    """With an open standard input: no traceback, no child left, within a few seconds."""
    with process(command(tmp_path, {"a": office(tmp_path, "a", [SHELF, tool("be_slow")])})) as gateway:
        ask(gateway, INITIALIZE, INITIALIZED, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
        assert len(children(tmp_path / "a.json")) == 1
        gateway.send_signal(number)
        assert gateway.wait(20) == code
        assert gateway.stderr is not None
        assert "Traceback" not in gateway.stderr.read()
    assert children(tmp_path / "a.json") == []


def test_a_client_that_leaves_ends_it(tmp_path: Path):
    """End of input is the end, with 0 and without a word."""
    with process(command(tmp_path, {"a": office(tmp_path, "a", [SHELF])})) as gateway:
        ask(gateway, INITIALIZE)
        out, err = gateway.communicate(timeout=20)
        assert (gateway.returncode, out, err) == (0, "", "")
    assert children(tmp_path / "a.json") == []


def test_it_answers_before_its_servers_do(tmp_path: Path):
    """A host gives the handshake little time; a server that hangs does not use it up."""
    with process(command(tmp_path, {"a": office(tmp_path, "a", [SHELF], "--hang")})) as gateway:
        assert ask(gateway, INITIALIZE)["result"]["serverInfo"]["name"] == "toolwise"


def test_two_gateways_share_a_state_folder(tmp_path: Path):
    """As two windows of a host do: both serve, and one log has the calls of both."""
    arguments = command(tmp_path, {"a": office(tmp_path, "a", [SHELF])})
    request = {"name": "call_tool", "arguments": {"name": "a__list_shelves", "arguments": {"floor": 1}}}
    with process(arguments) as one, process(arguments) as two:
        for gateway in (one, two):
            answer = ask(
                gateway,
                INITIALIZE,
                INITIALIZED,
                {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": request},
            )
            assert answer["result"]["structuredContent"]["got"] == {"floor": 1}
        for gateway in (one, two):
            gateway.communicate(timeout=20)
            assert gateway.returncode == 0
    log = [sys.executable, "-m", "toolwise", "log", "tail", str(tmp_path / "state"), "--json"]
    done = subprocess.run(log, capture_output=True, text=True, check=True, timeout=60)
    assert [json.loads(line)["tool"] for line in done.stdout.splitlines()] == ["a/list_shelves"] * 2


def test_secrets_go_to_their_server_and_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Not to another server, nor into the state folder or onto standard error; nor does our environment."""
    monkeypatch.setenv("OUR_OWN_KEY", "key-of-the-gateway")
    servers = {
        "a": office(tmp_path, "a", [tool("get_environment")]) | {"env": {"TOKEN": "sesame-open-now"}},
        "b": office(tmp_path, "b", [tool("get_environment"), tool("it_dies")]),
        "c": {"command": "/nowhere/sesame", "env": {"TOKEN": "sesame-number-two"}},
        "d": {
            "url": "http://127.0.0.1:9/mcp?key=sesame-number-three",
            "headers": {"X-Key": "sesame-number-four"},
        },
    }
    with process(command(tmp_path, servers)) as gateway:
        seen = {}
        messages = [INITIALIZE, INITIALIZED]
        for number, server in enumerate("ab", start=2):
            params = {"name": "call_tool", "arguments": {"name": f"{server}__get_environment"}}
            messages.append({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
            answer = ask(gateway, *messages)
            seen[server] = answer["result"]["structuredContent"]["environment"]
            messages = []
        assert seen["a"]["TOKEN"] == "sesame-open-now"
        assert "TOKEN" not in seen["b"]
        assert all("OUR_OWN_KEY" not in found for found in seen.values())
        _, err = gateway.communicate(timeout=20)
    assert "c: /nowhere/sesame could not be started" in err
    kept = b"".join(path.read_bytes() for path in (tmp_path / "state").rglob("*") if path.is_file())
    for secret in ("sesame-open-now", "sesame-number-two", "sesame-number-three", "sesame-number-four"):
        assert secret not in err
        assert secret.encode() not in kept


@pytest.mark.anyio
async def test_over_http_a_signal_ends_it_in_order(tmp_path: Path):
    """With a session open: the client is let go, the children end, there is no traceback."""
    with anyio.fail_after(LONGEST):
        port = free_port()
        servers = {"a": office(tmp_path, "a", [SHELF, WATER, tool("be_slow")])}
        with process(command(tmp_path, servers, "--http", f"127.0.0.1:{port}")) as gateway:
            await serving(port)
            async with http_client(f"http://127.0.0.1:{port}/mcp", era="legacy") as agent:
                assert await names(agent) == ["find_tools", "call_tool"]
                gateway.send_signal(signal.SIGTERM)
                code = await anyio.to_thread.run_sync(gateway.wait, 20)
            assert code == 0
            assert gateway.stderr is not None
            err = gateway.stderr.read()
            assert "Traceback" not in err
            assert f"toolwise gateway on http://127.0.0.1:{port}/mcp, 1 servers behind it" in err
        assert children(tmp_path / "a.json") == []


def free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


async def serving(port: int) -> None:
    """Wait until the gateway answers."""
    async with httpx2.AsyncClient() as http:
        while True:
            try:
                if (await http.get(f"http://127.0.0.1:{port}/healthz")).json()["connected"]:
                    return
            except httpx2.TransportError:
                pass
            await anyio.sleep(0.1)
