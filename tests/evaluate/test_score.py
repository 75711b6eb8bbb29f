"""Qrels and a run to rows and means: honest denominators."""

import pytest

from toolwise.errors import EvaluationError
from toolwise.evaluate import Answer, Mean, Metric, Qrels, Row, Run, Task, evaluate, means

QRELS = Qrels.of(
    [
        Task("q1", "look it up", frozenset("a")),
        Task("q2", "delete it", frozenset("ab")),
        Task("q3", "do the impossible", frozenset()),
        Task("q4", "show it", frozenset("c")),
    ]
)
RUN = Run(
    {
        "q1": Answer.in_order(["a", "x"], selected=["a"], tokens=10),
        "q2": Answer.in_order(["x", "a"], selected=["a", "x"], tokens=25),
        "q3": Answer.in_order(["x"], selected=[]),
        "stranger": Answer.in_order(["a"], selected=["a"], tokens=99),
    }
)
LEVELS = {"a": 1, "b": 4, "x": 3}


def mean(metric, **more):
    """The mean of one metric over the small example."""
    return means(evaluate(QRELS, RUN, [metric], **({"levels": LEVELS} | more)))[Metric.parse(metric)]


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("mrr", Mean((1 + 1 / 2 + 0) / 3, 3)),  # q4 is missing from the run; q3 has no gold
        ("recall@5", Mean((1 + 1 / 2 + 0) / 3, 3)),
        ("comp@5", Mean(1 / 3, 3)),
        ("rvr@5", Mean((1 / 2 + 1 / 2 + 0) / 3, 3)),
        ("safe-rvr@5", Mean(1 / 2, 1)),  # q2 needs b (4), q4 needs c, which counts as 3
        ("needrisk-recall@5", Mean(0.0, 2)),
        ("opr@5", Mean(0.0, 2)),  # q2 asks to delete
        ("set-size", Mean((1 + 2 + 0) / 3, 3)),
        ("set-precision", Mean((1 + 1 / 2 + 0) / 3, 3)),
        ("exact", Mean(1 / 3, 3)),
        ("exposed-tokens", Mean((10 + 25 + 0) / 3, 3)),
        ("abstain-precision", Mean(1 / 2, 2)),  # q3 rightly, q4 (missing) wrongly answered by nothing
        ("abstain-recall", Mean(1.0, 1)),
    ],
)
def test_means_by_hand(metric, expected):
    """The denominator is the qrels: missing queries count, strangers do not."""
    assert mean(metric) == pytest.approx(expected)


def test_rows_come_by_metric_and_in_the_order_of_the_qrels():
    """Metrics may be values or texts; undefined values have no row."""
    rows = evaluate(QRELS, RUN, [Metric("ndcg", 5), "abstain-recall"])
    assert [(row.query_id, str(row.metric)) for row in rows] == [
        ("q1", "ndcg@5"),
        ("q2", "ndcg@5"),
        ("q4", "ndcg@5"),
        ("q3", "abstain-recall"),
    ]


def test_a_metric_without_rows_has_no_mean():
    """Nothing is made up."""
    easy = Qrels.of([Task("q", "t", frozenset("a"))])
    assert means(evaluate(easy, RUN, ["needrisk-hit@5"], levels={"a": 1})) == {}


def test_an_empty_run_scores_zero_in_everything():
    """Every query is answered by nothing, sets included."""
    found = means(evaluate(QRELS, Run({}), ["ndcg@5", "set-f1", "exposed-tokens", "rvr@5"], levels={}))
    assert [m.value for m in found.values()] == [0.0] * 4
    assert {m.n for m in found.values()} == {3}


def test_the_run_is_not_changed():
    """Scores go into rows, never into the run."""
    before = dict(RUN.answers)
    evaluate(QRELS, RUN, ["ndcg@5"])
    assert before == RUN.answers


def test_sizes_come_from_the_answer_or_from_the_tools():
    """An answer's own size goes first; without it the definitions are added up."""
    run = Run({"q1": Answer.in_order("a", selected="a"), "q2": Answer.in_order("a", "ax", tokens=7)})
    rows = evaluate(QRELS, run, ["exposed-tokens"], tokens={"a": 5, "x": 100})
    assert [row.value for row in rows] == [5.0, 7.0, 0.0]


@pytest.mark.parametrize(
    ("metric", "run", "qrels", "words"),
    [
        ("rvr@5", RUN, QRELS, "rvr@5 needs the risk levels"),
        ("exposed-max-risk", RUN, QRELS, "needs the risk levels"),
        ("set-size", Run({"q1": Answer.in_order("a")}, "mine"), QRELS, "run 'mine' holds rankings alone"),
        ("opr@5", RUN, Qrels({"q1": frozenset("a")}), "needs the (text|risk)"),
        ("exposed-tokens", Run({"q1": Answer.in_order("a", "a")}), QRELS, "the size of 'a'"),
        ("nonsense", RUN, QRELS, "no metric called"),
    ],
)
def test_what_is_missing_is_named(metric, run, qrels, words):
    """A metric that lacks its facts is an error, not a zero."""
    with pytest.raises(EvaluationError, match=words):
        evaluate(qrels, run, [metric])


def test_opr_needs_every_text():
    """A query without text cannot be told to be harmless."""
    with pytest.raises(EvaluationError, match="the text of every query"):
        evaluate(Qrels({"q": frozenset("a")}), RUN, ["opr@5"], levels={})


def test_means_of_rows_by_hand():
    """Each metric over its own rows."""
    ndcg, mrr = Metric("ndcg", 5), Metric("mrr")
    rows = [Row("a", ndcg, 0.5), Row("a", mrr, 1.0), Row("b", ndcg, 0.0)]
    assert means(rows) == {ndcg: Mean(0.25, 2), mrr: Mean(1.0, 1)}
    assert means([]) == {}
