"""Rewards asked for sparsely and remembered."""

import numpy as np
import pytest

from toolwise.errors import EvaluationError
from toolwise.learn.execution_feedback import RewardBook


def book(reward: float = 0.5, **more: int) -> RewardBook:
    """A book over ten requests."""
    return RewardBook(lambda request, members: reward, 10, np.random.default_rng(0), **more)


def test_a_pair_nobody_asked_about_counts_nothing():
    """No set is credited unexecuted."""
    found = book()
    assert found.get(1, (2, 3)) == 0.0
    assert found.ask(1, (2, 3)) == 0.5
    assert found.get(1, (2, 3)) == 0.5
    assert found.get(1, (2,)) == 0.0
    assert found.asked == 1


def test_the_budget_ends_the_asking():
    """A known pair still has its reward."""
    found = book(rollouts=1)
    assert [found.ask(0, (1,)), found.ask(0, (2,)), found.ask(0, (1,))] == [0.5, 0.0, 0.5]
    assert found.asked == 1


def test_rounds_come_every_so_many_steps():
    """The first before training; none where every pair is asked about at once."""
    assert [step for step in range(7) if book(refresh=3).due(step)] == [0, 3, 6]
    always = book(refresh=0)
    assert not always.due(0)
    assert always.get(0, (1,)) == 0.5


def test_only_some_requests_are_rewarded():
    """As many as the subset holds."""
    assert len(book(subset=4).rewarded) == 4
    assert book(subset=100).rewarded == frozenset(range(10))


@pytest.mark.parametrize("reward", [1.1, -0.1, float("nan")])
def test_a_reward_outside_0_to_1_is_refused(reward: float):
    """It would turn the loss round."""
    with pytest.raises(EvaluationError):
        book(reward).ask(0, (1,))
