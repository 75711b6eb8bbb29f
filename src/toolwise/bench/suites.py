"""What is measured on what: suites of cases, each case a split of a data set with its libraries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from toolwise.bench import data
from toolwise.bench.data import Task
from toolwise.errors import EvaluationError
from toolwise.records import Tool

Filter = Callable[[Task], bool]


@dataclass(frozen=True)
class Group:
    """Requests that share a library."""

    library: str
    tools: tuple[Tool, ...]
    tasks: tuple[Task, ...]


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

    def available(self) -> bool:
        """Whether the data set is on this machine."""
        return data.available(self.data_set)

    def groups(self, limit: int = 0, seed: int = 0, *, empty_gold: bool = False) -> list[Group]:
        """The requests by library; ``limit`` requests at most, those without gold only on request."""
        found = [task for task in data.tasks(self.data_set, self.split, self.column) if self.keep(task)]
        found = data.sample([task for task in found if task.gold or empty_gold], limit, seed)
        groups = [
            Group(name, tools, tuple(task for task in found if task.library == name))
            for name, tools in data.libraries(self.data_set).items()
        ]
        return [group for group in groups if group.tasks]

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


_RANKING = ("ndcg@5", "recall@5", "comp@5", "comp@10", "mrr")
_RISK = (
    *("ndcg@5", "comp@5", "rvr@5", "srr@5", "safe-rvr@5"),
    *("unneeded-risk@5", "unneeded-risk4@5", "needrisk-hit@5", "needrisk-recall@5"),
)
_OURS = ("random", "bm25", "dense", "hybrid", "clause-bm25", "mmr", "facility-location")


@cache
def _seen_texts() -> frozenset[str]:
    """Descriptions of the tools of mcp_tasks' training workspaces."""
    workspaces = data.libraries("mcp_tasks")
    splits = {task.library for task in data.tasks("mcp_tasks", "train")}
    return frozenset(tool.description for name in splits for tool in workspaces[name])


def _unseen_livemcp(task: Task) -> bool:
    """Whether no gold tool's description is one of mcp_tasks' training tools."""
    descriptions = {tool.id: tool.description for tool in data.tools("livemcp")}
    return not _seen_texts() & {descriptions[id_] for id_ in task.gold}


def _of_set(name: str) -> Filter:
    return lambda task: task.row.get("set") == name


def _not_english(task: Task) -> bool:
    return task.row.get("lang") != "en"


ULTRATOOL = (
    Case("ultratool", "ultratool", "test", "name and description only"),
    Case("ultratool step_query", "ultratool", "test", "name and description only", column="step_query"),
)
SEALTOOLS = (
    Case(
        "sealtools in", "sealtools", "test_in", "dev requests were training data of the table", train=("dev",)
    ),
    Case(
        "sealtools out",
        "sealtools",
        "test_out",
        "dev requests were training data of the table",
        train=("dev",),
    ),
)
TOOLBENCH_SETS = (
    *("G1_category", "G1_instruction", "G1_tool"),
    *("G2_category", "G2_instruction", "G3_instruction"),
)
MCP_TEST = Case("mcp_tasks test", "mcp_tasks", "test", "library: the workspace", train=("train",))
MCP_DEV = Case(
    "mcp_tasks dev", "mcp_tasks", "dev", "library: the workspace; settings chosen here", train=("train",)
)

RETRIEVAL = Suite(
    "retrieval",
    (
        *ULTRATOOL,
        *SEALTOOLS,
        Case("toollens", "toollens", "test", "every gold set is in the training split", train=("train",)),
        Case(
            "toollens scenes", "toollens", "scene_test", "no gold set is in training", train=("scene_train",)
        ),
        *(
            Case(f"toolbench {name}", "toolbench", "test", "5,350 of 13,860 APIs", keep=_of_set(name))
            for name in TOOLBENCH_SETS
        ),
        Case("toolbench all", "toolbench", "test", "5,350 of 13,860 APIs", train=("train",)),
        Case("livemcp", "livemcp", "test", "some gold texts are in mcp_tasks train"),
        Case("livemcp unseen", "livemcp", "test", "no gold text is in mcp_tasks train", keep=_unseen_livemcp),
        Case("mcp_bench", "mcp_bench", "test", "silver gold; many sets have more than 5 tools"),
        MCP_DEV,
        MCP_TEST,
    ),
    _RANKING,
    _OURS,
)
EXPOSURE = Suite(
    "exposure",
    (*ULTRATOOL, *SEALTOOLS, MCP_DEV, MCP_TEST),
    _RISK,
    (*_OURS, "rule-filter", "rule-filter-bm25"),
)
MULTILINGUAL = Suite(
    "multilingual",
    (
        Case("ultratool_zh", "ultratool_zh", "test", "Chinese; name and description only"),
        Case("mcp_tasks other languages", "mcp_tasks", "dev", "library: the workspace", keep=_not_english),
    ),
    _RANKING,
    _OURS,
)
ABSTAIN = Suite(
    "abstain",
    (MCP_DEV, MCP_TEST),
    ("abstain-precision", "abstain-recall", "coverage", "set-size", "set-precision", "exact"),
    ("toolwise", "toolwise-strict", "toolwise-paper", "toolwise-open", "cardinality"),
    empty_gold=True,
)
SUITES: dict[str, Suite] = {suite.name: suite for suite in (RETRIEVAL, EXPOSURE, MULTILINGUAL, ABSTAIN)}


def tasks_of(groups: Sequence[Group]) -> list[Task]:
    """All requests of some groups, in order."""
    return [task for group in groups for task in group.tasks]
