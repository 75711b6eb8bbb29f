"""One call of a tool: within reach, of the right kind, with sound arguments, within the budget, approved."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult

from toolwise.errors import CallRefused, UpstreamUnavailable
from toolwise.records import AuditedTool
from toolwise.serve.gateway import questions, surface
from toolwise.serve.gateway.gateway import Gateway, Request
from toolwise.serve.gateway.guard import Approval, Kind, Reach, kind
from toolwise.serve.gateway.memory import Call


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be called, and what the audit says of it."""

    audited: AuditedTool
    capabilities: int
    permissions: int
    arguments: Mapping[str, Any]

    @property
    def id(self) -> str:
        """Id of the tool."""
        return self.audited.tool.id

    @property
    def level(self) -> int:
        """Its audited level."""
        return int(self.audited.level)


@dataclass(frozen=True, slots=True)
class _Came:
    """What came of a call: for the log, and for the caller."""

    outcome: str
    detail: str
    result: CallToolResult


async def call(
    gateway: Gateway,
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
    reach = gateway.reach(request.access)
    row = reach.row(name)
    index = reach.view.selector.index
    if row is None or (only is not None and index.ids[row] not in only):
        _remember(gateway, request, Call(name[:200], None, {}, "refused", "out of reach", 0.0))
        return surface.unknown(name, profile=bool(request.profile))
    audited = index.tools([index.ids[row]])[0]
    wanted = Wanted(audited, int(index.capabilities[row]), int(index.permissions[row]), arguments)
    start = time.perf_counter()
    try:
        came = await _attempt(gateway, request, reach, wanted, via)
    except anyio.get_cancelled_exc_class():
        spent = 1000 * (time.perf_counter() - start)
        _remember(gateway, request, Call(wanted.id, wanted.level, arguments, "cancelled", "", spent))
        raise
    spent = 1000 * (time.perf_counter() - start)
    _remember(gateway, request, Call(wanted.id, wanted.level, arguments, came.outcome, came.detail, spent))
    return came.result


async def _attempt(
    gateway: Gateway, request: Request, reach: Reach, wanted: Wanted, via: Kind | None
) -> _Came:
    real = kind(wanted.level, wanted.permissions)
    if via is not None and real is not via:
        message = f"This tool is not of the kind {via!s}; call it with {surface.SPLIT[real]}."
        return _Came("refused", f"called as {via!s}, is {real!s}", surface.failure(message))
    tool = wanted.audited.tool
    wrong = gateway.arguments.fault(tool.content_hash, tool.parameters, wanted.arguments)
    if wrong:
        message = f"The arguments do not fit the input schema: {wrong.message}"
        return _Came("invalid", wrong.where, surface.failure(message))
    session, guard = gateway.session(request), gateway.guard
    try:
        guard.check_budget(session, wanted.level)
        needed = guard.approval(session, wanted.id, wanted.level, wanted.capabilities)
        if needed:
            await _approved(gateway, request, wanted, needed)
            _still_the_same(gateway.reach(request.access), wanted)
            guard.check_budget(session, wanted.level)  # others may have called meanwhile
    except CallRefused as error:
        return _Came("refused", error.rule, surface.failure(f"The call was not made: {error.message}"))
    guard.charge(session, wanted.level, wanted.capabilities)
    return await _forward(gateway, request, *reach.view.own_names[wanted.id], wanted.arguments)


def _still_the_same(reach: Reach, wanted: Wanted) -> None:
    """Raise CallRefused where the tool is not what it was when a person was asked."""
    row = reach.row(wanted.id)
    index = reach.view.selector.index
    same = row is not None and (
        int(index.levels[row]) == wanted.level
        and index.tools([index.ids[row]])[0].tool.content_hash == wanted.audited.tool.content_hash
    )
    if not same:
        raise CallRefused(f"{wanted.id} has changed since a person was asked; ask again.", rule="changed")


async def _approved(gateway: Gateway, request: Request, wanted: Wanted, needed: Approval) -> None:
    """Return where a person says yes.  Raises CallRefused where not, or where nobody can be asked."""
    why = " and ".join(needed.reasons)
    if request.ask is None:
        raise CallRefused(
            f"{wanted.id} needs a person's approval ({why}), and this client cannot ask one. "
            + _how_to_allow(wanted.id, gateway.settings.approve_level),
            rule="approval",
            tool=wanted.id,
        )
    shown = surface.brief(wanted.arguments)
    question = f"Allow the agent to call {wanted.id}? {why[0].upper()}{why[1:]}. Arguments: {shown}"
    said = False
    try:
        with anyio.fail_after(gateway.settings.approval_timeout):
            said = await request.ask(question)
    except TimeoutError:
        limit = gateway.settings.approval_timeout
        raise CallRefused(
            f"nobody has approved {wanted.id} within {limit:g} s.", rule="approval", tool=wanted.id
        ) from None
    except MCPError as error:
        raise CallRefused(
            f"{wanted.id} needs a person's approval ({why}), and this client failed to ask one.",
            rule="approval",
            tool=wanted.id,
        ) from error
    if not said:
        raise CallRefused(f"a person has declined the call of {wanted.id}.", rule="declined", tool=wanted.id)


def _how_to_allow(id_: str, approve_level: int) -> str:
    return (
        f'An operator may allow it: allow_calls = ["{id_}"], or a higher approve_level than '
        f"{approve_level}, or flow_guard = false for flows, in the gateway's settings."
    )


async def _forward(
    gateway: Gateway, request: Request, server: str, name: str, arguments: Mapping[str, Any]
) -> _Came:
    upstream = gateway.upstreams.get(server)
    if upstream is None:
        return _Came("unavailable", "", surface.failure(f"The server {server!r} is not connected."))
    asker = questions.asker(gateway, request)
    try:
        result = await upstream.call(name, dict(arguments), progress=request.progress, asker=asker)
    except UpstreamUnavailable as error:
        return _Came("unavailable", error.message, surface.failure(error.message))
    except MCPError as error:  # its words may repeat arguments: they are not for the log
        if asker.refused and asker.refused == error.message:
            why = f"The server asks for input, which it was refused: {error.message}"
            return _Came("error", "question refused", surface.failure(why))
        return _Came("error", f"code {error.code}", surface.failure(f"The server answered: {error.message}"))
    return _Came("error" if result.is_error else "ok", "", result)


def _remember(gateway: Gateway, request: Request, call: Call) -> None:
    gateway.memory.called(request.caller, call, gateway.session(request).named.get(call.tool))
