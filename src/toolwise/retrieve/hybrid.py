"""Fusion of lexical and dense scores."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from toolwise.errors import BrokenIndex
from toolwise.protocols import Bools, Floats, Ints
from toolwise.records import Query, Shortlist
from toolwise.retrieve.bm25 import Bm25Retriever
from toolwise.retrieve.clauses import clauses
from toolwise.retrieve.dense import DenseRetriever
from toolwise.retrieve.experience import FILE, Experience, Recalled, read
from toolwise.retrieve.fit import FAMILIAR_FLOOR, confidence
from toolwise.retrieve.ranking import best_rows, greatest, shortlist
from toolwise.store import Index

_log = logging.getLogger(__name__)

SCALE = 10.0
"""BM25 score that counts as much as a cosine of one."""
COVERAGE = 0.5
"""How much the best clause of a tool counts beside the whole request."""
FAMILIAR = 0.4
"""What serving the very same request before counts, a cosine of one being one."""
SAME = 0.9
"""Of the way from the encoder's floor to a cosine of one: from here on a request is as good as another."""
MOST_CLAUSES = 6
"""Clauses that are looked at one by one."""
_LEAST = np.float32(1e-6)
_SLIGHT = 1e-4
"""Difference of cosines that may be rounding."""


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
    """(1 + C, K): cosines, of the texts as experience reads them."""
    plain: Floats
    """(K,): cosines of the whole request as the encoder reads it, without what experience teaches."""
    words: np.float32
    """What ``(BM25 / scale) ** 2`` counts beside a cosine: 1 but for what experience teaches."""
    best: Floats
    """(1 + C,): the greatest ``cosine + words * (BM25 / scale) ** 2`` of each text over all tools."""
    recalled: Recalled | None
    """What served past requests, where the library has experience."""
    confidence: float
    """How sure the retriever is of the best of these tools (:func:`toolwise.retrieve.fit.confidence`)."""


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

    A library with experience (:mod:`toolwise.retrieve.experience`) adds ``familiar *
    (r - floor) / (1 - floor)``, where r is the greatest cosine of the request to a past one
    that the tool served and floor that from which the encoder's cosines mean something.  Where it has
    an adapter, that reads the texts and says what words count; how sure the retriever is goes by
    the encoder's own cosines, for its floor is one of those.
    """

    def __init__(
        self,
        lexical: Bm25Retriever,
        dense: DenseRetriever,
        ids: Sequence[str],
        scale: float = SCALE,
        coverage: float = COVERAGE,
        experience: Experience | None = None,
    ) -> None:
        self._lexical = lexical
        self._dense = dense
        self._ids = ids
        self._scale = np.float32(scale)
        self._coverage = np.float32(coverage)
        self._experience = experience
        self._adapter = experience.lessons.adapter if experience else None
        self._words = np.float32(1 if self._adapter is None else self._adapter.lexical)
        self._remembered = lru_cache(maxsize=2)(self._compute)
        self._nearest = lru_cache(maxsize=2)(self._recall)

    @classmethod
    def open(cls, index: Index) -> HybridRetriever:
        """Both halves of an index, and its experience unless that is damaged.  Raises EncoderMismatch."""
        past: Experience | None = None
        try:
            past = read(index.folder / FILE, index.ids, index.meta["fingerprint"])
        except BrokenIndex as error:
            _log.warning("ranking goes on without experience: %s", error)
        return cls(Bm25Retriever.open(index), DenseRetriever.open(index), index.ids, experience=past)

    def remembering(self, experience: Experience | None) -> HybridRetriever:
        """The same retriever with another experience."""
        scale, coverage = float(self._scale), float(self._coverage)
        return HybridRetriever(self._lexical, self._dense, self._ids, scale, coverage, experience)

    def vectors(self, texts: Sequence[str]) -> Floats:
        """(T, D): requests as the encoder reads them; (0, 0) for none."""
        return self._dense.vectors(tuple(texts)) if texts else np.zeros((0, 0), np.float32)

    def read(self, query: Query) -> tuple[Floats, float]:
        """A request's vector (D,) as the encoder reads it, and its greatest cosine to a tool."""
        found = self._remembered(query.text)
        return self._vector(found.texts), greatest(found.plain)

    def words(self, text: str) -> Floats:
        """(N,): what the words of a whole request count at their usual weight, ``(BM25 / scale) ** 2``."""
        found: Floats = np.square(self._lexical.score(text) / self._scale)
        return found

    @property
    def floor(self) -> float:
        """Cosine from which the encoder's vectors mean something."""
        return self._dense.floor

    def served_the_like(self, query: Query, rows: Ints) -> Bools:
        """(K,): whether the tools at ``rows`` served a past request so like this one that it convinces."""
        familiar = self._familiar(self._remembered(query.text).texts)
        if familiar is None:
            return np.zeros(len(rows), dtype=bool)
        found: Bools = familiar[rows] >= FAMILIAR_FLOOR
        return found

    def unserved_the_like(self, query: Query) -> bool:
        """Whether nothing served a past request as good as this one, and none that was served is nearer."""
        if self._experience is None:
            return False
        texts = self._remembered(query.text).texts
        near = self._experience.nearest_unserved(self._vector(texts))
        served = float(np.nan_to_num(self._nearest(texts)).max(initial=0.0))
        return near > served + _SLIGHT and near - self._dense.floor >= SAME * (1 - self._dense.floor)

    def _compute(self, text: str) -> Evidence:
        """What speaks for each of the N tools; not to be written to."""
        parts = clauses(text)[:MOST_CLAUSES]
        texts = (text, *parts) if len(parts) > 1 and self._coverage > 0 else (text,)
        lexical = np.stack([self._lexical.score(some) for some in texts])  # (1 + C, N)
        dense, plain = self._cosines(texts)
        scores: Floats = dense + self._words * np.square(lexical / self._scale)
        best = np.maximum(scores.max(axis=1, initial=0.0), _LEAST)  # (1 + C,)
        fused = scores[0]
        if len(texts) > 1 and len(fused):
            fused = fused + self._coverage * best[0] * (scores[1:] / best[1:, None]).max(axis=0)
        familiar = self._familiar(texts)
        if familiar is not None:
            fused = fused + FAMILIAR * familiar
        return Evidence(texts, fused, lexical, dense, plain, self._words, best, None, 0.0)

    def _cosines(self, texts: tuple[str, ...]) -> tuple[Floats, Floats]:
        """(1 + C, N) as they are ranked by, and (N,) of the whole request as the encoder reads it."""
        if self._adapter is None:
            dense = self._dense.scores(texts)
            return dense, dense[0]
        vectors = self._dense.vectors(texts)
        found = self._dense.cosines(np.concatenate([self._adapter(vectors), vectors[:1]]))
        return found[:-1], found[-1]

    def _recall(self, texts: tuple[str, ...]) -> Floats:
        return self._experience.nearest(self._vector(texts)) if self._experience else np.zeros(0, np.float32)

    def _vector(self, texts: tuple[str, ...]) -> Floats:
        found: Floats = self._dense.vectors(texts)[0]
        return found

    def _familiar(self, texts: tuple[str, ...]) -> Floats | None:
        """(N,): 0 to 1, from cosines up to the floor of the encoder to one of the same request."""
        if self._experience is None:
            return None
        floor, nearest = self._dense.floor, self._nearest(texts)
        known: Floats = np.clip((np.nan_to_num(nearest) - floor) / (1 - floor), 0, 1).astype(np.float32)
        return known

    def _sure(self, found: Evidence, rows: Ints | Bools | slice) -> float:
        """The confidence that the tools at ``rows`` give."""
        familiar = self._familiar(found.texts)
        known = 0.0 if familiar is None else greatest(familiar[rows])
        lexical, dense = greatest(found.lexical[0][rows]), greatest(found.plain[rows])
        return confidence(lexical, dense, self._dense.floor, known)

    def evidence(self, query: Query, rows: Ints) -> Evidence:
        """What speaks for the tools at ``rows`` (K,); free right after :meth:`retrieve` of the same query."""
        whole = self._remembered(query.text)
        past = self._experience
        return Evidence(
            whole.texts,
            whole.fused[rows],
            whole.lexical[:, rows],
            whole.dense[:, rows],
            whole.plain[rows],
            whole.words,
            whole.best,
            None if past is None else past.recall(self._nearest(whole.texts), rows),
            self._sure(whole, rows),
        )

    def retrieve(self, query: Query, k: int, within: Bools | None = None) -> Shortlist:
        """The best ``k`` tools by the fused score."""
        found = self._remembered(query.text)
        sure = self._sure(found, slice(None) if within is None else within)
        return shortlist(query, self._ids, found.fused, best_rows(found.fused, k, within), sure)
