"""Qrels and a run to rows, rows to means."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolwise.errors import EvaluationError
from toolwise.evaluate.exposure import Flags, Levels
from toolwise.evaluate.judgements import Answer, Qrels, Row, Run
from toolwise.evaluate.metric import Case, Metric

_NOTHING = Answer()


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean over the queries a metric says something about."""

    value: float
    n: int
    """Number of those queries."""


def evaluate(
    qrels: Qrels,
    run: Run,
    metrics: Iterable[Metric | str],
    levels: Levels | None = None,
    tokens: Mapping[str, int] | None = None,
    flags: Flags | None = None,
) -> list[Row]:
    """The value of every metric for every query, metrics in the order given, queries in that of the qrels.

    The denominator is the qrels: a query absent from the run is answered by
    nothing, and answers to queries outside the qrels are not looked at.
    Queries with empty gold count for the abstain metrics alone.  A metric that
    says nothing about a query has no row for it.  ``levels`` gives the level of
    a tool (3 where it has none), ``tokens`` the size of its definition, for
    answers that do not say how large they are, ``flags`` its capabilities.

    Raises EvaluationError where a metric needs what neither run nor arguments hold.
    """
    wanted = [Metric.parse(metric) if isinstance(metric, str) else metric for metric in metrics]
    _refuse_missing(wanted, qrels, run, levels, flags)
    sized = any("tokens" in metric.kind.needs for metric in wanted)
    cases = dict(_cases(qrels, run, levels or {}, tokens, flags or {}, sized=sized))
    return [
        Row(query_id, metric, value)
        for metric in wanted
        for query_id, case in cases.items()
        if (value := metric.of(case)) is not None
    ]


def means(rows: Iterable[Row]) -> dict[Metric, Mean]:
    """The mean of each metric over its rows, in order of first appearance; none for a metric without rows."""
    values: dict[Metric, list[float]] = {}
    for row in rows:
        values.setdefault(row.metric, []).append(row.value)
    return {metric: Mean(sum(some) / len(some), len(some)) for metric, some in values.items()}


def _cases(
    qrels: Qrels, run: Run, levels: Levels, tokens: Mapping[str, int] | None, flags: Flags, *, sized: bool
) -> Iterator[tuple[str, Case]]:
    for query_id, gold in qrels.gold.items():
        answer = run.answers.get(query_id, _NOTHING)
        yield (
            query_id,
            Case(
                ranked=answer.tools,
                delivered=answer.selected or (),
                gold=gold,
                levels=levels,
                text=qrels.texts.get(query_id, ""),
                tokens=_size(query_id, answer, tokens) if sized else 0,
                flags=flags,
            ),
        )


def _size(query_id: str, answer: Answer, tokens: Mapping[str, int] | None) -> int:
    """Tokens of the delivered definitions.  Raises EvaluationError where they are not known."""
    if not answer.selected:
        return 0
    if answer.tokens is not None:
        return answer.tokens
    unknown = [tool for tool in answer.selected if tokens is None or tool not in tokens]
    if tokens is None or unknown:
        raise EvaluationError(
            f"the size of {unknown[0]!r}, delivered for query {query_id!r}, is not known: "
            'exposed-tokens needs "tokens" in the run or the sizes of all tools.',
            query=query_id,
            tool=unknown[0],
        )
    return sum(tokens[tool] for tool in answer.selected)


def _refuse_missing(
    metrics: Sequence[Metric], qrels: Qrels, run: Run, levels: Levels | None, flags: Flags | None
) -> None:
    missing = {
        "levels": (
            levels is None,
            "the risk levels of the tools; pass levels (`--risk FILE` on the command line)",
        ),
        "flags": (flags is None, "the capabilities of the tools; pass flags"),
        "texts": (
            not qrels.texts.keys() >= qrels.gold.keys(),
            "the text of every query; read the qrels from a JSONL file of queries",
        ),
        "sets": (
            bool(run.answers) and not run.delivers,
            f'delivered sets, and run {run.name!r} holds rankings alone; give it "selected"',
        ),
    }
    for metric in metrics:
        for need in sorted(metric.kind.needs):
            absent, what = missing.get(need, (False, ""))
            if absent:
                raise EvaluationError(f"{metric} needs {what}.", metric=str(metric), missing=need)
