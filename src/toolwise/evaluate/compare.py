"""Two or more runs on the same qrels: differences, with what chance alone would make of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from toolwise.errors import EvaluationError
from toolwise.evaluate.bootstrap import RESAMPLES, differences
from toolwise.evaluate.exposure import Levels
from toolwise.evaluate.judgements import Qrels, Row, Run
from toolwise.evaluate.metric import Metric
from toolwise.evaluate.score import evaluate, means
from toolwise.evaluate.significance import holm, mcnemar
from toolwise.evaluate.tables import markdown, number, p_value, plain, span


@dataclass(frozen=True, slots=True)
class Comparison:
    """One metric of one run against the baseline."""

    metric: Metric
    baseline: str
    run: str
    baseline_mean: float
    run_mean: float
    difference: float
    """``run_mean - baseline_mean``."""
    low: float
    high: float
    """The 95 % interval of the difference; NaN where fewer than two clusters tell anything."""
    p: float
    """Two-sided, paired bootstrap; at least 2 ** (1 - clusters)."""
    p_holm: float
    """``p`` corrected for all comparisons of the table."""
    mcnemar: float | None
    """Exact McNemar, for metrics whose values are 0 or 1; it knows no clusters."""
    n: int
    """Queries the metric says something about."""


def compare(
    qrels: Qrels,
    runs: Sequence[Run],
    metrics: Iterable[Metric | str],
    generator: np.random.Generator,
    levels: Levels | None = None,
    tokens: Mapping[str, int] | None = None,
    clusters: Mapping[str, str] | None = None,
    resamples: int = RESAMPLES,
) -> list[Comparison]:
    """Every run after the first against the first, metric by metric.

    ``clusters`` (query id to cluster) are those of the qrels where not given;
    ``{}`` switches them off.  Raises EvaluationError for fewer than two runs,
    two runs of one name, and as :func:`toolwise.evaluate.evaluate`.
    """
    names = [run.name for run in runs]
    if len(runs) < 2 or len(set(names)) < len(names):
        raise EvaluationError(
            f"runs {', '.join(map(repr, names)) or 'none'}: expected two or more with different names.",
            runs=names,
        )
    wanted = [Metric.parse(metric) if isinstance(metric, str) else metric for metric in metrics]
    grouped = qrels.clusters if clusters is None else clusters
    scored = [evaluate(qrels, run, wanted, levels, tokens) for run in runs]
    found: list[Comparison] = []
    for name, rows in zip(names[1:], scored[1:], strict=True):
        found += _against(names[0], scored[0], name, rows, generator, grouped, resamples)
    corrected = holm([comparison.p for comparison in found])
    return [replace(comparison, p_holm=p) for comparison, p in zip(found, corrected, strict=True)]


def _against(
    baseline: str,
    first: Sequence[Row],
    name: str,
    second: Sequence[Row],
    generator: np.random.Generator,
    clusters: Mapping[str, str],
    resamples: int,
) -> list[Comparison]:
    before, after = means(first), means(second)
    return [
        Comparison(
            metric=metric,
            baseline=baseline,
            run=name,
            baseline_mean=before[metric].value,
            run_mean=after[metric].value,
            difference=found.value,
            low=found.interval.low,
            high=found.interval.high,
            p=found.p,
            p_holm=found.p,
            mcnemar=mcnemar(_values(first, metric), _values(second, metric)) if metric.kind.binary else None,
            n=after[metric].n,
        )
        for metric, found in differences(first, second, generator, clusters, resamples).items()
    ]


def _values(rows: Sequence[Row], metric: Metric) -> dict[str, float]:
    return {row.query_id: row.value for row in rows if row.metric == metric}


_HEADER = ("metric", "run", "mean", "baseline", "difference", "95 % interval", "p", "p Holm", "McNemar", "n")


def _lines(comparisons: Iterable[Comparison]) -> list[tuple[str, ...]]:
    return [
        (
            str(c.metric),
            c.run,
            number(c.run_mean),
            number(c.baseline_mean),
            number(c.difference, signed=True),
            span(c.low, c.high, signed=True),
            p_value(c.p),
            p_value(c.p_holm),
            "" if c.mcnemar is None else p_value(c.mcnemar),
            f"{c.n}",
        )
        for c in comparisons
    ]


def as_markdown(comparisons: Iterable[Comparison]) -> str:
    """The comparisons as a Markdown table."""
    return markdown(_HEADER, _lines(comparisons))


def as_text(comparisons: Iterable[Comparison]) -> str:
    """The comparisons as aligned columns."""
    return plain(_HEADER, _lines(comparisons))
