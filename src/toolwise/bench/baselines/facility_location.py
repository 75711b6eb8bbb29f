"""Greedy facility location with relevance over an inner ranking.

The objective over sets E of the pool V, with relevance r in [0, 1] and the
cosine c cut off at 0, is monotone and submodular, so that greedy steps come
within 1 - 1/e of the best set of each size (Nemhauser, Wolsey and Fisher, 1978):

    F(E) = balance * sum over t in E of r(t)
         + (1 - balance) * sum over v in V of w(v) * max over t in E of c(v, t),   w = r / sum of r

The second part asks that every relevant candidate has something like it in the set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from toolwise.bench.baselines.pool import DEPTH, relevance, rerank
from toolwise.bench.baselines.vectors import Vectors
from toolwise.bench.data import Task
from toolwise.bench.system import Ranking, System
from toolwise.protocols import Encoder, Floats
from toolwise.records import Query, Tool

BALANCE = 0.5
"""The weight of relevance; 1 keeps the inner order.  Not tuned."""


def facility_order(relevant: Floats, vectors: Floats, balance: float = BALANCE) -> list[int]:
    """Rows in the order of greatest gain in F; equal gains by row.

    ``relevant`` (K,) lies in [0, 1], ``vectors`` (K, D) are unit rows.
    """
    similar = np.maximum(vectors @ vectors.T, 0)  # (K, K)
    weights = relevant / max(float(relevant.sum()), 1e-12)
    covered = np.zeros(len(relevant), np.float32)
    left = np.ones(len(relevant), bool)
    picked: list[int] = []
    while left.any():
        more = weights @ np.maximum(similar - covered[:, None], 0)  # (K,)
        gain = balance * relevant + (1 - balance) * more
        best = int(np.argmax(np.where(left, gain, -np.inf)))
        covered = np.maximum(covered, similar[best])
        left[best] = False
        picked.append(best)
    return picked


class FacilityLocationSystem:
    """An inner system's best tools, those that stand for many relevant others first."""

    name = "facility-location"

    def __init__(
        self,
        inner: System,
        encoder: Callable[[], Encoder],
        balance: float = BALANCE,
        depth: int = DEPTH,
    ) -> None:
        self._inner, self._vectors = inner, Vectors(encoder)
        self._balance, self._depth = balance, depth

    def fit(self, tools: Sequence[Tool], train: Sequence[Task]) -> None:
        """Fit the inner system and encode the tools."""
        self._inner.fit(tools, train)
        self._vectors.fit(tools)

    def rank(self, query: Query, k: int) -> Ranking:
        """The inner ranking with its head in the order of greedy gains."""

        def order(head: Ranking) -> list[str]:
            rows = facility_order(relevance(head), self._vectors.of(head), self._balance)
            return [head[row][0] for row in rows]

        return rerank(self._inner, query, k, self._depth, order)
