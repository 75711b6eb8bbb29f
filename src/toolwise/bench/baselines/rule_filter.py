"""The rule filter of the risk-aware reranking paper (section 4.5 and appendix C), over an inner ranking.

It walks the ranking and accepts a tool unless the answer would then hold more
than one tool of level 3 or more, more than two tools with two or more
permission categories, or a tool whose cosine with an accepted one is above
0.9.  A rejected tool uses up no allowance.  For the benchmark the rejected
ones follow the accepted ones in ranked order, so that every list is full; in
deployment they stay out, and the answer is shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

import numpy as np

from toolwise import registry
from toolwise.audit import audit
from toolwise.bench.baselines.pool import DEPTH, positions, rerank
from toolwise.bench.baselines.vectors import Vectors
from toolwise.bench.data import Task
from toolwise.bench.system import Ranking, System
from toolwise.protocols import Bools, Encoder, Floats
from toolwise.records import UNKNOWN_LEVEL, Level, Query, Tool

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


def filter_rows(risky: Bools, broad: Bools, vectors: Floats) -> tuple[list[int], list[int]]:
    """Accepted and rejected rows of a ranking, each in its order.

    ``risky`` (K,) marks levels of 3 and more, ``broad`` (K,) two or more
    permission categories; ``vectors`` (K, D) are unit rows.
    """
    similar = vectors @ vectors.T  # (K, K)
    accepted: list[int] = []
    rejected: list[int] = []
    for row in range(len(risky)):
        full = (risky[row] and risky[accepted].sum() >= MOST_RISKY) or (
            broad[row] and broad[accepted].sum() >= MOST_BROAD
        )
        twin = bool((similar[row, accepted] > SAME_COSINE).any())
        (rejected if full or twin else accepted).append(row)
    return accepted, rejected


class RuleFilterSystem:
    """An inner ranking under the paper's caps.

    ``levels`` are labels by tool id; a tool without one gets the level of the
    audit, permission categories always come from the audit.  ``rank`` is for
    metrics at a fixed length and follows ``mode``; ``select`` is what an agent
    would get: accepted tools alone.
    """

    def __init__(
        self,
        inner: System,
        encoder: Callable[[], Encoder],
        levels: Mapping[str, int] | None = None,
        mode: Mode = Mode.BENCHMARK,
        depth: int = DEPTH,
        name: str = "rule-filter",
    ) -> None:
        self.name = name
        self._inner, self._vectors = inner, Vectors(encoder)
        self._labels = dict(levels or {})
        self._mode, self._depth = mode, depth
        self._risky: frozenset[str] = frozenset()
        self._broad: frozenset[str] = frozenset()

    def fit(self, tools: Sequence[Tool], train: Sequence[Task]) -> None:
        """Fit the inner system, encode and audit the tools."""
        self._inner.fit(tools, train)
        self._vectors.fit(tools)
        verdicts = audit(tools, [registry.get("annotator", name)() for name in registry.names("annotator")])
        judged = {
            tool.id: self._labels.get(tool.id, int(verdict.level or UNKNOWN_LEVEL))
            for tool, verdict in zip(tools, verdicts, strict=True)
        }
        self._risky = frozenset(id_ for id_, level in judged.items() if level >= RISKY_LEVEL)
        self._broad = frozenset(
            tool.id
            for tool, verdict in zip(tools, verdicts, strict=True)
            if len(verdict.permissions) >= BROAD_CATEGORIES
        )

    def rank(self, query: Query, k: int) -> Ranking:
        """Accepted tools, then rejected ones in benchmark mode."""
        if self._mode is Mode.DEPLOYMENT:
            return positions(self._split(self._inner.rank(query, self._depth))[0][: max(k, 0)])
        return rerank(self._inner, query, k, self._depth, self._filled)

    def select(self, query: Query) -> list[str]:
        """The first accepted tools, five at most."""
        return self._split(self._inner.rank(query, self._depth))[0][:SET_SIZE]

    def _filled(self, head: Ranking) -> list[str]:
        accepted, rejected = self._split(head)
        return accepted + rejected

    def _split(self, head: Ranking) -> tuple[list[str], list[str]]:
        ids = [id_ for id_, _ in head]
        accepted, rejected = filter_rows(
            np.array([id_ in self._risky for id_ in ids], bool),
            np.array([id_ in self._broad for id_ in ids], bool),
            self._vectors.of(head),
        )
        return [ids[row] for row in accepted], [ids[row] for row in rejected]
