"""``toolwise audit show``: what the tools of an index can do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolwise.cli.audit.app import app
from toolwise.cli.audit.queue import as_stale
from toolwise.cli.render import as_json as json_line
from toolwise.cli.render import cell, data, level_text, table, words
from toolwise.cli.show import one, verdict
from toolwise.text import count

if TYPE_CHECKING:
    from toolwise.records import AuditedTool


@app.command("show")
def show(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the index.")],
    tool: Annotated[
        str | None, typer.Argument(metavar="TOOL", help="Id of one tool to show whole, with its judgements.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per tool.")] = False,
    min_level: Annotated[int, typer.Option(min=1, max=5, help="Only tools of this level or more.")] = 1,
    findings: Annotated[bool, typer.Option("--findings", help="Only tools with findings.")] = False,
) -> None:
    """Each tool's level, permissions, capabilities, evidence and findings."""
    from toolwise.store import Index

    index = Index.open(folder)
    if tool is not None:
        _show_one(folder, index.tool(tool), as_json=as_json)
        return
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
    words().print(f"{len(chosen)} of {count(len(index), 'tool')}: {counts}")


def _show_one(folder: Path, audited: AuditedTool, *, as_json: bool) -> None:
    """The verdict on one tool, and all that was said of it, oldest first."""
    from toolwise.store import Ledger

    ledger, id_, present = Ledger(folder), audited.tool.id, audited.tool.content_hash
    history = ledger.history(id_)
    if as_json:
        print(json_line({**verdict(audited), "history": [as_stale(judgement) for judgement in history]}))
        return
    one(audited)
    if history:
        grid = table("judged by", "level", "when", "definition", "reason")
        for said in history:
            level = said.verdict.level
            grid.add_row(
                cell(said.who or said.annotator),
                "-" if level is None else level_text(level),
                said.at[:10],
                "the present" if said.content_hash == present else "an older one",
                cell(said.reason),
            )
        data().print(grid)
    back = len(ledger.history(id_, retracted=True)) - len(history)
    taken = f", {back} taken back" if back else ""
    words().print(f"{count(len(history), 'judgement')}{taken}")
