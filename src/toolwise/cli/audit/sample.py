"""``toolwise audit sample``: a blinded sheet for a person."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from toolwise.cli.audit.app import app
from toolwise.cli.render import words
from toolwise.text import count
from toolwise.whole_file import replace_file


@app.command("sample")
def sample(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the index.")],
    into: Annotated[Path, typer.Option(metavar="FILE", help="The CSV file to write.")],
    size: Annotated[int, typer.Option("-n", "--count", min=1, help="How many tools.")] = 150,
    seed: Annotated[int, typer.Option(min=0, help="Decides which tools, and their order.")] = 0,
) -> None:
    """Write a random sample of the tools for a person to judge, without levels, votes or ids."""
    from random import Random

    from toolwise.audit.blind import sample as drawn
    from toolwise.audit.blind import to_sheet
    from toolwise.auditing import tools_of

    tools = [audited.tool for audited in tools_of(folder)]
    chosen = drawn(tools, size, Random(seed))
    # Spreadsheets read UTF-8 by its mark alone.
    replace_file(into, "\ufeff" + to_sheet(chosen))
    words().print(
        f"{len(chosen)} of {count(len(tools), 'tool')} in {into}; fill in `level` (1 to 5), then: "
        f"toolwise audit agreement {folder} --sheet {into}"
    )
