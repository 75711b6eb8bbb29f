"""What is measured on what: suites of cases, each case a split of a data set with its libraries."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from toolwise.bench import data
from toolwise.bench.cases import Case, Filter, Group, Part, Subset, Suite, tasks_of
from toolwise.bench.data import Task
from toolwise.bench.frontier import FRONTIER
from toolwise.bench.risk_suites import RISK, RISK_ABLATION
from toolwise.bench.set_suite import SETS

__all__ = ["SUITES", "Case", "Filter", "Group", "Part", "Subset", "Suite", "tasks_of"]

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


def _of_kind(kind: str) -> Subset:
    return lambda task, train: task.row.get("kind") == kind


_KINDS = tuple((kind, _of_kind(kind)) for kind in ("single", "chain", "cross", "broad"))
ENCODERS = Suite(
    "encoders",
    (
        replace(MCP_TEST, subsets=_KINDS),
        replace(MCP_DEV, subsets=_KINDS),
        *(case for case in RETRIEVAL.cases if case.name in ("livemcp", "livemcp unseen", "mcp_bench")),
        *ULTRATOOL,
        *SEALTOOLS,
        *(case for case in RETRIEVAL.cases if case.name in ("toollens scenes", "toolbench all")),
        MULTILINGUAL.cases[0],
    ),
    _RANKING,
    (
        *("bm25", "dense", "hybrid", "dense:minilm", "hybrid:minilm"),
        *("dense:onnx:.weights/minilm", "hybrid:onnx:.weights/minilm"),  # untuned, by learn.export_onnx
    ),
)
SUITES: dict[str, Suite] = {
    suite.name: suite
    for suite in (RETRIEVAL, EXPOSURE, MULTILINGUAL, ABSTAIN, ENCODERS, SETS, RISK, RISK_ABLATION, FRONTIER)
}
