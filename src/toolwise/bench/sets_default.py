"""The default set scorer as a system of the bench: it ranks, and delivers sets of its own size."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from toolwise.bench.data import Task
from toolwise.bench.system import Ranking
from toolwise.learn.data import Library, Request
from toolwise.learn.experience import chosen
from toolwise.learn.sets_data import Room, experienced
from toolwise.policy.policy import ECONOMY
from toolwise.protocols import Encoder, SetEnergy
from toolwise.records import Candidate, Query, Tool
from toolwise.retrieve import Bm25Retriever, DenseRetriever, HybridRetriever, build_bm25
from toolwise.retrieve.elsewhere import Elsewhere, of
from toolwise.sets.decide import gate_of, ranking
from toolwise.sets.default import DefaultScorer
from toolwise.sets.default_weights import LARGEST, PACKAGED, Weights, load
from toolwise.sets.exact import ExactSearch
from toolwise.sets.pool import DEPTH


class DefaultSetSystem:
    """Hybrid candidates, the default scorer's pool, and the sets of it.

    The ranking starts with the best set of five by the probability that it is
    complete; the retriever's order follows where the pool ends.
    """

    def __init__(
        self,
        name: str,
        encoder: Callable[[], Encoder],
        weights: Weights | None = None,
        *,
        experienced: bool = False,
    ) -> None:
        """``experienced``: it learns what ``toolwise train experience`` would from the training requests."""
        self.name = name
        self._experienced = experienced
        self._encoder = encoder
        self._weights = load(PACKAGED) if weights is None else weights

    def fit(self, tools: Sequence[Tool], train: Sequence[Task]) -> None:
        """Index the library; what was to be trained is trained, but for what ``train`` teaches."""
        encoder, ids = self._encoder(), [tool.id for tool in tools]
        vectors = encoder.encode_tools(tools)
        lexical = Bm25Retriever(build_bm25(tools), ids)
        dense = DenseRetriever(encoder, vectors, ids)
        self.retriever = HybridRetriever(lexical, dense, ids)
        if self._experienced:
            room = Room(with_requests(tools, train), self.retriever, np.asarray(vectors))
            lessons = chosen(room, self._weights)
            if lessons is not None:
                self.retriever = experienced(room, room.library.requests, lessons).retriever
        by_row = list(tools)
        self._tools = len(by_row)

        def read(pool: Sequence[Candidate]) -> list[Tool]:
            return [by_row[candidate.row] for candidate in pool]

        elsewhere = _elsewhere(encoder).beside(np.asarray(vectors))
        self._scorer = DefaultScorer(self.retriever, read, np.asarray(vectors), self._weights, elsewhere)

    def rank(self, query: Query, k: int) -> Ranking:
        """The best set first, then the pool, then the retriever's order; scores count down."""
        found = self.retriever.retrieve(query, max(k, DEPTH)).candidates
        pool, energy = self._energy(query, found[:DEPTH])
        ahead = [pool[place].id for place in ranking(energy)] if pool else []
        rest = [candidate.id for candidate in found if candidate.id not in set(ahead)]
        ids = [*ahead, *rest][:k]
        return [(id_, float(len(ids) - place)) for place, id_ in enumerate(ids)]

    def select(self, query: Query) -> list[str]:
        """The delivered set, as the selector decides without rules and at the usual economy."""
        found = self.retriever.retrieve(query, DEPTH)
        pool, energy = self._energy(query, found.candidates)
        if not pool:
            return []
        search = ExactSearch(energy, LARGEST, ECONOMY, gate=gate_of(energy, found.confidence, self._tools))
        chosen = search.search(pool, (), np.ones(len(pool), dtype=np.int64), frozenset()).chosen
        return [candidate.id for candidate in chosen]

    def _energy(self, query: Query, found: Sequence[Candidate]) -> tuple[list[Candidate], SetEnergy]:
        pool = self._scorer.narrow(query, found)
        return pool, self._scorer.energy(query, pool)


_elsewheres: dict[str, Elsewhere] = {}


def _elsewhere(encoder: Encoder) -> Elsewhere:
    """Operations elsewhere, read once by each encoder."""
    if encoder.fingerprint not in _elsewheres:
        _elsewheres[encoder.fingerprint] = of(encoder)
    return _elsewheres[encoder.fingerprint]


def with_requests(tools: Sequence[Tool], train: Sequence[Task]) -> Library:
    """The library with the requests of ``train`` whose tools it all has."""
    row = {tool.id: place for place, tool in enumerate(tools)}
    told = [task for task in train if all(id_ in row for id_ in task.gold)]
    requests = [Request(task.query.text, tuple(sorted(row[id_] for id_ in task.gold))) for task in told]
    return Library("", tuple(tools), tuple(requests))
