"""HYSET, its ablations and its comparators as systems of the bench."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from toolwise.bench.baselines.pool import positions
from toolwise.bench.cases import Group
from toolwise.bench.data import Task
from toolwise.bench.sets.training import MOST, Data, development, encoder_of, per_tool, trained
from toolwise.bench.system import Learning, Ranking, Selecting, System
from toolwise.learn.hyperedges import PAPER, Plan, Trained
from toolwise.learn.set_decoding import decode
from toolwise.protocols import Encoder, Floats
from toolwise.records import Query, Tool
from toolwise.sets.hyperedge import FIRST, MORE, HyperedgeScorer
from toolwise.sets.hyperedge_weights import HyperedgeWeights

LARGEST = 5
"""Tools of a set cut by a threshold at most, as of the largest set of HYSET."""


@dataclass(frozen=True)
class Options:
    """What a set system may learn from."""

    most: int = MOST
    """Training requests at most (0: all)."""
    by_request: bool = False
    """Early stopping by single requests, as for tests whose gold sets all occur in training."""
    never_negative: frozenset[str] = frozenset()
    """Tools kept out of every drawn negative (the strict protocol for held-out tools)."""


class _Learned:
    """What the systems here share: training requests, the encoder, and the vectors of the fitted library."""

    name: str

    def __init__(self, name: str, encoder: str, seed: int, options: Options) -> None:
        self.name, self._specification, self._seed, self._options = name, encoder, seed, options
        self._data = Data.of(())

    def learn(self, training: Sequence[Group]) -> None:
        """Take the training requests; the work is done when a library is fitted."""
        self._data = replace(
            Data.of(training),
            never_negative=self._options.never_negative,
            by_request=self._options.by_request,
        )

    def fit(self, tools: Sequence[Tool], train: Sequence[Task]) -> None:
        """Encode a library."""
        self._encoder: Encoder = encoder_of(self._specification, self._data, self._seed, self._options.most)
        self._ids = [tool.id for tool in tools]
        self._vectors = self._encoder.encode_tools(tools)

    def _vector(self, query: Query) -> Floats:
        row: Floats = self._encoder.encode_queries([query.text])[0]
        return row


class HysetSystem(_Learned):
    """HYSET with its own inference; a tool that training had not seen has the encoder's vector.

    Without training requests it is the frozen encoder with no interactions.
    """

    def __init__(
        self,
        name: str,
        encoder: str,
        plan: Plan = PAPER,
        options: Options = Options(),
        first: int = FIRST,
        more: int = MORE,
    ) -> None:
        super().__init__(name, encoder, plan.seed, options)
        self._plan, self._first, self._more = plan, first, more

    def fit(self, tools: Sequence[Tool], train: Sequence[Task]) -> None:
        """Train unless the same was trained before, then look the library's tools up in the table."""
        super().fit(tools, train)
        weights = self._trained() if self._data.teaches else self._untrained()
        self._scorer = HyperedgeScorer(weights, first=self._first, more=self._more)

    def _trained(self) -> HyperedgeWeights:
        found = self.training()
        table = _table(found, self._ids, self._vectors)
        return replace(found.hyperedges(), ids=tuple(self._ids), Z=table)

    def _untrained(self) -> HyperedgeWeights:
        width = self._encoder.dim
        matrices = np.zeros((self._plan.largest + 1, width, width), np.float32)
        return HyperedgeWeights(tuple(self._ids), self._vectors, np.eye(width, dtype=np.float32), matrices)

    def training(self) -> Trained:
        """The scorer that was trained, with its log."""
        return trained(self._data, self._specification, self._plan, self._options.most)

    def development(self) -> frozenset[str]:
        """The texts of the requests that training stops by; none without training requests."""
        return development(self._data, self._plan.largest, self._plan.seed, self._options.most)

    def rank(self, query: Query, k: int) -> Ranking:
        """The greedy ranking, the rest of the library behind it."""
        if k <= 0:
            return []
        return positions([self._ids[row] for row in self._scorer.rank(self._vector(query), k)])

    def select(self, query: Query) -> list[str]:
        """The set of greatest F."""
        return [self._ids[row] for row in self._scorer.predict(self._vector(query))]


class NetworkSystem(_Learned):
    """DeepSets or the Set Transformer over the same shortlist size, all of it by l."""

    def __init__(self, name: str, encoder: str, plan: Plan, options: Options = Options()) -> None:
        super().__init__(name, encoder, plan.seed, options)
        self._plan = plan
        self._last: tuple[str | None, list[str], list[str]] = (None, [], [])

    def fit(self, tools: Sequence[Tool], train: Sequence[Task]) -> None:
        """Train unless the same was trained before."""
        super().fit(tools, train)
        found = trained(self._data, self._specification, self._plan, self._options.most)
        self._network = found.network.over(_table(found, self._ids, self._vectors))
        self._last = (None, [], [])

    def _decoded(self, query: Query) -> tuple[list[str], list[str]]:
        if self._last[0] != query.text:
            rows = np.arange(len(self._ids))
            found = decode(self._network, self._vector(query), rows, self._plan.largest)
            ranked, best = ([self._ids[row] for row in part] for part in (found.ranking, found.best))
            self._last = (query.text, ranked, best)
        return self._last[1], self._last[2]

    def rank(self, query: Query, k: int) -> Ranking:
        """Its shortlist of 20 at most: greedy up to five, then by l."""
        return positions(self._decoded(query)[0][: max(k, 0)]) if self._ids else []

    def select(self, query: Query) -> list[str]:
        """The set of greatest value."""
        return self._decoded(query)[1] if self._ids else []


class PerToolSystem(_Learned):
    """The cosine with a learned bilinear residual; it delivers no set of its own."""

    def fit(self, tools: Sequence[Tool], train: Sequence[Task]) -> None:
        """Train unless the same was trained before."""
        super().fit(tools, train)
        self._model = per_tool(self._data, self._specification, self._seed, self._options.most)

    def rank(self, query: Query, k: int) -> Ranking:
        """By score, equal ones by id."""
        scores = self._model.scores(self._vector(query), self._vectors)
        rows = np.argsort(-scores, kind="stable")[: max(k, 0)]
        return [(self._ids[row], float(scores[row])) for row in rows]


class BudgetSystem:
    """A comparator that delivers at least as many tools as HYSET for the same request.

    Its own set, where it has one, is filled up from its own ranking to the size
    of HYSET's; else the top of its ranking of that size is delivered.
    """

    def __init__(self, name: str, inner: System, reference: HysetSystem) -> None:
        self.name, self._inner, self._reference = name, inner, reference

    def learn(self, training: Sequence[Group]) -> None:
        """Both learn."""
        self._reference.learn(training)
        if isinstance(self._inner, Learning):
            self._inner.learn(training)

    def fit(self, tools: Sequence[Tool], train: Sequence[Task]) -> None:
        """Both fit."""
        self._reference.fit(tools, train)
        self._inner.fit(tools, train)

    def rank(self, query: Query, k: int) -> Ranking:
        """The comparator's ranking."""
        return self._inner.rank(query, k)

    def select(self, query: Query) -> list[str]:
        """Its set, filled up."""
        size = len(self._reference.select(query))
        own = list(self._inner.select(query)) if isinstance(self._inner, Selecting) else []
        more = [id_ for id_, _ in self._inner.rank(query, size + len(own)) if id_ not in own]
        return [*own, *more[: max(0, size - len(own))]]

    def close(self) -> None:
        """Close the comparator, where it holds anything open."""
        _close(self._inner)


class ThresholdSystem:
    """A ranking cut where scores fall below a threshold, 1 to :data:`LARGEST` tools.

    The threshold is chosen so that the mean size on HYSET's development requests
    is HYSET's there; no gold set is looked at.
    """

    def __init__(self, name: str, inner: System, reference: HysetSystem) -> None:
        self.name, self._inner, self._reference = name, inner, reference
        self.threshold = 0.0

    def learn(self, training: Sequence[Group]) -> None:
        """Choose the threshold, library by library, on development requests."""
        self._reference.learn(training)
        if isinstance(self._inner, Learning):
            self._inner.learn(training)
        dev = self._reference.development()
        sizes: list[int] = []
        scores: list[list[float]] = []
        for group in training:
            mine = [task.query for task in group.tasks if task.query.text in dev]
            if mine:
                self._reference.fit(group.tools, ())
                self._inner.fit(group.tools, ())
                sizes += [len(self._reference.select(query)) for query in mine]
                scores += [[s for _, s in self._inner.rank(query, LARGEST)] for query in mine]
        self.threshold = threshold(scores, float(np.mean(sizes)) if sizes else 1.0)

    def fit(self, tools: Sequence[Tool], train: Sequence[Task]) -> None:
        """Fit the ranking."""
        self._inner.fit(tools, train)

    def rank(self, query: Query, k: int) -> Ranking:
        """The inner ranking."""
        return self._inner.rank(query, k)

    def select(self, query: Query) -> list[str]:
        """The tools above the threshold; the first in any case."""
        found = self._inner.rank(query, LARGEST)
        return [id_ for place, (id_, score) in enumerate(found) if place == 0 or score >= self.threshold]

    def close(self) -> None:
        """Close the ranking system, where it holds anything open."""
        _close(self._inner)


def _close(system: System) -> None:
    close = getattr(system, "close", None)
    if close is not None:
        close()


def threshold(scores: Sequence[Sequence[float]], size: float) -> float:
    """The score at which the mean number of kept tools is nearest to ``size``; a list keeps its first."""
    rest = sorted((score for some in scores for score in some[1:]), reverse=True)
    wanted = round((size - 1) * len(scores))
    if wanted <= 0 or not rest:
        return float("inf")
    return rest[min(wanted, len(rest)) - 1]


def _table(found: Trained, ids: Sequence[str], vectors: Floats) -> Floats:
    """The trained rows of known tools, the encoder's vectors of the others (N, D)."""
    known = {id_: row for row, id_ in enumerate(found.ids)}
    rows = np.array([known.get(id_, -1) for id_ in ids], dtype=np.int64)
    learned = found.network.table.detach().numpy()
    table: Floats = np.where((rows >= 0)[:, None], learned[rows], vectors).astype(np.float32)
    return table
