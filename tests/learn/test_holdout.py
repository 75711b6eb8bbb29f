"""The split and the measures that a training is chosen by."""

from collections.abc import Sequence

import numpy as np
import pytest

from toolwise.learn.data import Library, Request
from toolwise.learn.holdout import aside, fold, judge, measure, split
from toolwise.protocols import Floats
from toolwise.records import Tool


class Fixed:
    """Tools are the axes of a space of three dimensions; a request is its own text, read as a vector."""

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        """The vectors that stand in the texts."""
        return np.array([[float(x) for x in text.split()] for text in texts], np.float32)

    def encode_tools(self, tools: Sequence[Tool]) -> Floats:
        """One axis each."""
        return np.eye(len(tools), 3, dtype=np.float32)


def test_no_library_is_on_both_sides():
    """Two of five are held out, the same ones for the same seed."""
    libraries = [Library(f"l{i}", (), ()) for i in range(5)]
    kept, out = split(libraries, 2, 7)
    assert len(out) == 2
    assert sorted(x.name for x in (*kept, *out)) == ["l0", "l1", "l2", "l3", "l4"]
    assert split(libraries, 2, 7) == (kept, out)


def test_one_ranking_by_hand():
    """Gold at ranks 1 and 3 of three: gains 1 and 1/2 over 1 and 1/log2(3); all within five."""
    ndcg, complete = judge([4, 9, 2], [4, 2])
    assert ndcg == pytest.approx((1 + 0.5) / (1 + 1 / np.log2(3)))
    assert complete == 1


def test_a_gold_tool_at_rank_six_is_not_in_the_answer():
    """Five others stand before it."""
    assert judge([1, 2, 3, 4, 5, 6], [6]) == (0, 0)


def test_means_are_over_requests():
    """One request finds its tool first, the other second: NDCG 1 and 1/log2(3), both complete."""
    tools = tuple(Tool(str(i), str(i)) for i in range(3))
    toy = Library("toy", tools, (Request("1 0 0", (0,)), Request("1 .5 0", (1,))))
    found = measure(Fixed(), [toy])
    assert found.ndcg == pytest.approx((1 + 1 / np.log2(3)) / 2)
    assert found.complete == 1


def test_nothing_held_out_measures_nothing():
    """Zero, not an error."""
    assert measure(Fixed(), []).ndcg == 0


def test_every_library_is_held_out_in_exactly_one_fold():
    """Seven libraries in three folds: each held out once, and never trained on in that fold."""
    libraries = [Library(f"set/{n}", (), ()) for n in range(7)]
    held = []
    for part in range(3):
        kept, out = fold(libraries, part, 3)
        assert not {library.name for library in kept} & {library.name for library in out}
        assert len(kept) + len(out) == 7
        held += [library.name for library in out]
    assert sorted(held) == [f"set/{n}" for n in range(7)]


def test_requests_of_one_key_are_held_out_together():
    """Three places fit "b" and one of the others; "a" alone is more than all that may go."""
    keys = ["a", "b", "a", "c", "b", "a", "a", "d"]
    drawn = [aside(keys, 3, np.random.default_rng(seed)) for seed in range(20)]
    assert all(out in ({1, 4, 3}, {1, 4, 7}, {3, 7}) for out in drawn)
    assert any(1 in out for out in drawn)


def test_single_requests_are_held_out_as_drawn():
    """Where no key comes twice, the first of a permutation are out."""
    first = np.random.default_rng(3).permutation(10)[:4]
    assert aside(range(10), 4, np.random.default_rng(3)) == set(first.tolist())
