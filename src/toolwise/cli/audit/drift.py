"""``toolwise audit drift``: which definitions changed since they were judged, old text and new."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolwise.cli.audit.app import app
from toolwise.cli.audit.queue import as_stale, judges
from toolwise.cli.audit.run import say_changes
from toolwise.cli.render import as_json as json_line
from toolwise.cli.render import cell, data, words
from toolwise.text import count

if TYPE_CHECKING:
    from toolwise.auditing import Drift
    from toolwise.records import Json, Tool

_FIELDS = ("name", "server", "title", "description", "parameters", "returns", "annotations")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n")
_STYLES = {"-": "red", "+": "green", "@": "dim"}


@app.command("drift")
def drift(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the index.")],
    accept: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="You have read what changed in this tool; its level stays."),
    ] = None,
    everything: Annotated[bool, typer.Option("--accept-all", help="The same of all of them.")] = False,
    who: Annotated[str, typer.Option(metavar="NAME", help="Your name, kept with what you accept.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per tool.")] = False,
) -> None:
    """Show what changed in tools, until a person has judged or accepted them as they are now."""
    from toolwise.auditing import drifted

    if accept or everything:
        _accept(folder, None if everything else accept, who.strip())
    found = drifted(folder)
    for one in found:
        if as_json:
            print(json_line(_contract(one)))
        else:
            show_drift(one)
    words().print(
        f"{count(len(found), 'tool')} changed, and no person has judged or accepted it; see --accept"
        if found
        else "no tool changed since it was judged or acknowledged"
    )


def _accept(folder: Path, ids: list[str] | None, who: str) -> None:
    from toolwise.judging import acknowledge

    done = acknowledge(folder, ids, who=who)
    for id_ in done.unchanged:
        words().print(f"{id_} has no change to accept", style="yellow")
    say_changes(done.changed)
    words().print(f"{count(len(done.taken), 'changed definition')} accepted")


def _contract(one: Drift) -> dict[str, Json]:
    return {
        "id": one.new.id,
        "stale": [as_stale(judgement) for judgement in one.stale],
        "old": None if one.old is None else _definition(one.old),
        "new": _definition(one.new),
        "content_hash": one.new.content_hash,
    }


def _definition(tool: Tool) -> dict[str, Json]:
    return {field: getattr(tool, field) for field in _FIELDS}


def show_drift(one: Drift) -> None:
    """One tool for a person: who judged it, and the lines that went and came."""
    console = data()
    console.print(f"[bold]{cell(one.new.id)}[/bold]")
    console.print(cell(judges(one.stale)))
    if one.old is None:
        console.print("the definition that was judged is not known; this is the present one", style="dim")
        console.print(cell(one.new.description, lines=True))
    else:
        for field in _FIELDS:
            for line in _difference(field, getattr(one.old, field), getattr(one.new, field)):
                console.print(f"[{_STYLES.get(line[0], 'default')}]{cell(line)}[/]", soft_wrap=True)
    console.print()


def _difference(field: str, old: Json, new: Json) -> Iterator[str]:
    """The lines of one field that went and came, with a line around them."""
    if old == new:
        return
    yield f"@ {field}"
    lines = list(unified_diff(_lines(old), _lines(new), lineterm="", n=1))[
        3:
    ]  # from the first hunk's head on
    for line in lines:
        yield "  ..." if line.startswith("@@") else f"{line[0]} {line[1:]}"


def _lines(value: Json) -> list[str]:
    """Text sentence by sentence, anything else as indented JSON."""
    if isinstance(value, str):
        return [part for part in _SENTENCE.split(value) if part]
    return [] if value is None else json.dumps(value, ensure_ascii=False, indent=1).split("\n")
