"""``toolwise audit run``: ask annotators, keep their votes, settle the levels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolwise.cli.audit.app import app
from toolwise.cli.render import as_json as json_line
from toolwise.cli.render import progress_bar, words
from toolwise.text import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolwise.auditing import Asked, AuditReport, Change

_SHOWN = 20


@app.command("run")
def run(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the index.")],
    annotators: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Who judges: rules, head, llm:MODEL. By default those that need no network.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON on stdout.")] = False,
) -> None:
    """Have annotators judge the tools of an index, and give each tool the level their votes come to."""
    from toolwise.auditing import audit_index

    names = None if annotators is None else [name.strip() for name in annotators.split(",") if name.strip()]
    if names is not None and not names:
        raise typer.BadParameter(
            "names no annotator; write rules, head or llm:MODEL.", param_hint="--annotators"
        )
    with progress_bar() as progress:
        report = audit_index(folder, names, progress=progress)
    if as_json:
        print(json_line(_contract(report)))
    _say(report)


def _contract(report: AuditReport) -> dict[str, object]:
    return {
        "folder": str(report.folder),
        "tools": report.tools,
        "annotators": [
            {key: getattr(one, key) for key in ("annotator", "asked", "kept", "unknown", "tokens", "cost")}
            for one in report.annotators
        ],
        "changed": changes(report.changed),
        "queue": [waiting.tool.id for waiting in report.queue],
    }


def changes(changed: Sequence[Change]) -> list[dict[str, object]]:
    """Changed levels as JSON."""
    return [{"id": c.id, "before": int(c.before), "after": int(c.after)} for c in changed]


def _say(report: AuditReport) -> None:
    for one in report.annotators:
        words().print(_told(one))
    say_changes(report.changed)
    waiting, tools = len(report.queue), count(report.tools, "tool")
    if waiting:
        words().print(f"waiting for a person: {waiting} of {tools}; toolwise audit queue {report.folder}")
    else:
        words().print(f"no tool of {report.tools} waits for a person")


def _told(one: Asked) -> str:
    parts = [f"{one.annotator}: {count(one.asked, 'tool')} judged"]
    if one.kept:
        parts.append(f"{one.kept} kept as they were judged before")
    if one.unknown:
        parts.append(f"{one.unknown} without a level")
    if one.tokens is not None:
        parts.append(count(one.tokens, "token"))
    if one.cost is not None:
        parts.append(f"cost {one.cost:.4f}")
    return ", ".join(parts)


def say_changes(changed: Sequence[Change]) -> None:
    """Which levels of the index are other ones now, the greatest rises first."""
    ordered = sorted(changed, key=lambda c: (c.before - c.after, c.id))
    for change in ordered[:_SHOWN]:
        style = "yellow" if change.after > change.before else None
        words().print(f"{change.id}: level {int(change.before)} -> {int(change.after)}", style=style)
    if len(ordered) > _SHOWN:
        words().print(f"... and {len(ordered) - _SHOWN} more changed")
