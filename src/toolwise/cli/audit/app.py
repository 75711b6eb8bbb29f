"""The group ``toolwise audit``; each command registers itself from its own module."""

from __future__ import annotations

import typer

app = typer.Typer(help="What the tools of an index can do, and the evidence for it.", no_args_is_help=True)


@app.callback()
def root() -> None:
    """What the tools of an index can do, and the evidence for it."""
