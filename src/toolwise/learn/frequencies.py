"""How common each token is, and how much it should therefore count.

The weight a / (a + p) is that of smooth inverse frequency (Arora, Liang and
Ma, 2017).  p mixes the share of a token in the permitted texts with its share
in general English, which Zipf's law gives from the order of the teacher's
vocabulary (WordPiece vocabularies are ordered by frequency).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from toolwise.protocols import Floats

SMOOTHING = 1e-3
"""a of the weight a / (a + p)."""
GENERAL_SHARE = 0.5
"""Part of general English in p, the rest is the share in the permitted texts."""
ZIPF_SHIFT = 2.7
"""Mandelbrot's shift of the rank in Zipf's law."""


def shares(bags: Iterable[Sequence[int] | NDArray[np.int64]], size: int) -> Floats:
    """(V,) share of each of ``size`` tokens among all tokens of the ``bags``."""
    counts = np.zeros(size, np.float64)
    for bag in bags:
        np.add.at(counts, np.asarray(bag, np.int64), 1)
    return np.asarray(counts / max(counts.sum(), 1), np.float32)


def zipf_shares(ranks: Sequence[int | None]) -> Floats:
    """(V,) share in general English by rank (0 = most frequent); None (no rank) counts as never."""
    found = np.array([0.0 if rank is None else 1 / (rank + ZIPF_SHIFT) for rank in ranks])
    return np.asarray(found / max(found.sum(), 1e-9), np.float32)


def weights(observed: Floats, general: Floats, smoothing: float = SMOOTHING) -> Floats:
    """(V,) smooth inverse frequency weights in (0, 1]."""
    mixed = GENERAL_SHARE * general + (1 - GENERAL_SHARE) * observed
    return np.asarray(smoothing / (smoothing + mixed), np.float32)
