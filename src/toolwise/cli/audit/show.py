"""``toolwise audit show``: what the tools of an index can do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from toolwise.cli.audit.app import app
from toolwise.cli.render import as_json as json_line
from toolwise.cli.render import cell, data, level_text, table, words
from toolwise.cli.show import verdict


@app.command("show")
def show(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the index.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per tool.")] = False,
    min_level: Annotated[int, typer.Option(min=1, max=5, help="Only tools of this level or more.")] = 1,
    findings: Annotated[bool, typer.Option("--findings", help="Only tools with findings.")] = False,
) -> None:
    """Each tool's level, permissions, capabilities, evidence and findings."""
    from toolwise.store import Index

    index = Index.open(folder)
    chosen = [a for a in index.scan() if a.level >= min_level and (a.verdict.findings or not findings)]
    if as_json:
        for audited in chosen:
            print(json_line(verdict(audited)))
        return
    grid = table("tool", "level", "can", "why")
    for audited in chosen:
        found = audited.verdict
        can = ", ".join([*sorted(found.permissions), *sorted(found.capabilities)])
        why = [e.because for e in found.evidence if e.claim.startswith("level")] or ["nothing tells"]
        why += [f"finding {f.code} in {f.field}" for f in found.findings]
        grid.add_row(
            cell(audited.tool.id), level_text(audited.level), can, cell("; ".join(dict.fromkeys(why)))
        )
    data().print(grid)
    counts = ", ".join(f"{sum(int(a.level) == n for a in chosen)} of level {n}" for n in range(1, 6))
    words().print(f"{len(chosen)} of {len(index)} tools: {counts}")
