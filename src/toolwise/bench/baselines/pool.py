"""What rerankers share: the head of an inner ranking in a new order, its tail behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from toolwise.bench.system import Ranking, System
from toolwise.protocols import Floats
from toolwise.records import Query

DEPTH = 100
"""Tools of the inner ranking that are put in a new order, as in the risk-aware paper."""


def positions(ids: Sequence[str]) -> Ranking:
    """``ids`` as a ranking whose scores are the positions, 0, -1, -2, ..."""
    return [(id_, float(-place)) for place, id_ in enumerate(ids)]


def rerank(
    inner: System, query: Query, k: int, depth: int, order: Callable[[Ranking], Sequence[str]]
) -> Ranking:
    """The best ``k`` of the inner ranking, its first ``depth`` in the order that ``order`` gives them.

    The first tools do not depend on ``k``.
    """
    if k <= 0:
        return []
    found = inner.rank(query, max(k, depth))
    ids = [*order(found[:depth]), *(id_ for id_, _ in found[depth:])]
    return positions(ids[:k])


def relevance(head: Ranking) -> Floats:
    """The scores of ``head`` (K,) stretched to [0, 1]; all 1 where they are equal.

    Inner systems score on scales of their own; cosines need a common one.
    """
    scores = np.array([score for _, score in head], np.float64)
    if not len(scores):
        return np.zeros(0, np.float32)
    low, high = scores.min(), scores.max()
    stretched = (scores - low) / (high - low) if high > low else np.ones_like(scores)
    return np.asarray(stretched, np.float32)
