"""Run systems on a suite: every system ranks every request of every case; metrics come from rows."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from toolwise.bench.data import Task, fingerprint, levels
from toolwise.bench.suites import Case, Group, Suite, tasks_of
from toolwise.bench.system import Selecting, System
from toolwise.bench.systems import make
from toolwise.errors import ToolwiseError
from toolwise.evaluate import Answer, Overlap, Qrels, Row, Run, compare, evaluate, means, overlaps
from toolwise.evaluate import Task as Judged
from toolwise.evaluate.bootstrap import intervals
from toolwise.evaluate.splits import normalised
from toolwise.protocols import Progress, silent
from toolwise.records import Json

DEPTH = 100
"""Tools every system ranks."""
_RESAMPLES = 2_000


@dataclass(frozen=True)
class Cost:
    """What a system spent on a case, in CPU seconds of its own process."""

    index_s: float
    request_ms: float


def run_suite(
    suite: Suite,
    systems: Sequence[str],
    *,
    seeds: Sequence[int] = (0,),
    limit: int = 0,
    budget_s: float = 0.0,
    progress: Progress = silent,
) -> dict[str, Json]:
    """The suite's cases with the metrics of each system; missing data sets are named under ``skipped``.

    ``limit`` requests per case at most (0: all).  A system that has spent
    ``budget_s`` seconds on a case (0: no end) is measured on the requests it got
    to, in an order that has nothing to do with them.  A system that fails is
    reported with its error in place of numbers.
    """
    cases: list[Json] = []
    skipped: list[str] = []
    for number, case in enumerate(suite.cases):
        progress(suite.name, number, len(suite.cases))
        if not case.available():
            skipped.append(f"{case.name}: the data set {case.data_set} is not here")
        else:
            cases.append(run_case(suite, case, systems, seeds, limit, budget_s))
    progress(suite.name, len(suite.cases), len(suite.cases))
    return {
        "suite": suite.name,
        "metrics": list(suite.metrics),
        "limit": limit,
        "cases": cases,
        "skipped": skipped,
    }


def run_case(
    suite: Suite, case: Case, systems: Sequence[str], seeds: Sequence[int], limit: int, budget_s: float = 0.0
) -> dict[str, Json]:
    """One case: each system's means with 95 % intervals, and its difference to the baseline."""
    groups = case.groups(limit, empty_gold=suite.empty_gold)
    tested = [_judged(task) for task in tasks_of(groups)]
    train = case.training()
    shared = overlaps(map(_judged, train), tested, gold_sets=True)
    train = _apart(train, shared)
    labels = levels(case.data_set)
    qrels = Qrels.of(tested)
    runs: dict[str, Run] = {}
    found: list[dict[str, Json]] = []
    for name in systems:
        entry: dict[str, Json] = {"system": name}
        try:
            rows: list[Row] = []
            for seed in seeds:
                run, cost = _answers(make(name, seed, labels), groups, train, budget_s)
                asked = _asked(qrels, run)
                rows += evaluate(asked, run, _wanted(suite, run), labels)
                if asked is qrels:
                    runs.setdefault(name, run)
            entry |= {"requests": len(run.answers), "index_s": cost.index_s, "cpu_ms": cost.request_ms}
            entry |= _summary(rows, qrels, len(seeds))
        except ToolwiseError as error:
            entry["error"] = error.message
        found.append(entry)
    return {
        "name": case.name,
        "note": case.note,
        "data_set": case.data_set,
        "split": case.split,
        "data_hash": fingerprint(case.data_set, case.split),
        "requests": len(qrels.gold),
        "tools": int(np.median([len(group.tools) for group in groups])) if groups else 0,
        "training": len(train),
        "shared_gold_sets": len(shared.gold_sets),
        "left_out_of_training": len(shared.texts),
        "systems": found,
        "differences": _differences(suite, qrels, list(runs.values()), labels),
    }


def _apart(train: list[Task], shared: Overlap) -> list[Task]:
    """Training requests without those that the test part repeats, by id or by text."""
    ids, texts = set(shared.ids), set(shared.texts)
    return [t for t in train if t.query.id not in ids and normalised(t.query.text) not in texts]


def _asked(qrels: Qrels, run: Run) -> Qrels:
    """The qrels of the requests a system got to; the very same ones where it got to all."""
    if len(run.answers) == len(qrels.gold):
        return qrels
    gold = {id_: tools for id_, tools in qrels.gold.items() if id_ in run.answers}
    return Qrels(gold, qrels.texts, qrels.clusters)


def _judged(task: Task) -> Judged:
    workspace = task.library if "workspace" in task.row else None
    return Judged(task.query.id, task.query.text, frozenset(task.gold), workspace=workspace)


def _wanted(suite: Suite, run: Run) -> list[str]:
    """The suite's metrics that this run can be measured by; those of delivered sets need sets."""
    if run.delivers:
        return list(suite.metrics)
    return [metric for metric in suite.metrics if metric.partition("@")[2] or metric == "mrr"]


def _answers(
    system: System, groups: Sequence[Group], train: Sequence[Task], budget_s: float
) -> tuple[Run, Cost]:
    answers: dict[str, Answer] = {}
    index_s = request_s = 0.0
    ends = time.monotonic() + budget_s if budget_s else float("inf")
    try:
        for group in groups:
            start = time.process_time()
            system.fit(group.tools, train)
            index_s += getattr(system, "index_cpu_s", time.process_time() - start)
            start = time.process_time()
            for task in sorted(group.tasks, key=_shuffled):
                if time.monotonic() > ends and answers:
                    break
                answers[task.query.id] = _answer(system, task)
            request_s += time.process_time() - start
        foreign = getattr(system, "request_cpu_s", 0.0)
    finally:
        close = getattr(system, "close", None)
        if close is not None:
            close()
    spent = foreign or request_s
    return Run(answers, system.name), Cost(index_s, 1000 * spent / max(1, len(answers)))


def _shuffled(task: Task) -> str:
    return sha256(task.query.id.encode()).hexdigest()


def _answer(system: System, task: Task) -> Answer:
    ranked = system.rank(task.query, DEPTH)
    selected = tuple(system.select(task.query)) if isinstance(system, Selecting) else None
    return Answer(tuple(ranked), selected)


def _summary(rows: Sequence[Row], qrels: Qrels, seeds: int) -> dict[str, Json]:
    """Mean, interval and number of queries per metric; over seeds, the mean of all rows."""
    drawn = intervals(rows, np.random.default_rng(0), qrels.clusters, _RESAMPLES)
    values: dict[str, Any] = {}
    for metric, mean in means(rows).items():
        interval = drawn[metric]
        values[str(metric)] = {
            "mean": mean.value,
            "low": _finite(interval.low),
            "high": _finite(interval.high),
            "n": mean.n // seeds,
        }
    return {"metrics": values}


def _differences(
    suite: Suite, qrels: Qrels, runs: Sequence[Run], labels: Mapping[str, int]
) -> list[dict[str, Json]]:
    """Every system against ``hybrid`` (else the first) on the suite's first metric, Holm-corrected."""
    usable = [run for run in runs if suite.metrics[0] in _wanted(suite, run)]
    usable.sort(key=lambda run: run.name != "hybrid")
    if len(usable) < 2:
        return []
    found = compare(qrels, usable, suite.metrics[:1], np.random.default_rng(0), labels, resamples=_RESAMPLES)
    return [
        {
            "metric": str(c.metric),
            "system": c.run,
            "baseline": c.baseline,
            "difference": c.difference,
            "low": _finite(c.low),
            "high": _finite(c.high),
            "p_holm": _finite(c.p_holm),
        }
        for c in found
    ]


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
