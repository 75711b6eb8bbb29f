"""The table before training."""

import numpy as np

from toolwise.learn.start import starting_table
from toolwise.learn.teacher import Taught


def taught(rng, tokens=40, width=8):
    seen = np.full(tokens, 50, np.float32)
    states = rng.normal(size=(tokens, width)).astype(np.float32) * seen[:, None]
    return Taught(np.zeros((0, width), np.float32), states, seen)


def test_the_starting_table_has_mean_square_length_one_and_no_unknown_row():
    """Row 0 is zero, the mean squared length of the others is 1."""
    rng = np.random.default_rng(0)
    ones = np.ones(40, np.float32)
    table = starting_table(taught(rng), rng.normal(size=(40, 8)).astype(np.float32), ones, ones, 4)
    assert table.shape == (40, 4)
    assert not table[0].any()
    np.testing.assert_allclose((table[1:] ** 2).sum(1).mean(), 1, rtol=1e-4)


def test_tokens_never_seen_lean_on_their_state_alone():
    """Where states in context are twice the states alone, an unseen token lands where its double would."""
    rng = np.random.default_rng(1)
    alone = rng.normal(size=(200, 4)).astype(np.float32)
    seen = np.full(200, 1000, np.float32)
    seen[-1] = 0
    states = 2 * alone * seen[:, None]
    alone[-1] = alone[7]
    ones = np.ones(200, np.float32)
    table = starting_table(Taught(np.zeros((0, 4), np.float32), states, seen), alone, ones, ones, 4)
    cosine = table[-1] @ table[7] / np.linalg.norm(table[-1]) / np.linalg.norm(table[7])
    assert cosine > 0.99
