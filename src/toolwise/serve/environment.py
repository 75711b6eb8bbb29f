"""MCP servers as the place where an agent's calls take effect: connected for a while, called by id."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.shared.exceptions import MCPError

from toolwise.catalog.mcp_config import ServerConfig
from toolwise.catalog.mcp_listing import McpListingReader
from toolwise.catalog.mcp_live import quiet_sdk
from toolwise.errors import UpstreamUnavailable
from toolwise.records import Json, Observation, Tool
from toolwise.serve.gateway.upstream import START, Upstream

if TYPE_CHECKING:
    from anyio.abc import TaskStatus
    from mcp_types import CallToolResult

CALL_TIMEOUT = 60.0
"""Seconds a tool may take."""


class Environment:
    """The servers of a configuration, started when entered and stopped when left.

    Only tools that are given may be called, and only while their server lists
    them with the definition that is given: what was audited is what is called.
    The servers live in an event loop of their own, in a thread of their own;
    :meth:`__call__` may come from any thread, one call at a time.
    """

    def __init__(
        self,
        servers: Sequence[ServerConfig],
        tools: Iterable[Tool],
        *,
        call_timeout: float = CALL_TIMEOUT,
        start_timeout: float = START,
    ) -> None:
        self._servers = {server.name: server for server in servers}
        self._tools = {tool.id: tool for tool in tools}
        self._call_timeout, self._start_timeout = call_timeout, start_timeout
        self._upstreams: dict[str, Upstream] = {}
        self._listed: dict[str, tuple[str, Mapping[str, str]]] = {}
        self._stack = ExitStack()
        self._portal: BlockingPortal | None = None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(quiet_sdk())
            logs = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="toolwise-servers-")))
            portal = stack.enter_context(start_blocking_portal("asyncio"))
            running, done = portal.start_task(self._run, logs)
            stack.callback(_finish, portal, running, done)
            self._portal = portal
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._portal = None
        self._stack.__exit__(kind, error, trace)  # after an error, calls under way are not waited for

    @property
    def away(self) -> dict[str, str]:
        """Servers that are not connected, with the reason."""
        return {
            name: upstream.status.error
            for name, upstream in sorted(self._upstreams.items())
            if not upstream.status.connected
        }

    def __call__(self, tool: str, arguments: Mapping[str, Json], /) -> Observation:
        """Call a tool by id; whatever goes wrong is the observation."""
        known = self._tools.get(tool)
        if known is None or self._portal is None:
            return Observation("there is no such tool here", ok=False, telling=False)
        seen: Observation = self._portal.call(self._call, known, dict(arguments))
        return seen

    async def _run(self, logs: Path, *, task_status: TaskStatus[anyio.Event]) -> None:
        """Keep the servers connected until told to stop."""
        done = anyio.Event()
        async with anyio.create_task_group() as group:
            for place, server in enumerate(self._servers.values()):
                upstream = Upstream(
                    server,
                    logs / f"{place}.log",
                    _ignore,
                    call_timeout=self._call_timeout,
                    start_timeout=self._start_timeout,
                )
                self._upstreams[server.name] = upstream
                group.start_soon(upstream.run)
            for upstream in self._upstreams.values():
                await upstream.first_listing()
            task_status.started(done)
            await done.wait()
            group.cancel_scope.cancel()

    async def _call(self, tool: Tool, arguments: dict[str, Any]) -> Observation:
        upstream = self._upstreams.get(tool.server)
        if upstream is None:
            return _unheard(f"server {tool.server!r} is not in the configuration")
        if not upstream.status.connected:
            return _unheard(f"server {tool.server!r} is not connected ({upstream.status.error})")
        if self._hashes(upstream).get(tool.name) != tool.content_hash:
            return _unheard(f"{tool.id} is not what the index holds any more; index its server again")
        try:
            result = await upstream.call(tool.name, arguments)
        except UpstreamUnavailable as error:
            return _unheard(self._masked(tool.server, error.message))
        except MCPError as error:
            return Observation(self._masked(tool.server, error.message), ok=False)
        return Observation(self._masked(tool.server, text_of(result)), ok=not result.is_error)

    def _hashes(self, upstream: Upstream) -> Mapping[str, str]:
        """What a server lists now: the hash of each definition by name; of two of one name the first."""
        digest = upstream.status.digest
        known = self._listed.get(upstream.name)
        if known is None or known[0] != digest:
            read = McpListingReader().read({"tools": upstream.status.listing}, "", upstream.name)
            known = digest, {tool.name: tool.content_hash for tool in reversed(read.tools)}
            self._listed[upstream.name] = known
        return known[1]

    def _masked(self, server: str, text: str) -> str:
        """``text`` without the secrets of the configuration: it goes to a model."""
        for secret in self._servers[server].secrets:
            text = text.replace(secret, "***")
        return text


def text_of(result: CallToolResult) -> str:
    """A result as the text a model reads; what is no text is named by its kind."""
    parts = [
        block.text if block.type == "text" else f"[{block.type.replace('_', ' ')}, not shown]"
        for block in result.content
    ]
    if not parts and result.structured_content is not None:
        return json.dumps(result.structured_content, ensure_ascii=False)
    return "\n".join(parts)


def _unheard(why: str) -> Observation:
    return Observation(why, ok=False, telling=False)


def _ignore(upstream: Upstream) -> None:
    """Listings that change are looked up when a tool is called."""


def _finish(portal: BlockingPortal, running: Future[None], done: anyio.Event) -> None:
    portal.call(done.set)
    running.result()
