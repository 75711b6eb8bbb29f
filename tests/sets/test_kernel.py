"""The kernel against plain loops."""

from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sets.energies import energies, energy, permuted, value
from toolwise.protocols import SetEnergy
from toolwise.sets.kernel import completeness, softmax, softmax_means, subsets, values


def listed(k: int, m: int) -> list[tuple[int, ...]]:
    """The sets in the order that a table promises."""
    return [members for size in range(m + 1) for members in combinations(range(k), size)]


@given(st.integers(0, 8), st.integers(0, 5))
def test_a_table_lists_every_set_once_by_size_then_in_order(k, m):
    """Members, indices, sizes, bits and the place of each set say the same."""
    table = subsets(k, m)
    expected = listed(k, m)
    assert [tuple(np.flatnonzero(row).tolist()) for row in table.members] == expected
    assert [tuple(i for i in row if i < k) for row in table.indices.tolist()] == expected
    assert table.sizes.tolist() == [len(members) for members in expected]
    assert table.masks.tolist() == [sum(1 << i for i in members) for members in expected]
    assert [table.row(members[::-1]) for members in expected] == list(range(len(expected)))
    assert len(table.starts) == m + 2
    for size in range(m + 1):
        assert set(table.sizes[table.block(size)].tolist()) <= {size}


def test_a_pool_of_twenty_has_as_many_sets_as_the_paper_says():
    """21,699 sets of one to five tools, and the empty one; shared and read-only."""
    table = subsets(20, 5)
    assert len(table.sizes) == 21_700 == 1 + sum(comb(20, size) for size in range(1, 6))
    assert subsets(20, 5) is table
    with pytest.raises(ValueError, match="read-only"):
        table.members[0, 0] = True


def test_a_set_beyond_the_table_has_no_row():
    """Asking for it is an error, not a wrong row."""
    with pytest.raises(ValueError, match="a set of 3 is larger than the 2"):
        subsets(4, 2).row((0, 1, 2))


@given(energies)
def test_values_are_those_of_plain_loops(drawn):
    """Both alignments, every size, the empty set too."""
    k, m = len(drawn.unary), len(drawn.pairs) - 1
    expected = [value(drawn, members) for members in listed(k, m)]
    np.testing.assert_allclose(values(drawn, subsets(k, m)), expected, rtol=1e-5, atol=1e-3)


def test_values_by_hand():
    """Two candidates: scores 1 and 2, the pair 0.5, sizes 0.25, -1 and 3."""
    pairs = np.zeros((3, 2, 2), np.float32)
    pairs[1:] = [[9, 7], [7, 9]], [[9, 0.5], [0.5, 9]]
    given_ = SetEnergy(np.array([1, 2], np.float32), pairs, np.array([0.25, -1, 3], np.float32))
    assert values(given_, subsets(2, 2)).tolist() == [0.25, 0.0, 1.0, 6.5]


@given(energies, st.randoms(use_true_random=False))
def test_the_order_of_the_pool_changes_no_value(drawn, random):
    """A set keeps its value wherever its members stand in the pool."""
    k, m = len(drawn.unary), len(drawn.pairs) - 1
    order = np.array(random.sample(range(k), k))
    table = subsets(k, m)
    plain, moved = values(drawn, table), values(permuted(drawn, order), table)
    for row, members in enumerate(listed(k, m)):
        there = table.row(tuple(int(np.flatnonzero(order == i)[0]) for i in members))
        assert moved[there] == pytest.approx(plain[row], rel=1e-5, abs=1e-3)


def test_a_size_that_is_not_on_offer_is_worth_nothing():
    """-inf in the bias of a size is -inf in its sets, and probability 0."""
    drawn = energy(4, 3)
    drawn.sizes[[0, 2]] = -np.inf
    table = subsets(4, 3)
    found = softmax(values(drawn, table))
    assert (found[0], found[table.block(2)].sum()) == (0.0, 0.0)
    assert found.sum() == pytest.approx(1.0)


def test_another_pool_is_refused():
    """A table of another pool, or of sizes without a matrix, is an error."""
    with pytest.raises(ValueError, match="of 4 candidates, the table of 5"):
        values(energy(4, 3), subsets(5, 3))
    with pytest.raises(ValueError, match="sizes up to 3, the table holds sizes up to 4"):
        values(energy(5, 3), subsets(5, 4))


def test_a_smaller_table_values_its_sizes_alike():
    """The value of a set does not depend on how large sets may get."""
    drawn = energy(6, 5)
    small = subsets(6, 3)
    np.testing.assert_allclose(
        values(drawn, small), values(drawn, subsets(6, 5))[: len(small.sizes)], rtol=1e-6
    )


def test_the_mean_alignment_is_lowest_where_one_tool_is_mediocre():
    """Finding on eq. 6: with scores 0 and -x it is lowest at x = 1.2785, at -0.2785, and comes back to 0."""
    gaps = np.linspace(0.0, 12.0, 12_001)
    table = subsets(2, 2)
    means = np.array([softmax_means(np.array([0.0, -gap], np.float32), table)[3] for gap in gaps])
    assert gaps[means.argmin()] == pytest.approx(1.2785, abs=1e-3)
    assert means.min() == pytest.approx(-0.2785, abs=1e-4)
    assert means[-1] > -1e-4


def test_means_of_scores_too_far_apart_for_doubles():
    """Sets of hopeless tools alone keep their own mean."""
    scores = np.array([1000.0, -1000.0, -1001.0], np.float32)
    found = softmax_means(scores, subsets(3, 2))
    low = (-1000.0 - 1001.0 * np.exp(-1)) / (1 + np.exp(-1))
    np.testing.assert_allclose(found, [0, 1000, -1000, -1001, 1000, 1000, low], rtol=1e-6)


@given(energies, st.booleans())
def test_completeness_is_that_of_plain_loops(drawn, count_empty):
    """The sum of the probabilities of all subsets of each set."""
    k, m = len(drawn.unary), len(drawn.pairs) - 1
    table = subsets(k, m)
    probabilities = softmax(values(drawn, table))
    sets = [frozenset(members) for members in listed(k, m)]
    expected = [
        sum(
            p
            for p, inner in zip(probabilities, sets, strict=True)
            if inner <= outer and (inner or count_empty)
        )
        for outer in sets
    ]
    np.testing.assert_allclose(
        completeness(probabilities, table, count_empty=count_empty), expected, atol=1e-12
    )


def test_completeness_leaves_its_input_alone():
    """Probabilities may be used again."""
    probabilities = np.full(4, 0.25)
    assert completeness(probabilities, subsets(2, 2), count_empty=False).tolist() == [0, 0.25, 0.25, 0.75]
    assert probabilities.tolist() == [0.25] * 4


def test_softmax_by_hand():
    """Log odds become odds; a temperature of two takes the root of them; it must be positive."""
    logs = np.log(np.array([1.0, 4.0], np.float32))
    assert softmax(logs).tolist() == pytest.approx([0.2, 0.8])
    assert softmax(logs, 2.0).tolist() == pytest.approx([1 / 3, 2 / 3])
    with pytest.raises(ValueError, match="above 0"):
        softmax(logs, 0.0)


@given(energies, st.integers(0, 5))
def test_values_that_are_worked_out_are_read_for_smaller_sets_too(drawn, m):
    """The same as worked out anew; sets stand by size, so those of up to m come first."""
    largest = len(drawn.pairs) - 1
    known = replace(drawn, values=values(drawn, subsets(len(drawn.unary), largest)))
    table = subsets(len(drawn.unary), min(m, largest))
    assert np.allclose(values(known, table), values(drawn, table), atol=1e-5)
    assert np.shares_memory(values(known, table), known.values)
