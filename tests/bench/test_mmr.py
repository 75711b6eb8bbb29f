"""Maximal marginal relevance, worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bench.systems import FixedSystem, TableEncoder, ids, tools

from toolwise.bench.baselines import MmrSystem
from toolwise.bench.baselines.mmr import mmr_order
from toolwise.records import Query

VECTORS = np.array([[1, 0], [1, 0], [0.6, 0.8], [0, 1]], np.float32)
RELEVANT = np.array([1.0, 0.9, 0.5, 0.2], np.float32)


def test_a_repeat_waits_for_something_new():
    """With weight 1/2 the twin of the first (.45 - .5) comes behind (.6, .8) (.25 - .3) and (0, 1) (.1 - 0).

    First 0.  Then 1: .45 - .5 = -.05; 2: .25 - .3 = -.05; 3: .1 - 0 = .1, so 3.
    Then 1: -.05; 2: .25 - max(.6, .8)/2 = -.15, so 1, and 2 is last.
    """
    assert mmr_order(RELEVANT, VECTORS, 0.5) == [0, 3, 1, 2]


def test_relevance_alone_keeps_the_order():
    """Weight 1 is the inner ranking."""
    assert mmr_order(RELEVANT, VECTORS, 1.0) == [0, 1, 2, 3]


def test_novelty_alone_starts_with_the_first_row():
    """Weight 0: all are equal at first, so row 0; then the orthogonal row 3 (0), row 2 (-.8), row 1 (-1)."""
    assert mmr_order(RELEVANT, VECTORS, 0.0) == [0, 3, 2, 1]


def test_opposites_are_more_than_new():
    """A cosine of -1 with all that is picked counts for a tool: .5 * .2 + .5 beats .5 * .9 - 0."""
    vectors = np.array([[1, 0], [0, 1], [-1, 0]], np.float32)
    assert mmr_order(np.array([1.0, 0.9, 0.2], np.float32), vectors, 0.5) == [0, 2, 1]


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=8), st.floats(0, 1), st.integers(0, 99))
def test_every_row_comes_once(relevant: list[float], balance: float, seed: int):
    """The order is a permutation, and starts with a most relevant row where relevance counts."""
    vectors = np.random.default_rng(seed).normal(size=(len(relevant), 3)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    found = mmr_order(np.array(relevant, np.float32), vectors, balance)
    assert sorted(found) == list(range(len(relevant)))
    if balance > 1e-3:
        assert relevant[found[0]] == pytest.approx(max(relevant), abs=1e-4)


def test_the_system_reorders_the_head_and_keeps_the_tail():
    """Scores 9, 8, 5 become 1, .75, 0; with weight .5 the twin b falls behind c; d is beyond the depth.

    After a: b .375 - .5 = -.125, c 0 - 0 = 0.
    """
    encoder = TableEncoder({"a": [1, 0], "b": [1, 0], "c": [0, 1], "d": [0, 1]})
    inner = FixedSystem(("a", 9.0), ("b", 8.0), ("c", 5.0), ("d", 4.0))
    system = MmrSystem(inner, lambda: encoder, balance=0.5, depth=3)
    system.fit(tools("a", "b", "c", "d"), [])
    assert ids(system.rank(Query("q", ""), 4)) == ["a", "c", "b", "d"]
    assert ids(system.rank(Query("q", ""), 2)) == ["a", "c"]
    assert system.rank(Query("q", ""), 0) == []
