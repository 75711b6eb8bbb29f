"""ToolGraph of the risk-aware reranking paper (section 4.4): scores shared among related tools.

Four types of undirected edges add up: tools that occur together in training
sets, tools with similar descriptions, tools that share a permission category,
and risky tools that occur together.  The sum is divided by the largest, then
normalised symmetrically, ``D^-1/2 A D^-1/2``; a tool without neighbours gives 0.
One hop with layer mean: ``h = (1 - alpha) s + alpha A s``, result ``(s + h) / 2``.

Permission categories tie every writing tool to every other: as edges those
would be a clique of thousands.  Their weight depends on the two sets of
categories alone, so they are kept as one mark per tool and a small table
(32 x 32), and a product with them costs one sum per mark.  All else is a sparse
matrix in rows (CSR).  Memory is linear in tools and edges.

Edges of similar descriptions can be as many as pairs of tools, where an encoder's
cosines are high.  The reranker therefore ties the candidates of a request alone:
it smooths over the graph that they span, and a common factor of all weights
changes nothing in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from toolwise.protocols import Floats, Ints
from toolwise.records import Candidate, Level, Permission, Query, Shortlist
from toolwise.store import Index

Doubles = NDArray[np.float64]
ALPHA = 0.2
"""Share of the neighbours: the paper's operating point."""
SIMILAR = 0.65
LEAST_TOGETHER = 2
_CATEGORIES = len(Permission)
_CELLS = 8_000_000
"""Cosines held at once."""


class Edge(StrEnum):
    """The types of edges."""

    COOCCURRENCE = "cooccurrence"
    """0.4 * count / largest count, for tools in the same training set at least twice."""
    SEMANTIC = "semantic"
    """0.3 * cosine of descriptions above 0.65."""
    PERMISSION = "permission"
    """0.15 * number of shared permission categories / 5."""
    RISK = "risk"
    """0.15, for tools of level 3 or more in the same training set at least once."""


ALL_EDGES = frozenset(Edge)


@dataclass(frozen=True)
class ToolGraph:
    """Weighted neighbours of N tools."""

    starts: Ints
    """(N + 1,): where each tool's neighbours begin."""
    neighbours: Ints
    """(E,): both directions of every edge."""
    weights: Doubles
    """(E,)."""
    marks: Ints
    """(N,): permission categories as bits; 0 for none."""
    table: Doubles
    """(32, 32): weight between two tools by their marks."""
    scale: float = 1.0
    """What the weights were divided by."""

    def __len__(self) -> int:
        return len(self.marks)

    @property
    def edges(self) -> int:
        """Number of undirected edges that are written out."""
        return len(self.neighbours) // 2

    @cached_property
    def degrees(self) -> Doubles:
        """Sum of the weights at each tool (N,)."""
        return self._times(np.ones(len(self)))

    @cached_property
    def _inverse(self) -> Doubles:
        """``D^-1/2`` (N,); 0 for a tool without neighbours."""
        inverse = np.zeros(len(self))
        linked = self.degrees > _ROUNDING  # what is left when a tool's own share is taken off may be one
        inverse[linked] = self.degrees[linked] ** -0.5
        return inverse

    @cached_property
    def _sources(self) -> Ints:
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def _times(self, values: Doubles) -> Doubles:
        """The weighted sum over neighbours (N,)."""
        found = np.bincount(self._sources, self.weights * values[self.neighbours], len(self))
        total = np.asarray(found, np.float64)
        if self.marks.any():
            per_mark = np.bincount(self.marks, values, len(self.table))
            own = self.table[self.marks, self.marks] * values
            total = total + (self.table @ per_mark)[self.marks] - own
        return total

    def propagate(self, scores: Doubles) -> Doubles:
        """``D^-1/2 A D^-1/2 s`` (N,); 0 for a tool without neighbours."""
        found: Doubles = self._inverse * self._times(self._inverse * scores)
        return found

    def smooth(self, scores: Floats | Doubles, alpha: float = ALPHA) -> Floats:
        """Scores (N,) after one hop with layer mean."""
        own = np.asarray(scores, np.float64)
        hop = (1 - alpha) * own + alpha * self.propagate(own)
        return np.asarray((own + hop) / 2, np.float32)

    def induced(self, rows: Sequence[int] | Ints) -> ToolGraph:
        """The graph over the tools at ``rows`` alone, in their order; degrees are counted anew."""
        rows = np.asarray(rows, np.int64)
        places = np.full(len(self), -1)
        places[rows] = np.arange(len(rows))
        spans = [np.arange(self.starts[row], self.starts[row + 1]) for row in rows.tolist()]
        at = np.concatenate(spans) if spans else np.zeros(0, np.int64)
        lengths = [len(span) for span in spans]
        sources = np.repeat(np.arange(len(rows)), lengths)
        targets = places[self.neighbours[at]]
        kept = targets >= 0
        counts = np.bincount(sources[kept], minlength=len(rows))
        return replace(
            self,
            starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            neighbours=targets[kept],
            weights=self.weights[at][kept],
            marks=self.marks[rows],
        )

    def tied(self, vectors: Floats) -> ToolGraph:
        """With edges between tools of similar descriptions (N, D), in a graph that has none yet."""
        once = self._sources < self.neighbours
        own = _Pairs(self._sources[once], self.neighbours[once], self.weights[once] * self.scale)
        return _assembled([own, _semantic(vectors)], self.marks, self.table * self.scale)


_ROUNDING = 1e-9


@dataclass(frozen=True)
class _Pairs:
    """Edges as (row < row, weight)."""

    low: Ints
    high: Ints
    weights: Doubles


def build_graph(
    vectors: Floats,
    sets: Collection[Sequence[int]] = (),
    permissions: Ints | None = None,
    levels: Ints | None = None,
    edges: Collection[Edge] = ALL_EDGES,
) -> ToolGraph:
    """The graph of N tools.

    ``vectors`` (N, D) are unit rows of descriptions, ``sets`` the rows of the
    training sets, ``permissions`` (N,) categories as bits (as an index holds
    them), ``levels`` (N,) 1 to 5.  A type of edge without its data is left out.
    """
    size = len(vectors)
    counts = _together(sets)
    parts: list[_Pairs] = []
    if Edge.COOCCURRENCE in edges:
        parts.append(_cooccurrence(counts))
    if Edge.SEMANTIC in edges:
        parts.append(_semantic(vectors))
    if Edge.RISK in edges and levels is not None:
        parts.append(_risky(counts, levels))
    marks, table = np.zeros(size, np.int64), np.zeros((1 << _CATEGORIES, 1 << _CATEGORIES))
    if Edge.PERMISSION in edges and permissions is not None:
        marks, table = permissions.astype(np.int64), _shared()
    return _assembled(parts, marks, table)


def _together(sets: Collection[Sequence[int]]) -> Counter[tuple[int, int]]:
    """How often each two tools are in one set."""
    return Counter(pair for rows in sets for pair in combinations(sorted(set(rows)), 2))


def _as_pairs(found: Sequence[tuple[int, int]], weights: Sequence[float]) -> _Pairs:
    rows = np.array(found, np.int64).reshape(-1, 2)
    return _Pairs(rows[:, 0], rows[:, 1], np.array(weights, np.float64))


def _cooccurrence(counts: Counter[tuple[int, int]]) -> _Pairs:
    largest = max(counts.values(), default=1)
    often = [pair for pair, count in counts.items() if count >= LEAST_TOGETHER]
    return _as_pairs(often, [0.4 * counts[pair] / largest for pair in often])


def _risky(counts: Counter[tuple[int, int]], levels: Ints) -> _Pairs:
    both = [pair for pair in counts if min(levels[pair[0]], levels[pair[1]]) >= Level.MEDIUM]
    return _as_pairs(both, [0.15] * len(both))


def _semantic(vectors: Floats) -> _Pairs:
    """Pairs of cosine above the threshold, found in blocks of rows."""
    size = len(vectors)
    block = max(1, _CELLS // max(1, size))
    lows, highs, weights = [], [], []
    for start in range(0, size, block):
        cosines = vectors[start : start + block] @ vectors[start:].T
        low, high = np.nonzero(cosines > SIMILAR)
        ahead = high > low
        lows.append(low[ahead] + start)
        highs.append(high[ahead] + start)
        weights.append(0.3 * cosines[low[ahead], high[ahead]].astype(np.float64))
    if not lows:
        return _as_pairs([], [])
    return _Pairs(np.concatenate(lows), np.concatenate(highs), np.concatenate(weights))


def _shared() -> Doubles:
    """0.15 * shared categories / 5, by two sets of categories as bits."""
    marks = np.arange(1 << _CATEGORIES)
    both = marks[:, None] & marks[None, :]
    shared = sum((both >> bit) & 1 for bit in range(_CATEGORIES))
    return np.asarray(0.15 * shared / 5, np.float64)


def _assembled(parts: Sequence[_Pairs], marks: Ints, table: Doubles) -> ToolGraph:
    """Types added up, divided by the largest weight, both directions, in rows."""
    size = len(marks)
    keys = np.concatenate([np.zeros(0, np.int64), *(p.low * size + p.high for p in parts)])
    weights = np.concatenate([np.zeros(0), *(p.weights for p in parts)])
    unique, which = np.unique(keys, return_inverse=True)
    total = np.bincount(which, weights, len(unique))
    low, high = unique // max(1, size), unique % max(1, size)
    largest = max(
        _largest_shared(marks, table), float((total + table[marks[low], marks[high]]).max(initial=0))
    )
    scale = largest or 1.0
    sources, targets = np.concatenate([low, high]), np.concatenate([high, low])
    order = np.lexsort((targets, sources))
    counts = np.bincount(sources, minlength=size)
    return ToolGraph(
        starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        neighbours=targets[order],
        weights=np.concatenate([total, total])[order] / scale,
        marks=marks,
        table=table / scale,
        scale=scale,
    )


def _largest_shared(marks: Ints, table: Doubles) -> float:
    """The greatest weight between two tools by their marks alone."""
    counts = np.bincount(marks, minlength=len(table))
    there = counts > 0
    pairs = table * np.outer(there, there)
    alone = np.arange(len(table))
    pairs[alone, alone] = np.where(counts > 1, np.diagonal(table), 0)
    return float(pairs.max())


class ToolGraphReranker:
    """Smooth the scores of a shortlist over the graph that its candidates span."""

    def __init__(self, graph: ToolGraph, alpha: float = ALPHA, vectors: Floats | None = None) -> None:
        """``vectors`` (N, D): descriptions by which candidates are tied, where ``graph`` does not do so."""
        self._graph, self._alpha, self._vectors = graph, alpha, vectors

    @classmethod
    def open(
        cls,
        index: Index,
        sets: Collection[Sequence[str]] = (),
        *,
        edges: Collection[Edge] = ALL_EDGES,
        alpha: float = ALPHA,
    ) -> ToolGraphReranker:
        """Over an index; ``sets`` are training sets of tool ids, those it does not hold are passed over."""
        rows = {id_: row for row, id_ in enumerate(index.ids)}
        known = [[rows[id_] for id_ in one if id_ in rows] for one in sets]
        others = set(edges) - {Edge.SEMANTIC}
        graph = build_graph(index.vectors, known, index.permissions, index.levels, others)
        return cls(graph, alpha, index.vectors if Edge.SEMANTIC in edges else None)

    def rerank(self, query: Query, shortlist: Shortlist) -> Shortlist:
        """The candidates by smoothed score; equal scores in order of id."""
        ordered = sorted(shortlist.candidates, key=lambda c: c.id)
        rows = [candidate.row for candidate in ordered]
        graph = self._graph.induced(rows)
        if self._vectors is not None:
            graph = graph.tied(self._vectors[rows])
        scores = graph.smooth(np.array([candidate.score for candidate in ordered]), self._alpha)
        order = np.argsort(-scores, kind="stable")
        picked = tuple(Candidate(ordered[i].row, ordered[i].id, float(scores[i])) for i in order.tolist())
        return Shortlist(shortlist.query_id, picked, shortlist.confidence)
