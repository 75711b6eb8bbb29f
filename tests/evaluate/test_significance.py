"""McNemar's exact test and Holm's correction against values worked out by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwise.evaluate.significance import holm, mcnemar


def runs(gained, lost, both=3):
    """Two runs of 0 and 1 that differ in so many queries each way."""
    pairs = [(0.0, 1.0)] * gained + [(1.0, 0.0)] * lost + [(1.0, 1.0)] * both
    return {str(i): p[0] for i, p in enumerate(pairs)}, {str(i): p[1] for i, p in enumerate(pairs)}


@pytest.mark.parametrize(
    ("gained", "lost", "p"),
    [
        (0, 0, 1.0),
        (1, 0, 1.0),  # 2 * 1/2
        (6, 0, 2 / 64),
        (5, 1, 14 / 64),  # 2 * (1 + 6) / 64
        (1, 5, 14 / 64),
        (4, 4, 1.0),
        (10, 2, 158 / 4096),  # 2 * (1 + 12 + 66) / 4096
    ],
)
def test_mcnemar_by_hand(gained, lost, p):
    """Twice the smaller tail of the binomial, at most 1."""
    assert mcnemar(*runs(gained, lost)) == pytest.approx(p)


def test_mcnemar_of_many_queries_is_exact():
    """2,600 against 2,400 of 5,000: z with continuity correction is 199 / sqrt 5000, p .0049."""
    assert mcnemar(*runs(2600, 2400)) == pytest.approx(math.erfc(199 / math.sqrt(2 * 5000)), rel=0.01)
    assert mcnemar(*runs(3000, 0)) == 0.0  # 2 ** -2999 is below every float


def test_queries_that_one_run_lacks_are_left_out():
    """Nothing is known of them."""
    assert mcnemar({"a": 1.0, "b": 0.0}, {"b": 0.0, "c": 1.0}) == 1.0


def test_holm_by_hand():
    """.005 * 4, .01 * 3, .03 * 2, and .04 is no less than the one before."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == pytest.approx([1.0, 1.0])
    assert holm([0.04]) == [0.04]
    assert holm([]) == []


def test_a_p_that_is_not_told_counts_for_nothing():
    """NaN stays NaN; the others are corrected among themselves."""
    corrected = holm([0.01, math.nan, 0.02])
    assert corrected[0] == pytest.approx(0.02)
    assert math.isnan(corrected[1])
    assert corrected[2] == pytest.approx(0.02)


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_keeps_the_order_and_never_lowers(p_values):
    """Corrected values lie between p and n * p, at most 1, in the same order."""
    corrected = holm(p_values)
    for p, c in zip(p_values, corrected, strict=True):
        assert p <= c <= 1
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    assert [corrected[i] for i in order] == sorted(corrected)
