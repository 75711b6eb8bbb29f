"""Fusion of lexical and dense scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from toolwise.protocols import Bools, Floats, Ints
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


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for each of K tools, part by part; row 0 is the whole request, rows 1 to C its clauses.

    C is 0 for a request of one clause.
    """

    texts: tuple[str, ...]
    """The whole request and its clauses, 1 + C."""
    fused: Floats
    """(K,): the scores that the retriever ranks by."""
    lexical: Floats
    """(1 + C, K): BM25."""
    dense: Floats
    """(1 + C, K): cosines."""
    best: Floats
    """(1 + C,): the greatest ``cosine + (BM25 / scale) ** 2`` of each text over all tools of the index."""


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

    def _compute(self, text: str) -> Evidence:
        """What speaks for each of the N tools; not to be written to."""
        parts = clauses(text)[:MOST_CLAUSES]
        texts = (text, *parts) if len(parts) > 1 and self._coverage > 0 else (text,)
        lexical = np.stack([self._lexical.score(some) for some in texts])  # (1 + C, N)
        dense = self._dense.scores(texts)  # (1 + C, N)
        scores: Floats = dense + np.square(lexical / self._scale)
        best = np.maximum(scores.max(axis=1, initial=0.0), _LEAST)  # (1 + C,)
        fused = scores[0]
        if len(texts) > 1 and len(fused):
            fused = fused + self._coverage * best[0] * (scores[1:] / best[1:, None]).max(axis=0)
        return Evidence(texts, fused, lexical, dense, best)

    def evidence(self, query: Query, rows: Ints) -> Evidence:
        """What speaks for the tools at ``rows`` (K,); free right after :meth:`retrieve` of the same query."""
        whole = self._remembered(query.text)
        return Evidence(
            whole.texts, whole.fused[rows], whole.lexical[:, rows], whole.dense[:, rows], whole.best
        )

    def retrieve(self, query: Query, k: int, within: Bools | None = None) -> Shortlist:
        """The best ``k`` tools by the fused score."""
        found = self._remembered(query.text)
        sure = confidence(
            greatest(found.lexical[0], within), greatest(found.dense[0], within), self._dense.floor
        )
        return shortlist(query, self._ids, found.fused, best_rows(found.fused, k, within), sure)
