"""Greedy set search: walk the pool in order, take what every rule admits (protocols.SetSearch)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toolwise.protocols import Bools, Constraint, Ints
from toolwise.records import Candidate, ToolSet, Withheld

REQUIRES = "requires"
"""The rule of a tool that is only shown together with another one."""


class GreedySearch:
    """The first ``max_tools`` candidates that keep every rule, in order of the pool, pins before all others.

    A rejected candidate uses up no allowance, and nothing fills up the answer
    with tools that break the policy (Risk-aware reranking, rule filter, in
    deployment).  ``needs`` (K, K) says which candidate (row) is only shown together with
    which other: it is taken with all that it needs, or not at all.
    """

    def __init__(self, max_tools: int, needs: Bools | None = None) -> None:
        self._max_tools = max_tools
        self._needs = needs

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
        broken: dict[int, tuple[str, str]] = {}
        for member in order:
            if chosen.sum() == self._max_tools:
                break
            if chosen[0, member]:
                continue
            with_it = chosen | self._company(member, len(pool))
            rule = next((c for c in constraints if not c.admits(with_it)[0]), None)
            if rule is None and with_it.sum() <= self._max_tools:
                chosen = with_it
            else:
                broken[member] = self._refusal(pool, constraints, chosen, member, with_it)
        unruled = dict.fromkeys([*order[: self._max_tools], *(i for i in order if i in first)])
        withheld = tuple(
            self._withheld(pool[i], int(levels[i]), broken.get(i)) for i in unruled if not chosen[0, i]
        )
        return ToolSet(tuple(pool[i] for i in order if chosen[0, i]), withheld)

    def _company(self, member: int, size: int) -> Bools:
        """The candidate with all that it needs (1, K)."""
        found: Bools = np.zeros((1, size), dtype=bool)
        if self._needs is not None:
            found |= self._needs[member]
        found[0, member] = True
        return found

    def _refusal(
        self,
        pool: Sequence[Candidate],
        constraints: Sequence[Constraint],
        chosen: Bools,
        member: int,
        with_it: Bools,
    ) -> tuple[str, str]:
        """The rule that keeps a candidate out, and why: its own, or that it comes with others."""
        alone = chosen.copy()
        alone[0, member] = True
        rule = next((c for c in constraints if not c.admits(alone)[0]), None)
        if rule is not None:
            return rule.rule, rule.explain(member, np.flatnonzero(chosen[0]).tolist())
        others = [pool[i].id for i in np.flatnonzero(with_it[0] & ~alone[0]).tolist()]
        what = "which is" if len(others) == 1 else "which are"
        return REQUIRES, f"it is only shown together with {', '.join(others)}, {what} not in the answer"

    def _withheld(self, candidate: Candidate, level: int, refusal: tuple[str, str] | None) -> Withheld:
        rule, why = refusal or ("max-tools", f"the answer may hold at most {self._max_tools}")
        return Withheld(candidate.id, level, rule, why)
