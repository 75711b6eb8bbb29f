"""The gateway itself: upstreams behind it, one view of their tools, and every answer and call through it."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import numpy as np
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, Tool

from toolwise.catalog.mcp_config import ServerConfig
from toolwise.config import settings as house
from toolwise.errors import CallRefused, ToolwiseError, UpstreamUnavailable
from toolwise.policy import Policy, load_policy
from toolwise.policy.eligibility import matches
from toolwise.policy.policy import revise
from toolwise.records import AuditedTool, Exposure
from toolwise.serve.gateway import surface
from toolwise.serve.gateway.arguments import fault
from toolwise.serve.gateway.guard import Access, Approval, Guard, Kind, Reach, Session, Sessions, kind
from toolwise.serve.gateway.library import Library, Listing, View
from toolwise.serve.gateway.memory import Call, Caller, Memory
from toolwise.serve.gateway.settings import GatewaySettings, Profile
from toolwise.serve.gateway.upstream import Upstream

LOGS = "logs"
"""Folder, within the state folder, of what upstreams write to stderr."""
_SETTLE = 0.1
"""Seconds in which changes of several upstreams count as one."""
_LOOK = 30.0
"""Seconds after which the state folder is looked at again though no upstream has said a word."""
_MOST_REACHES = 256

_log = logging.getLogger(__name__)

Ask = Callable[[str], Awaitable[bool]]
"""Asks the person behind the client; False where they decline."""


@dataclass(frozen=True)
class Request:
    """Who asks, with what access, and how they can be reached back."""

    caller: Caller
    access: Access
    ask: Ask | None = None
    """None where nobody can be asked."""
    progress: ProgressFnT | None = None


class Gateway:
    """Everything but the protocol: :mod:`toolwise.serve.gateway.protocol` speaks for it."""

    def __init__(self, servers: Sequence[ServerConfig], state: Path, settings: GatewaySettings) -> None:
        """``state`` is the folder of the index, the log and the approvals.

        Raises PolicyError for a policy of the settings that cannot be used, GatewayError for a state
        folder that cannot.
        """
        self.settings = settings
        self._policy = load_policy(settings.policy or house().policy)
        self.memory = Memory(state, keep_arguments=settings.keep_arguments)
        self._library = Library(state, self.memory, settings.changed)
        self.upstreams: dict[str, Upstream] = {
            server.name: Upstream(
                server,
                state / LOGS / f"{number:03d}.log",
                self._notice,
                call_timeout=settings.call_timeout,
                start_timeout=settings.start_timeout,
            )
            for number, server in enumerate(servers)
        }
        self._guard = Guard(settings)
        self.sessions = Sessions(settings.session_idle)
        self._reaches: dict[tuple[int, Access], Reach] = {}
        self._lists: dict[tuple[int, Access, str], tuple[str, ...]] = {}
        self._view: View | None = None
        self._version = 0
        self._changed = anyio.Event()
        self.on_change: list[Callable[[], Awaitable[None]]] = []
        """Told after the set of tools has changed."""

    def _notice(self, upstream: Upstream) -> None:
        self._changed.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Connect to all upstreams and keep the view up to date; serving can begin within."""
        async with anyio.create_task_group() as group:
            for upstream in self.upstreams.values():
                group.start_soon(upstream.run)
            with anyio.move_on_after(self.settings.start_timeout):
                for upstream in self.upstreams.values():
                    await upstream.first_listing()
            await self._rebuild()
            group.start_soon(self._follow)
            try:
                yield
            finally:
                group.cancel_scope.cancel()
        self.memory.close()

    async def _follow(self) -> None:
        while True:
            with anyio.move_on_after(_LOOK):  # approvals are given in another process
                await self._changed.wait()
                await anyio.sleep(_SETTLE)
            try:
                changed = await self._rebuild()
            except ToolwiseError as error:
                _log.error("the tools could not be indexed again, the old state is kept: %s", error.message)
                continue
            if changed:
                for tell in self.on_change:
                    await tell()

    async def _rebuild(self) -> bool:
        """Bring the view up to date; returns whether what can be called has changed."""
        self._changed = anyio.Event()
        listings = [
            Listing(
                u.name, None if u.status.stale and not u.status.listing else u.status.listing, u.status.cut
            )
            for u in self.upstreams.values()
        ]
        view = await anyio.to_thread.run_sync(self._library.build, listings)
        before = self._view
        if before is not None and (
            before.selector.index.generation == view.selector.index.generation and before.held == view.held
        ):
            view.selector.close()
            return False
        for problem in view.problems:
            _log.warning("%s: %s %s", problem.tool, problem.pointer, problem.message)
        self._view = view
        self._version += 1
        self._reaches.clear()
        self._lists.clear()
        return True

    @property
    def view(self) -> View:
        """The present state of the tools.  Raises UpstreamUnavailable before there is one."""
        if self._view is None:
            raise UpstreamUnavailable("the gateway has not read its servers yet; try again.", server="")
        return self._view

    def access(self, who: str | None = None) -> Access:
        """What the token called ``who`` may reach; without tokens, what the gateway's policy admits."""
        if who is None:
            return Access(self._policy)
        token = self.settings.tokens[who]
        policy = load_policy(token.policy) if token.policy else self._policy
        return Access(policy, frozenset(token.scopes), token.profile)

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
        policy = self.settings.profiles[name].policy
        return replace(access, policy=load_policy(policy) if policy else access.policy)

    def profile_ids(self, access: Access, name: str) -> tuple[str, ...]:
        """The tools of a profile, the same until the tools change: named ones, then those its tasks need."""
        key = (self._version, access, name)
        if key not in self._lists:
            self._lists[key] = _profile_ids(self.reach(access), self.settings.profiles[name])
        return self._lists[key]

    def tools(self, request: Request, profile: str = "") -> list[Tool]:
        """The list of a surface: a profile's tools, or the gateway's own, pinned and found ones."""
        reach = self.reach(request.access)
        if profile:
            return self._listed(reach, self.profile_ids(request.access, profile))
        ids = [id_ for id_ in request.access.policy.pins if id_ in reach.ids]
        if self.settings.dynamic_lists:
            ids += sorted(self.session(request).shown.keys() & reach.ids)
        own = surface.own_tools(reach, split=self.settings.split_calls)
        return own + self._listed(reach, tuple(dict.fromkeys(ids)))

    def _listed(self, reach: Reach, ids: Sequence[str]) -> list[Tool]:
        names = {id_: name for name, id_ in reach.view.names.items()}
        return [surface.listed(names[a.tool.id], a) for a in reach.view.selector.index.tools(ids)]

    def session(self, request: Request) -> Session:
        """What the caller has done so far."""
        return self.sessions.get(request.caller.who, request.caller.session)

    async def find(self, request: Request, task: str, limits: Mapping[str, int]) -> CallToolResult:
        """The tools for ``task``; ``limits`` (``max_tools``, ``max_level``) only narrow the policy."""
        reach = self.reach(request.access)
        policy = _narrowed(request.access.policy, limits)
        start = time.perf_counter()

        def work() -> tuple[Exposure, CallToolResult]:
            selector = reach.view.selector
            exposure = selector.select(task, policy, within=reach.ids)
            ranked = selector.rank(task, surface.ALTERNATIVES + len(exposure.tools), within=reach.ids)
            names = {id_: name for name, id_ in reach.view.names.items() if id_ in reach.ids}
            texts = {
                a.tool.id: a.tool.text.description
                for a in selector.index.tools([c.id for c in ranked.candidates])
            }
            return exposure, surface.found(exposure, ranked, names, texts)

        exposure, result = await anyio.to_thread.run_sync(work)
        spent = 1000 * (time.perf_counter() - start)
        tokens = int(reach.view.selector.index.tokens[reach.rows].sum())
        number = self.memory.exposed(request.caller, exposure, tokens, spent)
        session = self.session(request)
        session.shown.update({tool.id: number for tool in exposure.tools})
        return result

    async def call(
        self,
        request: Request,
        name: str,
        arguments: Mapping[str, Any],
        *,
        via: Kind | None = None,
        only: frozenset[str] | None = None,
    ) -> CallToolResult:
        """Call a tool within reach; whatever stands in the way is the result, and is remembered.

        ``via``: the kind of tools this path is for; ``only``: the ids that this surface lists.
        """
        reach = self.reach(request.access)
        row = reach.row(name)
        index = reach.view.selector.index
        if row is None or (only is not None and index.ids[row] not in only):
            self._remember(request, Call(name[:200], None, {}, "refused", "out of reach", 0.0))
            return surface.unknown(name)
        audited = index.tools([index.ids[row]])[0]
        capabilities = int(index.capabilities[row])
        start = time.perf_counter()
        outcome, detail, result = await self._attempt(
            request, reach, audited, capabilities, int(index.permissions[row]), arguments, via
        )
        spent = 1000 * (time.perf_counter() - start)
        self._remember(request, Call(audited.tool.id, int(audited.level), arguments, outcome, detail, spent))
        return result

    async def _attempt(
        self,
        request: Request,
        reach: Reach,
        audited: AuditedTool,
        capabilities: int,
        permissions: int,
        arguments: Mapping[str, Any],
        via: Kind | None,
    ) -> tuple[str, str, CallToolResult]:
        tool, level = audited.tool, int(audited.level)
        real = kind(level, permissions)
        if via is not None and real is not via:
            message = f"This tool is not of the kind {via!s}; call it with {surface.SPLIT[real]}."
            return "refused", f"called as {via!s}, is {real!s}", surface.failure(message)
        wrong = fault(tool.parameters, arguments)
        if wrong:
            return "invalid", wrong, surface.failure(f"The arguments do not fit the input schema: {wrong}")
        session = self.session(request)
        try:
            self._guard.check_budget(session, level)
            needed = self._guard.approval(session, tool.id, level, capabilities)
            if needed:
                await self._approved(request, tool.id, needed, arguments)
        except CallRefused as error:
            return "refused", error.message, surface.failure(f"The call was not made: {error.message}")
        self._guard.charge(session, level, capabilities)
        return await self._forward(request, *reach.view.own_names[tool.id], arguments)

    async def _approved(
        self, request: Request, id_: str, needed: Approval, arguments: Mapping[str, Any]
    ) -> None:
        """Return where a person says yes.  Raises CallRefused where not, or where nobody can be asked."""
        why = " and ".join(needed.reasons)
        if request.ask is None:
            raise CallRefused(
                f"{id_} needs a person's approval ({why}), and this client cannot ask one. "
                + _how_to_allow(id_, self.settings),
                rule="approval",
                tool=id_,
            )
        shown = surface.brief(arguments)
        if not await request.ask(
            f"Allow the agent to call {id_}? {why[0].upper()}{why[1:]}. Arguments: {shown}"
        ):
            raise CallRefused(f"a person has declined the call of {id_}.", rule="approval", tool=id_)

    async def _forward(
        self, request: Request, server: str, name: str, arguments: Mapping[str, Any]
    ) -> tuple[str, str, CallToolResult]:
        upstream = self.upstreams.get(server)
        if upstream is None:
            return "unavailable", "", surface.failure(f"The server {server!r} is not connected.")
        try:
            result = await upstream.call(name, dict(arguments), progress=request.progress)
        except UpstreamUnavailable as error:
            return "unavailable", error.message, surface.failure(error.message)
        except MCPError as error:
            return (
                "error",
                error.error.message,
                surface.failure(f"The server answered: {error.error.message}"),
            )
        return ("error" if result.is_error else "ok"), "", result

    def _remember(self, request: Request, call: Call) -> None:
        self.memory.called(request.caller, call, self.session(request).shown.get(call.tool))


def _how_to_allow(id_: str, settings: GatewaySettings) -> str:
    return (
        f'An operator may allow it: allow_calls = ["{id_}"], or a higher approve_level than '
        f"{settings.approve_level}, or flow_guard = false for flows, in the gateway's settings."
    )


def _narrowed(policy: Policy, limits: Mapping[str, int]) -> Policy:
    changes: dict[str, int] = {}
    if "max_tools" in limits:
        changes["max_tools"] = min(limits["max_tools"], policy.max_tools)
    if "max_level" in limits:
        changes["max_level"] = min(limits["max_level"], policy.max_level or limits["max_level"])
    return revise(policy, **changes) if changes else policy


def _profile_ids(reach: Reach, profile: Profile) -> tuple[str, ...]:
    index = reach.view.selector.index
    by_name = matches(index.ids, profile.tools) & reach.rows if profile.tools else np.zeros(len(index), bool)
    chosen = dict.fromkeys(index.ids[row] for row in np.flatnonzero(by_name))
    policy = revise(reach.access.policy, max_tools=profile.size)
    answers = [
        [tool.id for tool in reach.view.selector.select(task, policy, within=reach.ids).tools]
        for task in profile.tasks
    ]
    places = max(map(len, answers), default=0)
    wanted = dict.fromkeys(
        answer[place] for place in range(places) for answer in answers if place < len(answer)
    )
    return (*chosen, *[id_ for id_ in wanted if id_ not in chosen][: profile.size])
