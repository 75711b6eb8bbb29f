"""What is wanted and what was answered: tasks, qrels, answers, runs, rows of results."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolwise.errors import EvaluationError

if TYPE_CHECKING:
    from toolwise.evaluate.metric import Metric


@dataclass(frozen=True, slots=True)
class Task:
    """One query of a data set with its gold set, and the library it is answered from."""

    id: str
    text: str
    gold: frozenset[str]
    """Empty where no tool serves the query."""
    candidates: tuple[str, ...] | None = None
    """The query's own library, where its row brings one."""
    workspace: str | None = None
    """The name of its library, where the row names one."""


@dataclass(frozen=True)
class Qrels:
    """The gold set of every query; queries with empty gold included.

    The order of ``gold`` is the order of the data set.  ``texts`` and
    ``clusters`` (workspaces) hold what is known.
    """

    gold: Mapping[str, frozenset[str]]
    texts: Mapping[str, str] = field(default_factory=dict)
    clusters: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, tasks: Iterable[Task]) -> Qrels:
        """The qrels of tasks.  Raises EvaluationError for an id met twice."""
        tasks = tuple(tasks)
        if repeated := _repeated(task.id for task in tasks):
            raise EvaluationError(
                f"query id {repeated!r} stands twice; ids are unique within a set of qrels. Rename one.",
                id=repeated,
            )
        return cls(
            gold={task.id: task.gold for task in tasks},
            texts={task.id: task.text for task in tasks},
            clusters={task.id: task.workspace for task in tasks if task.workspace is not None},
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """What a system answered to one query.

    ``ranked`` puts itself into its total order: score descending, then tool id.
    Raises EvaluationError for a tool named twice and for a score that is no number.
    """

    ranked: tuple[tuple[str, float], ...] = ()
    """(tool id, score)."""
    selected: tuple[str, ...] | None = None
    """The delivered set; None where the system only ranks."""
    tokens: int | None = None
    """Size of the delivered definitions in tokens, where known."""

    def __post_init__(self) -> None:
        for tools, where in (((tool for tool, _ in self.ranked), "ranking"), (self.selected or (), "set")):
            if repeated := _repeated(tools):
                raise EvaluationError(
                    f"tool {repeated!r} stands twice in one {where}; expected each tool once.", id=repeated
                )
        for tool, score in self.ranked:
            if not math.isfinite(score):
                raise EvaluationError(
                    f"tool {tool!r} has the score {score}; expected a finite number.", id=tool
                )
        ordered = sorted(((tool, float(score)) for tool, score in self.ranked), key=lambda p: (-p[1], p[0]))
        object.__setattr__(self, "ranked", tuple(ordered))

    @classmethod
    def in_order(
        cls, tools: Iterable[str], selected: Iterable[str] | None = None, tokens: int | None = None
    ) -> Answer:
        """An answer whose ranking is the order given; scores are counted down to 1."""
        listed = tuple(tools)
        scores = range(len(listed), 0, -1)
        return cls(
            tuple((tool, float(score)) for tool, score in zip(listed, scores, strict=True)),
            None if selected is None else tuple(selected),
            tokens,
        )

    @property
    def tools(self) -> tuple[str, ...]:
        """The ranked tool ids, best first."""
        return tuple(tool for tool, _ in self.ranked)


@dataclass(frozen=True)
class Run:
    """The answers of one system, by query id.  A query that is absent counts as answered by nothing."""

    answers: Mapping[str, Answer]
    name: str = "run"

    @property
    def delivers(self) -> bool:
        """Whether the system delivers sets, beside ranking."""
        return any(answer.selected is not None for answer in self.answers.values())


@dataclass(frozen=True, slots=True)
class Row:
    """The value of one metric for one query."""

    query_id: str
    metric: Metric
    value: float


def _repeated(items: Iterable[str]) -> str | None:
    """The first item that occurs more than once."""
    return next((item for item, count in Counter(items).items() if count > 1), None)
