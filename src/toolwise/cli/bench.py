"""``toolwise bench``: measure systems on data sets."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolwise.cli.render import progress_bar, words

if TYPE_CHECKING:
    from toolwise.records import Json

app = typer.Typer(help="Measure systems on data sets.", no_args_is_help=True)


@app.callback()
def root() -> None:
    """Measure systems on data sets."""


@app.command("run")
def run(
    suite: Annotated[
        str,
        typer.Argument(
            help="retrieval, exposure, multilingual, abstain, encoders, sets, risk, risk-ablation, "
            "risk-examples, frontier, latency or robust."
        ),
    ],
    systems: Annotated[
        str | None,
        typer.Option(help="Comma-separated names; the suite's own by default. +NAME adds to those."),
    ] = None,
    cases: Annotated[str | None, typer.Option(help="Comma-separated names of cases; all by default.")] = None,
    seeds: Annotated[str, typer.Option(help="Comma-separated seeds of systems that draw or learn.")] = "0",
    limit: Annotated[int, typer.Option(min=0, help="At most so many requests per case (0: all).")] = 0,
    budget: Annotated[
        float,
        typer.Option(min=0, help="Seconds for a system and a case (0: no end); the rest stays unasked."),
    ] = 0.0,
    into: Annotated[Path, typer.Option(metavar="DIR", file_okay=False, help="Folder of the results.")] = Path(
        "results"
    ),
    plots: Annotated[bool, typer.Option(help=r"Draw plots (extra \[bench]).")] = True,
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
    numbers = _seeds(seeds)
    _check_systems(chosen)
    _check_data(suite, _names(cases))
    from toolwise.bench.provenance import provenance, write
    from toolwise.bench.report import tables
    from toolwise.bench.run import run_suite
    from toolwise.bench.systems import encoder

    with progress_bar() as progress:
        if suite in SUITES:
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
        written += _drawn(results, into)
    if as_json:
        print(json.dumps(payload))
    words().print("wrote " + ", ".join(map(str, written)))


@app.command("systems")
def systems() -> None:
    """List every system, those of both papers among them, with its state."""
    from toolwise.bench.named_systems import named_systems_markdown

    print(named_systems_markdown())


def _seeds(given: str) -> tuple[int, ...]:
    numbers = [text.strip() for text in given.split(",")]
    if not all(text.isascii() and text.isdigit() and len(text) < 10 for text in numbers):
        raise typer.BadParameter(
            f"expected whole numbers of 0 or more between commas, as in 0,1,2; found {given!r}",
            param_hint="--seeds",
        )
    return tuple(map(int, numbers))


def _check_systems(names: Sequence[str]) -> None:
    """Raise RegistryError for a name no system goes by, before hours are spent on the others."""
    from toolwise.bench.systems import make
    from toolwise.errors import RegistryError, ToolwiseError

    for name in names:
        try:
            make(name, 0, {})
        except RegistryError:
            raise
        except ToolwiseError:  # known, but it cannot run here: its line of the report says why
            continue


def _check_data(suite: str, cases: Sequence[str]) -> None:
    """Raise EvaluationError for an unknown case, and where none of the data sets is here."""
    from toolwise.bench.data import available
    from toolwise.bench.special import SPECIAL
    from toolwise.bench.suites import SUITES
    from toolwise.config import settings
    from toolwise.errors import EvaluationError

    if suite in SUITES:
        needed = tuple(dict.fromkeys(case.data_set for case in SUITES[suite].only(cases).cases))
        ready = any(map(available, needed))
    else:
        needed = SPECIAL[suite].data_sets
        ready = all(map(available, needed))
    if not ready:
        raise EvaluationError(
            f"the data sets of suite {suite!r} ({', '.join(needed)}) are not in "
            f"{settings().data.absolute()}. Name the folder that holds them in TOOLWISE_DATA.",
            suite=suite,
            folder=settings().data,
        )


def _drawn(results: dict[str, Json], into: Path) -> list[Path]:
    """The plots; none, and a word on how to get them, without the extra."""
    from toolwise.bench.plots import draw
    from toolwise.errors import MissingExtra

    try:
        return draw(results, into)
    except MissingExtra as error:
        words().print(f"no plots: {error.message}", style="yellow")
        return []


def _names(given: str | None) -> list[str]:
    return [name.strip() for name in (given or "").split(",") if name.strip()]


def _chosen(given: str | None, default: tuple[str, ...]) -> tuple[str, ...]:
    if given is None:
        return default
    names = _names(given)
    added = [name[1:] for name in names if name.startswith("+")]
    plain = [name for name in names if not name.startswith("+")]
    return (*(plain or default), *added)
