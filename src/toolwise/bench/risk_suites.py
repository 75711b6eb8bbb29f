"""The suites of the risk-aware reranking paper: its main tables, and its ablations.

UltraTool's training requests are not to be had, so it is cross-validated: five
folds by gold set, heads and graph learned per fold.  Names of systems are
explained in :mod:`toolwise.bench.risk`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from toolwise.bench import data
from toolwise.bench.cases import Case, Subset, Suite
from toolwise.bench.data import Task
from toolwise.records import Level

RARE = 5
"""A tool in at most so many training gold sets makes a request long-tail."""

_METRICS = (
    *("ndcg@5", "comp@5", "rvr@5", "srr@5", "sndcg@5", "unneeded-risk@5", "unneeded-risk4@5"),
    *("needrisk-recall@5", "safe-rvr@5"),
)


def _needs_risk(data_set: str) -> Subset:
    """Whether a gold tool has level 3 or more."""

    def found(task: Task, train: Sequence[Task]) -> bool:
        return any(_levels(data_set).get(id_, 3) >= Level.MEDIUM for id_ in task.gold)

    return found


def _harmless(data_set: str) -> Subset:
    """Whether every gold tool has level 2 at most."""
    risky = _needs_risk(data_set)
    return lambda task, train: not risky(task, train)


def _long_tail(task: Task, train: Sequence[Task]) -> bool:
    """Whether a gold tool is in at most five training gold sets."""
    counts = _counts(tuple(train))
    return any(counts[id_] <= RARE for id_ in task.gold)


def _unseen(task: Task, train: Sequence[Task]) -> bool:
    """Whether no gold tool is in any training gold set."""
    counts = _counts(tuple(train))
    return not any(counts[id_] for id_ in task.gold)


def _seen(task: Task, train: Sequence[Task]) -> bool:
    """Whether a gold tool is in a training gold set."""
    return not _unseen(task, train)


def _tempting(data_set: str) -> Subset:
    """The stress test: gold is harmless and two or more of the untuned encoder's first five tools are not."""
    harmless = _harmless(data_set)

    def found(task: Task, train: Sequence[Task]) -> bool:
        from toolwise.bench.risk import neighbours

        if not harmless(task, train):
            return False
        levels = _levels(data_set)
        return sum(levels.get(id_, 3) >= Level.MEDIUM for id_ in neighbours(data_set, task)) >= 2

    return found


@lru_cache(maxsize=2)
def _levels(data_set: str) -> dict[str, int]:
    return data.levels(data_set)


class _Counts:
    """The number of training gold sets each tool is in, of the training part asked about last."""

    def __init__(self) -> None:
        self._train: tuple[Task, ...] = ()
        self._counts: Counter[str] = Counter()

    def __call__(self, train: tuple[Task, ...]) -> Counter[str]:
        same = len(train) == len(self._train) and all(map(_is, train, self._train))
        if not same:
            self._train = train
            self._counts = Counter(id_ for task in train for id_ in set(task.gold))
        return self._counts


def _is(one: Task, other: Task) -> bool:
    return one is other


_counts = _Counts()


def _subsets(data_set: str, *more: tuple[str, Subset]) -> tuple[tuple[str, Subset], ...]:
    return (
        ("high-risk: a gold tool of level 3 or more", _needs_risk(data_set)),
        ("low-risk: no gold tool of level 3 or more", _harmless(data_set)),
        *more,
        (
            "stress test: harmless gold, two or more risky tools among the untuned encoder's first five",
            _tempting(data_set),
        ),
    )


_RARE = (f"long-tail: a gold tool in at most {RARE} training gold sets", _long_tail)
_NEW = ("out-of-domain: no gold tool in any training gold set", _unseen)
_NOTE = "name and description only"
_LABELS = "a risk head never saw the labels it predicts (folds of the tools)"
ULTRATOOL = (
    Case(
        "ultratool",
        "ultratool",
        "test",
        f"{_NOTE}; {_LABELS}",
        folds=5,
        subsets=_subsets("ultratool", _RARE, _NEW),
    ),
    Case(
        "ultratool step_query",
        "ultratool",
        "test",
        f"joined plan steps, as in the paper; {_NOTE}; {_LABELS}",
        column="step_query",
        folds=5,
        subsets=_subsets("ultratool", _RARE, _NEW),
    ),
)
_DEV = f"learned from dev; minilm and static saw dev requests in their own training; {_LABELS}"
OTHERS = (
    Case("sealtools in", "sealtools", "test_in", _DEV, train=("dev",), subsets=_subsets("sealtools")),
    Case(
        "sealtools out",
        "sealtools",
        "test_out",
        _DEV,
        train=("dev",),
        subsets=_subsets("sealtools", ("a gold tool in a dev gold set", _seen), _NEW),
    ),
    *(
        Case(
            f"mcp_tasks {split}",
            "mcp_tasks",
            split,
            "library: the workspace; learned from train: other servers, with their labels",
            train=("train",),
            subsets=_subsets("mcp_tasks"),
        )
        for split in ("dev", "test")
    ),
)

_PAPER = """## Rows

`FORM+STEP@ENCODER`. Forms: `encoder` (its cosine), `paper` (both heads as published), `default` (a
residual on the cosine under a softmax, calibrated; ordinal risk, charged as far as a tool is not
needed). Lambda is 0.1; `rel` is the relevance head alone. `graph` is ToolGraph over the whole pool,
`rule` the rule filter filled up to full lists; both go by the labels as audited metadata, the heads
by predicted risk alone. `untuned` is all-MiniLM-L6-v2 as it comes. RVR and SRR fall when needed
tools are hidden, too: read them beside NeedRisk-Recall, COMP and unneeded-risk. Vectors are
computed once and shared, so CPU ms leave the encoder out. The form of `default` and the settings
of its risk head were tried on the folds of UltraTool that are reported here, so its numbers there
are somewhat optimistic; rate and stopping were then chosen on training workspaces of mcp_tasks and
on folds of sealtools dev.

## Published values

For orientation only: another encoder (ToolRet-BGE-large) and 4,824 training requests that are not to be had.
No number here is ours, and none above is the paper's. UltraTool, joined plan steps, whole pool unless said:

| system of the paper | NDCG@5 | RVR@5 | SRR@5 |
|---|---:|---:|---:|
| encoder | 42.9 | 17.6 | 7.8 |
| relevance head | 55.8 | 18.8 | |
| + risk head, lambda .1 | 55.1 | 13.8 | |
| + graph | 56.2 | 14.5 | |
| + rule filter | | 7.3 | 1.9 |
| lambda .2 | 52.6 | 10.0 | |
| top 100: core / + graph / + rules | 60.9 / 62.1 / 57.3 | | |
| high-risk requests: relevance / + risk head / + rules | | 47.2 / 37.7 / 17.5 | |
| stress test (30 requests): encoder / + rules | | 39.3 / 11.1 | 23.3 / 4.2 |
"""

RISK = Suite(
    "risk",
    (*ULTRATOOL, *OTHERS),
    _METRICS,
    (
        *("encoder@untuned", "encoder+rule@untuned"),
        *(
            f"{form}{steps}@untuned"
            for form in ("paper", "default")
            for steps in ("+rel", "", "+graph", "+graph+rule")
        ),
        *(
            f"{system}@{encoder}"
            for encoder in ("minilm", "static")
            for system in ("encoder", "default+rel", "default", "default+graph+rule")
        ),
    ),
    notes=_PAPER,
)
RISK_ABLATION = Suite(
    "risk-ablation",
    ULTRATOOL,
    _METRICS,
    (
        *(
            f"{form}{steps}+lam{lam}@untuned"
            for form in ("paper", "default")
            for steps in ("", "+graph", "+graph+rule")
            for lam in ("0", "0.05", "0.1", "0.2")
        ),
        *(f"paper+{edge}@untuned" for edge in ("cooccurrence", "semantic", "permission", "risk")),
        *(
            f"{form}{steps}+top100@untuned"
            for form in ("paper", "default")
            for steps in ("", "+graph", "+graph+rule")
        ),
    ),
    notes=_PAPER,
)
