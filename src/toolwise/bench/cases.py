"""What a suite is made of: cases, each a split of a data set with its libraries, and folds of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from toolwise.audit.head import HeadAnnotator
from toolwise.audit.load import RULES, load_annotator
from toolwise.bench import data
from toolwise.bench.data import Task
from toolwise.errors import EvaluationError
from toolwise.evaluate import Task as Judged
from toolwise.evaluate import scene_folds
from toolwise.protocols import Annotator
from toolwise.records import Tool

HEAD = "head.safetensors"
"""The weights of a risk head in the folder of a static table, both trained without the same libraries."""
Filter = Callable[[Task], bool]
Subset = Callable[[Task, Sequence[Task]], bool]
"""Whether a request, given the requests that systems learned from for it, belongs to a part of a case."""


@dataclass(frozen=True)
class Group:
    """Requests that share a library."""

    library: str
    tools: tuple[Tool, ...]
    tasks: tuple[Task, ...]


@dataclass(frozen=True)
class Models:
    """Weights that stand in for the packaged ones, where those learned from the requests to answer."""

    table: Path | None = None
    """The folder of a static table; None: the packaged one."""
    sets: Path | None = None
    """The weights file of a set scorer; None: the packaged one."""

    @property
    def encoder(self) -> str:
        """The specification of the table."""
        return "static" if self.table is None else f"static:{self.table}"

    @property
    def annotators(self) -> Sequence[Annotator] | None:
        """Who judges tools: with the head in the table's folder, where there is one; None: the local ones."""
        head = None if self.table is None else self.table / HEAD
        if head is None or not head.is_file():
            return None
        return [load_annotator(RULES), HeadAnnotator(self.encoder, weights=head)]


PACKAGED = Models()


@dataclass(frozen=True)
class Part:
    """Requests to answer, and what systems that learn may learn from to answer them."""

    groups: tuple[Group, ...]
    train: tuple[Task, ...] = ()
    models: Models = PACKAGED


@dataclass(frozen=True)
class Case:
    """A split of a data set, or a part of it."""

    name: str
    data_set: str
    split: str
    note: str = ""
    """What a reader must know to compare these numbers with others."""
    column: str = "query"
    keep: Filter = field(default=lambda task: True)
    train: tuple[str, ...] = ()
    """Splits that systems which learn may fit on."""
    folds: int = 0
    """From 2: cross-validation; a fold's requests are answered by systems that learned from the others'."""
    subsets: tuple[tuple[str, Subset], ...] = ()
    """Parts of the requests that get tables of their own, by name."""
    audited: bool = False
    """Whether systems go by the levels of the audit; the labels of the data set only measure then."""

    def available(self) -> bool:
        """Whether the data set is on this machine."""
        return data.available(self.data_set)

    def levels(self) -> Mapping[str, int]:
        """The levels that systems go by, by tool."""
        return data.audited(self.data_set) if self.audited else data.levels(self.data_set)

    def groups(self, limit: int = 0, seed: int = 0, *, empty_gold: bool = False) -> list[Group]:
        """The requests by library; ``limit`` requests at most, those without gold only on request."""
        found = [task for task in data.tasks(self.data_set, self.split, self.column) if self.keep(task)]
        found = data.sample([task for task in found if task.gold or empty_gold], limit, seed)
        return self.grouped(found)

    def grouped(self, tasks: Iterable[Task]) -> list[Group]:
        """Some requests of the data set by library."""
        by_name: dict[str, list[Task]] = {}
        for task in tasks:
            by_name.setdefault(task.library, []).append(task)
        libraries = data.libraries(self.data_set)
        return [Group(name, libraries[name], tuple(by_name[name])) for name in libraries if name in by_name]

    def parts(self, limit: int = 0, seed: int = 0, *, empty_gold: bool = False) -> list[Part]:
        """What is answered with what training: one part, or one per fold.

        Folds share no gold set, text or id (drawn with seed 0 from all requests,
        whatever the limit), and what is learned from is the training splits and
        all requests of the other folds.
        """
        groups, train = self.groups(limit, seed, empty_gold=empty_gold), self.training()
        if not self.folds:
            return [Part(tuple(groups), tuple(train))]
        every = data.tasks(self.data_set, self.split, self.column)
        judged = [Judged(task.query.id, task.query.text, frozenset(task.gold)) for task in every]
        held = [
            {task.id for task in fold} for fold in scene_folds(judged, self.folds, np.random.default_rng(0))
        ]
        tested = tasks_of(groups)
        return [
            Part(
                tuple(self.grouped(task for task in tested if task.query.id in ids)),
                (*train, *(task for task in every if task.query.id not in ids)),
            )
            for ids in held
        ]

    def training(self) -> list[Task]:
        """Requests to learn from."""
        return [task for split in self.train for task in data.tasks(self.data_set, split, self.column)]


@dataclass(frozen=True)
class Suite:
    """Cases that belong together, with the metrics and systems that are shown by default."""

    name: str
    cases: tuple[Case, ...]
    metrics: tuple[str, ...]
    systems: tuple[str, ...]
    empty_gold: bool = False
    notes: str = ""
    """What stands below the tables, in Markdown."""

    def only(self, names: Sequence[str]) -> Suite:
        """The suite with the named cases alone; all of them where no name is given.

        Raises EvaluationError for a name it has no case of.
        """
        known = [case.name for case in self.cases]
        for name in names:
            if name not in known:
                raise EvaluationError(
                    f"suite {self.name!r} has no case called {name!r}; it has {', '.join(known)}.", case=name
                )
        return replace(self, cases=tuple(c for c in self.cases if c.name in names)) if names else self


def tasks_of(groups: Sequence[Group]) -> list[Task]:
    """All requests of some groups, in order."""
    return [task for group in groups for task in group.tasks]
