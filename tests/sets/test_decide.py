"""From energies to what is shown."""

import numpy as np
import pytest
from hypothesis import given

from tests.sets.energies import energies
from toolwise.protocols import SetEnergy
from toolwise.sets.decide import STRONG, WEAK, gate_at, outlook, ranking


def two() -> SetEnergy:
    """Two candidates: {0} has e² : 1 : 1 : e³ of {}, {0}, {1}, {0, 1} as values 0, 2, 0, 3."""
    pairs = np.zeros((3, 2, 2), np.float32)
    pairs[2] = [[0, 1], [1, 0]]
    return SetEnergy(np.array([2, 0], np.float32), pairs, np.zeros(3, np.float32))


def test_probabilities_by_hand():
    """The chance that nothing serves stands apart; the rest is a distribution of its own."""
    seen = outlook(two())
    total = 1 + np.exp(2) + 1 + np.exp(3)
    assert seen.unserved == pytest.approx(1 / total)
    assert seen.likely == pytest.approx(np.array([0, np.exp(2), 1, np.exp(3)]) / (total - 1))
    assert seen.complete[3] == pytest.approx(1)
    assert seen.complete[1] == pytest.approx(np.exp(2) / (total - 1))


@given(energies)
def test_a_ranking_holds_everybody_once(given_energy):
    """It is a permutation of the pool, and starts with the best set of the largest size."""
    if not len(given_energy.unary):
        return
    seen = outlook(given_energy)
    ranked = ranking(given_energy, seen)
    assert sorted(ranked) == list(range(len(given_energy.unary)))
    size = int(seen.table.sizes.max())
    first = seen.table.row(tuple(sorted(ranked[:size])))
    assert seen.complete[first] == pytest.approx(seen.complete[seen.table.block(size)].max(), abs=1e-12)


def test_without_pairs_the_ranking_goes_by_the_scores():
    """Independent candidates stand in the order of their own values."""
    plain = SetEnergy(
        np.array([0, 3, 1, 2], np.float32), np.zeros((6, 4, 4), np.float32), np.zeros(6, np.float32)
    )
    assert ranking(plain) == [1, 3, 2, 0]


def test_the_gate_goes_by_the_confidence_of_the_retriever():
    """Little doubt is enough where nothing matches, none where much does."""
    assert gate_at(WEAK - 0.1) < gate_at(WEAK) == gate_at(STRONG - 0.1) < 1 < gate_at(STRONG)
