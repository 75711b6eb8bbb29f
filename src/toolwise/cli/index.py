"""``toolwise index``: sources in, index out."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolwise.cli.render import as_json as json_line
from toolwise.cli.render import progress_bar, words
from toolwise.text import count

if TYPE_CHECKING:
    from toolwise.indexing import IndexReport

_SHOWN = 20


def index(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="JSONL catalogue, MCP tools/list result, mcpServers JSON, OpenAPI 3.x file, or a list of "
            "function schemas. NAME=FILE names the server of a listing.",
        ),
    ],
    into: Annotated[Path, typer.Option(help="Folder of the index.", metavar="DIR")],
    encoder: Annotated[
        str | None,
        typer.Option(
            help="auto, static, minilm, onnx:FOLDER, sentence-transformers:NAME or openai:MODEL.",
            metavar="NAME",
        ),
    ] = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Forget what the index holds.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON on stdout.")] = False,
) -> None:
    """Make the index in DIR hold the tools of the sources; only what changed is done again."""
    from toolwise.indexing import build_index

    with progress_bar() as progress:
        report = build_index(sources, into, encoder=encoder, rebuild=rebuild, progress=progress)
    if as_json:
        print(json_line({**asdict(report), "folder": str(report.folder)}))
    _say(report)


def _say(report: IndexReport) -> None:
    console = words()
    for problem in report.problems[:_SHOWN]:
        where = f" at {problem.pointer}" if problem.pointer else ""
        outcome = " (kept)" if problem.kept else " (left out)"
        if "left out" in problem.message or not problem.tool:  # says it already, or all there is
            outcome = ""
        place = f"{problem.tool}{where}".strip()
        about = f"{place}: " if place else ""
        console.print(f"{problem.source}: {about}{problem.message}{outcome}", style="yellow")
    if len(report.problems) > _SHOWN:
        console.print(
            f"... and {len(report.problems) - _SHOWN} more problems; --json lists them all", style="yellow"
        )
    console.print(
        f"{count(report.tools, 'tool')} in {report.folder} (encoder {report.encoder}): "
        f"{len(report.added)} added, {len(report.changed)} changed, {len(report.removed)} removed, "
        f"{report.unchanged} unchanged"
    )
    for what, ids in (("changed", report.changed), ("removed", report.removed)):
        if ids:
            more = f", ... ({len(ids)} in all)" if len(ids) > _SHOWN else ""
            console.print(f"{what}: {', '.join(ids[:_SHOWN])}{more}")
    if report.stale:
        console.print(
            f"judged before and changed since: {count(len(report.stale), 'tool')}; see toolwise audit drift "
            f"{report.folder}",
            style="yellow",
        )
