"""Fusion of lexical and dense scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toolwise.protocols import Bools, Floats
from toolwise.records import Query, Shortlist
from toolwise.retrieve.bm25 import Bm25Retriever
from toolwise.retrieve.dense import DenseRetriever
from toolwise.retrieve.fit import confidence
from toolwise.retrieve.ranking import best_rows, greatest, shortlist
from toolwise.store import Index

SCALE = 10.0
"""BM25 score that counts as much as a cosine of one."""


class HybridRetriever:
    """Rank by ``cosine + (BM25 / scale) ** 2``.

    One shared word is chance, several rare ones are evidence: squared, a low
    BM25 score hardly moves a ranking by meaning, and a high one rules it.
    """

    def __init__(
        self, lexical: Bm25Retriever, dense: DenseRetriever, ids: Sequence[str], scale: float = SCALE
    ) -> None:
        self._lexical = lexical
        self._dense = dense
        self._ids = ids
        self._scale = np.float32(scale)

    @classmethod
    def open(cls, index: Index) -> HybridRetriever:
        """Both halves of an index.  Raises EncoderMismatch."""
        return cls(Bm25Retriever.open(index), DenseRetriever.open(index), index.ids)

    def retrieve(self, query: Query, k: int, within: Bools | None = None) -> Shortlist:
        """The best ``k`` tools by the fused score."""
        lexical, dense = self._lexical.score(query.text), self._dense.score(query.text)  # (N,), (N,)
        scores: Floats = dense + np.square(lexical / self._scale)
        sure = confidence(greatest(lexical, within), greatest(dense, within))
        return shortlist(query, self._ids, scores, best_rows(scores, k, within), sure)
