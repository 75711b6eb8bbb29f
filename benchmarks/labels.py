"""How well the labels of our own libraries agree with those of mcp_tasks.

    python -m benchmarks.labels [--own training] [--into results]

Among the tools of our own libraries that were labelled for the risk heads (``training/labels.jsonl``) stood
tools of training workspaces of mcp_tasks, unmarked.  What was said of these is ``training/control.jsonl``;
here it is set against their resolved labels.  Writes ``results/labels.{json,md}``.
"""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

import numpy as np

from toolwise.audit.head_weights import FLAGS
from toolwise.bench.data import rows
from toolwise.bench.provenance import provenance, write
from toolwise.config import settings
from toolwise.learn.own_words import FOLDER
from toolwise.learn.risk_head import flag_scores, level_scores
from toolwise.learn.risk_labels import labelled


def main() -> None:
    """Measure and write."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--own", type=Path, default=FOLDER)
    parser.add_argument("--into", type=Path, default=Path("results"))
    given = parser.parse_args()
    said = {row["id"]: row for row in rows(given.own / "control.jsonl")}
    known = labelled(settings().data)
    places = np.array([place for place, tool in enumerate(known.tools) if tool.id in said])
    truth = known.part(places)
    levels = np.array([said[tool.id]["risk_level"] for tool in truth.tools])
    named = [{*said[tool.id]["capabilities"], *said[tool.id]["permissions"]} for tool in truth.tools]
    flags = np.array([[str(flag) in one for flag in FLAGS] for one in named])
    found = level_scores(truth.levels, levels) | flag_scores(truth.targets[:, -len(FLAGS) :] > 0, flags)
    found["bias"] = float((levels - truth.levels).mean())
    shown = ("kappa", "exact", "within_one", "bias", *map(str, FLAGS))
    lines = [
        f"{len(places)} tools of {len(set(truth.workspaces))} training workspaces of mcp_tasks.",
        "",
        f"| {' | '.join(shown)} |",
        "|" + "---:|" * len(shown),
        "| " + " | ".join(f"{found[name]:.2f}" for name in shown) + " |",
    ]
    payload = {"provenance": provenance(("python", "-m", "benchmarks.labels")), **found}
    notes = "kappa: quadratic weights; exact, within_one: shares of levels; bias: mean difference; then F1."
    write(given.into, "labels", payload, "\n".join(lines), notes)


if __name__ == "__main__":
    main()
