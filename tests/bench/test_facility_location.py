"""Greedy facility location, worked out by hand and against exhaustive search."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.bench.systems import FixedSystem, TableEncoder, ids, tools

from toolwise.bench.baselines import FacilityLocationSystem
from toolwise.bench.baselines.facility_location import facility_order
from toolwise.records import Query

# Two that do the same, one near them, one on its own.
VECTORS = np.array([[1, 0], [1, 0], [0.8, 0.6], [0, 1]], np.float32)


def test_coverage_alone_takes_the_middle_first():
    """Equal relevance, weight 0: row 2 covers (.8 + .8 + 1 + .6) / 4 = .8, row 0 (1 + 1 + .8 + 0) / 4 = .7.

    Then rows 0 and 1 add (.2 + .2) / 4 = .1, row 3 adds .4 / 4 = .1: equal, so row
    0; then row 3 (.1), and row 1 adds nothing.
    """
    assert facility_order(np.ones(4, np.float32), VECTORS, 0.0)[0] == 2
    vectors = np.array([[1, 0], [1, 0], [0.8, 0.6], [0, 1], [0, 1]], np.float32)
    # row 2 now covers .8 + .8 + 1 + .6 + .6 = 3.8 of 5; then rows 3 and 4 add .8, rows 0 and 1 add .4
    assert facility_order(np.ones(5, np.float32), vectors, 0.0) == [2, 3, 0, 1, 4]


def test_irrelevant_candidates_need_no_cover():
    """The pool is weighted by relevance: row 3 has none, so nothing is gained by covering it.

    Weights (1, 1, 1, 0)/3: row 0 covers 2.8 / 3, row 2 only 2.6 / 3.
    """
    relevant = np.array([1, 1, 1, 0], np.float32)
    assert facility_order(relevant, VECTORS, 0.0)[0] == 0


def test_relevance_alone_keeps_the_order():
    """Weight 1 is the inner ranking."""
    assert facility_order(np.array([1.0, 0.9, 0.5, 0.2], np.float32), VECTORS, 1.0) == [0, 1, 2, 3]


def test_a_twin_adds_its_relevance_alone():
    """Relevance (1, .9, .85), weight .5; weights sum to 2.75.

    Row 0 first (covers 0 and 1).  Then row 1 gains .45 + 0, row 2 gains .425 + .5 * .85 / 2.75 = .58.
    """
    vectors = np.array([[1, 0], [1, 0], [0, 1]], np.float32)
    assert facility_order(np.array([1.0, 0.9, 0.85], np.float32), vectors, 0.5) == [0, 2, 1]


def value(chosen: tuple[int, ...], relevant: np.ndarray, similar: np.ndarray, balance: float) -> float:
    """F as the module defines it."""
    weights = relevant / max(relevant.sum(), 1e-12)
    cover = similar[list(chosen)].max(axis=0)
    return float(balance * relevant[list(chosen)].sum() + (1 - balance) * weights @ cover)


@settings(deadline=None)
@given(st.integers(2, 6), st.floats(0, 1), st.integers(0, 999))
def test_greedy_is_near_the_best_set_of_each_size(count: int, balance: float, seed: int):
    """At every size its value is at least 1 - 1/e of the best set's."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(count, 3)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    relevant = rng.random(count).astype(np.float32)
    similar = np.maximum(vectors @ vectors.T, 0)
    order = facility_order(relevant, vectors, balance)
    assert sorted(order) == list(range(count))
    for size in range(1, count + 1):
        best = max(value(s, relevant, similar, balance) for s in combinations(range(count), size))
        assert value(tuple(order[:size]), relevant, similar, balance) >= (1 - 1 / np.e) * best - 1e-5


def test_the_system_reorders_the_head_and_keeps_the_tail():
    """The twin b of a falls behind c (see above); d lies beyond the depth."""
    encoder = TableEncoder({"a": [1, 0], "b": [1, 0], "c": [0, 1], "d": [0, 1]})
    inner = FixedSystem(("a", 1.0), ("b", 0.9), ("c", 0.85), ("z", 0.0), ("d", -1.0))
    encoder.vectors["z"] = [-1, 0]
    system = FacilityLocationSystem(inner, lambda: encoder, balance=0.5, depth=4)
    system.fit(tools("a", "b", "c", "d", "z"), [])
    assert ids(system.rank(Query("q", ""), 5)) == ["a", "c", "b", "z", "d"]
