"""One upstream MCP server: connected, listed, called and, where it dies, connected again.

Each upstream lives in a task of its own; whatever happens to it, others do not
notice.  What it listed last stays known, marked stale, while it is away.
"""

from __future__ import annotations

import json
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import anyio

from toolwise.catalog.mcp_config import ServerConfig
from toolwise.catalog.mcp_live import all_pages, failure_reason
from toolwise.catalog.mcp_transport import transport
from toolwise.catalog.mcp_wire import Tap
from toolwise.errors import UpstreamUnavailable
from toolwise.records import Json
from toolwise.serve.gateway.asking import Asker, Askers

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client._transport import TransportStreams
    from mcp.client.session import IncomingMessage
    from mcp.shared.dispatcher import ProgressFnT
    from mcp_types import CallToolResult, RequestParamsMeta

_Answer = TypeVar("_Answer")

FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0
"""Seconds before the first and before later attempts to connect again."""
SETTLED = 30.0
"""Seconds a connection must have held for the back-off to start anew."""
DEBOUNCE = 0.2
"""Seconds in which several notices of a changed list count as one."""
START = 30.0
"""Seconds an upstream may take from its start to its last page."""
LONGEST_LOG = 5_000_000
"""Bytes after which the log of a server makes room for a new one; one old log is kept."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Status:
    """How an upstream is doing."""

    connected: bool = False
    stale: bool = True
    """Whether the listing is of a connection that is gone, or there is none."""
    failures: int = 0
    """Attempts that failed since the last one that held."""
    error: str = "not connected yet"
    protocol: str = ""
    listing: list[dict[str, Json]] = field(default_factory=list)
    """The raw tools of the last good listing."""
    digest: str = ""
    """Of that listing; empty where there is none."""
    cut: str = ""
    """Why the listing ended early, if it did."""


class Upstream:
    """One server of the configuration, by its key there."""

    def __init__(
        self,
        server: ServerConfig,
        log: Path,
        changed: Callable[[Upstream], None],
        *,
        call_timeout: float = 120.0,
        start_timeout: float = START,
        answer_timeout: float = 0.0,
        forward: Collection[str] = (),
        rng: random.Random | None = None,
    ) -> None:
        """``changed`` is told of every listing that differs from the one before; stderr goes to ``log``.

        ``forward`` names what the server may ask of clients (``elicitation``, ``sampling``, ``roots``), who
        have ``answer_timeout`` seconds for it.
        """
        self.name = server.name
        self.status = Status()
        self._server, self._log_path, self._changed = server, log, changed
        self._call_timeout, self._start_timeout = call_timeout, start_timeout
        self._answer_timeout, self._forward = answer_timeout, frozenset(forward)
        self._askers = Askers(server.name, call_timeout)
        self._rng = rng or random.Random()
        self._client: Client | None = None
        self._listed = anyio.Event()
        self._lost = anyio.Event()
        self._again = anyio.Event()

    async def run(self) -> None:
        """Keep the server connected until cancelled."""
        while True:
            began, known = anyio.current_time(), self.status.error
            try:
                await self._connection()
                self.status.error = "the server closed the connection"
            except Exception as error:  # a boundary: no fault of one server may reach another
                self.status.error = failure_reason(error, self._server)
            held = self._client is not None and anyio.current_time() - began >= SETTLED
            self.status.connected, self.status.stale = False, True
            self.status.failures = 1 if held else self.status.failures + 1
            self._client = None
            self._listed.set()
            repeated = known == self.status.error and not held
            _log.log(logging.INFO if repeated else logging.WARNING, "%s: %s", self.name, self.status.error)
            longest = min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(self.status.failures - 1, 10))
            await anyio.sleep(longest * self._rng.uniform(0.5, 1.0))

    async def first_listing(self) -> None:
        """Wait until the first attempt to list has succeeded or failed."""
        await self._listed.wait()

    async def call(
        self,
        name: str,
        arguments: dict[str, Any],
        *,
        progress: ProgressFnT | None = None,
        meta: RequestParamsMeta | None = None,
        asker: Asker | None = None,
    ) -> CallToolResult:
        """Call a tool by the server's own name for it; raises as :meth:`ask` does."""
        return await self.ask(
            lambda client: client.call_tool(name, arguments, progress_callback=progress, meta=meta), asker
        )

    async def ask(
        self, question: Callable[[Client], Awaitable[_Answer]], asker: Asker | None = None
    ) -> _Answer:
        """Put a question to the server; what it asks in return goes to ``asker``, if it is surely meant.

        Raises UpstreamUnavailable where there is no connection, it is lost or
        silent for too long meanwhile, or the answer is none; MCPError as the
        server answers.
        """
        client, lost, askers = self.client(), self._lost, self._askers
        asker = asker or Asker()
        answers: list[_Answer] = []

        async def give_up(scope: anyio.CancelScope) -> None:
            await lost.wait()
            scope.cancel()

        try:
            async with anyio.create_task_group() as group:
                group.start_soon(give_up, group.cancel_scope)
                with anyio.fail_after(self._call_timeout) as asker.clock, askers.during(asker):
                    answers.append(await question(client))
                group.cancel_scope.cancel()
        except Exception as error:  # whatever it is, this call alone has failed
            raise self._fault(error, lost) from error
        if not answers:
            raise self._unavailable("was lost during the call")
        return answers[0]

    def _fault(self, error: BaseException, lost: anyio.Event) -> Exception:
        """What a failed question means to whoever asked."""
        from mcp.shared.exceptions import MCPError
        from pydantic import ValidationError

        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, TimeoutError):
            return UpstreamUnavailable(
                f"server {self.name!r} did not answer within {self._call_timeout:g} s. Try later, or raise "
                "call_timeout.",
                server=self.name,
            )
        if isinstance(error, ValidationError | RuntimeError):
            return UpstreamUnavailable(
                f"server {self.name!r} gave an answer that the protocol does not know.", server=self.name
            )
        if isinstance(error, MCPError) and not lost.is_set():
            return MCPError(error.code, error.message, error.data)
        if lost is self._lost:
            self._lose()  # the transport failed, not the tool
        return self._unavailable("was lost during the call")

    def client(self) -> Client:
        """The live connection.  Raises UpstreamUnavailable where there is none."""
        if self._client is None or self._lost.is_set():
            raise self._unavailable(f"is not connected ({self.status.error})")
        return self._client

    def _unavailable(self, what: str) -> UpstreamUnavailable:
        return UpstreamUnavailable(
            f"server {self.name!r} {what}. It is being connected again; try later.", server=self.name
        )

    async def _connection(self) -> None:
        """One connection from its start to its end."""
        from mcp import Client

        self._client, self._askers = None, Askers(self.name, self._call_timeout)
        self._lost, self._again = anyio.Event(), anyio.Event()
        self._make_room()
        with self._log_path.open("ab", buffering=0) as log:
            pages: list[dict[str, Json]] = []
            streams = self._streams(log, pages)
            with anyio.move_on_after(self._start_timeout) as starting:
                async with Client(
                    streams,
                    mode="auto",
                    cache=None,
                    message_handler=self._hear,
                    elicitation_callback=self._askers.elicited if "elicitation" in self._forward else None,
                    sampling_callback=self._askers.sampled if "sampling" in self._forward else None,
                    list_roots_callback=self._askers.rooted if "roots" in self._forward else None,
                ) as client:
                    await self._list(client, pages)
                    starting.deadline = float("inf")
                    self._client = client
                    await self._watch(client, pages)
            if starting.cancelled_caught:
                raise TimeoutError(
                    f"it took longer than {self._start_timeout:g} s to start and list its tools"
                )

    def _lose(self) -> None:
        self._lost.set()
        self.status.connected, self.status.stale = False, True
        self.status.error = "the server closed the connection"

    def _make_room(self) -> None:
        self._log_path.parent.mkdir(parents=True, exist_ok=True)
        if self._log_path.exists() and self._log_path.stat().st_size > LONGEST_LOG:
            self._log_path.replace(self._log_path.with_suffix(".old.log"))

    @asynccontextmanager
    async def _streams(self, log: IO[bytes], pages: list[dict[str, Json]]) -> AsyncIterator[TransportStreams]:
        patience = max(self._call_timeout, self._answer_timeout)
        async with transport(self._server, log, patience) as (read, write):
            yield Tap(read, pages, callable=True, ended=self._lose), write

    async def _list(self, client: Client, pages: list[dict[str, Json]]) -> None:
        """List all pages; the listing is replaced as a whole."""
        pages.clear()
        cut = await all_pages(client, pages)
        listing = [tool for page in pages for tool in page["tools"]]
        pages.clear()
        known, self.status.digest = self.status.digest, _digest(listing, cut)
        self.status.listing, self.status.cut = listing, cut
        self.status.connected, self.status.stale, self.status.error = True, False, ""
        self.status.protocol = client.protocol_version
        self._listed.set()
        if known != self.status.digest:
            self._changed(self)

    async def _watch(self, client: Client, pages: list[dict[str, Json]]) -> None:
        """List again when the server says so; return when the connection is lost."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._listen, client)
            group.start_soon(self._relist, client, pages)
            await self._lost.wait()
            group.cancel_scope.cancel()

    async def _relist(self, client: Client, pages: list[dict[str, Json]]) -> None:
        while True:
            await self._again.wait()
            await anyio.sleep(DEBOUNCE)
            self._again = anyio.Event()
            with anyio.fail_after(self._start_timeout):
                await self._list(client, pages)

    async def _listen(self, client: Client) -> None:
        """Notices of a changed list where they come over a subscription (2026-07-28 on)."""
        from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
        from mcp.shared.exceptions import MCPError

        tools = client.server_capabilities.tools
        if tools is None or not tools.list_changed:
            return
        while True:
            try:
                async with client.listen(tools_list_changed=True) as events:
                    async for _ in events:
                        self._again.set()
            except (ListenNotSupportedError, MCPError, TimeoutError):
                return
            except SubscriptionLost:
                pass
            self._again.set()  # what was missed meanwhile
            await anyio.sleep(1.0)

    async def _hear(self, message: IncomingMessage) -> None:
        from mcp_types import ToolListChangedNotification

        if isinstance(message, ToolListChangedNotification):
            self._again.set()


def _digest(listing: list[dict[str, Json]], cut: str) -> str:
    return sha256(json.dumps([listing, cut], sort_keys=True).encode()).hexdigest()
