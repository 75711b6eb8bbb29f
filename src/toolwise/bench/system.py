"""What the bench compares: a system fits a library, then ranks it for requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias, runtime_checkable

from toolwise.bench.cases import Group
from toolwise.bench.data import Task
from toolwise.records import Query, Tool

Ranking: TypeAlias = list[tuple[str, float]]
"""Tool ids with scores, best first."""


class System(Protocol):
    """Anything that ranks tools.

    Laws: ids come from the fitted tools, without repeats; scores never increase;
    equal scores in order of id; the same inputs and seed give the same ranking.
    """

    name: str

    def fit(self, tools: Sequence[Tool], train: Sequence[Task]) -> None:
        """Learn a library (in order of id) and, where the system learns at all, training requests."""

    def rank(self, query: Query, k: int) -> Ranking:
        """The best ``k`` tools."""


@runtime_checkable
class Learning(Protocol):
    """A system that learns from training requests with their libraries before it fits any library."""

    def learn(self, training: Sequence[Group]) -> None:
        """Learn; called once, before the first ``fit``."""


@runtime_checkable
class Selecting(Protocol):
    """A system that also delivers a set of its own size."""

    def select(self, query: Query) -> list[str]:
        """The tools it would hand to an agent."""
