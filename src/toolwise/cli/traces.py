"""``toolwise traces``: what a gateway remembers, to learn from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from toolwise.cli.render import words
from toolwise.text import count

app = typer.Typer(help="Turn the log of a gateway into training traces.", no_args_is_help=True)


@app.callback()
def traces() -> None:
    """Turn the log of a gateway into training traces."""


@app.command("export")
def export(
    state: Annotated[Path, typer.Argument(metavar="DIR", help="State folder of the gateway.")],
    into: Annotated[Path, typer.Option(metavar="FILE", help="JSONL file to write.")],
) -> None:
    """Write one trace per answer: the request, the tools shown, the calls made and what came of it."""
    from toolwise.serve.gateway.traces import export_traces

    written, decided = export_traces(state, into)
    said = f"{decided:,} with a tool that was called, the others teach nothing"
    words().print(f"{count(written, 'trace')} in {into}; {said}")
