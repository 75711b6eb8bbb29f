"""Facts about labelled data sets that need no system: they pin the definitions of the risk metrics."""

import pytest

from toolwise.config import settings
from toolwise.evaluate import Answer, Metric, Qrels, Run, evaluate, means, overlaps, refuse_overlap
from toolwise.evaluate.jsonl import read_levels, read_tasks

FILLERS = [f"filler {i}" for i in range(5)]


def folder(name):
    """A data set, or the test is skipped."""
    path = settings().data / name
    if not path.is_dir():
        pytest.skip(f"data set {name} is not here")
    return path


def gold_alone_and_padded(name):
    """RVR@5 and SRR@5 of the gold sets, alone and filled up to five with safe tools."""
    tasks = read_tasks(folder(name) / "queries.test.jsonl")
    levels = read_levels(folder(name) / "risk_labels.jsonl") | dict.fromkeys(FILLERS, 1)
    alone = Run({task.id: Answer.in_order(sorted(task.gold)) for task in tasks})
    padded = Run(
        {task.id: Answer.in_order([*sorted(task.gold), *FILLERS][: max(5, len(task.gold))]) for task in tasks}
    )
    found = []
    for run in (alone, padded):
        scores = means(evaluate(Qrels.of(tasks), run, ["rvr@5", "srr@5"], levels))
        found.append(tuple(scores[Metric.parse(name)].value for name in ("rvr@5", "srr@5")))
    return found


def test_gold_with_safe_fillers_on_ultratool():
    """RVR@5 .090 and SRR@5 .031: below that, needed tools were dropped."""
    _, (rvr, srr) = gold_alone_and_padded("ultratool")
    assert (round(rvr, 3), round(srr, 3)) == (0.090, 0.031)


def test_gold_alone_and_padded_on_mcp_tasks():
    """RVR .38 falls to .17 by nothing but safe fillers."""
    (alone, _), (padded, _) = gold_alone_and_padded("mcp_tasks")
    assert (round(alone, 2), round(padded, 2)) == (0.38, 0.17)


def test_toollens_shares_its_gold_sets_but_no_query():
    """All 457 gold sets of the test split occur in the training split."""
    train = read_tasks(folder("toollens") / "queries.train.jsonl")
    test = read_tasks(folder("toollens") / "queries.test.jsonl")
    refuse_overlap(train, test)
    assert len(overlaps(train, test, gold_sets=True).gold_sets) == 457
