"""``toolwise tune``: what caution and economy bring and cost on labelled requests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolwise.cli.evaluate import library_of, warn
from toolwise.cli.render import progress_bar, words
from toolwise.text import count

if TYPE_CHECKING:
    from toolwise.records import Json
    from toolwise.tuning import Point

_HEAD = (
    *("", "caution", "economy", "coverage", "exact", "size", "unneeded 3+", "unneeded 4+"),
    *("highest", "toxic", "wrongly empty", "rightly empty"),
)


def _picture(path: Path | None) -> Path | None:
    if path is not None and path.suffix.lower() not in (".png", ".svg"):
        raise typer.BadParameter(f"{path.name} is neither a .png nor an .svg file.")
    return path


def tune(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the index.")],
    queries: Annotated[
        Path, typer.Option(metavar="FILE", help='JSONL of {"id", "query", "tools"}: requests with gold sets.')
    ],
    workspaces: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help='JSON list of {"id", "tools"}: the library of each workspace.'),
    ] = None,
    risk: Annotated[Path | None, typer.Option(metavar="FILE", help='JSONL of {"id", "risk_level"}.')] = None,
    policy: Annotated[str | None, typer.Option(metavar="NAME|FILE", help="The policy to tune.")] = None,
    most_risky: Annotated[
        float | None, typer.Option(min=0, help="Most unneeded tools of level 3 or more per request.")
    ] = None,
    wrong: Annotated[
        float, typer.Option(min=0, max=1, help="Most answerable requests that are answered by nothing.")
    ] = 0.05,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the frontier as .png or .svg.", callback=_picture),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print every point as JSON.")] = False,
) -> None:
    """Find the settings of caution and economy that suit your own labelled requests."""
    from toolwise.config import settings
    from toolwise.evaluate.jsonl import read_levels, read_tasks, read_workspaces
    from toolwise.pipeline import Selector
    from toolwise.policy import load_policy
    from toolwise.tuning import frontier, points, recommended

    tasks = read_tasks(queries)
    named = read_workspaces(workspaces) if workspaces is not None else None
    levels = read_levels(risk) if risk is not None else None
    rules = load_policy(settings().policy if policy is None else policy)
    libraries = [library_of(task, named, workspaces) for task in tasks]
    with Selector.open(folder, method="toolwise") as selector:
        warn(selector.index, tasks, libraries)
        with progress_bar() as progress:
            found = points(selector, tasks, rules, libraries=libraries, levels=levels, progress=progress)
    best = frontier(found)
    advised = recommended(found, most_risky=most_risky, wrong=wrong)
    present = next(p for p in found if (p.caution, p.economy) == (rules.caution, rules.economy))
    if plot is not None:
        from toolwise.bench.plots import draw_frontier

        draw_frontier(found, best, present, advised, plot)
    if as_json:
        lines: dict[str, Json] = {
            "policy": rules.name,
            "points": [asdict(p) for p in found],
            "frontier": [[p.caution, p.economy] for p in best],
            "present": [present.caution, present.economy],
            "recommended": [advised.caution, advised.economy],
        }
        print(json.dumps(lines))
        return
    _print(best, present, advised)
    words().print(
        f"{count(present.requests, 'request')} that something serves, "
        f"{len(tasks) - present.requests} that nothing serves; of {len(found)} settings, the frontier is "
        "shown. For a policy file:"
    )
    words().print(f"caution = {advised.caution:g}")
    words().print(f"economy = {advised.economy:g}")
    if advised.wrong > wrong or (most_risky is not None and advised.risky > most_risky):
        limits = [f"at most {wrong:.0%} of what something serves answered by nothing"]
        if most_risky is not None:
            limits.append(f"at most {most_risky:g} risky tools that are not needed")
        words().print(f"no setting keeps {' and '.join(limits)}; this one comes nearest", style="yellow")


def _print(best: Sequence[Point], present: Point, advised: Point) -> None:
    from toolwise.evaluate.tables import plain

    shown = sorted({*best, present, advised}, key=lambda p: (p.risky, p.coverage, p.caution, p.economy))
    marks = {present: "present", advised: "recommended"}
    if present == advised:
        marks = {present: "present, recommended"}
    lines = [
        (
            *(marks.get(p, ""), f"{p.caution:g}", f"{p.economy:g}", f"{p.coverage:.3f}", f"{p.exact:.3f}"),
            *(f"{p.size:.2f}", f"{p.risky:.3f}", f"{p.severe:.3f}", f"{p.highest:.2f}", f"{p.toxic:.3f}"),
            *(f"{p.wrong:.3f}", "" if p.abstains is None else f"{p.abstains:.3f}"),
        )
        for p in shown
    ]
    print(plain(_HEAD, lines))
