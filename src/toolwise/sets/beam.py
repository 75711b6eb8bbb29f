"""Beam search over the sets of a pool, where there are too many to value them all."""

from __future__ import annotations

import numpy as np

from toolwise.protocols import Bools, Floats, Ints, SetEnergy

WIDTH = 64
"""Sets kept of each size."""
_POOL = 62
"""Largest pool: a set is the bits of one int64."""


def beam(energy: SetEnergy, largest: int | None = None, width: int = WIDTH) -> tuple[tuple[int, ...], float]:
    """The best set found among those of up to ``largest`` tools (M unless given), and its value.

    The ``width`` best sets of each size are those that grow.  A size's own matrix
    judges it, and may like others than have grown from the best of the size before:
    so each set kept also exchanges one member for any other candidate, once.
    Not exact: ``benchmarks/sets_kernel.py`` counts how often it is.
    Equal values: the earlier found, which is the smaller.  Raises ValueError for more than 62 candidates.
    """
    pool, last = len(energy.unary), len(energy.pairs) - 1
    if pool > _POOL:
        raise ValueError(f"the pool has {pool} candidates; a beam takes at most {_POOL}")
    best: tuple[int, ...] = ()
    value = float(energy.sizes[0])
    members: Bools = np.zeros((1, pool), dtype=bool)
    for size in range(1, min(last if largest is None else min(largest, last), pool) + 1):
        members = _kept(members, _grown(energy, members, size), width)
        members = _shrunk(members)
        grown = _grown(energy, members, size)
        members = _kept(members, grown, width)
        top = np.unravel_index(int(grown.argmax()), grown.shape)
        found = float(grown[top]) + float(energy.sizes[size])
        if found > value:
            best, value = tuple(int(i) for i in np.flatnonzero(members[0])), found
    return best, value


def _grown(energy: SetEnergy, members: Bools, size: int) -> Floats:
    """Value of each set (B, K) with each candidate added, its size's bias apart; -inf for its own members."""
    inside = members.astype(np.float32)
    pairs = energy.pairs[size] * ~np.eye(len(energy.unary), dtype=bool)
    linked = inside @ pairs
    found: Floats = (linked * inside).sum(axis=1, keepdims=True) / 2 + linked + _aligned(energy, inside)
    found[members] = -np.inf
    return found


def _aligned(energy: SetEnergy, inside: Floats) -> Floats:
    if not energy.mean:
        summed: Floats = (inside @ energy.unary)[:, None] + energy.unary
        return summed
    scores = energy.unary.astype(np.float64)
    own = np.where(inside > 0, scores, -np.inf)
    top = np.maximum(own.max(axis=1, keepdims=True), scores.min())
    held = np.exp(own - top)
    best = np.maximum(top, scores)
    fade, newcomer = np.exp(top - best), np.exp(scores - best)
    mass = held.sum(axis=1, keepdims=True) * fade + newcomer
    mean: Floats = ((held @ scores)[:, None] * fade + newcomer * scores) / mass
    return mean


def _shrunk(members: Bools) -> Bools:
    """The different sets (B', K) that lack one member of a set."""
    lines, places = np.nonzero(members)
    fewer = members[lines]
    fewer[np.arange(len(lines)), places] = False
    bits: Ints = np.int64(1) << np.arange(members.shape[1], dtype=np.int64)
    first = np.sort(np.unique(fewer @ bits, return_index=True)[1])
    found: Bools = fewer[first]
    return found


def _kept(members: Bools, grown: Floats, width: int) -> Bools:
    """The ``width`` best different sets among ``members`` with one candidate added."""
    bits: Ints = np.int64(1) << np.arange(members.shape[1], dtype=np.int64)
    keys = ((members @ bits)[:, None] | bits).ravel()
    order = np.argsort(-grown.ravel(), kind="stable")[: int(np.isfinite(grown).sum())]
    first = np.sort(np.unique(keys[order], return_index=True)[1])[:width]
    kept: Bools = (keys[order[first]][:, None] & bits) != 0
    return kept
