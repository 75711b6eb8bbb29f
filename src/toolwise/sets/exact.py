"""Exact set search for one request (protocols.SetSearch): the best admitted set, with reasons and prices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toolwise.protocols import Bools, Constraint, Ints, SetEnergy
from toolwise.records import Candidate, ToolSet, Withheld
from toolwise.sets.kernel import Doubles, subsets
from toolwise.sets.search import Blocked, Choice, constrained


class ExactSearch:
    """The set of greatest expected completeness less its costs among all that the rules admit.

    Made for one request: ``energy`` values the sets of its pool of K, ``penalty``
    (K,) prices each tool (its risk, say) beside the ``cost`` of any tool, ``needs`` (K, K) says
    which candidate (row) is only shown together with which other.  Pins come
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
    ) -> None:
        self._energy, self._max_tools, self._needs = energy, max_tools, needs
        self._cost, self._penalty, self._temperature = cost, penalty, temperature

    def search(
        self,
        pool: Sequence[Candidate],
        constraints: Sequence[Constraint],
        levels: Ints,
        first: frozenset[int],
    ) -> ToolSet:
        """See :class:`toolwise.protocols.SetSearch`."""
        pins, refused = _pins(len(pool), constraints, first)
        late = [(i, "max-tools", self._full(), 0.0) for i in pins[self._max_tools :]]
        pins = pins[: self._max_tools]
        choice = self.choose(constraints, frozenset(pins))
        kept_out = [(i, rule.rule, rule.explain(i), 0.0) for i, rule in refused.items()] + late
        if choice is None:
            return ToolSet(tuple(pool[i] for i in pins), _withheld(kept_out, pool, levels))
        others = sorted(
            (i for i in choice.members if i not in pins), key=lambda i: (-choice.gains[i], pool[i].id)
        )
        kept_out += [
            (b.member, *_reason(b, pool, choice, constraints), b.gain)
            for b in choice.blocked
            if b.member not in refused
        ]
        chosen = [*pins, *others]
        return ToolSet(
            tuple(pool[i] for i in chosen),
            _withheld(kept_out, pool, levels),
            tuple(float(choice.gains[i]) for i in chosen),
            choice.completeness,
        )

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
        )

    def _full(self) -> str:
        return f"the answer may hold at most {self._max_tools}"


def _withheld(
    kept_out: Sequence[tuple[int, str, str, float]], pool: Sequence[Candidate], levels: Ints
) -> tuple[Withheld, ...]:
    return tuple(
        Withheld(pool[i].id, int(levels[i]), rule, why, gain) for i, rule, why, gain in sorted(kept_out)
    )


def _pins(
    pool: int, constraints: Sequence[Constraint], first: frozenset[int]
) -> tuple[list[int], dict[int, Constraint]]:
    """Pins that the rules admit together, taken in order of the pool, and those they do not."""
    chosen: Bools = np.zeros((1, pool), dtype=bool)
    refused: dict[int, Constraint] = {}
    for member in sorted(first):
        chosen[0, member] = True
        rule = next((c for c in constraints if not c.admits(chosen)[0]), None)
        if rule is not None:
            chosen[0, member] = False
            refused[member] = rule
    return [int(i) for i in np.flatnonzero(chosen[0])], refused


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
        return rule.rule, f"{rule.explain(blocked.member)}; {price}"
    company = [pool[i].id for i in blocked.instead if i not in (*choice.members, blocked.member)]
    return rule.rule, f"the rule does not allow it together with {', '.join(company)}; {price}"
