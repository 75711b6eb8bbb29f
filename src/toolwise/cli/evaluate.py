"""``toolwise eval``: rankings and tool sets of an index, measured on requests with gold sets."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolwise.cli.render import progress_bar, words
from toolwise.text import count, nearest

if TYPE_CHECKING:
    from toolwise.evaluate import Metric, Qrels, Row, Run, Task
    from toolwise.pipeline import Selector
    from toolwise.policy import Policy
    from toolwise.records import Capability
    from toolwise.store import Index

_DEPTH = 100
_MOST_NAMED = 3
"""Missing tools that are named."""
SEED = 0
RANKING = ("ndcg@5", "recall@5", "recall@10", "comp@5", "comp@max", "mrr")
RISK = ("rvr@5", "srr@5", "safe-rvr@5", "needrisk-recall@5", "unneeded-risk@5", "unneeded-risk4@5")
SETS = ("set-size", "set-precision", "set-f1", "exact", "coverage", "abstain-precision", "abstain-recall")
_EVAL = (*RANKING, *RISK, *SETS, "exposed-max-risk", "exposed-tokens")

Metrics = Annotated[
    str | None, typer.Option(metavar="A,B,...", help="Metrics, as in ndcg@5,comp@max,set-size.")
]
Risk = Annotated[Path | None, typer.Option(metavar="FILE", help='JSONL of {"id", "risk_level"}.')]
AsJson = Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")]


def evaluate(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the index.")],
    queries: Annotated[
        Path, typer.Option(metavar="FILE", help='JSONL of {"id", "query", "tools"}: requests with gold sets.')
    ],
    risk: Risk = None,
    workspaces: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help='JSON list of {"id", "tools"}: the library of each workspace.'),
    ] = None,
    metrics: Metrics = None,
    method: Annotated[str | None, typer.Option(help="toolwise, hybrid, bm25, dense or dual-head.")] = None,
    policy: Annotated[
        str | None, typer.Option(metavar="NAME|FILE", help="default, open, paper, strict, or a TOML file.")
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="Write the answers: TREC where OUT ends in .trec, else JSONL."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Answer every request of a file from the index in DIR and measure rankings and tool sets."""
    from toolwise.config import settings
    from toolwise.evaluate import Qrels, parse_metrics
    from toolwise.evaluate import evaluate as score
    from toolwise.evaluate.jsonl import read_levels, read_tasks, read_workspaces, write_run
    from toolwise.evaluate.trec import write_run as write_trec_run
    from toolwise.pipeline import Selector
    from toolwise.policy import load_policy

    wanted = parse_metrics(_EVAL if metrics is None else metrics.split(","))
    tasks = read_tasks(queries)
    named = read_workspaces(workspaces) if workspaces is not None else None
    levels = read_levels(risk) if risk is not None else None
    libraries = [library_of(task, named, workspaces) for task in tasks]
    rules = load_policy(settings().policy if policy is None else policy)
    selector = Selector.open(folder, method=method)
    warn(selector.index, tasks, libraries)
    answers = _answers(selector, tasks, libraries, rules, run.stem if run is not None else "toolwise")
    if run is not None:
        (write_trec_run if run.suffix == ".trec" else write_run)(answers, run)
    audited = {id_: int(level) for id_, level in zip(selector.index.ids, selector.index.levels, strict=True)}
    rows = score(
        Qrels.of(tasks),
        answers,
        wanted,
        audited if levels is None else levels,
        flags=_flags(selector.index),
    )
    source = f"levels as labelled in {risk}" if risk is not None else "levels as audited in the index"
    _print_means(rows, wanted, Qrels.of(tasks), source, as_json=as_json)


def _flags(index: Index) -> dict[str, frozenset[Capability]]:
    from toolwise.records import Capability, from_bits

    bits = zip(index.ids, index.capabilities.tolist(), strict=True)
    return {id_: from_bits(can, Capability) for id_, can in bits}


def library_of(
    task: Task, named: Mapping[str, frozenset[str]] | None, source: Path | None
) -> frozenset[str] | None:
    """The tools a request may be answered from; None for the whole index."""
    if task.candidates is not None:
        return frozenset(task.candidates)
    if named is None or task.workspace is None:
        return None
    if task.workspace not in named:
        from toolwise.errors import EvaluationError

        raise EvaluationError(
            f"query {task.id!r} is of workspace {task.workspace!r}, which {source} does not hold. "
            f"It holds {len(named)}; give the file that belongs to the queries.",
            query=task.id,
            workspace=task.workspace,
        )
    return named[task.workspace]


def _answers(
    selector: Selector,
    tasks: Sequence[Task],
    libraries: Sequence[frozenset[str] | None],
    policy: Policy,
    name: str,
) -> Run:
    """The ranking and the delivered set of every request."""
    from toolwise.evaluate import Answer, Run
    from toolwise.records import Query

    answers = {}
    with progress_bar() as progress:
        for done, (task, library) in enumerate(zip(tasks, libraries, strict=True), start=1):
            query = Query(task.id, task.text)
            ranking = selector.rank(query, _DEPTH, within=library)
            exposure = selector.select(query, policy, within=library)
            answers[task.id] = Answer(
                tuple((candidate.id, float(candidate.score)) for candidate in ranking.candidates),
                tuple(tool.id for tool in exposure.tools),
                exposure.tokens,
            )
            progress("requests", done, len(tasks))
    return Run(answers, name)


def warn(index: Index, tasks: Sequence[Task], libraries: Sequence[frozenset[str] | None]) -> None:
    """Say on stderr what makes the numbers mean less than they seem to.

    Raises EvaluationError where the index holds no tool of any request.
    """
    known = set(index.ids)
    gold = {tool for task in tasks for tool in task.gold}
    if missing := sorted(gold - known):
        _name_missing(missing, index, len(gold))
    held: frozenset[str] = frozenset().union(*(library or frozenset() for library in set(libraries)))
    if absent := held - known:
        words().print(
            f"not in the index: {count(len(absent), 'tool')} of the requests' libraries", style="yellow"
        )
    whole = sum(
        task.workspace is not None and library is None for task, library in zip(tasks, libraries, strict=True)
    )
    if whole:
        words().print(
            f"answered from the whole index though a workspace is named: {count(whole, 'request')}; "
            "give --workspaces",
            style="yellow",
        )


def _name_missing(missing: Sequence[str], index: Index, gold: int) -> None:
    from toolwise.errors import EvaluationError

    words().print(f"not in the index, so missed: {count(len(missing), 'gold tool')}", style="yellow")
    for id_ in missing[:_MOST_NAMED]:
        words().print(f"  {id_!r}{nearest(id_, index.ids)}", style="yellow")
    if more := missing[_MOST_NAMED:]:
        words().print(f"  and {len(more):,} more", style="yellow")
    if len(missing) == gold:
        raise EvaluationError(
            f"{index.folder} has none of the tools that the requests name; expected ids of its tools. "
            f"`toolwise show {index.folder}` lists them.",
            missing=tuple(missing),
        )


def _print_means(
    rows: Sequence[Row], metrics: Sequence[Metric], qrels: Qrels, source: str, *, as_json: bool
) -> None:
    import numpy as np

    from toolwise.evaluate import Mean, means
    from toolwise.evaluate.bootstrap import UNTOLD, intervals
    from toolwise.evaluate.tables import number, plain, span

    found = means(rows)
    spread = intervals(rows, np.random.default_rng(SEED), qrels.clusters)
    untold = Mean(math.nan, 0)
    table = [(str(m), found.get(m, untold), spread.get(m, UNTOLD)) for m in metrics]
    if as_json:
        lines = [
            as_json_values({"metric": m, "mean": mean.value, "low": i.low, "high": i.high, "n": mean.n})
            for m, mean, i in table
        ]
        print(
            json.dumps({"queries": len(qrels.gold), "levels": source, "metrics": lines}, ensure_ascii=False)
        )
        return
    cells = [(m, number(mean.value), span(i.low, i.high), f"{mean.n}") for m, mean, i in table]
    print(plain(("metric", "mean", "95 % interval", "n"), cells))
    print(f"\n{count(len(qrels.gold), 'request')}; {source}; {resampling(qrels)}")


def resampling(qrels: Qrels) -> str:
    """How the intervals came about, as a clause."""
    from toolwise.evaluate.bootstrap import RESAMPLES

    groups = len({qrels.clusters[query] for query in qrels.gold if query in qrels.clusters})
    drawn = count(groups, "workspace") if groups else "requests"
    return f"intervals from {RESAMPLES:,} bootstrap resamples of {drawn}"


def as_json_values(line: Mapping[str, Any]) -> dict[str, Any]:
    """A record as strict JSON holds it: null for NaN."""
    return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in line.items()}
