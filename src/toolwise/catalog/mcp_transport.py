"""The streams to one MCP server: its process is started, or its address is reached."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import IO, TYPE_CHECKING, TextIO, cast

from toolwise.catalog.mcp_config import ServerConfig

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

MAX_EVENT = 64 * 1024 * 1024
"""Bytes of one message over HTTP: one page of a large server is more than the SDK's 1 MiB."""


@asynccontextmanager
async def transport(server: ServerConfig, log: IO[bytes], timeout: float) -> AsyncIterator[TransportStreams]:
    """The read and the write stream; what the server says on stderr, or HTTP errors, goes to ``log``.

    A started process sees the environment of its entry and nothing else.
    """
    if server.transport == "stdio":
        from mcp import StdioServerParameters
        from mcp.client.stdio import stdio_client

        parameters = StdioServerParameters(
            command=server.command,
            args=list(server.args),
            env=dict(server.env),
            cwd=server.cwd,
            encoding_error_handler="replace",
        )
        async with stdio_client(parameters, errlog=cast(TextIO, log)) as (read, write):
            yield read, write
    elif server.transport == "sse":
        from mcp.client.sse import sse_client

        async with sse_client(server.url, headers=dict(server.headers), timeout=timeout) as (read, write):
            yield read, write
    else:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        async def note(response: httpx2.Response) -> None:
            if response.is_error:
                log.write(f"HTTP {response.status_code} {response.reason_phrase}\n".encode())

        hooks = {"response": [note]}
        async with (
            httpx2.AsyncClient(headers=dict(server.headers), timeout=timeout, event_hooks=hooks) as http,
            streamable_http_client(server.url, http_client=http, max_sse_event_size=MAX_EVENT) as (
                read,
                write,
            ),
        ):
            yield read, write
