"""Energies by hand: drawing them, and the value of a set in plain loops."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from toolwise.protocols import SetEnergy


def energy(k: int, m: int, mean: bool = False, seed: int = 0, spread: float = 1.0) -> SetEnergy:
    """A random energy of ``k`` candidates and sizes up to ``m``."""
    rng = np.random.default_rng(seed)
    drawn = rng.normal(size=(m + 1, k, k)).astype(np.float32)
    unary = (spread * rng.normal(size=k)).astype(np.float32)
    return SetEnergy(unary, drawn + drawn.transpose(0, 2, 1), rng.normal(size=m + 1).astype(np.float32), mean)


def value(given: SetEnergy, members: tuple[int, ...], bias: bool = True) -> float:
    """F of one set; the pairs of a size above M are those of M."""
    scores = [float(given.unary[i]) for i in members]
    if given.mean and members:
        weights = [math.exp(score - max(scores)) for score in scores]
        aligned = sum(w * s for w, s in zip(weights, scores, strict=True)) / sum(weights)
    else:
        aligned = sum(scores)
    size = min(len(members), len(given.pairs) - 1)
    linked = sum(float(given.pairs[size, a, b]) for a, b in combinations(members, 2))
    return aligned + linked + (float(given.sizes[size]) if bias else 0.0)


def permuted(given: SetEnergy, order: np.ndarray) -> SetEnergy:
    """The same pool with candidate ``order[i]`` at place i."""
    return SetEnergy(given.unary[order], given.pairs[:, order][:, :, order], given.sizes, given.mean)


energies = st.builds(
    energy,
    k=st.integers(1, 7),
    m=st.integers(1, 5),
    mean=st.booleans(),
    seed=st.integers(0, 10_000),
    spread=st.sampled_from([0.1, 1.0, 5.0, 300.0]),
)
