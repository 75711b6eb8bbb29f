"""The best rows, ties by row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwise.records import Candidate, Query, Shortlist
from toolwise.retrieve.ranking import best_rows, greatest, shortlist


def f32(*values: float) -> np.ndarray:
    """Scores."""
    return np.array(values, dtype=np.float32)


@pytest.mark.parametrize(
    ("scores", "k", "expected"),
    [
        ((0.1, 0.9, 0.5), 2, [1, 2]),
        ((0.1, 0.9, 0.5), 3, [1, 2, 0]),
        ((0.1, 0.9, 0.5), 99, [1, 2, 0]),
        ((0.5, 0.5, 0.5, 0.5), 2, [0, 1]),
        ((0.5, 0.9, 0.5, 0.5), 3, [1, 0, 2]),
        ((-1.0, 0.0, -0.0, 1.0), 3, [3, 1, 2]),
        ((0.5,), 1, [0]),
        ((), 3, []),
        ((0.1, 0.2), 0, []),
    ],
)
def test_by_hand(scores, k, expected):
    """Greatest first, equal ones by row, at most k."""
    assert best_rows(f32(*scores), k).tolist() == expected


def test_within_marks_what_may_be_returned():
    """Other rows count for nothing."""
    within = np.array([True, False, True, True])
    assert best_rows(f32(0.1, 0.9, 0.3, 0.3), 2, within).tolist() == [2, 3]
    assert best_rows(f32(0.1, 0.9, 0.3, 0.3), 9, within).tolist() == [2, 3, 0]
    assert best_rows(f32(0.1, 0.9), 1, np.array([False, False])).tolist() == []


@st.composite
def rankings(draw):
    """Scores with many ties, k, and perhaps a mask."""
    scores = draw(st.lists(st.sampled_from([-1.0, -0.0, 0.0, 0.25, 0.5, 0.50000006, 1.0]), max_size=30))
    within = draw(st.none() | st.lists(st.booleans(), min_size=len(scores), max_size=len(scores)))
    return scores, draw(st.integers(0, 35)), within


@given(rankings())
def test_it_is_a_sort_cut_off(problem):
    """The same as sorting all admitted rows by (-score, row) and taking k."""
    scores, k, within = problem
    admitted = [row for row in range(len(scores)) if within is None or within[row]]
    expected = sorted(admitted, key=lambda row: (-np.float32(scores[row]), row))[:k]
    mask = None if within is None else np.array(within, dtype=bool)
    found = best_rows(f32(*scores), k, mask)
    assert found.tolist() == expected
    assert found.dtype == np.int64


def test_a_shortlist_holds_rows_ids_and_scores():
    """As plain Python values, in the order of the rows."""
    found = shortlist(Query("q7", "x"), ("a", "b", "c"), f32(0.25, 0.5, 0.75), np.array([2, 0]), 1.5)
    assert found == Shortlist("q7", (Candidate(2, "c", 0.75), Candidate(0, "a", 0.25)), 1.5)
    assert type(found.candidates[0].row) is int
    assert type(found.candidates[0].score) is float


def test_the_greatest_score_among_the_admitted():
    """Zero where nothing is admitted, and below zero where all scores are."""
    within = np.array([True, False, True])
    assert greatest(f32(0.25, 0.5, 0.125)) == 0.5
    assert greatest(f32(0.25, 0.5, 0.125), within) == 0.25
    assert greatest(f32(-1, -2)) == -1.0
    assert greatest(f32(1, 2, 3), np.array([False] * 3)) == 0.0
    assert greatest(f32()) == 0.0
