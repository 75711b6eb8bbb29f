"""The rule filter of the risk-aware reranking paper (section 4.5 and appendix C).

It walks a ranking and accepts a tool unless the answer would then hold more
than one tool of level 3 or more, more than two tools with two or more
permission categories, or a tool whose cosine with an accepted one is above
0.9.  A rejected tool uses up no allowance.  For the benchmark the rejected
ones follow the accepted ones in ranked order, so that every list is full; in
deployment they stay out, the answer is shorter, and each says which rule kept
it out.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from toolwise.protocols import Bools, Floats, Ints
from toolwise.records import Candidate, Level, Permission, Query, Shortlist, Withheld
from toolwise.store import Index

RISKY_LEVEL = Level.MEDIUM
MOST_RISKY = 1
BROAD_CATEGORIES = 2
MOST_BROAD = 2
SAME_COSINE = 0.9
SET_SIZE = 5
"""Tools that are handed to an agent at most."""


class Mode(StrEnum):
    """What becomes of rejected tools in a ranking."""

    BENCHMARK = "benchmark"
    """They fill up the list."""
    DEPLOYMENT = "deployment"
    """They stay out."""


class Rule(StrEnum):
    """Why a tool is rejected."""

    RISK = "risk-cap"
    BREADTH = "permission-cap"
    TWIN = "near-duplicate"


_REASONS = {
    Rule.RISK: f"the answer holds {MOST_RISKY} tool of level {int(RISKY_LEVEL)} or more already",
    Rule.BREADTH: f"the answer holds {MOST_BROAD} tools with {BROAD_CATEGORIES} or more permissions already",
    Rule.TWIN: f"it is nearly the same (cosine above {SAME_COSINE}) as a tool of the answer",
}


@dataclass(frozen=True)
class Delivered:
    """What an agent gets, and what was kept from it, both best first."""

    tools: tuple[Candidate, ...]
    withheld: tuple[Withheld, ...]
    """Rejected tools that were ranked before the last one delivered, or at all where the answer is short."""


def rejections(risky: Bools, broad: Bools, vectors: Floats) -> tuple[list[int], dict[int, Rule]]:
    """Accepted rows of a ranking in its order, and the first rule that each other row breaks.

    ``risky`` (K,) marks levels of 3 and more, ``broad`` (K,) two or more
    permission categories; ``vectors`` (K, D) are unit rows.
    """
    similar = vectors @ vectors.T  # (K, K)
    accepted: list[int] = []
    rejected: dict[int, Rule] = {}
    for row in range(len(risky)):
        if risky[row] and risky[accepted].sum() >= MOST_RISKY:
            rejected[row] = Rule.RISK
        elif broad[row] and broad[accepted].sum() >= MOST_BROAD:
            rejected[row] = Rule.BREADTH
        elif bool((similar[row, accepted] > SAME_COSINE).any()):
            rejected[row] = Rule.TWIN
        else:
            accepted.append(row)
    return accepted, rejected


def filter_rows(risky: Bools, broad: Bools, vectors: Floats) -> tuple[list[int], list[int]]:
    """Accepted and rejected rows of a ranking, each in its order; see :func:`rejections`."""
    accepted, rejected = rejections(risky, broad, vectors)
    return accepted, list(rejected)


def _counts() -> Ints:
    """Number of categories by their bits."""
    return np.array([bits.bit_count() for bits in range(1 << len(Permission))], np.int64)


class RuleFilterReranker:
    """The filter over the tools of an index, by their audited levels and permissions."""

    def __init__(self, index: Index) -> None:
        self._levels = index.levels
        self._broad = _counts()[index.permissions] >= BROAD_CATEGORIES
        self._vectors = index.vectors

    @classmethod
    def open(cls, index: Index) -> RuleFilterReranker:
        """Over an index."""
        return cls(index)

    def rerank(self, query: Query, shortlist: Shortlist) -> Shortlist:
        """Benchmark mode: accepted tools, then rejected ones; scores are the positions, 0, -1, -2, ..."""
        accepted, rejected = self._judged(shortlist)
        order = [*accepted, *rejected]
        found = [shortlist.candidates[place] for place in order]
        ranked = tuple(Candidate(c.row, c.id, -float(place)) for place, c in enumerate(found))
        return Shortlist(shortlist.query_id, ranked, shortlist.confidence)

    def deliver(self, shortlist: Shortlist, size: int = SET_SIZE) -> Delivered:
        """Deployment mode: accepted tools alone, ``size`` at most, and what was withheld on the way."""
        accepted, rejected = self._judged(shortlist)
        chosen = accepted[: max(size, 0)]
        last = len(shortlist.candidates) if len(accepted) < size else (chosen[-1] if chosen else -1)
        return Delivered(
            tuple(shortlist.candidates[place] for place in chosen),
            tuple(self._withheld(shortlist, place, rule) for place, rule in rejected.items() if place < last),
        )

    def _judged(self, shortlist: Shortlist) -> tuple[list[int], dict[int, Rule]]:
        rows = [candidate.row for candidate in shortlist.candidates]
        return rejections(self._levels[rows] >= RISKY_LEVEL, self._broad[rows], self._vectors[rows])

    def _withheld(self, shortlist: Shortlist, place: int, rule: Rule) -> Withheld:
        candidate = shortlist.candidates[place]
        return Withheld(candidate.id, int(self._levels[candidate.row]), rule.value, _REASONS[rule])
