"""Tools from running MCP servers: those of an ``mcpServers`` configuration, started or reached and asked."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import IO, TYPE_CHECKING

from toolwise.catalog.mcp_config import ServerConfig, server_config
from toolwise.catalog.mcp_listing import McpListingReader
from toolwise.catalog.mcp_transport import transport
from toolwise.catalog.mcp_wire import Tap
from toolwise.catalog.merge import merge
from toolwise.config import environment
from toolwise.errors import CatalogueError, MissingExtra
from toolwise.protocols import Progress, silent
from toolwise.records import Catalogue, Json, Problem, as_mapping
from toolwise.text import count

if TYPE_CHECKING:
    from mcp import Client
    from mcp.client._transport import TransportStreams

TIMEOUT = 30.0
"""Seconds one server may take from its start to its last page."""
_AT_ONCE = 4
_MAX_PAGES = 1000


@dataclass(slots=True)
class _Listing:
    """What came of asking one server."""

    server: str
    pages: list[dict[str, Json]] = field(default_factory=list)
    failure: str = ""
    pointer: str = ""
    cut: str = ""


def list_servers(
    config: Mapping[str, Json], source: str, progress: Progress = silent, *, timeout: float = TIMEOUT
) -> Catalogue:
    """The tools of every server in ``config`` (the value of ``mcpServers``), ids ``server/name``.

    Servers are named by their key in ``config``, never by what they call
    themselves; entries marked ``disabled`` are left out.  A server that fails
    or takes longer than ``timeout`` seconds is a problem of the catalogue, and
    what it had listed before is kept.  Runs the commands of ``config``.

    Raises MissingExtra without the MCP SDK, CatalogueError where ``config`` is
    not an object.
    """
    if not isinstance(config, Mapping):
        raise CatalogueError(
            f"{source}: 'mcpServers' is not an object; expected one entry per server, by name.", source=source
        )
    if find_spec("mcp") is None:
        raise MissingExtra(
            'Asking MCP servers for their tools needs the MCP SDK. Run: pip install "toolwise[gateway]"',
            extra="gateway",
        )
    entries = {
        str(name): entry for name, entry in config.items() if as_mapping(entry).get("disabled") is not True
    }
    listings = _run(entries, progress, timeout)
    return merge([_catalogue(listing, source) for listing in listings])


def _catalogue(listing: _Listing, source: str) -> Catalogue:
    tools = [tool for page in listing.pages for tool in page["tools"]]
    read = McpListingReader().read({"tools": tools}, source, listing.server)
    own = []
    if listing.failure:
        rest = f" (kept from before: {count(len(tools), 'tool')})" if tools else ""
        message = f"{listing.failure}{rest}"
        own.append(Problem(source, listing.server, listing.pointer, message, kept=False))
    if listing.cut:
        own.append(Problem(source, listing.server, "/nextCursor", listing.cut, kept=True))
    return Catalogue(read.tools, (*read.problems, *own), (listing.server,) if listing.failure else ())


def _run(entries: Mapping[str, Json], progress: Progress, timeout: float) -> list[_Listing]:
    """Ask all servers, from ordinary code as well as from a thread in which an event loop is running."""

    def work() -> list[_Listing]:
        with quiet_sdk():
            return asyncio.run(_ask_all(entries, progress, timeout))

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


@contextmanager
def quiet_sdk() -> Iterator[None]:
    """Keep the SDK's records of bad lines off the terminal where the application has set up no logging."""
    handler = logging.NullHandler()
    loggers = [logging.getLogger(name) for name in ("mcp", "client")]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)


async def _ask_all(entries: Mapping[str, Json], progress: Progress, timeout: float) -> list[_Listing]:
    import anyio

    listings = [_Listing(name) for name in entries]
    places = anyio.CapacityLimiter(_AT_ONCE)
    done = 0

    async def one(listing: _Listing) -> None:
        nonlocal done
        async with places:
            await _ask(listing, entries[listing.server], timeout)
        done += 1
        progress("servers", done, len(listings))

    async with anyio.create_task_group() as group:
        for listing in listings:
            group.start_soon(one, listing)
    return listings


async def _ask(listing: _Listing, entry: Json, timeout: float) -> None:
    """Fill ``listing``; whatever goes wrong is written there and never raised."""
    import anyio

    try:
        server = server_config(listing.server, entry, environment())
    except CatalogueError as error:
        listing.failure, listing.pointer = error.message, error.pointer
        return
    reason = ""
    with tempfile.TemporaryFile() as log:
        with anyio.move_on_after(timeout) as limit:
            try:
                await _list(listing, server, log, timeout)
            except Exception as error:  # a foreign process or address: any error is that server's alone
                reason = failure_reason(error, server)
        if limit.cancelled_caught or (reason and limit.cancel_called):
            reason = f"it did not answer within {timeout:g} s"
        if reason:
            listing.failure = reason + _last_words(log, server)


async def _list(listing: _Listing, server: ServerConfig, log: IO[bytes], timeout: float) -> None:
    from mcp import Client

    tapped = _tapped(server, log, listing.pages, timeout)
    async with Client(tapped, mode="auto", cache=None, read_timeout_seconds=timeout) as client:
        listing.cut = await all_pages(client, listing.pages)


async def all_pages(client: Client, pages: list[dict[str, Json]]) -> str:
    """Ask for page after page (the tap keeps them); returns why it stopped early, or ``""``."""
    from pydantic import ValidationError

    cursor: str | None = None
    seen: set[str] = set()
    while True:
        before = len(pages)
        try:
            await client.list_tools(cursor=cursor, cache_mode="bypass")
        except ValidationError:
            if len(pages) == before:
                raise
        if not isinstance(pages[-1]["tools"], list):
            pages.pop()
            raise CatalogueError("its answer to tools/list holds no list of tools")
        cursor = pages[-1].get("nextCursor")
        if cursor is None:
            return ""
        if not isinstance(cursor, str) or not cursor:
            return f"the cursor of page {len(pages)} is {cursor!r}; taken as the last page"
        if cursor in seen:
            return f"the cursor of page {len(pages)} has come before; the pages up to there are kept"
        if len(pages) >= _MAX_PAGES:
            return f"there is no end after {_MAX_PAGES} pages; these are kept"
        seen.add(cursor)


@asynccontextmanager
async def _tapped(
    server: ServerConfig, log: IO[bytes], pages: list[dict[str, Json]], timeout: float
) -> AsyncIterator[TransportStreams]:
    async with transport(server, log, timeout) as (read, write):
        yield Tap(read, pages), write


def failure_reason(error: Exception, server: ServerConfig) -> str:
    """The innermost cause, as a clause."""
    leaf: BaseException = error
    while isinstance(leaf, BaseExceptionGroup):
        leaf = leaf.exceptions[0]
    if isinstance(leaf, FileNotFoundError | PermissionError | NotADirectoryError):
        return f"{leaf.filename or server.command} could not be started: {leaf.strerror}"
    if isinstance(leaf, CatalogueError):
        return leaf.message
    text = _printable(str(leaf), server.secrets)[:300]
    return f"it failed with {type(leaf).__name__}{': ' if text else ''}{text}"


def _last_words(log: IO[bytes], server: ServerConfig) -> str:
    """The end of what a server wrote to its standard error."""
    log.seek(0, 2)
    log.seek(max(0, log.tell() - 4000))
    text = _printable(log.read().decode("utf-8", "replace"), server.secrets)[-300:]
    return f" (its last words: {text})" if text else ""


def _printable(text: str, secrets: Sequence[str]) -> str:
    """Foreign text as one line that is safe to show: no control characters, no configured secrets."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
