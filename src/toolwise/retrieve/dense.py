"""Dense retrieval: cosine of unit vectors, exact."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from toolwise.encode.load import check_fingerprint, load_encoder
from toolwise.protocols import Bools, Encoder, Floats
from toolwise.records import Query, Shortlist
from toolwise.retrieve.fit import confidence, floor_of
from toolwise.retrieve.ranking import best_rows, greatest, shortlist
from toolwise.store import Index
from toolwise.threads import frugal

_FEW, _SMALL = 5, 4_000_000
"""Texts up to which a product of its own for each is faster than one for all, and the numbers of a matrix
that stays near the processor between them."""


class DenseRetriever:
    """Rank by the cosine of query and tool vectors."""

    def __init__(self, encoder: Encoder, vectors: Floats, ids: Sequence[str]) -> None:
        self._encoder = encoder
        self._vectors = vectors  # (N, D)
        self._ids = ids
        self.floor = floor_of(encoder)
        """Cosine from which meaning alone convinces."""
        self._remembered = lru_cache(maxsize=2)(self._compute)
        self._encoded = lru_cache(maxsize=2)(encoder.encode_queries)

    @classmethod
    def open(cls, index: Index) -> DenseRetriever:
        """The dense half of an index, with the encoder it was made with.  Raises EncoderMismatch."""
        encoder = load_encoder(index.meta["encoder"])
        check_fingerprint(encoder, index.meta, index.folder)
        return cls(encoder, index.vectors, index.ids)

    def score(self, text: str) -> Floats:
        """Cosines (N,); not to be written to."""
        row: Floats = self.scores((text,))[0]
        return row

    def scores(self, texts: tuple[str, ...]) -> Floats:
        """Cosines (Q, N) of several texts; not to be written to."""
        return self._remembered(texts)

    def vectors(self, texts: tuple[str, ...]) -> Floats:
        """The texts as the encoder reads them (Q, D); not to be written to."""
        return self._encoded(texts)

    def cosines(self, queries: Floats) -> Floats:
        """Cosines (Q, N) of unit vectors (Q, D)."""
        if len(queries) > _FEW or self._vectors.size > _SMALL:
            with frugal(self._vectors.size * len(queries)):
                return np.asarray(queries @ self._vectors.T, dtype=np.float32)
        scores = np.empty((len(queries), len(self._vectors)), dtype=np.float32)
        with frugal(self._vectors.size):
            for query, line in zip(queries, scores, strict=True):
                line[:] = self._vectors @ query
        return scores

    def _compute(self, texts: tuple[str, ...]) -> Floats:
        return self.cosines(self.vectors(texts))

    def retrieve(self, query: Query, k: int, within: Bools | None = None) -> Shortlist:
        """The ``k`` tools nearest to the query."""
        scores = self.score(query.text)
        sure = confidence(dense=greatest(scores, within), floor=self.floor)
        return shortlist(query, self._ids, scores, best_rows(scores, k, within), sure)
