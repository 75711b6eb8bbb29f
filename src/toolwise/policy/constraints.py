"""Rules that judge a tool set: boolean masks over the sets of a pool (protocols.Constraint).

Axes: K candidates of the pool, S sets.  A set is a row of a membership matrix
(S, K).  One interface serves the greedy search (one set more at a time) and a
search over all enumerated sets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from toolwise.policy.eligibility import Eligibility, matches
from toolwise.policy.flow import MOST_GUESSED, NoFlow, certain
from toolwise.policy.policy import Breadth, Cap, Policy
from toolwise.protocols import Bools, Constraint, Floats, Ints
from toolwise.records import Capability, Level, Permission
from toolwise.text import listed
from toolwise.threads import frugal


@dataclass(frozen=True)
class Pool:
    """What rules need to know about the K candidates of a pool, all in the same order."""

    rows: Ints
    levels: Ints
    permissions: Ints
    """Permission categories as bits."""
    tokens: Ints
    names: tuple[str, ...]
    vectors: Floats
    """(K, D) unit rows."""
    capabilities: Ints
    """Capability flags as bits."""
    predicted: Callable[[int], frozenset[Capability]] = certain
    """Which flags of a candidate are a prediction, by its place in the pool; asked only for a reason."""
    chances: Floats | None = None
    """(K, C): how likely each capability is; None: as the flags say."""


@dataclass(frozen=True)
class PerTool:
    """One rule that forbids single tools."""

    rule: str
    broken: Bools
    reasons: tuple[str, ...]

    def admits(self, sets: Bools) -> Bools:
        """Sets without a forbidden member."""
        admitted: Bools = np.logical_not((sets & self.broken).any(axis=1))
        return admitted

    def explain(self, member: int, beside: Sequence[int] = ()) -> str:
        """Why this tool is forbidden."""
        return self.reasons[member]


@dataclass(frozen=True)
class CountCap:
    """At most ``count`` members of a marked kind."""

    rule: str
    marked: Bools
    count: int
    what: str
    ids: tuple[str, ...] = ()

    def admits(self, sets: Bools) -> Bools:
        """Sets with at most ``count`` marked members."""
        admitted: Bools = sets[:, self.marked].sum(axis=1) <= self.count
        return admitted

    def explain(self, member: int, beside: Sequence[int] = ()) -> str:
        """What there would be too many of."""
        limit = f"the answer may hold at most {self.count} {self.what}"
        others = [self.ids[i] for i in beside if self.marked[i] and i != member] if self.ids else []
        return f"{limit}, not this one together with {listed(others)}" if others else limit


def _without_pairs(sets: Bools, pairs: Bools) -> Bools:
    members = sets.astype(np.float32)
    admitted: Bools = ((members @ pairs.astype(np.float32)) * members).sum(axis=1) == 0
    return admitted


@dataclass(frozen=True)
class NoTwins:
    """No two members that do the same."""

    rule: str
    twins: Bools
    """(K, K), symmetric, diagonal False."""
    ids: tuple[str, ...]

    def admits(self, sets: Bools) -> Bools:
        """Sets without a pair of twins."""
        return _without_pairs(sets, self.twins)

    def explain(self, member: int, beside: Sequence[int] = ()) -> str:
        """Which tool beside it, or better ranked, it repeats."""
        twins = np.flatnonzero(self.twins[member]).tolist()
        others = [self.ids[i] for i in twins if i in beside] or [self.ids[i] for i in twins if i < member]
        return f"does the same as {others[0]}" if others else "does the same as a pinned tool"


@dataclass(frozen=True)
class NoPairs:
    """No two members of a forbidden pair."""

    rule: str
    pairs: Bools
    """(K, K), symmetric, diagonal False."""
    ids: tuple[str, ...]

    def admits(self, sets: Bools) -> Bools:
        """Sets without a forbidden pair."""
        return _without_pairs(sets, self.pairs)

    def explain(self, member: int, beside: Sequence[int] = ()) -> str:
        """Which tools it may not stand beside."""
        pairs = np.flatnonzero(self.pairs[member]).tolist()
        others = [self.ids[i] for i in pairs if i in beside] or [self.ids[i] for i in pairs[:1]]
        return f"the policy does not allow it together with {listed(others) or 'another tool'}"


@dataclass(frozen=True)
class Budget:
    """At most so many tokens of definitions."""

    rule: str
    tokens: Ints
    limit: int

    def admits(self, sets: Bools) -> Bools:
        """Sets whose definitions fit."""
        admitted: Bools = sets.astype(np.int64) @ self.tokens <= self.limit
        return admitted

    def explain(self, member: int, beside: Sequence[int] = ()) -> str:
        """What it would cost."""
        others = int(self.tokens[[i for i in beside if i != member]].sum()) if beside else 0
        taken = f" and those beside it {others}," if others else ""
        return f"its definition takes {self.tokens[member]} tokens{taken} of a budget of {self.limit}"


def constraints(
    policy: Policy, eligibility: Eligibility, pool: Pool, ids: tuple[str, ...], *, guesses: bool = True
) -> list[Constraint]:
    """Every rule of ``policy`` that could bind on ``pool``, the plainest first.

    Without ``guesses``, as for lists and answers of more than five tools, what is said of tools alone counts.
    """
    rules: list[Constraint] = [
        PerTool(rule, broken[pool.rows], tuple(_why(rule, policy, int(level)) for level in pool.levels))
        for rule, broken in eligibility.broken.items()
    ]
    rules += [_cap(cap, pool, ids) for cap in policy.caps]
    if policy.breadth is not None:
        rules.append(_breadth(policy.breadth, pool, ids))
    if policy.redundancy is not None:
        with frugal(pool.vectors.size * len(pool.vectors)):
            twins = pool.vectors @ pool.vectors.T > policy.redundancy.cosine
        if policy.redundancy.same_name:
            names = np.array(pool.names, dtype=str)
            twins &= names[:, None] == names
        np.fill_diagonal(twins, False)
        if twins.any():
            rules.append(NoTwins("redundancy", twins, ids))
    alone = _alone(policy, ids)
    if alone is not None:
        rules.append(alone)
    pairs = _excluded(policy, ids)
    if pairs.any():
        rules.append(NoPairs("excludes", pairs, ids))
    if policy.forbid_flows:
        limit = policy.flow_chance if guesses and policy.max_tools <= MOST_GUESSED else 1.0
        flow = NoFlow("toxic-flow", pool.capabilities, ids, pool.predicted, pool.chances, limit)
        if not flow.admits(np.ones((1, len(ids)), dtype=bool))[0]:
            rules.append(flow)
    if policy.budget_tokens is not None:
        rules.append(Budget("budget-tokens", pool.tokens, policy.budget_tokens))
    return rules


def _excluded(policy: Policy, ids: tuple[str, ...]) -> Bools:
    pairs = np.zeros((len(ids), len(ids)), dtype=bool)
    for one, other in policy.excludes:
        pairs |= np.outer(matches(ids, (one,)), matches(ids, (other,)))
    pairs |= pairs.T
    np.fill_diagonal(pairs, False)
    return pairs


def needs(policy: Policy, ids: tuple[str, ...]) -> Bools:
    """(K, K): which candidate (row) is only shown together with which other (column), directly or not."""
    found = np.zeros((len(ids), len(ids)), dtype=bool)
    for glob, needed in policy.requires:
        found |= np.outer(matches(ids, (glob,)), np.array([id_ == needed for id_ in ids], dtype=bool))
    for middle in range(len(ids)):
        found |= np.outer(found[:, middle], found[middle])
    np.fill_diagonal(found, False)
    return found


def _alone(policy: Policy, ids: tuple[str, ...]) -> PerTool | None:
    """The rule against candidates whose required tool cannot be shown at all: it is not in the pool."""
    absent = [(glob, needed) for glob, needed in policy.requires if needed not in ids]
    broken = matches(ids, [glob for glob, _ in absent])
    if not broken.any():
        return None
    reasons = tuple(
        ", ".join(dict.fromkeys(needed for glob, needed in absent if matches((id_,), (glob,)).any()))
        for id_ in ids
    )
    what = "it is only shown together with"
    return PerTool("requires", broken, tuple(f"{what} {why}, which cannot be shown" for why in reasons))


def _cap(cap: Cap, pool: Pool, ids: tuple[str, ...]) -> CountCap:
    above = "" if cap.level == Level.CRITICAL else " or more"
    tools = "tool" if cap.count == 1 else "tools"
    what = f"{tools} of level {cap.level}{above}"
    return CountCap(f"cap-level-{cap.level}", pool.levels >= cap.level, cap.count, what, ids)


def _breadth(breadth: Breadth, pool: Pool, ids: tuple[str, ...]) -> CountCap:
    bits = np.array([int(mask).bit_count() for mask in pool.permissions], dtype=np.int64)
    tools = "tool" if breadth.count == 1 else "tools"
    what = f"{tools} with {breadth.permissions} or more permission categories"
    return CountCap("breadth", bits >= breadth.permissions, breadth.count, what, ids)


def _why(rule: str, policy: Policy, level: int) -> str:
    forbidden = [p for p in Permission if p in policy.forbidden_permissions]
    return {
        "deny": "it matches a deny pattern",
        "allow": "it matches no allow pattern",
        "max-level": f"level {level} is above the highest level allowed, {policy.max_level}",
        "named-level": f"tools of level {policy.named_level} or more must be allowed by name",
        "permissions": f"it has one of the forbidden permissions: {', '.join(forbidden)}",
    }[rule]
