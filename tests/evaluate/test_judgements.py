"""Qrels, answers and runs keep their own order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwise.errors import EvaluationError
from toolwise.evaluate import Answer, Qrels, Run, Task

pairs = st.lists(
    st.tuples(st.text(max_size=3), st.floats(-5, 5).map(lambda x: round(x, 1))), unique_by=lambda p: p[0]
)


@given(pairs)
def test_an_answer_is_in_total_order(ranked):
    """Score descending, then id, however it came."""
    answer = Answer(tuple(ranked))
    assert list(answer.ranked) == sorted(ranked, key=lambda p: (-p[1], p[0]))
    assert Answer(tuple(reversed(ranked))) == answer


def test_an_answer_in_order_keeps_the_order_given():
    """The first of three tools gets 3, the last 1."""
    answer = Answer.in_order(["z", "a", "m"])
    assert answer.ranked == (("z", 3.0), ("a", 2.0), ("m", 1.0))
    assert answer.tools == ("z", "a", "m")
    assert answer.selected is None


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Answer((("a", 1.0), ("a", 0.5))), "'a' stands twice in one ranking"),
        (lambda: Answer(selected=("a", "a")), "'a' stands twice in one set"),
        (lambda: Answer((("a", float("nan")),)), "score nan"),
        (lambda: Answer((("a", float("inf")),)), "score inf"),
        (lambda: Qrels.of([Task("q", "", frozenset()), Task("q", "", frozenset())]), "'q' stands twice"),
    ],
)
def test_what_cannot_be_scored_is_refused(make, words):
    """Repeated tools, scores that are none, repeated queries."""
    with pytest.raises(EvaluationError, match=words):
        make()


def test_qrels_of_tasks_keep_texts_and_workspaces():
    """Only where there are any."""
    qrels = Qrels.of([Task("a", "x", frozenset("t"), workspace="w"), Task("b", "y", frozenset())])
    assert list(qrels.gold) == ["a", "b"]
    assert qrels.texts == {"a": "x", "b": "y"}
    assert qrels.clusters == {"a": "w"}


def test_a_run_delivers_where_any_answer_holds_a_set():
    """An empty set is a set too."""
    assert not Run({"q": Answer.in_order("a")}).delivers
    assert Run({"q": Answer.in_order("a"), "r": Answer(selected=())}).delivers
