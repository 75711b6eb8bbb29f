"""Run systems on a suite: every system ranks every request of every case; metrics come from rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np

from toolwise.bench.cases import Case, Models, Part, Suite, tasks_of
from toolwise.bench.data import Task, fingerprint, flags, levels
from toolwise.bench.frontier import crossings
from toolwise.bench.system import Learning, Selecting, System
from toolwise.bench.systems import make
from toolwise.errors import ToolwiseError
from toolwise.evaluate import Answer, Overlap, Qrels, Row, Run, compare, evaluate, means, overlaps
from toolwise.evaluate import Task as Judged
from toolwise.evaluate.bootstrap import intervals
from toolwise.evaluate.splits import normalised
from toolwise.protocols import Progress, silent
from toolwise.records import Capability, Json

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
        "notes": suite.notes,
    }


def run_case(
    suite: Suite, case: Case, systems: Sequence[str], seeds: Sequence[int], limit: int, budget_s: float = 0.0
) -> dict[str, Json]:
    """One case: each system's means with 95 % intervals, and its difference to the baseline.

    Of every part of a case (the folds of a cross-validation, else one part), the
    training requests that its own test requests repeat are left out.
    """
    parts, shared = _disjoint(case.parts(limit, empty_gold=suite.empty_gold))
    qrels = Qrels.of(_judged(task) for part in parts for task in tasks_of(part.groups))
    labels = levels(case.data_set)
    test = _Test(case, parts, qrels, labels, case.levels(), flags(case.data_set), _members(case, parts))
    runs: dict[str, Run] = {}
    rows: dict[str, list[Row]] = {}
    found = [_measured(suite, test, name, seeds, budget_s, runs, rows) for name in systems]
    return {
        "name": case.name,
        "note": case.note,
        "data_set": case.data_set,
        "split": case.split,
        "data_hash": fingerprint(case.data_set, case.split),
        "folds": case.folds,
        "requests": len(qrels.gold),
        "subsets": {name: len(ids) for name, ids in test.members.items()},
        "tools": _size(parts),
        "training": max((len(part.train) for part in parts), default=0),
        "shared_gold_sets": len({scene for one in shared for scene in one.gold_sets}),
        "left_out_of_training": len({text for one in shared for text in one.texts}),
        "systems": found,
        "crossings": crossings(found, rows, qrels.clusters, _RESAMPLES),
        "differences": _differences(suite, qrels, list(runs.values()), test.labels),
    }


@dataclass(frozen=True)
class _Test:
    """A case as every system meets it."""

    case: Case
    parts: Sequence[Part]
    qrels: Qrels
    labels: Mapping[str, int]
    known: Mapping[str, int]
    """The levels that systems go by."""
    flags: Mapping[str, frozenset[Capability]]
    members: Mapping[str, frozenset[str]]
    """The requests of each subset."""


def _measured(
    suite: Suite,
    test: _Test,
    name: str,
    seeds: Sequence[int],
    budget_s: float,
    runs: dict[str, Run],
    every: dict[str, list[Row]],
) -> dict[str, Json]:
    """A system's line of the results; the run of its first seed goes into ``runs`` where it is whole.

    Its rows, of all seeds, go into ``every``.
    """
    by_seed: list[list[Row]] = []
    whole: list[Run] = []
    try:
        for seed in seeds:
            run, cost = _run(partial(make, name, seed, test.known), test, budget_s)
            asked = _asked(test.qrels, run)
            wanted = [m for m in _wanted(suite, run) if test.flags or m != "exposed-toxic"]
            by_seed.append(evaluate(asked, run, wanted, test.labels, flags=test.flags))
            whole += [run] if asked is test.qrels else []
    except ToolwiseError as error:
        return {"system": name, "error": error.message}
    if whole:
        runs[name] = whole[0]
    rows = every[name] = [row for some in by_seed for row in some]
    entry: dict[str, Json] = {"system": name, "requests": len(run.answers)}
    entry |= {"index_s": cost.index_s, "cpu_ms": cost.request_ms}
    entry |= {"metrics": _summary(rows, test.qrels, len(seeds))}
    if len(seeds) > 1:
        entry["by_seed"] = [{str(m): mean.value for m, mean in means(some).items()} for some in by_seed]
    if test.members:
        entry["subsets"] = {
            part: _summary([row for row in rows if row.query_id in ids], test.qrels, len(seeds))
            for part, ids in test.members.items()
        }
    return entry


def _disjoint(parts: Sequence[Part]) -> tuple[list[Part], list[Overlap]]:
    """The parts without training requests that their test requests repeat, and what each shared."""
    shared = [
        overlaps(map(_judged, part.train), map(_judged, tasks_of(part.groups)), gold_sets=True)
        for part in parts
    ]
    return [replace(p, train=tuple(_apart(p.train, s))) for p, s in zip(parts, shared, strict=True)], shared


def _members(case: Case, parts: Sequence[Part]) -> dict[str, frozenset[str]]:
    """The ids of the requests of each subset of the case, by its name; subsets without requests left out."""
    found = {
        name: frozenset(
            task.query.id for part in parts for task in tasks_of(part.groups) if belongs(task, part.train)
        )
        for name, belongs in case.subsets
    }
    return {name: ids for name, ids in found.items() if ids}


def _size(parts: Sequence[Part]) -> int:
    sizes = {group.library: len(group.tools) for part in parts for group in part.groups}
    return int(np.median(list(sizes.values()))) if sizes else 0


def _apart(train: Sequence[Task], shared: Overlap) -> list[Task]:
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


def _run(fresh: Callable[[Models], System], test: _Test, budget_s: float) -> tuple[Run, Cost]:
    """A fresh system for each part answers that part's requests; its costs are added up."""
    found = [_answers(fresh(part.models), test.case, part, budget_s / len(test.parts)) for part in test.parts]
    answers = {id_: answer for run, _ in found for id_, answer in run.answers.items()}
    spent = sum(cost.request_ms * len(run.answers) for run, cost in found)
    cost = Cost(sum(cost.index_s for _, cost in found), spent / max(1, len(answers)))
    return Run(answers, found[0][0].name if found else ""), cost


def _answers(system: System, case: Case, part: Part, budget_s: float) -> tuple[Run, Cost]:
    answers: dict[str, Answer] = {}
    index_s = request_s = 0.0
    ends = time.monotonic() + budget_s if budget_s else float("inf")
    try:
        if isinstance(system, Learning):
            start = time.process_time()
            system.learn(case.grouped(part.train))
            index_s += time.process_time() - start
        for group in part.groups:
            start = time.process_time()
            system.fit(group.tools, part.train)
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
    return values


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
