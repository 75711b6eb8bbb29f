"""Fit how requests are read to the tools that served past ones; seconds, and without torch.

A request's score for a tool is that of :class:`toolwise.retrieve.hybrid.HybridRetriever`
for its whole text: ``cos(q', t) + w (BM25 / scale) ** 2 + familiar * f``, q' being
``unit(q + q P)``.  P and w are those that make the tools that served most probable:
softmax cross-entropy among all tools of the library at a temperature that is fitted
too, by Adam, stopped by requests held out.  f is how familiar a tool is from
the other requests, so that P learns what a memory of them does not know.

Axes: T requests, N tools, D dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from toolwise.learn.data import Request
from toolwise.protocols import Floats, Ints, Progress, silent
from toolwise.retrieve import HybridRetriever
from toolwise.retrieve.adapter import Adapter
from toolwise.retrieve.experience import MOST, Experience
from toolwise.retrieve.hybrid import FAMILIAR

LEAST = 30
"""Requests below which nothing is fitted: too few are held out to stop by."""
LARGEST = 60_000_000
"""Requests times tools that are held in memory at most; of more, the latest requests are fitted to."""


@dataclass(frozen=True, slots=True)
class AdapterPlan:
    """Settings of the fit, those of the relevance head (:class:`toolwise.learn.dual_head.DefaultPlan`).

    The weight of familiarity is not fitted: out of fold on training workspaces of mcp_tasks that was no
    better (on test requests of ToolLens and UltraTool, which were looked at, by a point at most).
    """

    seed: int = 0
    epochs: int = 60
    batch: int = 64
    rate: float = 3e-4
    """Step of P; ten times that for temperature and weight of words."""
    patience: int = 5
    held: float = 0.1
    """Share of the requests to stop by."""
    scale: float = 15.0
    """Logits per cosine at the start."""


USUAL = AdapterPlan()


@dataclass(frozen=True, slots=True)
class Table:
    """What does not change while P is fitted."""

    queries: Floats
    """(T, D)"""
    tools: Floats
    """(N, D)"""
    words: np.ndarray
    """(T, N) float16: what the words of each request say."""
    familiar: np.ndarray
    """(T, N) float16: what the other requests say."""
    gold: Sequence[Sequence[int]]

    def wanted(self, rows: Ints) -> Floats:
        """(R, N): equal shares of the tools that served."""
        found = np.zeros((len(rows), len(self.tools)), np.float32)
        for line, row in zip(found, rows.tolist(), strict=True):
            line[list(self.gold[row])] = 1 / len(self.gold[row])
        return found


@dataclass(slots=True)
class Values:
    """What is fitted."""

    residual: Floats
    logs: Floats
    """(2,): logarithms of the temperature and of the weight of words."""

    def copy(self) -> Values:
        """As they are now."""
        return Values(self.residual.copy(), self.logs.copy())


def fit_adapter(
    retriever: HybridRetriever,
    tools: Floats,
    past: Sequence[Request],
    plan: AdapterPlan = USUAL,
    progress: Progress = silent,
) -> Adapter | None:
    """The adapter of a library from its past requests; None where held-out ones are served no better.

    ``tools`` (N, D) are the library's vectors, and ``retriever`` searches it.
    """
    told = [request for request in past if request.gold][-max(LARGEST // max(len(tools), 1), 1) :]
    if len(told) < LEAST or len(tools) < 2:
        return None
    table = table_of(retriever, tools, told, progress)
    values = fitted(table, plan, progress)
    if values is None:
        return None
    return Adapter(values.residual, float(np.exp(values.logs[1])))


def table_of(
    retriever: HybridRetriever, tools: Floats, told: Sequence[Request], progress: Progress = silent
) -> Table:
    """Vectors, words and familiarity of each request; no request is familiar from itself."""
    vectors = retriever.vectors([request.text for request in told])
    shape = (len(told), len(tools))
    words, familiar = (np.zeros(shape, np.float16) for _ in range(2))
    remembered = told[-MOST:]
    first = len(told) - len(remembered)
    known = Experience(vectors[first:], [request.gold for request in remembered], len(tools))
    floor = retriever.floor
    for row, request in enumerate(told):
        words[row] = retriever.words(request.text)
        nearest = known.nearest(vectors[row], but=row - first)
        familiar[row] = np.clip((nearest - floor) / (1 - floor), 0, 1)
        progress("reading requests", row + 1, len(told))
    return Table(vectors, np.asarray(tools, np.float32), words, familiar, [r.gold for r in told])


def fitted(table: Table, plan: AdapterPlan, progress: Progress = silent) -> Values | None:
    """The best values by the loss on held-out requests; None where those are best that nothing was taught."""
    rng = np.random.default_rng(plan.seed)
    order = rng.permutation(len(table.queries))
    cut = max(1, round(plan.held * len(order)))
    held, kept = order[:cut], order[cut:]
    width = table.queries.shape[1]
    values = Values(np.zeros((width, width), np.float32), np.log(np.array([plan.scale, 1.0], np.float32)))
    steps = [Adam(values.residual, plan.rate), Adam(values.logs, 10 * plan.rate)]
    best, at_best, kept_values = loss(table, values, held), 0, None
    for epoch in range(1, plan.epochs + 1):
        drawn = rng.permutation(kept)
        for start in range(0, len(drawn), plan.batch):
            for step, slope in zip(
                steps, slopes(table, values, drawn[start : start + plan.batch]), strict=True
            ):
                step(slope)
        now = loss(table, values, held)
        progress("fitting how requests are read", epoch, plan.epochs)
        if now < best:
            best, at_best, kept_values = now, epoch, values.copy()
        elif epoch - at_best >= plan.patience:
            break
    return kept_values


class Adam:
    """Adam on one array, in place (Kingma and Ba 2015, algorithm 1 with its settings)."""

    def __init__(self, values: Floats, rate: float) -> None:
        self._values, self._rate, self._count = values, rate, 0
        self._mean, self._square = np.zeros_like(values), np.zeros_like(values)

    def __call__(self, slope: Floats) -> None:
        """One step down."""
        self._count += 1
        self._mean += 0.1 * (slope - self._mean)
        self._square += 0.001 * (np.square(slope) - self._square)
        mean = self._mean / (1 - 0.9**self._count)
        square = self._square / (1 - 0.999**self._count)
        self._values -= np.float32(self._rate) * mean / (np.sqrt(square) + np.float32(1e-8))


_FAINT = np.float32(-30)
"""Logits below the greatest under which a tool is as good as out; further ones are slow to compute with."""


@dataclass(frozen=True, slots=True)
class _Scored:
    directions: Floats
    """(R, D): q'."""
    lengths: Floats
    """(R, 1): what they were divided by."""
    cosines: Floats
    """(R, N)"""
    words: Floats
    """(R, N)"""
    scores: Floats
    """(R, N)"""
    likely: Floats
    """(R, N): softmax of the scores at the temperature."""


def _scored(table: Table, values: Values, rows: Ints) -> _Scored:
    queries = table.queries[rows]
    moved = queries + queries @ values.residual
    lengths = np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), np.float32(1e-9))
    directions = moved / lengths
    temperature, weight = np.exp(values.logs)
    cosines, words = directions @ table.tools.T, table.words[rows].astype(np.float32)
    scores = cosines + weight * words + np.float32(FAMILIAR) * table.familiar[rows]
    logits = temperature * scores
    likely = np.exp(np.maximum(logits - logits.max(axis=1, keepdims=True), _FAINT))
    likely /= likely.sum(axis=1, keepdims=True)
    return _Scored(directions, lengths, cosines, words, scores, likely)


def loss(table: Table, values: Values, rows: Ints) -> float:
    """Mean cross-entropy of the requests at ``rows``."""
    total = 0.0
    for start in range(0, len(rows), 256):
        part = rows[start : start + 256]
        total -= float((np.log(_scored(table, values, part).likely) * table.wanted(part)).sum())
    return total / len(rows)


def slopes(table: Table, values: Values, rows: Ints) -> tuple[Floats, Floats]:
    """The gradient of the mean loss of some requests by P (D, D) and by both logarithms (2,)."""
    found = _scored(table, values, rows)
    temperature, weight = np.exp(values.logs)
    off = (found.likely - table.wanted(rows)) / np.float32(len(rows))  # by the logits
    pull = temperature * off @ table.tools  # by q'
    along = (pull * found.directions).sum(axis=1, keepdims=True)
    moved = (pull - along * found.directions) / found.lengths
    by_logs = [(off * found.scores).sum() * temperature, (off * found.words).sum() * temperature * weight]
    return table.queries[rows].T @ moved, np.array(by_logs, np.float32)
