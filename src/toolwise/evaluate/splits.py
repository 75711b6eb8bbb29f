"""Whether two splits of a data set share anything, and a split that shares no gold set."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from toolwise.errors import EvaluationError
from toolwise.evaluate.judgements import Task


@dataclass(frozen=True, slots=True)
class Overlap:
    """What a training and a test split share, each sorted."""

    ids: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    """Query texts, normalised."""
    gold_sets: tuple[tuple[str, ...], ...] = ()
    """Gold sets that are not empty; looked for on request."""

    def __bool__(self) -> bool:
        return bool(self.ids or self.texts or self.gold_sets)

    def __str__(self) -> str:
        parts = [
            f"{len(shared)} {what} (the first is {shared[0]!r})"
            for shared, what in ((self.ids, "ids"), (self.texts, "texts"), (self.gold_sets, "gold sets"))
            if shared
        ]
        return ", ".join(parts) or "nothing"


def normalised(text: str) -> str:
    """A query text as it is compared: compatibility forms and case folded, blanks run together."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def overlaps(train: Iterable[Task], test: Iterable[Task], gold_sets: bool = False) -> Overlap:
    """The query ids and texts, and on request the gold sets, that occur in both splits."""
    train, test = tuple(train), tuple(test)

    def scenes(tasks: Sequence[Task]) -> set[tuple[str, ...]]:
        return {tuple(sorted(task.gold)) for task in tasks if task.gold and gold_sets}

    return Overlap(
        ids=tuple(sorted({task.id for task in train} & {task.id for task in test})),
        texts=tuple(sorted({normalised(t.text) for t in train} & {normalised(t.text) for t in test})),
        gold_sets=tuple(sorted(scenes(train) & scenes(test))),
    )


def refuse_overlap(train: Iterable[Task], test: Iterable[Task], gold_sets: bool = False) -> None:
    """Raise EvaluationError, with the ``overlap``, where the splits share anything."""
    found = overlaps(train, test, gold_sets)
    if found:
        raise EvaluationError(
            f"the training and the test split share {found}. Leave the shared queries out of training, "
            "or split anew with scene_disjoint.",
            overlap=found,
        )


def scene_disjoint(
    tasks: Iterable[Task], generator: np.random.Generator, share: float = 0.1
) -> tuple[list[Task], list[Task]]:
    """Split all queries of a data set anew, so that no gold set, text or id is in both parts: (train, test).

    In ``toollens`` every gold set ("scene") of the test split is in the
    training split too, so a system can score by remembering sets; hand in both
    splits together to get one where it cannot.  Queries that share a gold set,
    a normalised text or an id stay together.  Groups go to the test part in
    random order as long as it stays within ``share`` of the queries; each part
    keeps the order given.  The same queries, in whatever order, and the same
    state of ``generator`` give the same split.

    Raises EvaluationError for a share outside 0..1, or where one group is too large for it.
    """
    tasks = tuple(tasks)
    if not 0 < share < 1:
        raise EvaluationError(
            f"share = {share}: expected a number between 0 and 1, as 0.1 for a tenth.", share=share
        )
    groups = _groups(tasks)
    most = share * len(tasks)
    held: set[int] = set()
    for number in generator.permutation(len(groups)):
        if len(held) + len(groups[number]) <= most:
            held.update(groups[number])
    if not held:
        raise EvaluationError(
            f"no group of queries that share a gold set fits into {share:.0%} of {len(tasks)} queries. "
            "Raise the share.",
            share=share,
        )
    train = [task for i, task in enumerate(tasks) if i not in held]
    return train, [task for i, task in enumerate(tasks) if i in held]


def scene_folds(tasks: Iterable[Task], parts: int, generator: np.random.Generator) -> list[list[Task]]:
    """Queries dealt into ``parts`` folds of about the same size, none of which shares a gold set,
    a normalised text or an id with another; each keeps the order given.

    The same queries, in whatever order, and the same state of ``generator`` give
    the same folds.  Raises EvaluationError for fewer than two parts, or fewer groups than parts.
    """
    tasks = tuple(tasks)
    groups = _groups(tasks)
    if not 2 <= parts <= len(groups):
        raise EvaluationError(
            f"{parts} folds of {len(tasks)} queries with {len(groups)} distinct gold sets and texts: "
            "expected two folds or more, and a group for each.",
            parts=parts,
        )
    dealt: list[list[int]] = [[] for _ in range(parts)]
    order = [groups[number] for number in generator.permutation(len(groups))]
    for group in sorted(order, key=len, reverse=True):
        min(dealt, key=len).extend(group)
    return [[tasks[i] for i in sorted(fold)] for fold in dealt]


def _groups(tasks: Sequence[Task]) -> list[list[int]]:
    """Positions of queries that hang together; the order of groups does not depend on that of ``tasks``."""
    parent: dict[tuple[str, ...], tuple[str, ...]] = {}

    def root(node: tuple[str, ...]) -> tuple[str, ...]:
        parent.setdefault(node, node)
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    def nodes(task: Task) -> list[tuple[str, ...]]:
        scene = [("gold", *sorted(task.gold))] if task.gold else []
        return [("id", task.id), ("text", normalised(task.text)), *scene]

    for task in tasks:
        first, *others = map(root, nodes(task))
        for other in others:
            low, high = sorted((root(first), root(other)))
            parent[high] = low
    found: dict[tuple[str, ...], list[int]] = {}
    for i, task in enumerate(tasks):
        found.setdefault(root(("id", task.id)), []).append(i)
    return [found[key] for key in sorted(found)]
