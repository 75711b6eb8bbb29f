"""Maximal marginal relevance (Carbonell and Goldstein, 1998) over an inner ranking."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from toolwise.bench.baselines.pool import DEPTH, relevance, rerank
from toolwise.bench.baselines.vectors import Vectors
from toolwise.bench.data import Task
from toolwise.bench.system import Ranking, System
from toolwise.protocols import Encoder, Floats
from toolwise.records import Query, Tool

BALANCE = 0.7
"""The lambda of the paper: the weight of relevance; 1 keeps the inner order.  Not tuned."""


def mmr_order(relevant: Floats, vectors: Floats, balance: float = BALANCE) -> list[int]:
    """Rows in the order in which they are picked; equal values by row.

    Each step takes the row of the greatest
    ``balance * relevant[t] - (1 - balance) * max over picked p of cos(t, p)``,
    the maximum being 0 while nothing is picked.  ``relevant`` (K,) lies in
    [0, 1], ``vectors`` (K, D) are unit rows.
    """
    similar = vectors @ vectors.T  # (K, K)
    repeats = np.zeros(len(relevant), np.float32)
    left = np.ones(len(relevant), bool)
    picked: list[int] = []
    while left.any():
        gain = balance * relevant - (1 - balance) * repeats
        best = int(np.argmax(np.where(left, gain, -np.inf)))
        repeats = np.maximum(repeats, similar[best]) if picked else similar[best]
        left[best] = False
        picked.append(best)
    return picked


class MmrSystem:
    """An inner system's best tools, those unlike the ones before them first."""

    name = "mmr"

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
        """The inner ranking with its head in the order of marginal relevance."""

        def order(head: Ranking) -> list[str]:
            rows = mmr_order(relevance(head), self._vectors.of(head), self._balance)
            return [head[row][0] for row in rows]

        return rerank(self._inner, query, k, self._depth, order)
