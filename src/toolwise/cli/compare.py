"""``toolwise compare``: runs of any systems on the same requests, and what chance alone would do."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolwise.cli.evaluate import RANKING, RISK, SEED, SETS, AsJson, Metrics, Risk, as_json_values, resampling
from toolwise.cli.render import words
from toolwise.text import count

if TYPE_CHECKING:
    from toolwise.evaluate import Qrels, Run


def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN RUN...", help="Runs, JSONL or TREC; the first is the baseline."),
    ],
    qrels: Annotated[
        Path, typer.Option(metavar="FILE", help="JSONL of requests with gold sets, or a TREC qrels file.")
    ],
    metrics: Metrics = None,
    risk: Risk = None,
    workspaces: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help='JSON list of {"id", "tools"}: refuse runs that leave the workspace of a request.',
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare each run with the first: difference, 95 % interval, p, and p corrected for all comparisons."""
    import numpy as np

    from toolwise.evaluate import compare as comparisons
    from toolwise.evaluate import parse_metrics
    from toolwise.evaluate.compare import as_text
    from toolwise.evaluate.jsonl import read_levels, read_qrels, read_run, read_workspaces

    gold = read_qrels(qrels)
    read = [read_run(path, name) for path, name in zip(runs, _names(runs), strict=True)]
    levels = read_levels(risk) if risk is not None else None
    if workspaces is not None:
        _refuse_strays(gold, read, read_workspaces(workspaces), workspaces)
    sets = SETS if all(run.delivers for run in read) else ()
    default = (*RANKING, *(RISK if levels is not None else ()), *sets)
    wanted = parse_metrics(default if metrics is None else metrics.split(","))
    found = comparisons(gold, read, wanted, np.random.default_rng(SEED), levels)
    if as_json:
        print(
            json.dumps(
                [as_json_values(asdict(c) | {"metric": str(c.metric)}) for c in found], ensure_ascii=False
            )
        )
        return
    print(as_text(found))
    words().print(
        f"baseline: {read[0].name}; {resampling(gold)}; p Holm over {count(len(found), 'comparison')}"
    )


def _refuse_strays(
    qrels: Qrels, runs: Iterable[Run], named: Mapping[str, frozenset[str]], source: Path
) -> None:
    """Raise EvaluationError where a run goes beyond the workspace of a request."""
    from toolwise.errors import EvaluationError

    for run in runs:
        for query, answer in run.answers.items():
            library = named.get(qrels.clusters.get(query, ""))
            stray = set() if library is None else {*answer.tools, *(answer.selected or ())} - library
            if stray:
                raise EvaluationError(
                    f"run {run.name!r} answers query {query!r} with {min(stray)!r}, which is not in "
                    f"workspace {qrels.clusters[query]!r} of {source}. Answer it from that workspace.",
                    run=run.name,
                    query=query,
                    tool=min(stray),
                )


def _names(runs: Sequence[Path]) -> list[str]:
    """The runs' names: their file names without suffix where these differ, else their paths."""
    stems = [path.stem for path in runs]
    return stems if len(set(stems)) == len(stems) else [str(path) for path in runs]
