"""Candidate pools for training set scorers: a gold set and the sets it must beat (HYSET, section 2.4).

A pool holds the gold set first, then distinct others: half drawn uniformly
among the sets of the gold set's size, three tenths gold sets of other requests
of the minibatch, a fifth the gold set with one or two tools swapped for near
neighbours.  Where a source runs dry, uniform sets take its place; a library too
small for that gives a shorter pool.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from toolwise.protocols import Floats, Ints

Members = tuple[int, ...]
"""Rows of tools in ascending order."""

SHARES = (0.5, 0.3, 0.2)
"""Uniform, in-batch and hard negatives, as published."""
NEIGHBOURS = 10
"""Nearest tools a swapped one is drawn from; the paper's main text gives no number."""
_DRAWS = 4
"""Rounds of drawing before a pool is left short."""


@dataclass(frozen=True, slots=True)
class Example:
    """A request under training: its row, its gold set, and the library it chooses from."""

    row: int
    gold: Members
    library: int


@dataclass(frozen=True, slots=True)
class Counts:
    """Negatives per source."""

    uniform: int
    batch: int
    hard: int

    @classmethod
    def of(cls, pool: int, shares: tuple[float, float, float] = SHARES) -> Counts:
        """``pool - 1`` negatives in these shares, by largest remainders: 31, 19 and 13 of 63."""
        exact = np.array(shares) * (pool - 1)
        whole = np.floor(exact).astype(int)
        short = pool - 1 - int(whole.sum())
        whole[np.argsort(whole - exact, kind="stable")[:short]] += 1
        return cls(*(int(count) for count in whole))


def nearest(table: Floats, asked: Ints, rows: Ints, count: int = NEIGHBOURS) -> dict[int, list[int]]:
    """The ``count`` tools of a library at ``rows`` most like each tool at ``asked``, itself left out.

    By inner product; ``table`` (N, D) has unit rows.
    """
    own = table[rows]
    found: dict[int, list[int]] = {}
    for start in range(0, len(asked), 512):
        part = asked[start : start + 512]
        likeness = table[part] @ own.T
        likeness[part[:, None] == rows] = -np.inf
        kept = min(count, len(rows))
        best = np.argpartition(-likeness, kept - 1, axis=1)[:, :kept]
        order = np.take_along_axis(-likeness, best, axis=1).argsort(axis=1, kind="stable")
        near = rows[np.take_along_axis(best, order, axis=1)].tolist()
        for row, line in zip(part.tolist(), near, strict=True):
            found[row] = [other for other in line if other != row]
    return found


class Pools:
    """Draws pools for minibatches.

    ``libraries`` are the rows that negatives may be drawn from, one array per
    library: tools held out of every negative are simply not in it.
    """

    def __init__(
        self,
        libraries: Sequence[Ints],
        largest: int,
        pool: int,
        shares: tuple[float, float, float] = SHARES,
        neighbours: int = NEIGHBOURS,
    ) -> None:
        self._libraries, self._largest, self._pool = libraries, largest, pool
        self.counts = Counts.of(pool, shares)
        self._kept = neighbours
        self._near: list[dict[int, list[int]]] = [{} for _ in libraries]

    def refresh(self, table: Floats, examples: Sequence[Example]) -> None:
        """Look up the neighbours of the gold tools of ``examples`` anew; ``table`` (N, D) has unit rows."""
        gold: list[set[int]] = [set() for _ in self._libraries]
        for example in examples:
            gold[example.library].update(example.gold)
        self._near = [
            nearest(table, np.array(sorted(own), dtype=np.int64), rows, self._kept) if len(rows) else {}
            for own, rows in zip(gold, self._libraries, strict=True)
        ]

    def draw(self, batch: Sequence[Example], generator: np.random.Generator) -> Ints:
        """(B, pool, largest): rows of tools, padded with -1; pool 0 is gold, an all -1 row no set at all."""
        found = np.full((len(batch), self._pool, self._largest), -1, dtype=np.int64)
        for place, example in enumerate(batch):
            for rank, members in enumerate(self.sets(example, batch, generator)):
                found[place, rank, : len(members)] = members
        return found

    def sets(
        self, example: Example, batch: Sequence[Example], generator: np.random.Generator
    ) -> list[Members]:
        """One pool as sets, the gold one first."""
        found = {example.gold: None}
        for source, wanted in (
            (self._batch(example, batch, generator), self.counts.batch),
            (self._hard(example, generator, self.counts.hard), self.counts.hard),
        ):
            _fill(found, source, len(found) + wanted)
        _fill(found, self._uniform(example, generator, self._pool - len(found)), self._pool)
        return list(found)

    def _uniform(self, example: Example, generator: np.random.Generator, wanted: int) -> Iterator[Members]:
        rows, size = self._libraries[example.library], len(example.gold)
        if len(rows) < size:
            return
        for _ in range(_DRAWS):
            drawn = np.sort(rows[generator.integers(0, len(rows), (2 * wanted + 8, size))], axis=1)
            whole = (drawn[:, 1:] != drawn[:, :-1]).all(axis=1)
            yield from map(tuple, drawn[whole].tolist())

    def _batch(
        self, example: Example, batch: Sequence[Example], generator: np.random.Generator
    ) -> Iterator[Members]:
        """Gold sets of the batch in random order; those of another library name tools this one lacks."""
        for place in generator.permutation(len(batch)):
            if batch[place].library == example.library:
                yield batch[place].gold

    def _hard(self, example: Example, generator: np.random.Generator, wanted: int) -> Iterator[Members]:
        near = self._near[example.library]
        most = min(2, len(example.gold))
        for _ in range(_DRAWS * wanted):
            members = list(example.gold)
            for place in generator.permutation(len(members))[: generator.integers(1, most + 1)]:
                choice = near.get(members[place])
                if choice:
                    members[place] = choice[generator.integers(len(choice))]
            if len(set(members)) == len(members):
                yield tuple(sorted(members))


def _fill(found: dict[Members, None], source: Iterator[Members], until: int) -> None:
    """Add new sets of ``source`` until there are ``until`` of them."""
    while len(found) < until:
        members = next(source, None)
        if members is None:
            return
        found.setdefault(members)
