"""The suite ``sets``: whole gold sets found and delivered, by systems that learn sets and by others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations

import numpy as np

from toolwise.bench import data
from toolwise.bench.cases import PACKAGED, Case, Models, Part, Subset, Suite
from toolwise.bench.data import Task


@dataclass(frozen=True)
class WorkspaceCase(Case):
    """Cross-validation by workspace over several splits: no tool of a fold's test part is learned from."""

    splits: tuple[str, ...] = ()

    def parts(self, limit: int = 0, seed: int = 0, *, empty_gold: bool = False) -> list[Part]:
        """One part per fold of workspaces, dealt in an order drawn with seed 0."""
        every = [task for split in self.splits for task in data.tasks(self.data_set, split, self.column)]
        able = [task for task in every if self.keep(task) and (task.gold or empty_gold)]
        tested = data.sample(able, limit, seed)
        return [
            Part(
                tuple(self.grouped(task for task in tested if task.library in fold)),
                tuple(task for task in every if task.library not in fold),
                models,
            )
            for fold, models in self.held(sorted({task.library for task in every}))
        ]

    def held(self, names: Sequence[str]) -> list[tuple[frozenset[str], Models]]:
        """The workspaces of each fold, and what answers for them."""
        order = [names[place] for place in np.random.default_rng(0).permutation(len(names))]
        return [(frozenset(order[number :: self.folds]), PACKAGED) for number in range(self.folds)]


class _Same:
    """Training requests as a key: equal to themselves alone."""

    def __init__(self, train: Sequence[Task]) -> None:
        self.train = train

    def __hash__(self) -> int:
        return id(self.train)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.train is self.train


@lru_cache(maxsize=8)
def _seen(same: _Same, size: int) -> frozenset[tuple[str, ...]]:
    """The sorted subsets of ``size`` tools of training gold sets; of size 0 the gold sets themselves."""
    golds = {tuple(sorted(task.gold)) for task in same.train}
    return frozenset(part for gold in golds for part in combinations(gold, size or len(gold)))


def _unseen(size: int) -> Subset:
    """Whether some ``size`` tools of a gold set (0: all) are together in no training gold set."""

    def unseen(task: Task, train: Sequence[Task]) -> bool:
        gold = sorted(task.gold)
        return not _seen(_Same(train), size).issuperset(combinations(gold, size or len(gold)))

    return unseen


def _with(column: str, values: Sequence[str]) -> tuple[tuple[str, Subset], ...]:
    """The requests of each value of a column."""

    def of(value: str) -> Subset:
        return lambda task, train: task.row.get(column) == value

    return tuple((value, of(value)) for value in values)


_UNSEEN = (("unseen set", _unseen(0)), ("unseen pair", _unseen(2)), ("unseen tool", _unseen(1)))
_G_SETS = "G1_category G1_instruction G1_tool G2_category G2_instruction G3_instruction".split()
_KINDS = _with("kind", ("single", "chain", "cross", "broad"))
_COMPARATORS = ("mmr", "facility-location", "cardinality", "per-tool", "deepsets", "set-transformer")
_WITHOUT = ("shared-m", "identity-m", "no-f-set", "uniform-pooling", "no-expansion")

SETS = Suite(
    "sets",
    (
        Case(
            "toolbench",
            "toolbench",
            "test",
            "5,350 of 13,860 APIs; training: 4,726 G3 requests and the official test requests",
            train=("train", "official"),
            subsets=(*_with("set", _G_SETS), *_UNSEEN),
        ),
        Case("toollens", "toollens", "test", "every gold set is in the training split", train=("train",)),
        Case(
            "toollens scenes", "toollens", "scene_test", "no gold set is in training", train=("scene_train",)
        ),
        Case("sealtools in", "sealtools", "test_in", "trained on dev", train=("dev",)),
        Case("sealtools out", "sealtools", "test_out", "trained on dev", train=("dev",)),
        WorkspaceCase(
            "mcp_tasks",
            "mcp_tasks",
            "train",
            "library: the workspace; folds are of workspaces, over train and dev; "
            "packaged encoders learned from these requests, so only an untuned one is fair",
            folds=5,
            subsets=_KINDS,
            splits=("train", "dev"),
        ),
        Case("mcp_tasks dev", "mcp_tasks", "dev", "library: the workspace", train=("train",)),
        Case("mcp_tasks test", "mcp_tasks", "test", "library: the workspace", train=("train", "dev")),
        Case("ultratool", "ultratool", "test", "name and description only", folds=5),
    ),
    (
        *("comp@5", "comp@3", "recall@5", "recall@3", "ndcg@5", "ndcg@3"),
        *("exact", "coverage", "set-precision", "set-size"),
    ),
    (
        *("hybrid", "dense", "budget:hybrid", "threshold:hybrid"),
        *(f"budget:{name}" for name in _COMPARATORS),
        *("sets-default", "sets-experienced", "hyset", "hyset-by-request"),
        *(f"hyset-{name}" for name in _WITHOUT),
    ),
)
"""``mcp_tasks test`` is for released configurations alone: run it once for each."""
