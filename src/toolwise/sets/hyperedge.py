"""HYSET as published: tool sets as hyperedges, scored with one matrix per size (configuration ``paper``).

``F(x, E) = F_set(E) + F_align(x, E)`` (eq. 2): F_set sums ``z_a^T M_m z_b`` over
the pairs of E (eq. 3, m = |E|), F_align is the mean of ``l(x, t) = e(x)^T P z_t``
weighted by its softmax within E (eq. 4 to 6).  Axes: N tools of the table, d
their dimensions, D those of the request's vector, M the largest size.

The table Z has a row per tool seen in training: a tool outside it is valued as
a zero vector, which the published form cannot do better.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toolwise.errors import EncoderMismatch
from toolwise.protocols import Encoder, Floats, Ints, SetEnergy
from toolwise.records import Candidate, Query
from toolwise.sets.decode import greedy_ranking, most_probable
from toolwise.sets.hyperedge_weights import HyperedgeWeights
from toolwise.sets.kernel import subsets
from toolwise.threads import frugal

FIRST = 15
"""K1: tools of the shortlist taken by their own score."""
MORE = 5
"""Tools added for their complementarity with those."""


def matrix(weights: HyperedgeWeights, size: int) -> Floats:
    """The interaction matrix (d, d) of sets of ``size``; above M that of M, below two zero."""
    if size < 2 or weights.interaction == "none":
        return np.zeros_like(weights.M[0])
    if weights.interaction == "identity":
        return np.eye(weights.Z.shape[1], dtype=np.float32)
    last = len(weights.M) - 1
    found: Floats = weights.M[last if weights.interaction == "shared" else min(size, last)]
    return found


class HyperedgeScorer:
    """Two-stage inference over a table of tools (eq. 12 to 14); a :class:`toolwise.protocols.SetScorer`.

    ``encoder`` is needed by :meth:`energy` alone; raises EncoderMismatch where
    it is not the one of the weights.
    """

    def __init__(
        self,
        weights: HyperedgeWeights,
        encoder: Encoder | None = None,
        first: int = FIRST,
        more: int = MORE,
    ) -> None:
        if encoder is not None and weights.encoder not in ("", encoder.fingerprint):
            raise EncoderMismatch(
                f"the set scorer was trained on vectors of {weights.encoder}, this encoder is "
                f"{encoder.fingerprint}; train the scorer with this encoder, or load that one.",
                trained=weights.encoder,
                given=encoder.fingerprint,
            )
        self._weights, self._encoder = weights, encoder
        self._first, self._more = first, more
        self._rows = {id_: row for row, id_ in enumerate(weights.ids)}

    @property
    def largest(self) -> int:
        """M, the largest size a set may have."""
        return self._weights.largest

    def matches(self, vector: Floats) -> Floats:
        """l(x, t) of every tool of the table (N,), ``vector`` (D,) being e(x) (eq. 12)."""
        with frugal(self._weights.Z.size):
            found: Floats = self._weights.Z @ (vector @ self._weights.P)
        return found

    def shortlist(self, vector: Floats) -> Ints:
        """Rows of the K1 best tools, then of those of greatest complementarity with one of them (eq. 13)."""
        return self._shortlist(self.matches(vector))

    def _shortlist(self, scores: Floats) -> Ints:
        z = self._weights.Z
        first = _best(scores, self._first)
        if self._more == 0 or len(first) == len(z):
            return first
        if self._weights.interaction == "none":
            return _best(scores, self._first + self._more)
        partners = z[first] @ matrix(self._weights, self.largest)
        with frugal(z.size * len(first)):
            gain = (z @ partners.T).max(axis=1)
        gain[first] = -np.inf
        more = _best(gain, min(self._more, len(z) - len(first)))
        return np.concatenate([first, more])

    def energy(self, query: Query, pool: Sequence[Candidate]) -> SetEnergy:
        """See :class:`toolwise.protocols.SetScorer`; a tool outside the table counts as a zero vector."""
        if self._encoder is None:
            raise ValueError("this scorer was made without an encoder; give it one, or use value()")
        vector = self._encoder.encode_queries([query.text])[0]
        known = np.array([self._rows.get(candidate.id, -1) for candidate in pool], dtype=np.int64)
        return self.value(vector, known)

    def value(self, vector: Floats, rows: Ints, largest: int | None = None) -> SetEnergy:
        """The energy of sets of up to ``largest`` (M unless given) tools at ``rows`` (K,) of the table.

        Row -1 is a tool outside the table.  The empty set is not on offer.
        """
        weights = self._weights
        largest = weights.largest if largest is None else largest
        z = np.where((rows >= 0)[:, None], weights.Z[rows], np.float32(0.0))
        unary = z @ (vector @ weights.P)
        pairs = np.stack([z @ matrix(weights, size) @ z.T for size in range(largest + 1)])
        if weights.pooling == "uniform":
            pairs += _uniform(unary, largest)
        sizes = np.zeros(largest + 1, dtype=np.float32)
        sizes[0] = -np.inf
        return SetEnergy(unary, pairs, sizes, mean=weights.pooling == "attention")

    def predict(self, vector: Floats) -> Ints:
        """Rows of the best set among all of one to M tools of the shortlist (eq. 14), in order of it."""
        rows = self.shortlist(vector)
        table = subsets(len(rows), self.largest)
        members = table.members[most_probable(self.value(vector, rows), table)]
        found: Ints = rows[members]
        return found

    def rank(self, vector: Floats, k: int) -> Ints:
        """Rows of a ranking of ``k`` tools: the shortlist by greedy marginal gain, then the rest by match."""
        scores = self.matches(vector)
        rows = self._shortlist(scores)
        ranked = rows[greedy_ranking(self.value(vector, rows, min(k, len(rows))), k)]
        if k <= len(ranked):
            return ranked
        scores[ranked] = -np.inf
        return np.concatenate([ranked, _best(scores, min(k, len(scores)) - len(ranked))])


def _best(scores: Floats, k: int) -> Ints:
    """Rows of the ``k`` highest scores, equal ones in order of row."""
    if k <= 0:
        return np.zeros(0, dtype=np.int64)
    if k >= len(scores):
        return np.argsort(-scores, kind="stable")
    least = np.partition(scores, -k)[-k]
    able = np.flatnonzero(scores >= least)
    found: Ints = able[np.argsort(-scores[able], kind="stable")][:k]
    return found


def _uniform(unary: Floats, largest: int) -> Floats:
    """What to add to the pairs (M + 1, K, K) so that sums of ``unary`` over a set become plain means.

    A member of a set of m is in m - 1 pairs: each takes back its share of 1 - 1/m.
    """
    size = np.maximum(np.arange(largest + 1, dtype=np.float32), 2.0)
    share = (1.0 / size - 1.0) / (size - 1.0)
    share[:2] = 0.0
    added: Floats = share[:, None, None] * (unary[:, None] + unary)
    return added
