"""Greedy set search: walk the pool in order, take what every rule admits (protocols.SetSearch)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toolwise.protocols import Bools, Constraint, Ints
from toolwise.records import Candidate, ToolSet, Withheld


class GreedySearch:
    """The first ``max_tools`` candidates that keep every rule, in order of the pool, pins before all others.

    A rejected candidate uses up no allowance, and nothing fills up the answer
    with tools that break the policy (Risk-aware reranking, rule filter, in
    deployment).
    """

    def __init__(self, max_tools: int) -> None:
        self._max_tools = max_tools

    def search(
        self,
        pool: Sequence[Candidate],
        constraints: Sequence[Constraint],
        levels: Ints,
        first: frozenset[int],
    ) -> ToolSet:
        """See :class:`toolwise.protocols.SetSearch`.  One pass, at most K checks of each rule."""
        order = sorted(range(len(pool)), key=lambda i: (i not in first, i))
        chosen: Bools = np.zeros((1, len(pool)), dtype=bool)
        broken: dict[int, Constraint] = {}
        for member in order:
            if chosen.sum() == self._max_tools:
                break
            chosen[0, member] = True
            rule = next((c for c in constraints if not c.admits(chosen)[0]), None)
            if rule is not None:
                chosen[0, member] = False
                broken[member] = rule
        unruled = dict.fromkeys([*order[: self._max_tools], *(i for i in order if i in first)])
        withheld = tuple(
            self._withheld(pool[i], int(levels[i]), i, broken.get(i)) for i in unruled if not chosen[0, i]
        )
        return ToolSet(tuple(pool[i] for i in order if chosen[0, i]), withheld)

    def _withheld(self, candidate: Candidate, level: int, member: int, rule: Constraint | None) -> Withheld:
        if rule is not None:
            return Withheld(candidate.id, level, rule.rule, rule.explain(member))
        return Withheld(candidate.id, level, "max-tools", f"the answer may hold at most {self._max_tools}")
