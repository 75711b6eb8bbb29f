"""``toolwise bench``: measure systems on data sets."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from toolwise.cli.render import progress_bar, words

app = typer.Typer(help="Measure systems on data sets.", no_args_is_help=True)


@app.callback()
def root() -> None:
    """Measure systems on data sets."""


@app.command("run")
def run(
    suite: Annotated[
        str, typer.Argument(help="retrieval, exposure, multilingual, abstain, latency or robust.")
    ],
    systems: Annotated[
        str | None,
        typer.Option(help="Comma-separated names; the suite's own by default. +NAME adds to those."),
    ] = None,
    cases: Annotated[str | None, typer.Option(help="Comma-separated names of cases; all by default.")] = None,
    seeds: Annotated[str, typer.Option(help="Comma-separated seeds of systems that draw or learn.")] = "0",
    limit: Annotated[int, typer.Option(help="At most so many requests per case (0: all).")] = 0,
    budget: Annotated[
        float, typer.Option(help="Seconds a system may spend on a case (0: no end); the rest stays unasked.")
    ] = 0.0,
    into: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the results.")] = Path("results"),
    plots: Annotated[bool, typer.Option(help="Draw plots (extra [bench]).")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON on stdout too.")] = False,
) -> None:
    """Run SUITE and write SUITE.json, SUITE.md and plots."""
    from toolwise.bench.special import SPECIAL
    from toolwise.bench.suites import SUITES
    from toolwise.errors import EvaluationError

    if suite not in SUITES and suite not in SPECIAL:
        names = ", ".join([*SUITES, *SPECIAL])
        raise EvaluationError(f"there is no suite called {suite!r}; the suites are {names}.", suite=suite)
    chosen = _chosen(systems, SUITES[suite].systems if suite in SUITES else SPECIAL[suite].systems)
    from toolwise.bench.plots import draw
    from toolwise.bench.provenance import provenance, write
    from toolwise.bench.report import tables
    from toolwise.bench.run import run_suite
    from toolwise.bench.systems import encoder

    with progress_bar() as progress:
        if suite in SUITES:
            numbers = tuple(int(seed) for seed in seeds.split(","))
            results = run_suite(
                SUITES[suite].only(_names(cases)),
                chosen,
                seeds=numbers,
                limit=limit,
                budget_s=budget,
                progress=progress,
            )
            text = tables(results)
        else:
            results, text = SPECIAL[suite].run(chosen, limit, progress)
    command = ("toolwise", *sys.argv[1:])
    payload = {"provenance": provenance(command, encoder("static").fingerprint), **results}
    write(into, suite, payload, text)
    written = [into / f"{suite}.json", into / f"{suite}.md"]
    if plots and suite in SUITES:
        written += draw(results, into)
    if as_json:
        print(json.dumps(payload))
    words().print("wrote " + ", ".join(map(str, written)))


@app.command("systems")
def systems() -> None:
    """List every system, those of both papers among them, with its state."""
    from toolwise.bench.named_systems import named_systems_markdown

    print(named_systems_markdown())


def _names(given: str | None) -> list[str]:
    return [name.strip() for name in (given or "").split(",") if name.strip()]


def _chosen(given: str | None, default: tuple[str, ...]) -> tuple[str, ...]:
    if given is None:
        return default
    names = _names(given)
    added = [name[1:] for name in names if name.startswith("+")]
    plain = [name for name in names if not name.startswith("+")]
    return (*(plain or default), *added)
