"""``toolwise show``: what an index holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolwise.cli.render import as_json as json_line
from toolwise.cli.render import cell, data, level_text, table, words
from toolwise.text import count

if TYPE_CHECKING:
    from toolwise.records import AuditedTool, Json
    from toolwise.store import Index

_SUMMARY = 80


def show(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the index.")],
    tool: Annotated[str | None, typer.Argument(metavar="TOOL", help="Id of one tool to show whole.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per tool.")] = False,
) -> None:
    """List the tools of an index, or show one of them whole."""
    from toolwise.store import Index

    index = Index.open(folder)
    shown = list(index.scan()) if tool is None else [index.tool(tool)]
    if as_json:
        for audited in shown:
            print(json_line(definition(audited)))
    elif tool is None:
        grid = table("tool", "level", "tokens", "description")
        for audited in shown:
            summary = " ".join(audited.tool.text.description.split())[:_SUMMARY]
            grid.add_row(cell(audited.tool.id), level_text(audited.level), f"{audited.tokens}", cell(summary))
        data().print(grid)
        tools = count(len(index), "tool")
        words().print(f"{tools}, encoder {index.meta['encoder']}, generation {index.generation}")
        words().print(_experience(index), highlight=False)
    else:
        one(shown[0])


def _experience(index: Index) -> str:
    """One sentence on what the index remembers."""
    from toolwise.errors import BrokenIndex
    from toolwise.retrieve.experience import FILE, read

    try:
        past = read(index.folder / FILE, index.ids, index.meta["fingerprint"])
    except BrokenIndex as error:
        return error.message
    if past is None:
        return "no experience of past requests"
    told = f"remembers what served {count(past.past, 'past request')}"
    if past.lessons.adapter is not None:
        told += ", and reads requests as they teach"
    return told if past.lessons.belief > 0 else f"{told}; answers by the ranking"


def definition(audited: AuditedTool) -> dict[str, Json]:
    """Everything the index knows about a tool."""
    tool = audited.tool
    return {
        "id": tool.id,
        "name": tool.name,
        "server": tool.server,
        "title": tool.title,
        "description": tool.description,
        "parameters": tool.parameters,
        "returns": tool.returns,
        "annotations": tool.annotations,
        "source": tool.source,
        "tokens": audited.tokens,
        "content_hash": tool.content_hash,
        **{key: value for key, value in verdict(audited).items() if key != "id"},
    }


def verdict(audited: AuditedTool) -> dict[str, Json]:
    """What the audit says of a tool, as the JSON contract of ``toolwise audit show --json``."""
    from toolwise.records import Capability

    found = audited.verdict
    return {
        "id": audited.tool.id,
        "level": int(audited.level),
        "permissions": sorted(found.permissions),
        "capabilities": sorted(found.capabilities),
        "chances": dict(zip(map(str, Capability), found.likely, strict=True)),
        "evidence": [{"claim": e.claim, "source": e.source, "because": e.because} for e in found.evidence],
        "findings": [
            {"code": f.code, "severity": f.severity, "field": f.field, "text": f.text} for f in found.findings
        ],
    }


def one(audited: AuditedTool) -> None:
    """One tool for a person."""
    from toolwise.expose import export_name
    from toolwise.records import Capability

    console, tool, found = data(), audited.tool, audited.verdict
    grid = table("", "")
    grid.show_header = False
    rows = {
        "tool": tool.id,
        "exported as": export_name(tool.id),
        "title": tool.title,
        "description": tool.text.description,
        "parameters": ", ".join(tool.text.parameters),
        "tokens": f"{audited.tokens}",
        "permissions": ", ".join(sorted(found.permissions)),
        "capabilities": ", ".join(sorted(found.capabilities)),
        "may also be": ", ".join(
            f"{one} ({chance:.2f})"
            for one, chance in zip(Capability, found.likely, strict=True)
            if chance > 0 and one not in found.capabilities
        ),
    }
    grid.add_row("level", level_text(audited.level))
    for label, value in rows.items():
        if value:
            grid.add_row(label, cell(value, lines=label == "description"))
    for evidence in found.evidence:
        grid.add_row("evidence", cell(f"{evidence.claim} ({evidence.source}): {evidence.because}"))
    for finding in found.findings:
        grid.add_row(
            "finding", cell(f"{finding.code} ({finding.severity}) in {finding.field}: {finding.text}")
        )
    console.print(grid)
