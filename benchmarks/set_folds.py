"""The default set scorer out of fold: rankings, delivered sets and abstention on unseen workspaces.

    python -m benchmarks.set_folds --folds FOLDER ... --weights FILE ...

Each folder is a static table trained without some workspaces (``held_out.json``), each file the weights of
a set scorer trained without them, in the same order.  Writes ``results/sets/folds.{json,md}``.
"""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.folds import HELD_OUT, workspaces
from toolwise.bench.provenance import provenance, write
from toolwise.bench.sets_default import DefaultSetSystem
from toolwise.sets.default_weights import load

KINDS = ("single", "chain", "cross", "broad")


def answers(folds: list[Path], weights: list[Path]) -> Iterator[dict[str, Any]]:
    """One row per request: what the hybrid ranks, what the best set of five holds, what is delivered."""
    scorer = {
        name.rpartition("/")[2]: file
        for folder, file in zip(folds, weights, strict=True)
        for name in json.loads((folder / HELD_OUT).read_text(encoding="utf-8"))
    }
    for encoder, name, tools, tasks in workspaces("static", folds):
        system = DefaultSetSystem("sets", lambda model=encoder: model, load(scorer[name]))  # type: ignore[misc]
        system.fit(tools, ())
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
                "empty": not shown,
                "covered by the hybrid": gold <= set(ranked[: len(shown)]),
                "exact by the hybrid": gold == set(ranked[: len(shown)]),
            }


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--folds", nargs="+", type=Path, required=True)
    parser.add_argument("--weights", nargs="+", type=Path, required=True)
    options = parser.parse_args()
    rows = list(answers(options.folds, options.weights))
    served = [row for row in rows if row["kind"] != "none"]
    parts = {"all": served, **{kind: [r for r in served if r["kind"] == kind] for kind in KINDS}}

    def mean(part: list[dict[str, Any]], key: str) -> float:
        return float(np.mean([row[key] for row in part]))

    keys = [key for key in rows[0] if key not in ("kind", "empty")]
    found = {name: {key: mean(part, key) for key in keys} for name, part in parts.items()}
    empty = {
        "answerable": mean(served, "empty"),
        "none": mean([row for row in rows if row["kind"] == "none"], "empty"),
    }
    lines = [f"| | requests | {' | '.join(keys)} |", "|---|---:|" + "---:|" * len(keys)]
    for name, values in found.items():
        cells = (f"{values[k]:.2f}" if k == "size" else f"{100 * values[k]:.1f}" for k in keys)
        lines.append(f"| {name} | {len(parts[name]):,} | {' | '.join(cells)} |")
    notes = (
        "mcp_tasks train, library: the workspace; static tables of the folds, seed 0; in per cent but for "
        "the size. `hybrid`, `sets`: COMP@5 of the ranking and of the best set of five. `covered`, `exact`, "
        "`size`: delivered sets without rules, and the first tools of the ranking in the same number for "
        "each request. "
        f"Answered by nothing: {100 * empty['answerable']:.1f} % of {len(served):,} answerable requests and "
        f"{100 * empty['none']:.1f} % of {len(rows) - len(served)} that nothing serves."
    )
    made = {"provenance": provenance(("python", "-m", "benchmarks.set_folds", *sys.argv[1:]))}
    write("results/sets", "folds", {**made, "results": found, "empty": empty}, "\n".join(lines), notes)


if __name__ == "__main__":
    main()
