"""Fusion of lexical and dense scores."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from toolwise.protocols import Bools, Floats
from toolwise.records import Query, Shortlist
from toolwise.retrieve.bm25 import Bm25Retriever
from toolwise.retrieve.clauses import clauses
from toolwise.retrieve.dense import DenseRetriever
from toolwise.retrieve.fit import confidence
from toolwise.retrieve.ranking import best_rows, greatest, shortlist
from toolwise.store import Index

SCALE = 10.0
"""BM25 score that counts as much as a cosine of one."""
COVERAGE = 0.5
"""How much the best clause of a tool counts beside the whole request."""
MOST_CLAUSES = 6
"""Clauses that are looked at one by one."""
_LEAST = np.float32(1e-6)


class HybridRetriever:
    """Rank by what suits the whole request, and by what suits one of its clauses best.

    A text's score is ``cosine + (BM25 / scale) ** 2``: one shared word is
    chance, several rare ones are evidence; squared, a low BM25 score hardly
    moves a ranking by meaning, and a high one rules it.

    A request of several clauses (:func:`toolwise.retrieve.clauses.clauses`)
    needs a tool for each of them.  With the best score over all tools written
    max, a tool's score is ``whole + coverage * max(whole) * c``, where c is the
    greatest of ``clause / max(clause)`` over the clauses: the best tool of
    every clause comes up.
    """

    def __init__(
        self,
        lexical: Bm25Retriever,
        dense: DenseRetriever,
        ids: Sequence[str],
        scale: float = SCALE,
        coverage: float = COVERAGE,
    ) -> None:
        self._lexical = lexical
        self._dense = dense
        self._ids = ids
        self._scale = np.float32(scale)
        self._coverage = np.float32(coverage)
        self._remembered = lru_cache(maxsize=2)(self._compute)

    @classmethod
    def open(cls, index: Index) -> HybridRetriever:
        """Both halves of an index.  Raises EncoderMismatch."""
        return cls(Bm25Retriever.open(index), DenseRetriever.open(index), index.ids)

    def _compute(self, text: str) -> tuple[Floats, Floats, Floats]:
        """Fused scores, and BM25 scores and cosines of the whole request; each (N,), not to be written to."""
        parts = clauses(text)[:MOST_CLAUSES]
        texts = (text, *parts) if len(parts) > 1 and self._coverage > 0 else (text,)
        lexical = np.stack([self._lexical.score(some) for some in texts])  # (1 + C, N)
        dense = self._dense.scores(texts)  # (1 + C, N)
        scores: Floats = dense + np.square(lexical / self._scale)
        fused = scores[0]
        if len(texts) > 1 and len(fused):
            best = np.maximum(scores.max(axis=1, keepdims=True), _LEAST)  # (1 + C, 1)
            fused = fused + self._coverage * best[0] * (scores[1:] / best[1:]).max(axis=0)
        return fused, lexical[0], dense[0]

    def retrieve(self, query: Query, k: int, within: Bools | None = None) -> Shortlist:
        """The best ``k`` tools by the fused score."""
        scores, lexical, dense = self._remembered(query.text)
        sure = confidence(greatest(lexical, within), greatest(dense, within))
        return shortlist(query, self._ids, scores, best_rows(scores, k, within), sure)
