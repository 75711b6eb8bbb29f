"""How common tokens are and how much they count."""

import numpy as np

from toolwise.learn.frequencies import shares, weights, zipf_shares


def test_shares_count_every_occurrence():
    """Tokens 1, 1, 2 and 2, of four: half each."""
    np.testing.assert_allclose(shares([[1, 1, 2], [2]], 4), [0, 0.5, 0.5, 0])


def test_no_texts_give_zero_shares():
    """Nothing was seen: nothing is common."""
    assert shares([], 3).tolist() == [0, 0, 0]


def test_zipf_shares_fall_with_the_rank():
    """Ranks 0 and 1 weigh 1/2.7 and 1/3.7; a token without rank has no share."""
    first, second, none = zipf_shares([0, 1, None])
    np.testing.assert_allclose(first / second, 3.7 / 2.7, rtol=1e-6)
    np.testing.assert_allclose(first + second, 1, rtol=1e-6)
    assert none == 0


def test_weights_are_smooth_inverse_frequencies():
    """With a = 0.1: p = 0 counts 1, p = (0.2 + 0) / 2 counts a half."""
    found = weights(np.array([0, 0.2], np.float32), np.array([0, 0], np.float32), 0.1)
    np.testing.assert_allclose(found, [1, 0.5], rtol=1e-6)
