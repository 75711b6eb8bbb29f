"""Metrics of a ranking against a gold set, one query at a time."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np


def ndcg(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """NDCG@k with binary gains; ideal over min(k, |gold|) tools.  0 for an empty list or empty gold."""
    wanted = set(gold)
    ideal = float(np.sum(1 / np.log2(np.arange(2, min(k, len(wanted)) + 2))))
    gained = sum(1 / float(np.log2(rank + 2)) for rank, tool in enumerate(ranked[:k]) if tool in wanted)
    return gained / ideal if ideal else 0.0


def recall(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """Share of the gold set in the top k.  0 for empty gold."""
    wanted = set(gold)
    return len(wanted.intersection(ranked[:k])) / len(wanted) if wanted else 0.0


def completeness(ranked: Sequence[str], gold: Collection[str], k: int) -> float:
    """COMP@k: 1 where the whole gold set is in the top k, else 0.  0 for empty gold."""
    wanted = set(gold)
    return float(bool(wanted) and wanted.issubset(ranked[:k]))
