"""The best tool set that a policy admits, exactly within the pool, and what the policy cost.

Axes: K candidates of a pool, S sets of its table.  Rules are masks over the sets
(:class:`toolwise.protocols.Constraint`); the value of a set is its expected
completeness less a cost per tool and a penalty per set (its risk, say).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from toolwise.protocols import Bools, Constraint, Ints, SetEnergy
from toolwise.sets.decode import best_worth
from toolwise.sets.kernel import Doubles, Subsets, completeness, softmax, values
from toolwise.threads import frugal


@dataclass(frozen=True, slots=True)
class Blocked:
    """A candidate that would be in the answer without rules, and what keeps it out."""

    member: int
    rule: int | None
    """Which of the constraints: without it the candidate is in the best set; or, where no single one decides,
    the first that refuses it.  None: its company was lost to several rules at once."""
    itself: bool
    """Whether the rule refuses the candidate, alone or beside the answer; else it refuses its company."""
    instead: tuple[int, ...]
    """The best set without the rule; without any rule where no single one decides."""
    gain: float
    """Completeness of ``instead`` less that of the answer."""


@dataclass(frozen=True, eq=False, slots=True)
class Choice:
    """The best admitted set and its reasons; candidates by position in the pool."""

    row: int
    members: tuple[int, ...]
    completeness: float
    """P(the tools needed are all in it)."""
    gains: Doubles
    """(K,): what a member's loss would cost in completeness, what a candidate's joining would bring."""
    blocked: tuple[Blocked, ...]
    """In order of the pool."""


def constrained(
    energy: SetEnergy,
    table: Subsets,
    constraints: Sequence[Constraint] = (),
    *,
    cost: float = 0.0,
    penalty: Doubles | None = None,
    temperature: float = 1.0,
    required: frozenset[int] = frozenset(),
    max_tools: int | None = None,
    needs: Bools | None = None,
    served: bool = False,
) -> Choice:
    """The admitted set E of greatest P(G subset of E) - penalty(E) - cost * |E|, and its reasons.

    ``served``: P is given that some tool serves and counts against the best P of any set, so that costs mean
    the same where much is known and where little is; the first tool costs nothing but its penalty, and is
    left out only where the penalty of every set is more than what that set brings.

    ``penalty`` is (S,).  Sets lack no ``required`` candidate, have at most ``max_tools``
    and hold with a candidate all that it ``needs`` (K, K); where no set of the table is like
    that the empty set is the answer.
    """
    probabilities = softmax(values(energy, table), temperature)
    if served:
        probabilities[0] = 0.0
        probabilities /= max(float(probabilities.sum()), 1e-300)
    covered = completeness(probabilities, table)
    scaled = covered / covered.max() if served and covered.max() > 0 else covered
    worth = scaled if penalty is None else scaled - penalty
    offered = _offered(table, required, max_tools, needs)
    binding, broken = _broken(table, constraints)
    violations = broken.sum(axis=0, dtype=np.uint8)

    def best(able: Bools) -> int:
        if served and able[0] and np.max(worth, initial=-np.inf, where=able) > worth[0]:
            able = np.concatenate([[False], able[1:]])
        return best_worth(worth, table, cost, able)

    row = free = best(offered)
    without: dict[int, int] = {}
    if violations[free]:
        row = best(offered & (violations == 0))
        without = {
            rule: best(offered & (violations == broken[i].view(np.uint8))) for i, rule in enumerate(binding)
        }
    blocked = tuple(
        _blocked(member, row, free, without, table, constraints, covered)
        for member in _members(table, free)
        if not table.members[row, member]
    )
    gains = _gains(probabilities, table, row)
    return Choice(row, _members(table, row), float(covered[row]), gains, blocked)


def _members(table: Subsets, row: int) -> tuple[int, ...]:
    return tuple(int(i) for i in table.indices[row, : table.sizes[row]])


def _offered(table: Subsets, required: frozenset[int], max_tools: int | None, needs: Bools | None) -> Bools:
    pinned = sum(1 << i for i in required)
    offered: Bools = (table.masks & pinned) == pinned
    if max_tools is not None:
        offered &= table.sizes <= max_tools
    if needs is not None:
        for member in np.flatnonzero(needs.any(axis=1)):
            offered &= ~table.members[:, member] | table.members[:, needs[member]].all(axis=1)
    return offered


def _broken(table: Subsets, constraints: Sequence[Constraint]) -> tuple[list[int], Bools]:
    """The rules that bind at all, and the sets that break each (rules, S).

    Rules only take away: one that admits the whole pool admits every set of it,
    and one that admits all tools that it bears alone forbids single tools, no more.
    """
    everything = np.ones((1, table.k), dtype=bool)
    binding = [i for i, rule in enumerate(constraints) if not rule.admits(everything)[0]]
    broken = np.empty((len(binding), len(table.sizes)), dtype=bool)
    with frugal(0):
        for line, i in enumerate(binding):
            alone = constraints[i].admits(table.members[table.block(1)])
            if constraints[i].admits(alone[None, :])[0]:
                broken[line] = (table.masks & table.masks[table.block(1)][~alone].sum()) != 0
            else:
                np.logical_not(constraints[i].admits(table.members), out=broken[line])
    return binding, broken


def _gains(probabilities: Doubles, table: Subsets, row: int) -> Doubles:
    """Completeness lost without each member of the set, or won with each other candidate (K,)."""
    beyond: Ints = table.masks & ~table.masks[row]
    inside = beyond == 0
    lost = probabilities[inside] @ table.members[inside]
    single = np.flatnonzero((beyond & (beyond - 1) == 0) & ~inside)
    newcomer = np.frexp(beyond[single].astype(np.float64))[1] - 1
    gains: Doubles = lost + np.bincount(newcomer, probabilities[single], minlength=table.k)
    return gains


def _blocked(
    member: int,
    row: int,
    free: int,
    without: dict[int, int],
    table: Subsets,
    constraints: Sequence[Constraint],
    covered: Doubles,
) -> Blocked:
    both = table.members[[row, 0]]
    both[:, member] = True
    refusing = [rule for rule in without if not constraints[rule].admits(both).all()]
    deciding = [rule for rule, best in without.items() if table.members[best, member]]
    rule = next((r for r in deciding if r in refusing), next(iter(deciding + refusing), None))
    best = without[rule] if rule in deciding else free
    gain = float(covered[best] - covered[row])
    return Blocked(member, rule, rule in refusing, _members(table, best), gain)
