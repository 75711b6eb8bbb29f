"""Exact set search for one request (protocols.SetSearch): the best admitted set, with reasons and prices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toolwise.protocols import Bools, Constraint, Ints, SetEnergy
from toolwise.records import Candidate, ToolSet, Withheld
from toolwise.sets.kernel import Doubles, softmax, subsets, values
from toolwise.sets.search import Blocked, Choice, constrained

HOPELESS = 0.02
"""Completeness below which a set helps nobody: what is needed is kept out."""
TELLING = 0.05
"""Completeness from which a tool that the search left out is worth a word."""
MAX_TOOLS, CAUTION = "max-tools", "caution"
"""What keeps a tool out that no rule of the policy forbids: a full answer, and the price of its risk."""


class ExactSearch:
    """The set of greatest expected completeness less its costs among all that the rules admit.

    Made for one request: ``energy`` values the sets of its pool of K, ``penalty``
    (K,) prices each tool (its risk, say) beside the ``cost`` of any tool, ``needs`` (K, K) says
    which candidate (row) is only shown together with which other.  With ``gate``, nothing but
    pins is shown from that chance on that no tool serves, and else sets are valued given that
    some tool does, the first one free of ``cost``.  Pins come
    first, in order of the pool, as far as the rules and ``max_tools`` allow; the others by what
    they add.
    """

    def __init__(
        self,
        energy: SetEnergy,
        max_tools: int,
        cost: float = 0.0,
        penalty: Doubles | None = None,
        temperature: float = 1.0,
        needs: Bools | None = None,
        gate: float | None = None,
    ) -> None:
        self._energy, self._max_tools, self._needs, self._gate = energy, max_tools, needs, gate
        self._cost, self._penalty, self._temperature = cost, penalty, temperature

    def search(
        self,
        pool: Sequence[Candidate],
        constraints: Sequence[Constraint],
        levels: Ints,
        first: frozenset[int],
    ) -> ToolSet:
        """See :class:`toolwise.protocols.SetSearch`."""
        pins, refused = self._pins(pool, constraints, first)
        choice = None if self.shut else self.choose(constraints, frozenset(pins))
        kept_out = [(i, rule, why, 0.0) for i, (rule, why) in refused.items()]
        if choice is None:
            return ToolSet(tuple(pool[i] for i in pins), _withheld(kept_out, pool, levels))
        hopeless = self._gate is not None and choice.completeness < HOPELESS
        others = sorted(
            (i for i in choice.members if i not in pins and not hopeless),
            key=lambda i: (-choice.gains[i], pool[i].id),
        )
        kept_out += [
            (b.member, *_reason(b, pool, choice, constraints), b.gain)
            for b in choice.blocked
            if b.member not in refused
        ]
        chosen = [*pins, *others]
        told = {*chosen, *(member for member, *_ in kept_out)}
        if len(chosen) < min(self._max_tools, len(self._energy.pairs) - 1):
            kept_out += [
                (i, *why, float(choice.gains[i]))
                for i in range(len(pool))
                if i not in told and choice.gains[i] >= max(self._cost, TELLING)
                if (why := self._trade(i, chosen, float(choice.gains[i]), constraints)) is not None
            ]
        return ToolSet(
            tuple(pool[i] for i in chosen),
            _withheld(kept_out, pool, levels),
            tuple(float(choice.gains[i]) for i in chosen),
            choice.completeness,
        )

    def _trade(
        self, member: int, chosen: Sequence[int], gain: float, constraints: Sequence[Constraint]
    ) -> tuple[str, str] | None:
        """Why a candidate that would add enough is not in the set: a rule or its risk; None for neither."""
        joined = np.zeros((1, len(self._energy.unary)), dtype=bool)
        joined[0, [*chosen, member]] = True
        rule = next((c for c in constraints if not c.admits(joined)[0]), None)
        if rule is not None:
            return rule.rule, f"{rule.explain(member, chosen)}; without this rule, completeness {gain:+.2f}"
        price = 0.0 if self._penalty is None else float(self._penalty[member])
        if price <= 0:
            return None
        return CAUTION, f"its risk costs {price:.2f} and it would add {gain:.2f} to completeness"

    @property
    def shut(self) -> bool:
        """Whether it is so likely that no tool serves that none is shown."""
        if self._gate is None:
            return False
        if self._energy.unserved is not None:
            return self._energy.unserved >= self._gate
        table = subsets(len(self._energy.unary), len(self._energy.pairs) - 1)
        return float(softmax(values(self._energy, table), self._temperature)[0]) >= self._gate

    def choose(self, constraints: Sequence[Constraint], required: frozenset[int]) -> Choice | None:
        """The choice with its numbers; None where ``required`` alone is more than a set can hold."""
        largest = min(self._max_tools, len(self._energy.pairs) - 1)
        if len(required) > largest:
            return None
        table = subsets(len(self._energy.unary), largest)
        return constrained(
            self._energy,
            table,
            constraints,
            cost=self._cost,
            penalty=None if self._penalty is None else table.members @ self._penalty,
            temperature=self._temperature,
            required=required,
            needs=self._needs,
            served=self._gate is not None,
        )

    def _pins(
        self, pool: Sequence[Candidate], constraints: Sequence[Constraint], first: frozenset[int]
    ) -> tuple[list[int], dict[int, tuple[str, str]]]:
        """Pins that are admitted together, in order of the pool, what they need behind them; and the others.

        Each of the others with its rule and the reason.
        """
        chosen: Bools = np.zeros((1, len(pool)), dtype=bool)
        refused: dict[int, tuple[str, str]] = {}
        for member in sorted(first):
            joined = chosen.copy()
            joined[0, member] = True
            whole = joined if self._needs is None else joined | self._needs[member]
            rule = next((c for c in constraints if not c.admits(joined)[0]), None)
            full = whole.sum() > self._max_tools
            if rule is not None:
                refused[member] = rule.rule, rule.explain(member, np.flatnonzero(chosen[0]).tolist())
            elif joined.sum() > self._max_tools:
                refused[member] = MAX_TOOLS, f"the answer may hold at most {self._max_tools}"
            elif full or not all(c.admits(whole)[0] for c in constraints):
                refused[member] = "requires", "the tools that it is only shown together with are kept out"
            else:
                chosen = whole
        members = [int(i) for i in np.flatnonzero(chosen[0])]
        return sorted(members, key=lambda i: (i not in first, i)), refused


def _withheld(
    kept_out: Sequence[tuple[int, str, str, float]], pool: Sequence[Candidate], levels: Ints
) -> tuple[Withheld, ...]:
    return tuple(
        Withheld(pool[i].id, int(levels[i]), rule, why, gain) for i, rule, why, gain in sorted(kept_out)
    )


def _reason(
    blocked: Blocked, pool: Sequence[Candidate], choice: Choice, constraints: Sequence[Constraint]
) -> tuple[str, str]:
    """The rule that keeps a candidate out, and why with its price."""
    price = f"without this rule, completeness {blocked.gain:+.2f}"
    if blocked.rule is None:
        return (
            "several-rules",
            f"the tools it is needed with are kept out; without rules, {blocked.gain:+.2f}",
        )
    rule = constraints[blocked.rule]
    if blocked.itself:
        return rule.rule, f"{rule.explain(blocked.member, choice.members)}; {price}"
    if _takes_part(blocked, rule, len(pool)):
        others = [i for i in blocked.instead if i != blocked.member]
        return rule.rule, f"{rule.explain(blocked.member, others)}; {price}"
    company = [pool[i].id for i in blocked.instead if i not in (*choice.members, blocked.member)]
    return rule.rule, f"it would help beside {', '.join(company)}, which this rule keeps out; {price}"


def _takes_part(blocked: Blocked, rule: Constraint, k: int) -> bool:
    """Whether the set that the rule forbids would be admitted without the candidate."""
    sets = np.zeros((2, k), dtype=bool)
    sets[:, list(blocked.instead)] = True
    sets[1, blocked.member] = False
    whole, rest = rule.admits(sets)
    return not whole and bool(rest)
