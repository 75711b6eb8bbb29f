"""Lexical retrieval: BM25 by bm25s over split, stemmed identifiers and texts."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import bm25s
import numpy as np

from toolwise.protocols import Bools, Floats
from toolwise.records import Query, Shortlist, Tool
from toolwise.retrieve.ranking import best_rows, shortlist
from toolwise.retrieve.vocabulary import terms, tool_terms
from toolwise.store import Index

FOLDER = "bm25"
"""Where the arrays lie within a generation of an index."""
K1 = 2.0
B = 0.75


def build(tools: Sequence[Tool]) -> bm25s.BM25:
    """A BM25 index (Lucene's variant) over ``tools``, rows in their order."""
    logging.getLogger("bm25s").setLevel(logging.WARNING)  # the library sets itself to DEBUG
    index = bm25s.BM25(k1=K1, b=B, method="lucene")
    index.index([tool_terms(tool) or [""] for tool in tools] or [[""]], show_progress=False)
    return index


class Bm25Retriever:
    """Rank by BM25, as a share of the greatest score the query could reach.

    A term of the query can add at most idf(t) * (k1 + 1) (Lucene drops the
    constant k1 + 1, so idf(t)); the sum over the query's terms, unknown ones
    counted with the idf of a term in no tool, bounds the score.  Dividing by it
    gives 0..1, comparable over queries.
    """

    def __init__(self, index: bm25s.BM25, ids: Sequence[str]) -> None:
        self._index = index
        self._ids = ids
        self._rarest = _idf(0, len(ids))
        self._idf: dict[int, float] = {}

    @classmethod
    def open(cls, index: Index) -> Bm25Retriever:
        """The lexical half of an index, memory-mapped."""
        return cls(bm25s.BM25.load(index.arrays / FOLDER, mmap=True, load_corpus=False), index.ids)

    def score(self, text: str) -> Floats:
        """Scores (N,) in 0..1."""
        words = list(dict.fromkeys(terms(text)))  # a word said twice asks for nothing more
        vocabulary = self._index.vocab_dict
        known = [vocabulary[word] for word in words if word in vocabulary]
        if not known:
            return np.zeros(len(self._ids), dtype=np.float32)
        bound = sum(map(self._term_idf, known)) + self._rarest * (len(words) - len(known))
        scores: Floats = self._index.get_scores_from_ids(known)
        return scores / np.float32(bound)

    def retrieve(self, query: Query, k: int, within: Bools | None = None) -> Shortlist:
        """The best ``k`` tools that share a term with the query."""
        scores = self.score(query.text)
        rows = best_rows(scores, k, within)
        return shortlist(query, self._ids, scores, rows[scores[rows] > 0])

    def _term_idf(self, term: int) -> float:
        if term not in self._idf:
            start, end = self._index.scores["indptr"][term : term + 2]
            self._idf[term] = _idf(int(end) - int(start), len(self._ids))
        return self._idf[term]


def _idf(holders: int, tools: int) -> float:
    """Lucene's idf: ln(1 + (N - n + 0.5) / (n + 0.5))."""
    return float(np.log(1 + (tools - holders + 0.5) / (holders + 0.5)))
