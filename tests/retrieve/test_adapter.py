"""How requests are read, where experience says so."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwise.retrieve.adapter import Adapter

TURN = np.array([[0, 1], [0, 0]], np.float32)
"""What points east points north-east."""


def test_a_request_is_turned_and_made_as_long_as_before():
    """(1, 0) + (1, 0) P = (1, 1), of length 1 half of the root of two each; north has nothing to add."""
    found = Adapter(TURN, 1.0)(np.eye(2, dtype=np.float32))
    assert found == pytest.approx(np.array([[0.70711, 0.70711], [0, 1]]), abs=1e-5)


def test_what_has_no_direction_stays():
    """No words the encoder knows: a vector of zeros, and no division by them."""
    assert Adapter(TURN, 1.0)(np.zeros((1, 2), np.float32)).tolist() == [[0, 0]]


def test_a_map_that_leaves_nothing_leaves_zeros():
    """P = -1 takes all of it away."""
    assert Adapter(-np.eye(2, dtype=np.float32), 1.0)(np.eye(2, dtype=np.float32)).tolist() == [[0, 0]] * 2


@given(st.integers(0, 2**32 - 1))
def test_all_that_has_a_direction_is_of_unit_length(seed: int):
    """Whatever the map."""
    rng = np.random.default_rng(seed)
    found = Adapter(rng.normal(size=(3, 3)).astype(np.float32), 1.0)(
        rng.normal(size=(4, 3)).astype(np.float32)
    )
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.ones(4), abs=1e-5)
