"""The laws of the decoders, and their choices by hand."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sets.energies import energies, energy, value
from toolwise.protocols import SetEnergy
from toolwise.sets.decode import (
    DECODERS,
    best_of_size,
    best_worth,
    expected_complete,
    greedy_ranking,
    most_probable,
)
from toolwise.sets.kernel import completeness, softmax, subsets, values

COSTS = st.floats(0.0, 1.0)


def table_of(drawn: SetEnergy):
    """All sets that an energy values."""
    return subsets(len(drawn.unary), len(drawn.pairs) - 1)


@given(energies)
def test_greedy_takes_the_greatest_gain_each_time(drawn):
    """Against plain loops: no other candidate would have made the set so far worth more."""
    ranked = greedy_ranking(drawn, len(drawn.unary)).tolist()
    assert sorted(ranked) == list(range(len(drawn.unary)))
    for place, taken in enumerate(ranked):
        found = {i: value(drawn, (*ranked[:place], i), bias=False) for i in ranked[place:]}
        assert found[taken] == pytest.approx(max(found.values()), rel=1e-5, abs=1e-3)


def test_greedy_goes_on_beyond_the_largest_size():
    """Sizes above M use the last matrix; equal gains go to the earlier candidate."""
    pairs = np.zeros((3, 4, 4), np.float32)
    pairs[2, 0, 3] = pairs[2, 3, 0] = 1.0
    drawn = SetEnergy(np.array([1, 0, 0, 0], np.float32), pairs, np.zeros(3, np.float32))
    assert greedy_ranking(drawn, 4).tolist() == [0, 3, 1, 2]
    assert greedy_ranking(drawn, 2).tolist() == [0, 3]
    assert greedy_ranking(drawn, 0).tolist() == []


@given(energies)
def test_the_most_probable_set_has_the_greatest_value(drawn):
    """Argmax of F, the empty set included."""
    found = values(drawn, table_of(drawn))
    assert found[most_probable(drawn, table_of(drawn))] == found.max()


@given(energies, COSTS, COSTS)
def test_a_rising_cost_never_gives_a_larger_set(drawn, one, other):
    """Expected completeness less cost: sizes fall as cost rises."""
    table = table_of(drawn)
    probabilities = softmax(values(drawn, table), 2.0)
    sizes = [table.sizes[expected_complete(probabilities, table, cost)] for cost in sorted((one, other))]
    assert sizes[0] >= sizes[1]


@given(energies, COSTS, st.randoms(use_true_random=False))
def test_the_chosen_set_is_worth_most_among_the_admitted(drawn, cost, random):
    """Against plain loops, with a random mask and penalty; equal worth goes to the earlier row."""
    table = table_of(drawn)
    probabilities = softmax(values(drawn, table))
    admitted = np.array([True, *(random.random() < 0.6 for _ in table.sizes[1:])])
    penalty = np.array([random.choice([0.0, 0.1]) for _ in table.sizes])
    row = expected_complete(probabilities, table, cost, admitted, penalty)
    worth = completeness(probabilities, table) - penalty - cost * table.sizes
    assert admitted[row]
    assert worth[row] >= worth[admitted].max() - 1e-12


@pytest.mark.parametrize("name", sorted(DECODERS))
@given(drawn=energies, cost=COSTS, random=st.randoms(use_true_random=False))
def test_every_decoder_names_an_admitted_set(name, drawn, cost, random):
    """Or the empty one."""
    table = table_of(drawn)
    admitted = np.array([random.random() < 0.3 for _ in table.sizes])
    row = DECODERS[name](drawn, table, admitted, cost)
    assert row == 0 or admitted[row]


@pytest.mark.parametrize("name", sorted(DECODERS))
def test_nothing_admitted_is_nothing_chosen(name):
    """Where no rule admits anything, the answer is empty."""
    drawn = energy(5, 3)
    assert DECODERS[name](drawn, subsets(5, 3), np.zeros(26, dtype=bool), 0.0) == 0


@pytest.mark.parametrize("name", ["expected-complete", "greedy", "most-probable"])
def test_nothing_fits_is_nothing_chosen(name):
    """Where every tool lowers the value, these decoders abstain."""
    drawn = SetEnergy(np.full(4, -9, np.float32), np.zeros((4, 4, 4), np.float32), np.zeros(4, np.float32))
    assert DECODERS[name](drawn, subsets(4, 3), None, 0.05) == 0


@pytest.mark.parametrize("name", sorted(DECODERS))
def test_decoders_do_not_mind_the_order_of_the_pool(name):
    """The same tools, wherever they stand."""
    drawn = energy(4, 3, seed=5)
    table = subsets(4, 3)
    for order in permutations(range(4)):
        moved = SetEnergy(
            drawn.unary[list(order)], drawn.pairs[:, list(order)][:, :, list(order)], drawn.sizes
        )
        there = np.flatnonzero(table.members[DECODERS[name](moved, table, None, 0.02)])
        here = np.flatnonzero(table.members[DECODERS[name](drawn, table, None, 0.02)])
        assert sorted(order[i] for i in there) == here.tolist()


def test_the_mode_is_not_the_most_complete():
    """Of .4 {0}, .35 {1} and .25 {1, 2} the mode is {0}, the best pair {0, 1}; where tools are cheap, all."""
    table = subsets(3, 3)
    probabilities = np.zeros(8)
    probabilities[[table.row((0,)), table.row((1,)), table.row((1, 2))]] = 0.4, 0.35, 0.25
    assert best_of_size(probabilities, table, 1) == table.row((0,))
    assert best_of_size(probabilities, table, 2) == table.row((0, 1))
    sets = [expected_complete(probabilities, table, cost) for cost in (0.24, 0.26, 0.36, 0.41)]
    assert sets == [table.row(members) for members in ((0, 1, 2), (0, 1), (0,), ())]


def test_best_of_size_takes_a_smaller_set_where_none_is_admitted():
    """A top-k answer under rules may fall short of k."""
    table = subsets(3, 3)
    admitted = table.sizes <= 1
    probabilities = np.full(8, 1 / 8)
    assert best_of_size(probabilities, table, 3, admitted) == table.row((0,))


def test_equal_worth_goes_to_the_smaller_then_earlier():
    """Nothing is added for nothing."""
    table = subsets(3, 2)
    assert best_worth(np.zeros(7), table, 0.0) == 0
    assert best_worth((table.sizes > 0).astype(float), table, 0.0) == table.row((0,))
