"""The policy at the moment of a call: what a caller can reach, and what a session may still do.

Reach is decided by the same masks as selection, so a tool that could never be
shown cannot be called by any path, and is answered like one that does not exist.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from toolwise.errors import CallRefused
from toolwise.policy import Eligibility, Policy, matches, revise
from toolwise.protocols import Bools, Ints
from toolwise.records import Capability, Level, Permission, from_bits, to_bits
from toolwise.serve.gateway.library import View
from toolwise.serve.gateway.settings import SCOPES, GatewaySettings

MOST_SESSIONS = 10_000
_MOST_PENDING = 32


class Kind(StrEnum):
    """What calling a tool does; the values are the scopes of tokens."""

    READ = "read"
    WRITE = "write"
    DESTRUCTIVE = "destructive"


_CHANGES = to_bits((Permission.WRITE, Permission.SHELL, Permission.CODE), Permission)


def kind(level: int, permissions: int) -> Kind:
    """Destructive from level 4 on; else writing where it can write, run a shell or code; else reading."""
    if level >= Level.HIGH:
        return Kind.DESTRUCTIVE
    return Kind.WRITE if permissions & _CHANGES else Kind.READ


@dataclass(frozen=True)
class Access:
    """What one caller may reach: the policy, the scopes and, where one is fixed, the profile."""

    policy: Policy
    scopes: frozenset[str] = frozenset(SCOPES)
    profile: str = ""
    own: bool = False
    """Whether the policy is the token's own."""
    also: Policy | None = None
    """A further policy that tools have to keep: a profile never widens what a token may reach."""


class Reach:
    """The rows of a view that an access can reach, and what they are called."""

    def __init__(self, view: View, access: Access) -> None:
        index = view.selector.index
        self.view, self.access = view, access
        self.rows: Bools = (
            Eligibility(access.policy, index.ids, index.levels, index.permissions).rows
            & view.trusted
            & _kept_by(access.also, view)
            & _in_scope(index.levels, index.permissions, access.scopes)
        )
        self.ids = frozenset(index.ids[row] for row in np.flatnonzero(self.rows))
        self.names = {id_: name for name, id_ in view.names.items() if id_ in self.ids}
        """id -> the name an agent sees, of the tools within reach."""
        self.tokens = int(index.tokens[self.rows].sum())
        """Size of all their definitions."""
        self.pins = tuple(id_ for id_ in dict.fromkeys(access.policy.pins) if id_ in self.ids)
        self.policy = revise(access.policy, pins=self.pins)
        """The policy with the pins that are there: the server of another may be away."""

    def row(self, name: str) -> int | None:
        """The row of a tool by the name an agent sees or by its id; None where it cannot be reached."""
        id_ = self.view.names.get(name, name)
        return self.view.selector.index.row(id_) if id_ in self.ids else None


def _kept_by(policy: Policy | None, view: View) -> Bools:
    index = view.selector.index
    if policy is None:
        return np.ones(len(index), dtype=bool)
    return Eligibility(policy, index.ids, index.levels, index.permissions).rows


def _in_scope(levels: Ints, permissions: Ints, scopes: frozenset[str]) -> Bools:
    if scopes >= set(SCOPES):
        return np.ones(len(levels), dtype=bool)
    pairs = zip(levels.tolist(), permissions.tolist(), strict=True)
    return np.fromiter((kind(level, can) in scopes for level, can in pairs), dtype=bool, count=len(levels))


@dataclass
class Session:
    """What one caller has done so far in one session."""

    calls: int = 0
    risk: int = 0
    taken: set[Capability] = field(default_factory=set)
    """What has been read: private data, untrusted content."""
    shown: dict[str, int] = field(default_factory=dict)
    """Tool id -> number of the answer that showed it last."""
    named: dict[str, int] = field(default_factory=dict)
    """Tool id -> number of the answer that named it last, as shown or as an alternative."""
    pending: OrderedDict[str, str] = field(default_factory=OrderedDict)
    """Approvals asked for and not yet given: their key -> what exactly they are for."""
    touched: float = 0.0

    def await_answer(self, key: str, purpose: str) -> None:
        """Note a question; the oldest of too many open ones is dropped."""
        self.pending[key] = purpose
        if len(self.pending) > _MOST_PENDING:
            self.pending.popitem(last=False)


class Sessions:
    """Sessions by key; silent ones are forgotten, and the longest silent one where there are too many."""

    def __init__(
        self, idle: float, clock: Callable[[], float] = time.monotonic, most: int = MOST_SESSIONS
    ) -> None:
        self._idle, self._clock, self._most = idle, clock, most
        self._sessions: OrderedDict[tuple[str, str], Session] = OrderedDict()

    def get(self, who: str, session: str) -> Session:
        """The session of ``who``; a new one where there is none or it was silent for too long."""
        now = self._clock()
        self._forget(now)
        found = self._sessions.setdefault((who, session), Session())
        found.touched = now
        self._sessions.move_to_end((who, session))
        if len(self._sessions) > self._most:
            self._sessions.popitem(last=False)
        return found

    def _forget(self, now: float) -> None:
        while self._sessions:
            key, oldest = next(iter(self._sessions.items()))
            if now - oldest.touched <= self._idle:
                return
            del self._sessions[key]

    def __len__(self) -> int:
        return len(self._sessions)


@dataclass(frozen=True, slots=True)
class Approval:
    """Why a call needs a person's word; empty where it does not."""

    reasons: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.reasons)


class Guard:
    """Judges calls of tools that are within reach."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._settings = settings

    def check_budget(self, session: Session, level: int) -> None:
        """Raise CallRefused where the session has used up its calls or its risk."""
        limits = self._settings
        if limits.max_calls is not None and session.calls >= limits.max_calls:
            raise CallRefused(
                f"this session has made its {limits.max_calls} calls; no more are allowed.",
                rule="max-calls",
                limit=limits.max_calls,
            )
        if limits.max_risk is not None and session.risk + _price(level) > limits.max_risk:
            raise CallRefused(
                f"this session has used {session.risk} of {limits.max_risk} units of risk and this call "
                f"costs {_price(level)}. Use tools of a lower level.",
                rule="max-risk",
                limit=limits.max_risk,
            )

    def approval(self, session: Session, id_: str, level: int, capabilities: int) -> Approval:
        """Whether a person must approve the call, and why."""
        reasons = []
        free = bool(matches((id_,), self._settings.allow_calls)[0])
        if level >= self._settings.approve_level and not free:
            reasons.append(f"it is of risk level {level}")
        can = from_bits(capabilities, Capability)
        gathered = session.taken | (can - {Capability.EXTERNAL})
        if (
            self._settings.flow_guard
            and Capability.EXTERNAL in can
            and {Capability.PRIVATE, Capability.UNTRUSTED} <= gathered
        ):
            reasons.append(
                "it can send outside, and this session has read private data and untrusted content"
            )
        return Approval(tuple(reasons))

    def charge(self, session: Session, level: int, capabilities: int) -> None:
        """Count a call that is about to be made.

        What it may read counts from now on: the call may succeed even where its answer is lost.
        """
        session.calls += 1
        session.risk += _price(level)
        session.taken |= from_bits(capabilities, Capability) - {Capability.EXTERNAL}


def _price(level: int) -> int:
    """Units of risk of one call."""
    return max(0, level - Level.LOW)
