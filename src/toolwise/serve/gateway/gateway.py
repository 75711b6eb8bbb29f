"""The gateway itself: upstreams behind it, one view of their tools, and who sees what of it."""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Hashable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import anyio.to_thread
from mcp.shared.dispatcher import ProgressFnT
from mcp_types import CallToolResult, ClientCapabilities, InputRequest, InputResponse, Tool

from toolwise.catalog.mcp_config import ServerConfig
from toolwise.config import settings as house
from toolwise.errors import ToolwiseError, UpstreamUnavailable
from toolwise.expose import export_name
from toolwise.policy import Policy, load_policy, matches, revise
from toolwise.records import Exposure, Level
from toolwise.serve.gateway import lists, surface
from toolwise.serve.gateway.arguments import Arguments
from toolwise.serve.gateway.guard import Access, Guard, Reach, Session, Sessions
from toolwise.serve.gateway.library import Library, Listing, View
from toolwise.serve.gateway.memory import Caller, Memory
from toolwise.serve.gateway.settings import GatewaySettings
from toolwise.serve.gateway.upstream import Upstream

LOGS = "logs"
"""Folder, within the state folder, of what upstreams write to stderr."""
_SETTLE = 0.1
"""Seconds in which changes of several upstreams count as one."""
_LOOK = 30.0
"""Seconds after which the state folder is looked at again though no upstream has said a word."""
_AGAIN = 2.0
"""Seconds after which a failed attempt to index is made again."""
_RETIRE = 30.0
"""Seconds for which requests may go on using a view that is out of date."""
_DAY = 86_400.0
_MOST_REACHES = 256
_AT_ONCE = 2
"""Searches that run at a time: more threads would only wait for one another."""

_log = logging.getLogger(__name__)

Ask = Callable[[str], Awaitable[bool]]
"""Asks the person behind the client; False where they decline."""
Reply = Callable[[InputRequest], Awaitable[InputResponse]]
"""Puts a question to a client.  Raises MCPError where it answers with an error, or not at all."""


@dataclass(frozen=True)
class Request:
    """Who asks, with what access, and how they can be reached back."""

    caller: Caller
    access: Access
    ask: Ask | None = None
    """Asks the person for the gateway; None where nobody can be asked."""
    reply: Reply | None = None
    """Puts a server's question to the client; None where that cannot be done."""
    capabilities: ClientCapabilities | None = None
    client: Hashable = None
    """Equal for requests that surely come from the same client, and for no others."""
    progress: ProgressFnT | None = None
    legacy: bool = False
    """Whether the client speaks a revision before 2026-07-28: its list may change with the session."""
    profile: str = ""
    """The profile whose surface this is; empty for the gateway's own."""


class Gateway:
    """Everything but calls (:mod:`toolwise.serve.gateway.calling`) and the protocol."""

    def __init__(self, servers: Sequence[ServerConfig], state: Path, settings: GatewaySettings) -> None:
        """``state`` is the folder of the index, the log and the approvals.

        Raises PolicyError for a policy of the settings that cannot be used, GatewayError for a state
        folder that cannot.
        """
        self.settings = settings
        policy = load_policy(settings.policy or house().policy)
        self._access: dict[str | None, Access] = {None: Access(policy)}
        for name, token in settings.tokens.items():
            own = load_policy(token.policy) if token.policy else policy
            self._access[name] = Access(own, frozenset(token.scopes), token.profile, bool(token.policy))
        self._policies: dict[str, Policy] = {
            name: load_policy(profile.policy) for name, profile in settings.profiles.items() if profile.policy
        }
        self.memory = Memory(state, keep_arguments=settings.keep_arguments)
        self._forgets = 0.0
        self._forget()
        self._library = Library(state, self.memory, settings.changed)
        self.upstreams: dict[str, Upstream] = {
            server.name: Upstream(
                server,
                state / LOGS / f"{export_name(server.name)}.log",
                self._notice,
                call_timeout=settings.call_timeout,
                start_timeout=settings.start_timeout,
                answer_timeout=settings.approval_timeout,
                forward=_forwarded(settings, server.name),
            )
            for server in servers
        }
        self.guard = Guard(settings)
        self.arguments = Arguments()
        self._searching = anyio.CapacityLimiter(_AT_ONCE)
        self.sessions = Sessions(settings.session_idle)
        self._reaches: dict[tuple[int, Access], Reach] = {}
        self._own: dict[tuple[int, Access], list[Tool]] = {}
        self._lists: dict[tuple[int, Access, str], tuple[str, ...]] = {}
        self._beside: dict[tuple[int, Access, tuple[str, ...]], tuple[str, ...]] = {}
        self._view: View | None = None
        self._built: object = None
        self._version = 0
        self._changed = anyio.Event()
        self._tasks: anyio.abc.TaskGroup | None = None
        self.settled = anyio.Event()
        """Set once all servers have answered, or had the time to: answers wait for it."""
        self.on_change: list[Callable[[], Awaitable[None]]] = []
        """Told after the set of tools has changed."""

    def _notice(self, upstream: Upstream) -> None:
        self._changed.set()

    def open(self) -> None:
        """Take up the state of the last run; what keeps a gateway from starting is raised here.

        Blocking.  Raises what indexing and opening raise.
        """
        self._take(self._library.build([Listing(name, None) for name in self.upstreams]))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Connect to all upstreams and keep the view up to date; serving can begin within."""
        if self._view is None:
            await anyio.to_thread.run_sync(self.open)
        try:
            async with anyio.create_task_group() as group:
                for upstream in self.upstreams.values():
                    group.start_soon(upstream.run)
                group.start_soon(self._follow)
                self._tasks = group
                try:
                    yield
                finally:
                    self._tasks = None
                    group.cancel_scope.cancel()
        finally:
            self.view.selector.close()
            self.memory.close()

    def start(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Begin some work that may outlive the request that it is for; it must not raise.

        Raises UpstreamUnavailable while the gateway is not running.
        """
        if self._tasks is None:
            raise UpstreamUnavailable("the gateway is not running.", server="")
        self._tasks.start_soon(work)

    async def _follow(self) -> None:
        async with anyio.create_task_group() as group:
            with anyio.move_on_after(self.settings.start_wait):
                for upstream in self.upstreams.values():
                    await upstream.first_listing()
            wait = await self._step(group)
            self.settled.set()
            while True:
                with anyio.move_on_after(wait):  # approvals are given in another process
                    await self._changed.wait()
                    await anyio.sleep(_SETTLE)
                wait = await self._step(group)

    def _forget(self) -> None:
        """Remove what is older than the settings keep; once a day."""
        if time.monotonic() >= self._forgets:
            self._forgets = time.monotonic() + _DAY
            self.memory.forget(self.settings.keep_days)

    async def _step(self, group: anyio.abc.TaskGroup) -> float:
        """Bring the view up to date; returns after how many seconds to look again."""
        self._changed = anyio.Event()
        try:
            await anyio.to_thread.run_sync(self._forget)
            old = await self._rebuild()
        except (ToolwiseError, OSError, sqlite3.Error) as error:
            _log.error("the tools could not be indexed again, the old state is kept: %s", error)
            return _AGAIN
        if old is not None:
            group.start_soon(self._retire, old)
            for tell in self.on_change:
                await tell()
        return _LOOK

    async def _retire(self, old: View) -> None:
        try:
            await anyio.sleep(_RETIRE)
        finally:
            old.selector.close()
        await anyio.to_thread.run_sync(self.view.selector.index.renew)

    async def _rebuild(self) -> View | None:
        """Make a new view where anything has changed; returns the old one if so."""
        states = [(u.name, u.status) for u in self.upstreams.values()]
        facts = ([(name, status.digest) for name, status in states], self.memory.stamp())
        old = self.view
        if facts == self._built and await anyio.to_thread.run_sync(self._is_current, old):
            return None
        listings = [
            Listing(name, status.listing if status.digest else None, status.cut) for name, status in states
        ]
        view = await anyio.to_thread.run_sync(self._library.build, listings)
        self._built = (facts[0], self.memory.stamp())
        if view.state == old.state:
            view.selector.close()
            return None
        self._take(view)
        return old

    def _is_current(self, view: View) -> bool:
        """Whether nobody has written the index, or taught it, since ``view`` was made."""
        return view.selector.index.is_current() and view.learned == self._library.learned()

    def _take(self, view: View) -> None:
        for problem in view.problems:
            _log.warning("%s: %s %s", problem.tool, problem.pointer, problem.message)
        self._view = view
        self._version += 1
        for kept in (self._reaches, self._own, self._lists, self._beside):
            kept.clear()

    @property
    def version(self) -> int:
        """Goes up with every change of the tools."""
        return self._version

    @property
    def view(self) -> View:
        """The present state of the tools.  Raises UpstreamUnavailable before there is one."""
        if self._view is None:
            raise UpstreamUnavailable("the gateway has not read its servers yet; try again.", server="")
        return self._view

    def access(self, who: str | None = None) -> Access:
        """What the token called ``who`` may reach; without tokens, what the gateway's policy admits."""
        return self._access[who]

    def reach(self, access: Access) -> Reach:
        """What ``access`` can reach in the present view."""
        key = (self._version, access)
        if key not in self._reaches:
            if len(self._reaches) >= _MOST_REACHES:
                self._reaches.clear()
            self._reaches[key] = Reach(self.view, access)
        return self._reaches[key]

    def in_profile(self, access: Access, name: str) -> Access:
        """``access`` within a profile: its policy counts where it has one of its own."""
        policy = self._policies.get(name)
        return (
            access
            if policy is None
            else replace(access, policy=policy, also=access.policy if access.own else None)
        )

    async def profile_ids(self, access: Access, name: str) -> tuple[str, ...]:
        """The tools of a profile, the same until the tools change: named ones, then those its tasks need."""
        key = (self._version, access, name)
        if key not in self._lists:
            reach, profile = self.reach(access), self.settings.profiles[name]
            found = await anyio.to_thread.run_sync(lists.profile_ids, reach, profile, limiter=self._searching)
            if key[0] != self._version:
                return found
            self._lists[key] = found
        return self._lists[key]

    async def tools(self, request: Request) -> list[Tool]:
        """The list of a surface: a profile's tools, or the gateway's own, pinned and found ones."""
        reach = self.reach(request.access)
        if request.profile:
            return lists.shown(reach, await self.profile_ids(request.access, request.profile))
        return self.own_tools(request.access) + lists.shown(reach, self.listed_ids(request))

    def own_tools(self, access: Access) -> list[Tool]:
        """``find_tools`` and the call tools."""
        key = (self._version, access)
        if key not in self._own:
            if len(self._own) >= _MOST_REACHES:
                self._own.clear()
            self._own[key] = surface.own_tools(self.reach(access), split=self.settings.split_calls)
        return self._own[key]

    def listed_ids(self, request: Request) -> tuple[str, ...]:
        """The tools beside the gateway's own: pinned ones and, where lists are dynamic, found ones.

        The rules of the policy hold over them together; of tools that it does not admit side by side, pins
        stay before found ones, and those of newer answers before those of older ones.
        """
        reach = self.reach(request.access)
        found: Sequence[str] = ()
        if self.settings.dynamic_lists and request.legacy:
            shown = self.session(request).shown
            found = sorted(shown.keys() & reach.ids, key=lambda id_: (-shown[id_], id_))
        wanted = (*reach.pins, *found)
        key = (self._version, request.access, wanted)
        if key not in self._beside:
            if len(self._beside) >= _MOST_REACHES:
                self._beside.clear()
            self._beside[key] = lists.beside(reach, wanted)
        return self._beside[key]

    def session(self, request: Request) -> Session:
        """What the caller has done so far."""
        return self.sessions.get(request.caller.who, request.caller.session)

    async def find(self, request: Request, task: str, limits: Mapping[str, int]) -> CallToolResult:
        """The tools for ``task``; ``limits`` (``max_tools``, ``max_level``) only narrow the policy."""
        reach = self.reach(request.access)
        start = time.perf_counter()
        exposure, others, result = await anyio.to_thread.run_sync(
            _answer, reach, task, limits, limiter=self._searching
        )
        spent = 1000 * (time.perf_counter() - start)
        number = self.memory.exposed(request.caller, exposure, reach.tokens, spent)
        session = self.session(request)
        session.shown.update({tool.id: number for tool in exposure.tools})
        session.named.update(dict.fromkeys(others, number) | {tool.id: number for tool in exposure.tools})
        return result


def _forwarded(settings: GatewaySettings, server: str) -> frozenset[str]:
    """What ``server`` may ask of clients."""
    globs = {
        "elicitation": settings.forward_elicitation,
        "sampling": settings.forward_sampling,
        "roots": settings.forward_roots,
    }
    return frozenset(what for what, own in globs.items() if matches((server,), own)[0])


def _answer(
    reach: Reach, task: str, limits: Mapping[str, int]
) -> tuple[Exposure, tuple[str, ...], CallToolResult]:
    """What is shown, the ids that are named with it, and the answer as it is sent."""
    selector = reach.view.selector
    within = None if reach.rows.all() else reach.ids
    exposure = selector.select(task, _narrowed(reach.policy, limits), within=within)
    ranked = selector.rank(task, surface.ALTERNATIVES + len(exposure.tools), within=within)
    most = limits.get("max_level", Level.CRITICAL)
    near = tuple(c for c in ranked.candidates if selector.index.levels[c.row] <= most)
    ranked = replace(ranked, candidates=near)
    others = selector.index.tools([candidate.id for candidate in near])
    texts = {audited.tool.id: audited.tool.text.description for audited in others}
    return exposure, tuple(texts), surface.found(exposure, ranked, reach.names, texts)


def _narrowed(policy: Policy, limits: Mapping[str, int]) -> Policy:
    changes: dict[str, int] = {}
    if "max_tools" in limits:
        changes["max_tools"] = min(limits["max_tools"], policy.max_tools)
    if "max_level" in limits:
        changes["max_level"] = min(limits["max_level"], policy.max_level or limits["max_level"])
    return revise(policy, **changes) if changes else policy
