"""The bootstrap, against resamples counted by hand and against the normal distribution."""

import math
import time
import tracemalloc

import numpy as np
import pytest

from toolwise.evaluate import Metric, Row
from toolwise.evaluate.bootstrap import UNTOLD, differences, intervals, resampled

MRR, EXACT = Metric("mrr"), Metric("exact")


def rows(values, metric=MRR):
    """One row a query, q0, q1, ..."""
    return [Row(f"q{i}", metric, value) for i, value in enumerate(values)]


def rng(seed=0):
    """A generator of the test's own."""
    return np.random.default_rng(seed)


def test_two_queries_by_hand():
    """Of 0 and 1 the resampled means are 0 (1/4), 1/2 (1/2), 1 (1/4)."""
    two = rows([0.0, 1.0])
    wide = intervals(two, rng())[MRR]
    assert (wide.low, wide.high) == (0.0, 1.0)
    narrow = intervals(two, rng(), confidence=0.4)[MRR]  # quantiles .3 and .7
    assert (narrow.low, narrow.high) == (0.5, 0.5)


def test_resampled_runs_are_read_on_the_same_queries():
    """A run and its double: twice as much in every resample; a metric without rows is NaN."""
    one, two = rows([0.0, 1.0]), rows([0.0, 2.0])
    drawn = resampled([one, two], [MRR, EXACT], rng(), resamples=200)
    assert drawn.shape == (200, 2, 2)
    np.testing.assert_allclose(drawn[:, 1, 0], 2 * drawn[:, 0, 0])
    assert set(drawn[:, 1, 0].tolist()) == {0.0, 1.0, 2.0}
    assert np.isnan(drawn[:, :, 1]).all()


def test_one_cluster_gives_no_resamples():
    """There is nothing to draw from."""
    assert resampled([rows([0.0, 1.0])], [MRR], rng(), {"q0": "a", "q1": "a"}).shape == (0, 1, 1)


def test_clusters_are_drawn_whole():
    """Three 1 in one cluster, a 0 in another: means 1, 3/4 (every second resample) and 0."""
    four = rows([1.0, 1.0, 1.0, 0.0])
    grouped = {"q0": "a", "q1": "a", "q2": "a", "q3": "b"}
    middle = intervals(four, rng(), grouped, confidence=0.4)[MRR]
    assert (middle.low, middle.high) == (0.75, 0.75)
    whole = intervals(four, rng(), grouped)[MRR]
    assert (whole.low, whole.high) == (0.0, 1.0)


def test_a_query_without_a_cluster_is_its_own():
    """Naming no query of these changes nothing, nor does a cluster called like a query."""
    some = rows([0.1, 0.5, 0.2, 0.9])
    assert intervals(some, rng(), {"stranger": "w"}) == intervals(some, rng())
    mixed = intervals(some, rng(), {"q0": "q3"})
    assert mixed == intervals(some, rng())


def test_many_queries_agree_with_the_normal_distribution():
    """Mean plus and minus 1.96 standard errors, to 5 % of the width."""
    values = rng(7).random(2000)
    found = intervals(rows(values.tolist()), rng())[MRR]
    half = 1.96 * values.std() / math.sqrt(len(values))
    assert found.low == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert found.high == pytest.approx(values.mean() + half, abs=0.1 * half)


def test_clusters_of_like_queries_widen_the_interval():
    """Twenty clusters of fifty equal values tell as much as twenty queries."""
    values = rng(3).random(20)
    many = rows(np.repeat(values, 50).tolist())
    grouped = {f"q{i}": str(i // 50) for i in range(1000)}
    clustered, single = intervals(many, rng(), grouped)[MRR], intervals(rows(values.tolist()), rng())[MRR]
    assert clustered.low == pytest.approx(single.low, abs=0.01)
    assert clustered.high - clustered.low > 4 * (
        intervals(many, rng())[MRR].high - intervals(many, rng())[MRR].low
    )


@pytest.mark.parametrize("grouped", [{"q0": "w", "q1": "w"}, {"q0": "w", "q1": "w", "other": "v"}])
def test_one_cluster_tells_nothing(grouped):
    """Nothing varies, which is no certainty: the interval and p are not told."""
    two = rows([0.0, 1.0])
    assert intervals(two, rng(), grouped)[MRR] is UNTOLD
    found = differences(two, rows([1.0, 1.0]), rng(), grouped)[MRR]
    assert found.value == 0.5
    assert math.isnan(found.p)
    assert found.interval is UNTOLD
    assert intervals(rows([1.0]), rng())[MRR] is UNTOLD


def test_metrics_of_different_queries_are_drawn_together():
    """A metric defined for two of four queries has means of these alone."""
    mixed = [*rows([0.2, 0.4, 0.6, 0.8]), *rows([0.0, 1.0], EXACT)]
    found = intervals(mixed, rng())
    assert list(found) == [MRR, EXACT]
    assert (found[EXACT].low, found[EXACT].high) == (0.0, 1.0)
    assert intervals([], rng()) == {}


def test_a_paired_difference_by_hand():
    """Differences 1, 1, -1: of 27 resamples 8 + 6 + 1 depart from 1/3 by 1/3 or more."""
    found = differences(rows([0.0, 0.0, 1.0]), rows([1.0, 1.0, 0.0]), rng())[MRR]
    assert found.value == pytest.approx(1 / 3)
    assert found.p == pytest.approx(15 / 27, abs=0.02)
    assert (found.interval.low, found.interval.high) == (-1.0, 1.0)  # 1/27 lie at -1, 8/27 at 1


def test_pairing_sees_what_a_common_spread_hides():
    """A gain of .01 in every query is certain, however the queries differ."""
    values = rng(1).random(100)
    found = differences(rows(values.tolist()), rows((values + 0.01).tolist()), rng())[MRR]
    assert found.p == pytest.approx(1 / 10_001)
    assert found.interval.low == pytest.approx(0.01)


@pytest.mark.parametrize(("clusters", "least"), [(2, 0.5), (4, 0.125), (20, 1 / 10_001)])
def test_few_clusters_prove_little(clusters, least):
    """Though every query gains, C clusters all go one way in one of 2 ** (C - 1) cases."""
    before, after = rows([0.0] * 200), rows([0.5] * 200)
    grouped = {f"q{i}": str(i % clusters) for i in range(200)}
    assert differences(before, after, rng(), grouped)[MRR].p == pytest.approx(least)


def test_equal_runs_do_not_differ():
    """Difference 0, p 1."""
    some = rows([0.0, 0.3, 1.0])
    found = differences(some, some, rng())[MRR]
    assert (found.value, found.p) == (0.0, 1.0)


def test_a_null_difference_is_found_as_often_as_p_says():
    """Of 200 pairs of runs without a difference, p is below .2 in about a fifth."""
    generator = rng(5)
    low = 0
    for _ in range(200):
        first, second = generator.random((2, 60)).tolist()
        low += differences(rows(first), rows(second), generator, resamples=500)[MRR].p < 0.2
    assert 20 <= low <= 62  # 40 expected, standard deviation 5.7


def test_only_metrics_of_both_runs_are_compared():
    """A metric that one run has no rows of has no difference."""
    both = differences(rows([0.0, 1.0]), [*rows([1.0, 1.0]), *rows([1.0], EXACT)], rng())
    assert list(both) == [MRR]


def test_the_same_seed_gives_the_same_interval():
    """The generator is the only chance."""
    some = rows(rng(2).random(50).tolist())
    assert intervals(some, rng(9)) == intervals(some, rng(9))
    assert intervals(some, rng(9)) != intervals(some, rng(10))


def test_ten_thousand_resamples_of_five_thousand_queries_are_cheap():
    """Less than 3 seconds of processor time and 64 MB."""
    many = rows(rng().random(5000).tolist())
    tracemalloc.start()
    started = time.process_time()
    intervals(many, rng())
    seconds, peak = time.process_time() - started, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert seconds < 3
    assert peak < 64e6
