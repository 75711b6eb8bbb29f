"""The default set scorer out of fold: rankings, delivered sets and abstention on unseen workspaces.

    python -m benchmarks.set_folds NAME --folds FOLDER ... --weights FILE ...

Each folder is an encoder trained without some workspaces (``held_out.json``), each file the weights of
a set scorer trained without them, in the same order.  First all requests are asked, then every second one,
with parts of the others for a past.  Writes ``results/sets/NAME.{json,md}``.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.folds import held_out, workspaces
from toolwise.bench.data import Task
from toolwise.bench.provenance import provenance, write
from toolwise.bench.sets_default import DefaultSetSystem
from toolwise.protocols import Encoder
from toolwise.records import Tool
from toolwise.sets.default_weights import Weights, load

KINDS = ("single", "chain", "cross", "broad")
SHARES = (0.0, 0.1, 0.25, 0.5)
"""Parts of a workspace's requests that are its past, of the half that is not asked."""
Rows = list[dict[str, Any]]


def asked(system: DefaultSetSystem, tasks: Sequence[Task]) -> Iterator[dict[str, Any]]:
    """One row per request: what the hybrid ranks, what the best set of five holds, what is delivered."""
    for task in tasks:
        gold = set(task.gold)
        ranked = [c.id for c in system.retriever.retrieve(task.query, 5).candidates]
        best = [id_ for id_, _ in system.rank(task.query, 5)]
        shown = system.select(task.query)
        yield {
            "kind": task.row["kind"],
            "hybrid": gold <= set(ranked),
            "sets": gold <= set(best),
            "recall hybrid": len(gold & set(ranked)) / max(1, len(gold)),
            "recall sets": len(gold & set(best)) / max(1, len(gold)),
            "covered": gold <= set(shown),
            "exact": gold == set(shown),
            "size": len(shown),
            "covered by the hybrid": gold <= set(ranked[: len(shown)]),
            "exact by the hybrid": gold == set(ranked[: len(shown)]),
            "empty": not shown,
        }


def of_workspace(
    encoder: Encoder, weights: Weights, tools: Sequence[Tool], tasks: Sequence[Task]
) -> tuple[Rows, dict[float, Rows]]:
    """All requests without a past, and every second one with parts of the others for a past."""
    order = np.random.default_rng(0).permutation(len(tasks)).tolist()
    half = len(tasks) // 2
    tested = [tasks[place] for place in sorted(order[half:])]
    by_share = {}
    for share in SHARES:
        past = [tasks[place] for place in order[: min(half, round(share * len(tasks)))]]
        system = DefaultSetSystem("sets", lambda: encoder, weights, experienced=bool(past))
        system.fit(tools, past)
        by_share[share] = list(asked(system, tested))
    plainly = DefaultSetSystem("sets", lambda: encoder, weights)
    plainly.fit(tools, ())
    return list(asked(plainly, tasks)), by_share


def means(rows: Rows) -> dict[str, float]:
    """Means over requests that some tool serves, and how many get nothing of those and of the others."""
    served = [row for row in rows if row["kind"] != "none"]
    none = [row["empty"] for row in rows if row["kind"] == "none"]
    found = {key: float(np.mean([row[key] for row in served])) for key in served[0] if key != "kind"}
    return {"requests": len(served), **found, "none": len(none), "rightly empty": float(np.mean(none or [0]))}


def table(found: dict[str, dict[str, float]]) -> list[str]:
    """One line per part of the requests."""
    keys = list(next(iter(found.values())))

    def cell(key: str, value: float) -> str:
        if key in ("requests", "none"):
            return f"{int(value):,}"
        return f"{value:.2f}" if key == "size" else f"{100 * value:.1f}"

    lines = [f"| | {' | '.join(keys)} |", "|---|" + "---:|" * len(keys)]
    return lines + [
        f"| {name} | {' | '.join(cell(key, values[key]) for key in keys)} |" for name, values in found.items()
    ]


NOTES = (
    "mcp_tasks train, library: the workspace, seed 0; in per cent but for numbers of requests and sizes. "
    "`hybrid`, `sets`: COMP@5 of the ranking and of the best set of five. `covered`, `exact`, `size`: "
    "delivered sets without rules, and the first tools of the ranking in the same number for each request. "
    "`empty`: answered by nothing though some tool serves; `rightly empty`, of `none` requests that no tool "
    "serves. `past`: every second request is asked, with that part of all the workspace's requests, from the "
    "other half, for its experience."
)


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("name", help="of the results")
    parser.add_argument("--folds", nargs="+", type=Path, required=True)
    parser.add_argument("--weights", nargs="+", type=Path, required=True)
    options = parser.parse_args()
    scorer: dict[str, Path] = {}
    for folder, file in zip(options.folds, options.weights, strict=True):
        for name in held_out(folder):
            scorer.setdefault(name, file)
    every: Rows = []
    parts: dict[float, Rows] = {share: [] for share in SHARES}
    for encoder, name, tools, tasks in workspaces("static", options.folds):
        rows, by_share = of_workspace(encoder, load(scorer[name]), tools, tasks)
        every += rows
        for share, some in by_share.items():
            parts[share] += some
    kinds = {"all": every, **{kind: [r for r in every if r["kind"] == kind] for kind in KINDS}}
    found = {name: means(rows) for name, rows in kinds.items()}
    past = {f"past {share:.0%}": means(rows) for share, rows in parts.items()}
    made = {"provenance": provenance(("python", "-m", "benchmarks.set_folds", *sys.argv[1:]))}
    lines = [*table(found), "", *table(past)]
    write("results/sets", options.name, {**made, "results": found, "past": past}, "\n".join(lines), NOTES)


if __name__ == "__main__":
    main()
