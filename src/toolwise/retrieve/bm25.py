"""Lexical retrieval: BM25 by bm25s over split, stemmed identifiers and texts."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import lru_cache

import bm25s
import numpy as np
from numpy.typing import NDArray

from toolwise.protocols import Bools, Floats
from toolwise.records import Query, Shortlist, Tool
from toolwise.retrieve.fit import confidence
from toolwise.retrieve.ranking import best_rows, greatest, shortlist
from toolwise.retrieve.vocabulary import terms, tool_terms
from toolwise.store import Index

FOLDER = "bm25"
"""Where the arrays lie within a generation of an index."""
K1 = 2.0
B = 0.75
LEAST_TOOLS = 100


def build(tools: Sequence[Tool]) -> bm25s.BM25:
    """A BM25 index (Lucene's variant) over ``tools``, rows in their order."""
    logging.getLogger("bm25s").setLevel(logging.WARNING)  # the library sets itself to DEBUG
    index = bm25s.BM25(k1=K1, b=B, method="lucene")
    index.index([tool_terms(tool) or [""] for tool in tools] or [[""]], show_progress=False)
    _lift_small(index, len(tools))
    return index


def _lift_small(index: bm25s.BM25, tools: int) -> None:
    """Score a small catalogue as if it held ``LEAST_TOOLS``.

    In a catalogue of five tools every term is common and idf says nothing; the
    scores would be small beside a cosine and below every floor.
    """
    if 0 < tools < LEAST_TOOLS:
        holders = np.diff(index.scores["indptr"]).astype(np.float64)  # (V,)
        ratio = _idf(holders, LEAST_TOOLS) / _idf(holders, tools)
        index.scores["data"] = (index.scores["data"] * np.repeat(ratio, holders.astype(int))).astype(
            np.float32
        )


def _idf(holders: NDArray[np.float64], tools: int) -> NDArray[np.float64]:
    """Lucene's idf of terms that ``holders`` of ``tools`` tools hold."""
    idf: NDArray[np.float64] = np.log(1 + (tools - holders + 0.5) / (holders + 0.5))
    return idf


class Bm25Retriever:
    """Rank by BM25, in Lucene's variant.

    The score is the sum over the request's distinct terms t of idf(t) * tf /
    (tf + k1 * (1 - b + b * dl / avgdl)), without the constant factor k1 + 1;
    idf(t) = ln(1 + (N - n + 0.5) / (n + 0.5)) with N at least
    ``LEAST_TOOLS``.  A term said twice asks for nothing more, so it counts once.
    """

    def __init__(self, index: bm25s.BM25, ids: Sequence[str]) -> None:
        self._index = index
        self._ids = ids
        self._remembered = lru_cache(maxsize=16)(self._compute)

    @classmethod
    def open(cls, index: Index) -> Bm25Retriever:
        """The lexical half of an index, memory-mapped."""
        return cls(bm25s.BM25.load(index.arrays / FOLDER, mmap=True, load_corpus=False), index.ids)

    def score(self, text: str) -> Floats:
        """Scores (N,), not negative; not to be written to."""
        return self._remembered(text)

    def _compute(self, text: str) -> Floats:
        vocabulary = self._index.vocab_dict
        known = [vocabulary[term] for term in dict.fromkeys(terms(text)) if term in vocabulary]
        if not known or not self._ids:
            return np.zeros(len(self._ids), dtype=np.float32)
        scores: Floats = self._index.get_scores_from_ids(known)
        return scores

    def retrieve(self, query: Query, k: int, within: Bools | None = None) -> Shortlist:
        """The best ``k`` tools that share a term with the query."""
        scores = self.score(query.text)
        rows = best_rows(scores, k, within)
        sure = confidence(lexical=greatest(scores, within))
        return shortlist(query, self._ids, scores, rows[scores[rows] > 0], sure)
