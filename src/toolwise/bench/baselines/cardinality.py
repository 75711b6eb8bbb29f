"""How many tools a request needs, predicted from the request; which ones is up to an inner system.

Ridge regression of the size of the gold set on the request's vector and a few
numbers about its length.  The strength of the penalty is chosen among
:data:`PENALTIES` by the leave-one-out error on the training requests, which
ridge regression has in closed form (Allen's PRESS statistic).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from toolwise.bench.data import Task
from toolwise.bench.system import Ranking, System
from toolwise.protocols import Encoder
from toolwise.records import Query, Tool
from toolwise.retrieve import clauses, terms

UNTRAINED_SIZE = 2
"""Tools of a set where nothing was learnt: about the mean over the data sets of both papers."""
PENALTIES = (1.0, 10.0, 100.0, 1000.0, 10000.0)
FEWEST = 10
"""Training requests below which nothing is learnt."""

Wide = NDArray[np.float64]


def lengths(text: str) -> list[float]:
    """Logarithms of characters, terms and clauses, and the number of clauses (cut off at 12)."""
    parts = len(clauses(text))
    return [
        float(np.log1p(len(text))),
        float(np.log1p(len(terms(text)))),
        float(np.log1p(parts)),
        min(parts, 12.0),
    ]


class SizeModel:
    """Ridge regression on standardised features; ``features`` (Q, F), ``sizes`` (Q,)."""

    def __init__(self, features: Wide, sizes: Wide) -> None:
        self._mean, spread = features.mean(0), features.std(0)
        self._spread = np.where(spread > 1e-9, spread, 1.0)
        self._offset = float(sizes.mean())
        self.largest = int(sizes.max())
        inputs = (features - self._mean) / self._spread
        left, values, right = np.linalg.svd(inputs, full_matrices=False)
        target = left.T @ (sizes - self._offset)
        self.penalty = min(PENALTIES, key=lambda penalty: self._press(left, values, target, sizes, penalty))
        self._weights: Wide = right.T @ (values / (values**2 + self.penalty) * target)

    def _press(self, left: Wide, values: Wide, target: Wide, sizes: Wide, penalty: float) -> float:
        """Mean squared leave-one-out error, the mean of the sizes being part of the model."""
        share = values**2 / (values**2 + penalty)
        leverage = (left**2) @ share + 1 / len(sizes)
        error = sizes - self._offset - left @ (share * target)
        return float(np.mean((error / np.maximum(1 - leverage, 1e-6)) ** 2))

    def predict(self, features: Wide) -> float:
        """The expected size for one request's features (F,)."""
        return float((features - self._mean) / self._spread @ self._weights) + self._offset


class CardinalitySystem:
    """An inner system's ranking, cut at the predicted size."""

    name = "cardinality"
    trained: bool = False
    """False where there were too few training requests: every set then has :data:`UNTRAINED_SIZE` tools."""

    def __init__(self, inner: System, encoder: Callable[[], Encoder]) -> None:
        self._inner, self._encoder = inner, encoder
        self._seen: list[Task] | None = None
        self._model: SizeModel | None = None

    def fit(self, tools: Sequence[Tool], train: Sequence[Task]) -> None:
        """Fit the inner system and learn sizes; the same training requests are learnt from once."""
        self._inner.fit(tools, train)
        tasks = list(train)
        if tasks == self._seen:
            return
        self._seen, self._model = tasks, None
        if len(tasks) >= FEWEST:
            features = self._features([task.query.text for task in tasks])
            self._model = SizeModel(features, np.array([len(task.gold) for task in tasks], np.float64))
        self.trained = self._model is not None

    def _features(self, texts: Sequence[str]) -> Wide:
        vectors = self._encoder().encode_queries(texts).astype(np.float64)  # (Q, D)
        return np.hstack([vectors, np.array([lengths(text) for text in texts])])  # (Q, D + 4)

    def size(self, query: Query) -> int:
        """The predicted number of tools, from 0 to the largest seen in training."""
        if self._model is None:
            return UNTRAINED_SIZE
        expected = self._model.predict(self._features([query.text])[0])
        return min(max(int(np.floor(expected + 0.5)), 0), self._model.largest)

    def rank(self, query: Query, k: int) -> Ranking:
        """The inner ranking."""
        return self._inner.rank(query, k)

    def select(self, query: Query) -> list[str]:
        """The top of the inner ranking, as many as predicted."""
        return [id_ for id_, _ in self._inner.rank(query, self.size(query))]
