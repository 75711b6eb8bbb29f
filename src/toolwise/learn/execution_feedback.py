"""Execution rewards of tool sets during training: asked for sparsely and remembered (HYSET, section 3.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from toolwise.errors import EvaluationError

Reward: TypeAlias = Callable[[int, tuple[int, ...]], float]
"""The row of a training request and the rows of a tool set, ascending -> how it ended, 0 to 1."""

SUBSET = 5_000
"""Training requests that are rewarded, as published."""
REFRESH = 20_000
"""Steps between two rounds of asking, as published."""
ROLLOUTS = 20_000
"""Rewards asked for at most, as published."""


class RewardBook:
    """Rewards by request and set; a pair nobody asked about counts 0, so that no set is credited unexecuted.

    The paper's main text leaves open what a reward says about another set of
    the same request; here it says nothing.  With ``refresh`` 0 every pair is
    asked about as it comes up: for callbacks that cost nothing.
    """

    def __init__(
        self,
        reward: Reward,
        requests: int,
        generator: np.random.Generator,
        *,
        refresh: int = REFRESH,
        subset: int = SUBSET,
        rollouts: int = ROLLOUTS,
    ) -> None:
        self._reward, self._refresh, self._left = reward, refresh, rollouts
        self.asked = 0
        """Rewards asked for so far."""
        drawn = generator.permutation(requests)[:subset]
        self.rewarded = frozenset(drawn.tolist())
        """Places, in the training requests, of those that are rewarded."""
        self._known: dict[tuple[int, tuple[int, ...]], float] = {}

    def due(self, step: int) -> bool:
        """Whether a round of asking comes before this step."""
        return self._refresh > 0 and step % self._refresh == 0

    def ask(self, request: int, members: tuple[int, ...]) -> float:
        """The reward of a pair, asked for unless it is known or the budget is spent.

        Raises EvaluationError for a reward outside 0 to 1.
        """
        pair = (request, members)
        if pair not in self._known and self._left > 0:
            given = float(self._reward(request, members))
            if not 0 <= given <= 1:
                raise EvaluationError(
                    f"the reward of request {request} is {given}; expected a number from 0 to 1.",
                    reward=given,
                )
            self._known[pair] = given
            self._left -= 1
            self.asked += 1
        return self._known.get(pair, 0.0)

    def get(self, request: int, members: tuple[int, ...]) -> float:
        """The reward of a pair within a step."""
        return self.ask(request, members) if self._refresh == 0 else self._known.get((request, members), 0.0)
