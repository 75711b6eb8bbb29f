"""Ranking metrics against values worked out by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwise.evaluate.ranking import completeness, ndcg, recall

METRICS = [ndcg, recall, completeness]


def test_ndcg_by_hand():
    """One of two gold tools at rank 2: (1/log2 3) / (1/log2 2 + 1/log2 3)."""
    # gained 0.63093, ideal 1 + 0.63093
    assert ndcg(["x", "a", "y"], {"a", "b"}, 3) == pytest.approx(0.63093 / 1.63093, abs=1e-5)
    # ranks 1 and 3: (1 + 0.5) / (1 + 0.63093)
    assert ndcg(["a", "x", "b"], {"a", "b"}, 3) == pytest.approx(1.5 / 1.63093, abs=1e-5)


def test_ndcg_is_one_for_a_perfect_ranking():
    """Gold first, in any order, whatever follows."""
    assert ndcg(["b", "a", "x"], {"a", "b"}, 5) == 1.0


def test_the_ideal_stops_at_k():
    """Three gold tools, k = 2, both places gold: nothing better is possible."""
    assert ndcg(["a", "b"], {"a", "b", "c"}, 2) == pytest.approx(1.0)


def test_recall_by_hand():
    """Two of three gold tools in the top 4; one of them at rank 5 counts only at k = 5."""
    ranked = ["a", "x", "b", "y", "c"]
    assert recall(ranked, {"a", "b", "c"}, 4) == pytest.approx(2 / 3)
    assert recall(ranked, {"a", "b", "c"}, 5) == 1.0


def test_completeness_by_hand():
    """All or nothing."""
    ranked = ["a", "x", "b"]
    assert completeness(ranked, {"a", "b"}, 2) == 0.0
    assert completeness(ranked, {"a", "b"}, 3) == 1.0


@pytest.mark.parametrize("metric", METRICS)
def test_an_empty_list_scores_nothing(metric):
    """No tools, no value."""
    assert metric([], {"a"}, 5) == 0.0


@pytest.mark.parametrize("metric", METRICS)
def test_no_gold_scores_nothing(metric):
    """Without gold every metric is 0, not an error."""
    assert metric(["a"], (), 5) == 0.0
    assert metric([], (), 5) == 0.0


@pytest.mark.parametrize("metric", METRICS)
def test_repeated_gold_counts_once(metric):
    """Gold is a set, whatever it comes in."""
    assert metric(["a"], ["a", "a"], 1) == 1.0


@pytest.mark.parametrize("metric", METRICS)
def test_a_tool_ranked_twice_gains_once(metric):
    """A repeated tool cannot push a metric above 1."""
    assert metric(["a", "a", "a"], {"a"}, 3) == pytest.approx(1.0)


def test_a_repeated_tool_gains_at_its_first_rank_only():
    """Found at ranks 1 and 2 of two gold tools: 1 / (1 + 0.63093), as if it stood at rank 1 alone."""
    assert ndcg(["a", "a"], {"a", "b"}, 2) == pytest.approx(1 / 1.63093, abs=1e-5)


@pytest.mark.parametrize("metric", METRICS)
@given(
    ranked=st.lists(st.sampled_from("abcdefgh"), max_size=8),
    gold=st.sets(st.sampled_from("abcdefgh"), max_size=5),
    k=st.integers(1, 10),
)
def test_values_lie_between_0_and_1(metric, ranked, gold, k):
    """Whatever the ranking."""
    value = metric(ranked, gold, k)
    assert 0.0 <= value <= 1.0 or math.isclose(value, 1.0)


@given(
    ranked=st.lists(st.sampled_from("abcdefgh"), max_size=8, unique=True),
    gold=st.sets(st.sampled_from("abcdefgh"), min_size=1, max_size=5),
    k=st.integers(1, 10),
)
def test_complete_means_full_recall(ranked, gold, k):
    """COMP@k is 1 exactly where recall@k is 1."""
    assert (completeness(ranked, gold, k) == 1.0) == (recall(ranked, gold, k) == 1.0)
