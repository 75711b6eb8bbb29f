"""Runs against a baseline, as records and as tables."""

import math

import numpy as np
import pytest

from toolwise.errors import EvaluationError
from toolwise.evaluate import Answer, Qrels, Run, Task, compare
from toolwise.evaluate.compare import as_markdown, as_text

QUERIES = [f"q{i}" for i in range(8)]
QRELS = Qrels.of([Task(q, "text", frozenset("a"), workspace=f"w{i // 2}") for i, q in enumerate(QUERIES)])
FIRST = Run({q: Answer.in_order("xa") for q in QUERIES}, "first")  # mrr 1/2 in every query
BEST = Run({q: Answer.in_order("ax") for q in QUERIES}, "best")  # mrr 1
HALF = Run({q: Answer.in_order("ax" if i < 4 else "xa") for i, q in enumerate(QUERIES)}, "half|way")


def rng():
    """A generator of the test's own."""
    return np.random.default_rng(0)


def test_every_run_is_compared_with_the_first():
    """Differences by hand; McNemar for comp@1 alone: eight of eight gained is 2/256."""
    found = {(c.run, str(c.metric)): c for c in compare(QRELS, [FIRST, BEST, HALF], ["mrr", "comp@1"], rng())}
    assert list(found) == [("best", "mrr"), ("best", "comp@1"), ("half|way", "mrr"), ("half|way", "comp@1")]
    best = found["best", "comp@1"]
    assert (best.baseline, best.baseline_mean, best.run_mean, best.difference, best.n) == (
        "first",
        0,
        1,
        1,
        8,
    )
    assert best.mcnemar == pytest.approx(2 / 256)
    assert (best.low, best.high) == (1.0, 1.0)
    assert found["best", "mrr"].difference == pytest.approx(0.5)
    assert found["best", "mrr"].mcnemar is None
    half = found["half|way", "comp@1"]
    assert half.difference == pytest.approx(0.5)
    assert half.mcnemar == pytest.approx(2 / 16)


def test_p_is_corrected_over_the_whole_table():
    """Four comparisons: the least p is multiplied by four."""
    found = compare(QRELS, [FIRST, BEST, HALF], ["mrr", "comp@1"], rng(), clusters={})
    least = min(found, key=lambda c: c.p)
    assert least.p == pytest.approx(2 / 256)  # eight queries that all go one way
    assert least.p_holm == pytest.approx(4 * 2 / 256)
    (alone,) = compare(QRELS, [FIRST, BEST], ["mrr"], rng())
    assert alone.p_holm == alone.p


def test_workspaces_of_the_qrels_are_clusters():
    """Two workspaces of four gained: wider than four of eight queries on their own."""
    (clustered,) = compare(QRELS, [FIRST, HALF], ["mrr"], rng())
    (free,) = compare(QRELS, [FIRST, HALF], ["mrr"], rng(), clusters={})
    assert clustered.p > free.p
    assert clustered.high - clustered.low >= free.high - free.low
    (one,) = compare(QRELS, [FIRST, HALF], ["mrr"], rng(), clusters=dict.fromkeys(QUERIES, "w"))
    assert math.isnan(one.p)
    assert math.isnan(one.p_holm)


@pytest.mark.parametrize("runs", [[], [FIRST], [FIRST, FIRST]])
def test_runs_must_be_two_and_differ_in_name(runs):
    """A table of one run, or of two that cannot be told apart, is no comparison."""
    with pytest.raises(EvaluationError, match="two or more with different names"):
        compare(QRELS, runs, ["mrr"], rng())


def test_tables_show_every_comparison():
    """A line a comparison; bars in names do not break the Markdown."""
    found = compare(QRELS, [FIRST, BEST, HALF], ["comp@1"], rng())
    lines = as_text(found).splitlines()
    assert lines[0].split() == "metric run mean baseline difference 95 % interval p p Holm McNemar n".split()
    assert lines[1].split() == ("comp@1 best 1.000 0.000 +1.000 +1.000 to +1.000 0.125 0.250 0.008 8".split())
    table = as_markdown(found).splitlines()
    assert table[1].startswith("| --- | --- | ---: |")
    assert "half\\|way" in table[3]
    assert len({line.replace("\\|", "").count("|") for line in table}) == 1
