"""Every small tool set of a pool, valued at once.

Axes: K candidates of a pool, S sets of size 0 to m.  The sets stand by size,
then lexicographically; the tables say where each set stands without one of its
members, so a set's value comes from the values of smaller sets by a few lookups
(:func:`values`), and so do the sums over all its subsets (:func:`completeness`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolwise.protocols import Bools, Floats, Ints, SetEnergy

Doubles: TypeAlias = NDArray[np.float64]

_WIDEST = 600.0
"""Spread of scores up to which weights relative to the pool's best stay above the smallest double."""


@dataclass(frozen=True, eq=False, slots=True)
class Subsets:
    """All sets of 0 to ``m`` of ``k`` candidates: row 0 the empty set, then by size, then lexicographically.

    Arrays are read-only and shared by everyone who asks for the same ``k`` and ``m``.
    """

    k: int
    m: int
    members: Bools
    """(S, K): who is in; column-major, so that reductions over candidates run along columns."""
    sizes: Ints
    """(S,)"""
    indices: Ints
    """(S, m): members in ascending order, padded with ``k``."""
    masks: Ints
    """(S,): members as bits, candidate i being bit i."""
    starts: tuple[int, ...]
    """(m + 2,): the rows of size s are ``starts[s]`` to ``starts[s + 1]``."""
    without: tuple[Ints, ...]
    """Per size s, (s, S_s): where the set without its p-th member stands among those of size s - 1."""
    leading: Ints
    """(S,): ``a * k + b`` of the two smallest members a < b; 0 below size 2."""

    def block(self, size: int) -> slice:
        """The rows of one size."""
        return slice(self.starts[size], self.starts[size + 1])

    def row(self, members: tuple[int, ...]) -> int:
        """Where the set of these distinct candidates stands.  Raises ValueError beyond ``m`` members."""
        if len(members) > self.m:
            raise ValueError(f"a set of {len(members)} is larger than the {self.m} of this table")
        ordered = np.array(sorted(members), dtype=np.int64)[None, :]
        return int(self.starts[len(members)] + _ranks(ordered, self.k)[0])


@lru_cache(maxsize=64)
def subsets(k: int, m: int) -> Subsets:
    """All sets of 0 to ``m`` of ``k`` candidates, made once (21,700 rows for 20 and 5, about 4 MB)."""
    largest = min(k, m)
    by_size = [
        np.array(list(combinations(range(k), s)), dtype=np.int64).reshape(comb(k, s), s)
        for s in range(largest + 1)
    ]
    counts = [len(rows) for rows in by_size] + [0] * (m - largest)
    starts = np.concatenate([[0], np.cumsum(counts)])
    total = int(starts[-1])
    indices = np.full((total, m), k, dtype=np.int64)
    leading = np.zeros(total, dtype=np.int64)
    without = []
    for s, rows in enumerate(by_size):
        indices[starts[s] : starts[s + 1], :s] = rows
        if s >= 2:
            leading[starts[s] : starts[s + 1]] = rows[:, 0] * k + rows[:, 1]
        fewer = [_ranks(np.delete(rows, p, axis=1), k) for p in range(s)]
        without.append(np.array(fewer, dtype=np.int64).reshape(s, len(rows)))
    without += [np.zeros((s, 0), dtype=np.int64) for s in range(largest + 1, m + 1)]
    padded = np.zeros((total, k + 1), dtype=bool)
    padded[np.arange(total)[:, None], indices] = True
    members = np.asfortranarray(padded[:, :k])
    masks = members @ (np.int64(1) << np.arange(k, dtype=np.int64))
    sizes = np.repeat(np.arange(m + 1, dtype=np.int64), counts)
    for array in (members, sizes, indices, masks, leading, *without):
        array.flags.writeable = False
    return Subsets(
        k, m, members, sizes, indices, masks, tuple(int(s) for s in starts), tuple(without), leading
    )


def _ranks(rows: Ints, k: int) -> Ints:
    """Lexicographic ranks of ascending sets of one size, rows (S, s) of ``k`` candidates."""
    size = rows.shape[1]
    ways = np.array([[comb(n, r) for r in range(size + 1)] for n in range(k + 1)], dtype=np.int64)
    after = ways[k - 1 - rows, size - np.arange(size)].sum(axis=1)
    ranks: Ints = comb(k, size) - 1 - after
    return ranks


def values(energy: SetEnergy, table: Subsets) -> Floats:
    """F of every set of ``table`` (S,), in float32; not to be written to.

    With E's smallest members a < b and r(E) the pairs of a with the others,
    ``r(E) = r(E - b) + pairs[a, b]`` and ``sum(E) = sum(E - a) + r(E)``: two
    lookups and one entry per set, for the matrices of all larger sizes together.
    Raises ValueError where ``energy`` has another pool or no matrix for a size.
    """
    _check(energy, table)
    if energy.values is not None and len(energy.values) >= table.starts[-1]:
        return energy.values[: table.starts[-1]]  # sets stand by size
    found = np.empty(table.starts[-1], dtype=np.float32)
    unary = np.zeros_like(energy.unary) if energy.mean else energy.unary
    pairs = energy.pairs[: table.m + 1].reshape(table.m + 1, table.k * table.k)
    found[0] = 0.0
    rows: Floats = np.tile(unary, (table.m, 1)).astype(np.float32, copy=False)
    sums = rows
    for size in range(1, table.m + 1):
        block = table.block(size)
        if size > 1:
            without = table.without[size]
            rows = rows[1:].take(without[1], axis=1)
            rows += pairs[size:].take(table.leading[block], axis=1)
            sums = sums[1:].take(without[0], axis=1)
            sums += rows
        found[block] = sums[0]
    if energy.mean:
        found += softmax_means(energy.unary, table)
    for size in range(table.m + 1):
        found[table.block(size)] += energy.sizes[size]
    return found


def _check(energy: SetEnergy, table: Subsets) -> None:
    k, largest = energy.pairs.shape[1], energy.pairs.shape[0] - 1
    if k != table.k or len(energy.unary) != table.k:
        raise ValueError(f"the energy is of {len(energy.unary)} candidates, the table of {table.k}")
    if largest < table.m or len(energy.sizes) <= table.m:
        raise ValueError(f"the energy values sizes up to {largest}, the table holds sizes up to {table.m}")


def softmax_means(scores: Floats, table: Subsets) -> Doubles:
    """Mean of ``scores`` over each set, weighted by their softmax within it (HYSET, eq. 6); 0 if empty."""
    exact = scores.astype(np.float64)
    if table.k == 0 or exact.max() - exact.min() > _WIDEST:
        return _wide_means(exact, table)
    weights = np.exp(exact - exact.max())
    means = np.zeros(table.starts[-1])
    parts = weights + 1j * weights * exact
    sums = parts
    for size in range(1, table.m + 1):
        block = table.block(size)
        if size > 1:
            sums = sums.take(table.without[size][0])
            sums += parts.take(table.indices[block, 0])
        np.divide(sums.imag, sums.real, out=means[block])
    return means


def _wide_means(scores: Doubles, table: Subsets) -> Doubles:
    """The same with weights relative to each set's own best score; several times slower."""
    padded = np.append(scores, -np.inf)[table.indices]
    padded[0] = 0.0
    weights = np.exp(padded - padded.max(axis=1, initial=-np.inf, keepdims=True))
    finite = np.where(np.isfinite(padded), padded, 0.0)
    means: Doubles = (weights * finite).sum(axis=1) / np.maximum(weights.sum(axis=1), 1.0)
    return means


def softmax(values: Floats, temperature: float = 1.0) -> Doubles:
    """Probabilities of rows from their values; -inf gives 0.  Raises ValueError unless temperature > 0."""
    if not temperature > 0:
        raise ValueError(f"the temperature is {temperature}; it must be above 0")
    scaled = values.astype(np.float64)
    scaled -= scaled.max()
    scaled /= temperature
    np.exp(scaled, out=scaled)
    scaled /= scaled.sum()
    return scaled


def completeness(probabilities: Doubles | Floats, table: Subsets, *, count_empty: bool = True) -> Doubles:
    """P(G subset of E) for every row E (S,), G distributed over the rows by ``probabilities``.

    ``count_empty`` False leaves out the empty G, so that a set earns nothing on
    requests that need no tool.  Each member in turn is made optional:
    ``c_p(E) = c_{p-1}(E) + c_{p-1}(E without its p-th member)``.
    """
    given = np.array(probabilities, dtype=np.float64)
    if not count_empty:
        given[0] = 0.0
    found = given.copy()
    fewer: list[Doubles] = [given[:1]]
    for size in range(1, table.m + 1):
        block = table.block(size)
        reached: list[Doubles] = [given[block]]
        for p, without in enumerate(table.without[size]):
            reached.append(fewer[p].take(without))
            reached[-1] += reached[p]
        found[block] = reached[size]
        fewer = reached
    return found
