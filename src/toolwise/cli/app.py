"""The command tree."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from toolwise.cli import (
    audit,
    bench,
    compare,
    evaluate,
    gateway,
    index,
    log,
    select,
    show,
    traces,
    train,
    tune,
)

app = typer.Typer(
    name="toolwise",
    help="Decide which tools an LLM agent gets to see: a small, complete and safe set.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command("index")(index.index)
app.command("select")(select.select)
app.command("show")(show.show)
app.command("eval")(evaluate.evaluate)
app.command("compare")(compare.compare)
app.command("tune")(tune.tune)
app.add_typer(audit.app, name="audit")
app.add_typer(bench.app, name="bench")
app.add_typer(gateway.app, name="gateway")
app.add_typer(log.app, name="log")
app.add_typer(traces.app, name="traces")
app.add_typer(train.app, name="train")


def _print_version(value: bool) -> None:
    if value:
        print(f"toolwise {version('toolwise')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Decide which tools an LLM agent gets to see: a small, complete and safe set."""
