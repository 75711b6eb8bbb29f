"""The default set scorer: values tool sets by what the tools are like, not by which they are.

Everything it knows is in a few small perceptrons over features that mean the
same in every library (:mod:`toolwise.sets.features`): a tool added a moment
ago is valued like any other, weights trained on public requests work before a
user has any, and with weights of zero what is left is the retriever's ranking.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from toolwise.protocols import Floats, Ints, SetEnergy
from toolwise.records import Candidate, Query, Tool
from toolwise.retrieve import HybridRetriever
from toolwise.retrieve.elsewhere import Elsewhere, operations
from toolwise.retrieve.elsewhere import read as known_elsewhere
from toolwise.sets.default_weights import FILE, LARGEST, LEADERS, PACKAGED, SIGNS, Weights, load
from toolwise.sets.facts import Facts, facts_of
from toolwise.sets.features import View, asked, odds
from toolwise.sets.gate import gate_features, tempered
from toolwise.sets.kernel import subsets, values
from toolwise.sets.pool import SIZE
from toolwise.store import Index
from toolwise.threads import frugal

NEAR, ALIEN = 3.0, 4.0
"""Distance from the usual requests up to which weights are believed, and from which they are not."""
TELLING = 0.5
"""Cosine of an operation elsewhere to a request from which it is worth a word."""
BELIEVED = 0.5
"""How far weights are believed at least where their gate decides."""
RANKED = np.array([2.0, 1.0], np.float32)
"""What a share of the ranking counts in first scores, and these in values, where weights are not believed."""
MORE = np.float32(4.0)
"""What every tool after the first must bring where the weights are not believed."""
FAR = -20.0
"""The first score of nobody."""
FOLDER = "sets"
"""Where a user's own weights lie within an index."""

Read = Callable[[Sequence[Candidate]], Sequence[Tool]]
"""Candidates to their tools."""


class DefaultScorer:
    """Value the tool sets of a pool (protocols.SetScorer).

    With features x of a candidate, y of a pair and z of the request,
    ``first = base_1 * share + f(x)``, ``unary = base_2 * first + u(x, first)``,
    ``pairs[m] = p_m(y, first of both)`` and ``sizes = b + s(z, firsts)``; share is
    the retriever's score over the best one of the pool.
    """

    def __init__(
        self,
        retriever: HybridRetriever,
        read: Read,
        vectors: Floats,
        weights: Weights,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        """``vectors`` (N, D) of the tools; ``elsewhere`` is read by the same encoder."""
        self._retriever, self._elsewhere = retriever, elsewhere
        self._read = read
        self._vectors = vectors  # (N, D)
        self._weights = weights
        self._facts: dict[int, Facts] = {}
        self._asked = lru_cache(maxsize=4)(asked)

    @classmethod
    def open(cls, index: Index, retriever: HybridRetriever | None = None) -> DefaultScorer:
        """The scorer of an index, with the user's own weights where ``toolwise train sets`` made some.

        ``retriever`` is the one that makes the pools, where it is open already.
        Raises EncoderMismatch and EncoderError.
        """
        own = weights_of(index.folder)

        def read(pool: Sequence[Candidate]) -> list[Tool]:
            return [audited.tool for audited in index.tools([candidate.id for candidate in pool])]

        found = HybridRetriever.open(index) if retriever is None else retriever
        weights = load(own if own.is_file() else PACKAGED)
        return cls(
            found, read, index.vectors, weights, known_elsewhere(index.arrays, index.meta["fingerprint"])
        )

    def narrow(self, query: Query, candidates: Sequence[Candidate], k: int = SIZE) -> list[Candidate]:
        """The ``k`` best of a longer list by their first scores, best first; ties by row."""
        if len(candidates) <= k:
            return list(candidates)
        with frugal(0):
            scores = first_scores(self._weights, self._view(query, candidates))
        order = sorted(range(len(candidates)), key=lambda i: (-scores[i], candidates[i].row))
        return [candidates[i] for i in order[:k]]

    def energy(self, query: Query, pool: Sequence[Candidate]) -> SetEnergy:
        """See :class:`toolwise.protocols.SetScorer`."""
        if not pool:
            nothing = np.zeros((LARGEST + 1, 0, 0), dtype=np.float32)
            return SetEnergy(np.zeros(0, dtype=np.float32), nothing, self._weights.sizes)
        with frugal(0):
            return self._energy(query, pool)

    def _energy(self, query: Query, pool: Sequence[Candidate]) -> SetEnergy:
        view = self._view(query, pool)
        first = first_scores(self._weights, view)
        energy = energy_of(self._weights, view, first)
        energy = replace(energy, values=values(energy, subsets(len(pool), LARGEST)))
        rows = np.array([candidate.row for candidate in pool], dtype=np.int64)
        if self._retriever.unserved_the_like(query):
            return replace(energy, unserved=1.0)
        if self._retriever.served_the_like(query, rows).any():
            return replace(energy, unserved=0.0)  # what served such a request is there
        gate = self._weights.gate
        asked = self._doubts(view, energy, first) if gate else None
        return energy if gate is None or asked is None else replace(energy, unserved=tempered(gate, asked))

    def elsewhere_like(self, query: Query) -> Tool | None:
        """What tools elsewhere do that is nearer to a request than any of the library; None for nothing."""
        if self._elsewhere is None:
            return None
        vector, best = self._retriever.read(query)
        if self._elsewhere.dim != len(vector):
            return None
        row = self._elsewhere.nearest(vector, max(best, TELLING))
        return None if row is None else operations()[row]

    def doubts(self, query: Query, pool: Sequence[Candidate]) -> Floats | None:
        """(G,): what a gate goes by (:data:`toolwise.sets.gate.GATE`); None where none may judge.

        That is without operations elsewhere, and for requests and catalogues that the weights hardly know.
        """
        view = self._view(query, pool)
        first = first_scores(self._weights, view)
        return self._doubts(view, energy_of(self._weights, view, first), first)

    def _doubts(self, view: View, energy: SetEnergy, first: Floats) -> Floats | None:
        if self._elsewhere is None or not believed(self._weights, view):
            return None
        vector = self._retriever.vectors(view.evidence.texts)[0]
        if self._elsewhere.dim != len(vector):
            return None
        cosines, floor = self._elsewhere.cosines(vector), self._retriever.floor
        return gate_features(energy, first, view, self._elsewhere, cosines, floor)

    def _view(self, query: Query, pool: Sequence[Candidate]) -> View:
        rows = np.array([candidate.row for candidate in pool], dtype=np.int64)
        facts = self._facts_of(pool)
        return View(
            self._asked(query.text), facts, self._retriever.evidence(query, rows), self._vectors_of(rows)
        )

    def _vectors_of(self, rows: Ints) -> Floats:
        found: Floats = np.asarray(self._vectors[rows], dtype=np.float32)
        return found

    def warm(self, candidates: Sequence[Candidate]) -> None:
        """Read what is needed of these tools now, not when they are first ranked: about 0.1 ms a tool."""
        self._facts_of(candidates)

    def _facts_of(self, pool: Sequence[Candidate]) -> list[Facts]:
        missing = [candidate for candidate in pool if candidate.row not in self._facts]
        if missing:
            tools = self._read(missing)
            self._facts.update({c.row: facts_of(tool) for c, tool in zip(missing, tools, strict=True)})
        return [self._facts[candidate.row] for candidate in pool]


def weights_of(folder: Path) -> Path:
    """Where a user's own weights of the index in ``folder`` lie; they may not exist."""
    return folder / FOLDER / FILE


def trust_of(weights: Weights, whole: Floats) -> Floats:
    """(..., G) -> (...): how far weights are believed, 0 to 1: not where requests are unlike those they know.

    A few features (``SIGNS``) tell other catalogues and other requests apart; beyond
    ``NEAR`` standard deviations (root mean square) belief fades, at ``ALIEN`` the
    retriever's ranking and its confidence are all that is left.  So it is where tools have neither
    servers nor parameters (:attr:`View.described`).
    """
    mean, spread = weights.usual
    off = (whole[..., list(SIGNS)] - mean) / spread
    distance = np.sqrt(np.square(np.clip(off, -5, 5)).mean(axis=-1))
    trust: Floats = np.clip((ALIEN - distance) / (ALIEN - NEAR), 0, 1).astype(np.float32)
    return trust


def believed(weights: Weights, view: View) -> bool:
    """Whether the weights know requests and catalogues like these well enough to turn a request away."""
    return float(trust_of(weights, view.whole)) * view.described >= BELIEVED


def first_scores(weights: Weights, view: View) -> Floats:
    """(K,): candidates one by one, before sets are looked at."""
    trust = trust_of(weights, view.whole) * np.float32(view.described)
    found: Floats = slope(weights, 0, trust) * view.share + trust * weights.first(view.unary)[:, 0]
    return found


def slope(weights: Weights, place: int, trust: Floats) -> Floats:
    """(...,): what a share of the ranking counts in first scores (0) and in values (1).

    That is what the weights say, as far as they are believed: ``trust`` (...,).
    """
    found: Floats = trust * weights.base[place] + (1 - trust) * RANKED[place]
    return found


def energy_of(weights: Weights, view: View, first: Floats) -> SetEnergy:
    """What the weights say of one pool with ``first`` scores (K,)."""
    whole = view.whole
    trust = trust_of(weights, whole) * np.float32(view.described)
    unary = slope(weights, 1, trust) * first + trust * weights.unary(with_first(view.unary, first))[:, 0]
    size = len(first)
    rows, columns = np.triu_indices(size, 1)
    pairs = np.zeros((LARGEST + 1, size, size), dtype=np.float32)
    if len(rows):
        found = trust * weights.pair(pair_inputs(view.pairs()[rows, columns], first, whole, rows, columns)).T
        pairs[2:, rows, columns] = found
        pairs[2:, columns, rows] = found
    known = trust * (weights.sizes + weights.whole(whole_inputs(whole, first)[None])[0])
    sizes = known + (1 - trust) * unknown_sizes(view.evidence.confidence)
    return SetEnergy(unary.astype(np.float32), pairs, sizes.astype(np.float32))


def unknown_sizes(confidence: float) -> Floats:
    """(M + 1,): size biases where the weights are not believed.

    One tool after the other becomes less likely, about two being needed, so that the first of the ranking are
    shown; nothing is, where the retriever is not sure of any tool.
    """
    found = -MORE * np.maximum(np.arange(LARGEST + 1, dtype=np.float32) - 1, 0)
    found[0] = 0.0 if confidence >= 1 else -FAR
    return found


def with_first(unary: Floats, first: Floats) -> Floats:
    """(..., K, U), first scores (..., K) -> (..., K, U + 2): with the score and its distance to the best."""
    behind = first - first.max(axis=-1, keepdims=True)
    joined: Floats = np.concatenate([unary, first[..., None], behind[..., None]], axis=-1)
    return joined


def pair_inputs(pairs: Floats, first: Floats, whole: Floats, rows: Ints, columns: Ints) -> Floats:
    """(..., P, V) of the pairs ``rows`` and ``columns`` (P,) -> (..., P, V + 4).

    Added are both first scores against the best and the request's clauses and length.
    """
    behind = first - first.max(axis=-1, keepdims=True)
    one, other = behind[..., rows], behind[..., columns]
    shape = np.broadcast_to(whole[..., None, :2], (*pairs.shape[:-1], 2))
    ends = np.stack([np.minimum(one, other), np.maximum(one, other)], axis=-1)
    joined: Floats = np.concatenate([pairs, ends, shape], axis=-1, dtype=np.float32)
    return joined


def whole_inputs(whole: Floats, first: Floats) -> Floats:
    """(..., G), first scores (..., K) -> (..., G + L + 1): with the best scores and the tools they expect."""
    best = np.full((*whole.shape[:-1], LEADERS), FAR, dtype=np.float32)
    ordered = np.sort(first, axis=-1)[..., ::-1][..., :LEADERS]
    best[..., : ordered.shape[-1]] = ordered
    expected = odds(first).sum(axis=-1, keepdims=True)
    joined: Floats = np.concatenate([whole, best, expected], axis=-1, dtype=np.float32)
    return joined
