"""Agreement with labels, and the cuts that make it best."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwise.learn.risk_calibration import (
    auc,
    best_flag_cut,
    calibration,
    decide,
    f1,
    kappa,
    platt,
    spread_cuts,
)

LEVEL_LISTS = st.lists(st.integers(1, 5), min_size=1, max_size=30)


def ints(*values):
    return np.array(values, np.int64)


def test_kappa_by_hand():
    """Off by one on one of four: observed 1, expected by chance 5 (worked out below): 1 - 1 / 5."""
    truth, said = ints(1, 1, 2, 3), ints(1, 2, 2, 3)
    # chance: sum over pairs of truth and said of squared differences, over 4:
    # 1: (0 + 1 + 1 + 4) x 2; 2: 1 + 0 + 0 + 1; 3: 4 + 1 + 1 + 0; (12 + 2 + 6) / 4 = 5
    assert kappa(truth, said) == pytest.approx(1 - 1 / 5)
    assert kappa(truth, truth) == 1
    assert kappa(ints(2, 2), ints(2, 2)) == 1


@given(LEVEL_LISTS)
def test_kappa_is_symmetric_and_at_most_one(levels):
    """Who is the truth does not matter."""
    one, two = np.array(levels), np.array(levels[::-1])
    assert kappa(one, two) == pytest.approx(kappa(two, one))
    assert kappa(one, two) <= 1


def test_auc_by_hand():
    """Of 2 x 2 pairs one is in order, one is a tie, two are not: 1.5 / 4... and none without both kinds."""
    truth = np.array([True, True, False, False])
    assert auc(truth, np.array([0.5, 0.1, 0.5, 0.2], np.float32)) == pytest.approx(1.5 / 4)
    assert auc(truth, np.array([3, 2, 1, 0], np.float32)) == 1
    assert np.isnan(auc(np.array([True]), np.array([1.0], np.float32)))


def test_f1_by_hand():
    """One hit, one miss, one false alarm: 2 / 4."""
    assert f1(np.array([True, True, False]), np.array([True, False, True])) == 0.5
    assert f1(np.zeros(2, bool), np.zeros(2, bool)) == 0


def test_cuts_stretch_a_shrunken_mean():
    """Expected levels from 1.5 to 3.5 for levels 1 to 5: the cuts find the labels again, up to 4."""
    truth = np.repeat(np.arange(1, 6), 20)
    expected = (1.5 + (truth - 1) * 0.5 + np.tile(np.linspace(-0.1, 0.1, 20), 5)).astype(np.float32)
    assert kappa(truth, decide(expected, np.array([1.5, 2.5, 3.5, 4.5], np.float32))) < 0.9
    cuts = spread_cuts(truth, expected)
    assert decide(expected, cuts).tolist() == np.minimum(truth, 4).tolist()
    assert cuts[-1] == 4.5


@given(st.lists(st.tuples(st.integers(1, 5), st.floats(1, 5, width=32)), min_size=1, max_size=30))
def test_cuts_never_fall(pairs):
    """Whatever the data, so that a higher expected level is never a lower level."""
    truth, expected = np.array([a for a, _ in pairs]), np.array([b for _, b in pairs], np.float32)
    assert (np.diff(spread_cuts(truth, expected)) >= 0).all()


def test_the_cut_of_a_flag_is_in_the_gap():
    """Positives at .4, negatives at .2: a cut between them."""
    truth = np.array([True, False] * 10)
    assert 0.2 < best_flag_cut(truth, np.where(truth, 0.4, 0.2).astype(np.float32)) < 0.4


def test_platt_finds_the_line_again():
    """Labels drawn as sigmoid(2 x - 1), as shares: slope 2, offset -1."""
    logits = np.linspace(-3, 3, 200).astype(np.float32)
    assert platt(1 / (1 + np.exp(1 - 2 * logits)), logits) == pytest.approx((2, -1), abs=0.02)


def test_calibration_bins_by_hand():
    """Two bins hold something: mean, share and count of each."""
    chance = np.array([0.11, 0.13, 0.95, 1.0], np.float32)
    found = calibration(np.array([False, True, True, True]), chance)
    assert [count for _, _, count in found] == [2, 2]
    assert [share for _, share, _ in found] == [0.5, 1]
    assert [said for said, _, _ in found] == pytest.approx([0.12, 0.975])
