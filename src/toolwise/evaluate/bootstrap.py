"""Bootstrap over queries, or over clusters of queries.

After Efron and Tibshirani, An Introduction to the Bootstrap (1993).
Queries of one workspace resemble one another, so where there are workspaces
whole workspaces are drawn: C clusters with replacement, all their queries with
them.  Without clusters every query is its own.  Axes: B resamples, C clusters,
M columns (metrics of one run, or of two).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolwise.evaluate.judgements import Row
from toolwise.evaluate.metric import Metric

Doubles: TypeAlias = NDArray[np.float64]

RESAMPLES = 10_000
CONFIDENCE = 0.95
_CELLS = 500_000
"""Most cells of a weight matrix held at once: 4 MB."""
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Interval:
    """A percentile interval; both ends NaN where fewer than two clusters tell anything."""

    low: float
    high: float


UNTOLD = Interval(float("nan"), float("nan"))


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean of the second run minus mean of the first, with its interval and two-sided p."""

    value: float
    interval: Interval
    p: float
    """NaN where fewer than two clusters tell anything."""


def intervals(
    rows: Sequence[Row],
    generator: np.random.Generator,
    clusters: Mapping[str, str] | None = None,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> dict[Metric, Interval]:
    """A percentile interval of the mean of every metric among ``rows``, from common resamples.

    A query without an entry in ``clusters`` is its own cluster.
    """
    metrics = list(dict.fromkeys(row.metric for row in rows))
    sums, counts = _by_cluster([rows], metrics, clusters)
    drawn = _resampled_means(sums, counts, generator, resamples)  # (B, M)
    return {
        metric: _interval(drawn[:, i], confidence) if np.count_nonzero(counts[:, i]) > 1 else UNTOLD
        for i, metric in enumerate(metrics)
    }


def differences(
    first: Sequence[Row],
    second: Sequence[Row],
    generator: np.random.Generator,
    clusters: Mapping[str, str] | None = None,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> dict[Metric, Difference]:
    """Paired bootstrap of the differences of means: both runs are read on the same resampled queries.

    p is the share of resamples whose difference departs from the observed one
    at least as far as that departs from 0, (1 + hits) / (1 + B), and no less
    than 2 ** (1 - C): that often C clusters all go one way by chance, which the
    resamples of a few clusters do not show.  Metrics that one of the runs has
    no rows of are left out.
    """
    in_second = {row.metric for row in second}
    metrics = [m for m in dict.fromkeys(row.metric for row in first) if m in in_second]
    sums, counts = _by_cluster([first, second], metrics, clusters)
    drawn = _resampled_means(sums, counts, generator, resamples)  # (B, 2M)
    width = len(metrics)
    observed = sums.sum(axis=0) / counts.sum(axis=0)
    found = {}
    for i, metric in enumerate(metrics):
        value = float(observed[width + i] - observed[i])
        moved = drawn[:, width + i] - drawn[:, i]
        told = int(min(np.count_nonzero(counts[:, i]), np.count_nonzero(counts[:, width + i])))
        if told < 2:
            found[metric] = Difference(value, UNTOLD, float("nan"))
        else:
            p = max(_p_value(moved, value), 2.0 ** (1 - told))
            found[metric] = Difference(value, _interval(moved, confidence), p)
    return found


def resampled(
    runs: Sequence[Sequence[Row]],
    metrics: Sequence[Metric],
    generator: np.random.Generator,
    clusters: Mapping[str, str] | None = None,
    resamples: int = RESAMPLES,
) -> Doubles:
    """Means (B, R, M) of the metrics of R runs, all read on the same resampled queries.

    NaN where a resample holds no row of a run's metric.  None of them, (0, R, M),
    where there are fewer than two clusters to draw from.
    """
    sums, counts = _by_cluster(runs, metrics, clusters)
    most = resamples if len(sums) > 1 else 0
    return _resampled_means(sums, counts, generator, most).reshape(most, len(runs), len(metrics))


def _p_value(moved: Doubles, observed: float) -> float:
    moved = moved[~np.isnan(moved)]
    hits = np.count_nonzero(np.abs(moved - observed) >= abs(observed) - _ROUNDING)
    return float((1 + hits) / (1 + len(moved)))


def _interval(drawn: Doubles, confidence: float) -> Interval:
    if np.isnan(drawn).all():
        return UNTOLD
    tail = (1 - confidence) / 2
    low, high = np.nanquantile(drawn, [tail, 1 - tail])
    return Interval(float(low), float(high))


def _by_cluster(
    runs: Sequence[Sequence[Row]], metrics: Sequence[Metric], clusters: Mapping[str, str] | None
) -> tuple[Doubles, Doubles]:
    """Sums and numbers of values, both (C, M * runs): a column for each metric of each run."""
    numbers: dict[tuple[bool, str], int] = {}
    columns = {metric: i for i, metric in enumerate(metrics)}
    cells: list[tuple[int, int, float]] = []
    for offset, rows in enumerate(runs):
        for row in rows:
            if row.metric in columns:
                named = clusters is not None and row.query_id in clusters
                key = (named, clusters[row.query_id] if clusters is not None and named else row.query_id)
                column = offset * len(metrics) + columns[row.metric]
                cells.append((numbers.setdefault(key, len(numbers)), column, row.value))
    shape = (len(numbers), len(metrics) * len(runs))
    sums, counts = np.zeros(shape), np.zeros(shape)
    where = np.array([cell[:2] for cell in cells], dtype=np.int64).reshape(-1, 2).T
    np.add.at(sums, tuple(where), np.array([cell[2] for cell in cells]))
    np.add.at(counts, tuple(where), 1.0)
    return sums, counts


def _resampled_means(
    sums: Doubles, counts: Doubles, generator: np.random.Generator, resamples: int
) -> Doubles:
    """Means (B, M) over resampled clusters; NaN where a resample holds no value of a column."""
    drawn = np.empty((resamples, sums.shape[1]))
    done = 0
    for weights in _weights(len(sums), generator, resamples):
        total = weights @ counts
        with np.errstate(invalid="ignore", divide="ignore"):
            drawn[done : done + len(weights)] = (weights @ sums) / total
        done += len(weights)
    return drawn


def _weights(clusters: int, generator: np.random.Generator, resamples: int) -> Iterator[Doubles]:
    """How often each cluster is drawn, (b, C) at a time, b rows summing up to B."""
    step = max(1, _CELLS // max(1, clusters))
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        picks = generator.integers(0, max(1, clusters), size=(size, clusters), dtype=np.int32)
        flat = picks + np.arange(size, dtype=np.int64)[:, None] * clusters
        yield np.bincount(flat.ravel(), minlength=size * clusters).reshape(size, clusters).astype(np.float64)
