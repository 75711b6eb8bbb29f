"""Metrics of a ranking against a gold set, one query at a time."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np


def ndcg(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """NDCG@k with binary gains; ideal over min(k, |gold|) tools.  0 for an empty list or empty gold.

    A repeated tool gains at its first rank alone.
    """
    wanted = set(gold)
    ideal = float(np.sum(1 / np.log2(np.arange(2, min(k, len(wanted)) + 2))))
    ranks = {tool: rank for rank, tool in reversed(list(enumerate(ranked[:k]))) if tool in wanted}
    gained = sum(1 / float(np.log2(rank + 2)) for rank in sorted(ranks.values()))
    return gained / ideal if ideal else 0.0


def recall(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """Share of the gold set in the top k.  0 for empty gold."""
    wanted = set(gold)
    return len(wanted.intersection(ranked[:k])) / len(wanted) if wanted else 0.0


def completeness(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """COMP@k: 1 where the whole gold set is in the top k, else 0.  0 for empty gold."""
    wanted = set(gold)
    return float(bool(wanted) and wanted.issubset(ranked[:k]))


def reciprocal_rank(ranked: Sequence[str], gold: Collection[str]) -> float:
    """1 over the rank of the first gold tool in the whole list; 0 where there is none (MRR is the mean)."""
    return next((1 / rank for rank, tool in enumerate(ranked, start=1) if tool in gold), 0.0)
