"""The suite ``frontier`` on training workspaces of mcp_tasks that nothing in use has learned from.

    python -m benchmarks.frontier_folds --folds FOLDER ... --weights FILE ... [--limit N] [--into DIR]

Each folder holds a static table trained without some workspaces (``held_out.json``) and a risk head trained
without them (``head.safetensors``), each file the weights of a set scorer trained without them, in the same
order.  A fold's workspaces are answered by these two, by all
systems alike; systems that learn per case learn from all other training workspaces.
Writes ``results/frontier-folds.{json,md}`` and pictures.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.folds import held_out
from toolwise.bench import data
from toolwise.bench.cases import HEAD, Case, Models, Suite
from toolwise.bench.frontier import FRONTIER
from toolwise.bench.provenance import provenance, write
from toolwise.bench.report import tables
from toolwise.bench.run import run_suite
from toolwise.bench.set_suite import WorkspaceCase
from toolwise.encode.load import load_encoder
from toolwise.errors import EvaluationError, MissingExtra
from toolwise.protocols import Progress

NAME = "frontier-folds"
LIMIT = 1_500
Fold = tuple[frozenset[str], Models]


@dataclass(frozen=True)
class HeldOutCase(WorkspaceCase):
    """Cross-validation by the workspaces that given models have not learned from."""

    given: tuple[Fold, ...] = ()

    def held(self, names: Sequence[str]) -> list[Fold]:
        """The folds as they were given."""
        return list(self.given)

    def levels(self) -> Mapping[str, int]:
        """The labels, or the levels of audits by heads that have not learned from the workspace."""
        if not self.audited:
            return super().levels()
        found: dict[str, int] = {}
        for names, models in self.given:
            tools = [tool for group in self.groups() if group.library in names for tool in group.tools]
            found |= data.judged(tools, models.encoder, models.annotators)
        return found


def folds_of(folders: Sequence[Path], weights: Sequence[Path]) -> tuple[Fold, ...]:
    """The held-out workspaces of each fold with its table and weights; the first fold speaks for a workspace.

    Raises EvaluationError for folders and files that do not pair up, and for a folder without its list.
    """
    if not folders or len(folders) != len(weights):
        raise EvaluationError(
            f"{len(folders)} folders and {len(weights)} weights files; expected one file for each folder."
        )
    found: list[Fold] = []
    seen: set[str] = set()
    for folder, file in zip(folders, weights, strict=True):
        if not (folder / HEAD).is_file():
            raise EvaluationError(
                f"{folder} has no {HEAD}; expected a head trained without its workspaces. Make it: "
                f"python -m toolwise.learn.risk_head --data DATA --fold {folder} --into {folder}",
                folder=folder,
            )
        names = set(held_out(folder)) - seen
        seen |= names
        found.append((frozenset(names), Models(folder.absolute(), file.absolute())))
    return tuple(found)


def suite_of(given: tuple[Fold, ...], limit: int) -> Suite:
    """The suite ``frontier`` with these folds for its cases."""
    names = {name for held, _ in given for name in held}
    drawn = f"{limit:,} requests drawn with seed 0" if limit else "all requests"
    shared = f"library: the workspace; {len(given)} folds of {len(names)} training workspaces, {drawn}"
    first = {case.audited: case for case in FRONTIER.cases if case.data_set == "mcp_tasks"}
    cases: list[Case] = [
        HeldOutCase(
            f"mcp_tasks cross-validated{' audited' if audited else ''}",
            "mcp_tasks",
            "train",
            f"{shared}; {first[audited].note.partition('; ')[2]}",
            keep=lambda task: task.library in names,
            audited=audited,
            splits=("train",),
            given=given,
        )
        for audited in (False, True)
    ]
    systems = tuple(name for name in FRONTIER.systems if "past=" not in name)
    return Suite(NAME, tuple(cases), FRONTIER.metrics, systems, FRONTIER.empty_gold, notes_of())


def notes_of() -> str:
    """What differs from the suite, and its rows."""
    return f"""## Folds

Each workspace is answered with a static table and set-scorer weights that were trained without it; every
system reads that table, the rival's process too. Levels and capabilities, where they are the audit's, come
from a risk head of the fold. `hyset` and the dual head learn from all other training
workspaces (those that the table learned from), anew in each fold; toolwise learns nothing here. The gate of
`toolwise` and the constants of retrieval are the packaged ones. Intervals and ratios: bootstrap over whole
workspaces.
Systems with `past=train` are left out: no request of a held-out workspace may be learned from.

{FRONTIER.notes}"""


def _said(stage: str, done: int, total: int) -> None:
    print(f"{stage} {done}/{total}", file=sys.stderr, flush=True)


def run(options: Namespace, progress: Progress = _said) -> None:
    """Measure and write."""
    given = folds_of(options.folds, options.weights)
    suite = suite_of(given, options.limit).only(options.cases)
    chosen = options.systems.split(",") if options.systems else suite.systems
    results = run_suite(suite, chosen, limit=options.limit, progress=progress)
    marks = [load_encoder(models.encoder).fingerprint for _, models in given]
    made = provenance(("python", "-m", "benchmarks.frontier_folds", *sys.argv[1:]))
    write(options.into, NAME, {"provenance": made, "encoders": marks, **results}, tables(results))
    try:
        from toolwise.bench.plots import draw

        draw(results, options.into)
    except MissingExtra as error:
        print(f"no plots: {error.message}", file=sys.stderr)


def main(given: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--folds", nargs="+", type=Path, required=True)
    parser.add_argument("--weights", nargs="+", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=LIMIT, help=f"requests per case ({LIMIT}; 0: all)")
    parser.add_argument("--cases", nargs="*", default=[], help="names of cases; all by default")
    parser.add_argument("--systems", default="", help="comma-separated names; those of the suite by default")
    parser.add_argument("--into", type=Path, default=Path("results"))
    options = parser.parse_args(given)
    if not data.available("mcp_tasks"):
        raise SystemExit(f"mcp_tasks is not in {data.folder('mcp_tasks').parent}; set TOOLWISE_DATA.")
    run(options)


if __name__ == "__main__":
    main()
