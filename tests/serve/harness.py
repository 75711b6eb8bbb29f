"""Gateways over scripted and real servers, and clients of every era and transport."""

import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
import uvicorn
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from toolwise.catalog.mcp_config import server_config
from toolwise.serve.gateway.gateway import Gateway
from toolwise.serve.gateway.http import http_app
from toolwise.serve.gateway.protocol import GatewayServer
from toolwise.serve.gateway.settings import GatewaySettings

HERE = Path(__file__).parent
NODE = HERE.parent / "servers" / "node_modules" / ".bin"
ERAS = ("auto", "legacy")
"""How a client speaks: the newest revision, or the newest with a handshake."""
LONGEST = 40.0


def tool(name: str, description: str = "", **more: Any) -> dict[str, Any]:
    """A sound definition; what is not said is open."""
    words = name.replace("_", " ").capitalize()
    schema = more.pop("schema", {"type": "object"})
    return {"name": name, "description": description or f"{words}.", "inputSchema": schema} | more


READS = {"annotations": {"readOnlyHint": True}}
SHELF = tool(
    "list_shelves",
    "List the shelves of the archive room.",
    schema={
        "type": "object",
        "properties": {"floor": {"type": "integer"}, "note": {"type": "string"}},
        "required": ["floor"],
        "additionalProperties": False,
    },
    **READS,
)
WATER = tool("water_plants", "Water the plants in the lobby.", annotations={"readOnlyHint": False})
WIPE = tool(
    "delete_all_records",
    "Permanently delete all records of the archive; this cannot be undone.",
    annotations={"destructiveHint": True},
)
MAIL = tool("read_inbox", "Read the private emails in the user's inbox.", **READS)
PAGE = tool("fetch_web_page", "Fetch any web page from the internet by its URL.", **READS)
SEND = tool("send_email", "Send an email to any address.", annotations={"readOnlyHint": False})


def office(folder: Path, name: str, tools: list[dict[str, Any]], *options: str) -> dict[str, Any]:
    """The entry of a scripted server; what it was asked stands in ``NAME.journal``."""
    write_tools(folder, name, tools)
    arguments = [str(HERE / "office.py"), str(folder / f"{name}.json")]
    return {
        "command": sys.executable,
        "args": ["-S", *arguments, "--journal", str(folder / f"{name}.journal"), *options],
    }


def write_tools(folder: Path, name: str, tools: list[dict[str, Any]]) -> None:
    """What the server ``name`` lists from now on."""
    (folder / f"{name}.json").write_text(json.dumps(tools), encoding="utf-8")


def journal(folder: Path, name: str) -> list[list[Any]]:
    """What the server ``name`` was asked."""
    path = folder / f"{name}.journal"
    return (
        [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    )


def node(name: str, *arguments: str, **entry: Any) -> dict[str, Any]:
    """The entry of a reference server in JavaScript."""
    if not (NODE / name).exists():
        pytest.skip("tests/servers/node_modules is absent: npm ci --prefix tests/servers")
    return {"command": str(NODE / name), "args": list(arguments), **entry}


def python_server(name: str) -> dict[str, Any]:
    """The entry of a reference server in Python."""
    return {"command": sys.executable, "args": ["-m", f"mcp_server_{name}"]}


def made(folder: Path, servers: dict[str, Any], **settings: Any) -> Gateway:
    """A gateway that is not running yet; its state is in ``folder / "state"``."""
    configs = [server_config(name, entry, os.environ) for name, entry in servers.items()]
    return Gateway(configs, folder / "state", GatewaySettings.model_validate(settings))


@asynccontextmanager
async def running(folder: Path, servers: dict[str, Any], **settings: Any) -> AsyncIterator[Gateway]:
    """A gateway whose servers have answered, or had the time to."""
    gateway = made(folder, servers, **settings)
    with anyio.fail_after(LONGEST):
        async with gateway.running():
            await gateway.settled.wait()
            yield gateway


def client(gateway: Gateway, era: str = "auto", profile: str = "", **options: Any) -> Client:
    """A client of the gateway in this process."""
    return Client(GatewayServer(gateway, profile), mode=era, **options)  # type: ignore[arg-type]


@asynccontextmanager
async def over_http(gateway: Gateway) -> AsyncIterator[str]:
    """Serve over HTTP; gives the address.  The gateway runs within."""
    config = uvicorn.Config(
        http_app(gateway, "127.0.0.1"), port=0, log_level="critical", ws="none", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    with anyio.fail_after(LONGEST):
        async with anyio.create_task_group() as group:
            group.start_soon(server.serve)
            while not server.started:
                await anyio.sleep(0.02)
            port = server.servers[0].sockets[0].getsockname()[1]
            await gateway.settled.wait()
            try:
                yield f"http://127.0.0.1:{port}"
            finally:
                server.should_exit = True


@asynccontextmanager
async def http_client(
    address: str, token: str = "", era: str = "auto", **options: Any
) -> AsyncIterator[Client]:
    """A client over HTTP with a bearer token."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=20) as http,
        Client(streamable_http_client(address, http_client=http), mode=era, **options) as made,  # type: ignore[arg-type]
    ):
        yield made


async def call(client: Client, name: str, via: str = "call_tool", **arguments: Any) -> CallToolResult:
    """Call a tool by the name ``find_tools`` gives."""
    return await client.call_tool(via, {"name": name, "arguments": arguments})


def text(result: CallToolResult) -> str:
    """The text of a result."""
    return "".join(part.text for part in result.content if part.type == "text")


async def names(client: Client) -> list[str]:
    """The tools a client sees."""
    return [tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools]


async def found(client: Client, task: str, **limits: int) -> list[str]:
    """The names ``find_tools`` gives, best first."""
    result = await client.call_tool("find_tools", {"task": task, **limits})
    assert not result.is_error, text(result)
    return [tool["name"] for tool in (result.structured_content or {})["tools"]]


async def until(true: Callable[[], bool], seconds: float = 15.0) -> None:
    """Wait until something is so."""
    with anyio.fail_after(seconds):
        while not true():
            await anyio.sleep(0.02)


def outcomes(gateway: Gateway) -> list[tuple[str, str]]:
    """Tool and outcome of every call that is remembered."""
    return [(row["tool"], row["outcome"]) for row in gateway.memory.rows("calls")]
