"""Beam search against enumeration."""

import numpy as np
import pytest
from hypothesis import given

from tests.sets.energies import energies, energy, value
from toolwise.protocols import SetEnergy
from toolwise.sets.beam import beam
from toolwise.sets.kernel import subsets, values


@given(energies)
def test_a_beam_as_wide_as_the_sets_is_exact(drawn):
    """Nothing is dropped, so nothing is missed."""
    table = subsets(len(drawn.unary), len(drawn.pairs) - 1)
    found = values(drawn, table)
    members, best = beam(drawn, width=40)
    assert best == pytest.approx(found.max(), rel=1e-5, abs=1e-3)
    assert value(drawn, members) == pytest.approx(best, rel=1e-5, abs=1e-3)


@given(energies)
def test_a_narrow_beam_says_the_value_of_its_set(drawn):
    """It may miss the best one, and never claims more than its own is worth."""
    members, best = beam(drawn, width=1)
    assert value(drawn, members) == pytest.approx(best, rel=1e-5, abs=1e-3)


def test_a_beam_may_stop_at_a_smaller_size():
    """The largest size is the caller's, within what the energy values."""
    drawn = SetEnergy(np.ones(5, np.float32), np.zeros((5, 5, 5), np.float32), np.zeros(5, np.float32))
    assert beam(drawn, 2) == ((0, 1), 2.0)
    assert beam(drawn, 9) == ((0, 1, 2, 3), 4.0)


def test_nothing_fits():
    """The empty set competes."""
    drawn = SetEnergy(np.full(3, -1, np.float32), np.zeros((3, 3, 3), np.float32), np.zeros(3, np.float32))
    assert beam(drawn) == ((), 0.0)


def test_the_pool_of_a_beam_is_bounded():
    """A set is the bits of one number."""
    with pytest.raises(ValueError, match="63 candidates; a beam takes at most 62"):
        beam(energy(63, 2))
    assert len(beam(energy(62, 2))[0]) <= 2
