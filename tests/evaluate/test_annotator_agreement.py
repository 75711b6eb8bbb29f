"""How far raters agree: values worked out by hand, published ones, and laws."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwise.config import settings
from toolwise.errors import EvaluationError
from toolwise.evaluate.agreement import (
    Agreement,
    agreement,
    as_votes,
    krippendorff_alpha,
    quadratic_kappa,
    share_within,
)

NAN = float("nan")
VOTES = st.lists(
    st.lists(st.one_of(st.none(), st.integers(1, 5)), min_size=3, max_size=3), min_size=1, max_size=12
)


def test_alpha_of_three_items_by_hand():
    """Items (1,1), (1,2), (3,3): values occur 3, 1, 2 times; distances 4, 2.25, 12.25; 1 - 5 * 8 / 180."""
    assert krippendorff_alpha([[1, 1], [1, 2], [3, 3]]) == pytest.approx(1 - 40 / 180)


def test_alpha_of_the_published_example():
    """Four coders, twelve units, seven votes missing (Krippendorff 2011): ordinal alpha is .815."""
    coders = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
    assert krippendorff_alpha(np.transpose(coders)) == pytest.approx(0.815, abs=5e-4)


def test_alpha_counts_values_between_two_levels_not_their_numbers():
    """Ordinal data: levels 1, 2, 3 or 1, 2, 9 are the same."""
    votes = np.array([[1, 2], [2, 3], [1, 1], [3, 3]])
    assert krippendorff_alpha(np.where(votes == 3, 9, votes)) == krippendorff_alpha(votes)


def test_alpha_is_one_for_full_agreement_and_below_zero_for_opposites():
    """The ends of the scale; two items of opposite votes: 1 - 3 * 16 / 32."""
    assert krippendorff_alpha([[1, 1], [5, 5]]) == 1.0
    assert krippendorff_alpha([[1, 5], [5, 1]]) == pytest.approx(-0.5)


def test_items_with_one_vote_say_nothing():
    """They change neither what is observed nor what is expected."""
    votes = [[1, 1, NAN], [1, 2, NAN], [3, 3, NAN]]
    assert krippendorff_alpha([*votes, [NAN, 5, NAN], [NAN, NAN, NAN]]) == krippendorff_alpha(votes)


@pytest.mark.parametrize("votes", [np.zeros((0, 2)), [[NAN, 1], [2, NAN]], [[3, 3], [3, 3]]])
def test_alpha_is_none_where_votes_do_not_determine_it(votes):
    """No item with two votes, or one level throughout."""
    assert krippendorff_alpha(votes) is None


@given(VOTES, st.randoms(use_true_random=False))
def test_alpha_does_not_depend_on_order(votes, random):
    """Of items or raters; and it is at most 1."""
    matrix = np.array([[NAN if v is None else v for v in row] for row in votes], dtype=float)
    first = krippendorff_alpha(matrix)
    rows = random.sample(range(len(matrix)), len(matrix))
    again = krippendorff_alpha(matrix[rows][:, [2, 0, 1]])
    assert (first is None) == (again is None)
    if first is not None:
        assert again == pytest.approx(first)
        assert first <= 1 + 1e-12


def test_shares_by_hand():
    """Differences 0, 1, 2 and a missing vote: a third exact, two thirds within one."""
    a, b = [1, 2, 5, NAN], [1, 3, 3, 4]
    assert share_within(a, b) == pytest.approx(1 / 3)
    assert share_within(a, b, 1) == pytest.approx(2 / 3)
    assert share_within([NAN], [1]) is None


def test_kappa_by_hand():
    """Votes 1, 2, 3 and 1, 3, 3: squared differences 1/3 on average, 5/3 by chance."""
    assert quadratic_kappa([1, 2, 3], [1, 3, 3]) == pytest.approx(0.8)
    assert quadratic_kappa([2, 2], [2, 2]) is None
    assert quadratic_kappa([], []) is None


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=2, max_size=30))
def test_kappa_is_the_one_of_the_confusion_matrix(pairs):
    """1 - sum of weights times observed over sum of weights times expected, as Cohen writes it."""
    a, b = zip(*pairs, strict=True)
    n, first, second = len(pairs), Counter(a), Counter(b)
    observed = sum((i - j) ** 2 * m for (i, j), m in Counter(pairs).items())
    expected = sum((i - j) ** 2 * first[i] * second[j] / n for i in first for j in second)
    found = quadratic_kappa(a, b)
    if expected == 0:
        assert found is None
    else:
        assert found == pytest.approx(1 - observed / expected)


def test_two_raters_at_once():
    """Every number of the pair, over the items that both rated."""
    found = agreement([1, 1, 3, NAN], [1, 2, 3, 5])
    assert found == Agreement(
        3,
        pytest.approx(7 / 9),
        pytest.approx(2 / 3),
        1.0,
        pytest.approx(quadratic_kappa([1, 1, 3], [1, 2, 3])),
    )


def test_nothing_to_compare_is_no_number():
    """Five fields, four of them None."""
    assert agreement([NAN], [NAN]) == Agreement(0, None, None, None, None)


def test_votes_by_rater_become_a_matrix():
    """Raters in order of name; items in order, or as asked for."""
    levels = {"b": {"x": 2, "y": 5}, "a": {"y": 1}}
    raters, matrix = as_votes(levels)
    assert raters == ("a", "b")
    np.testing.assert_array_equal(matrix, [[NAN, 2], [1, 5]])
    np.testing.assert_array_equal(as_votes(levels, ["y", "z"])[1], [[1, 5], [NAN, NAN]])
    assert as_votes({})[1].shape == (0, 0)


def test_votes_of_the_wrong_shape_are_refused():
    """The message says what was found and what is expected."""
    with pytest.raises(EvaluationError, match=r"shape \(3,\); expected \(items, raters\)"):
        krippendorff_alpha([1, 2, 3])
    with pytest.raises(EvaluationError, match=r"\(1,\) and \(2,\); expected one per item"):
        agreement([1], [1, 2])


def test_the_three_votes_of_mcp_tasks_agree_as_published():
    """The README of the data says .936 for all tools labelled, of which these are nine in ten."""
    path = settings().data / "mcp_tasks" / "risk_labels.jsonl"
    if not path.is_file():
        pytest.skip("the data set mcp_tasks is not here")
    votes = [json.loads(line)["votes"] for line in path.read_text(encoding="utf-8").splitlines()]
    assert krippendorff_alpha(votes) == pytest.approx(0.936, abs=1e-3)
    matrix = np.array(votes)
    exact = [share_within(matrix[:, i], matrix[:, j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    assert exact == pytest.approx([0.85, 0.86, 0.91], abs=6e-3)
