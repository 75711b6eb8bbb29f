"""``toolwise audit queue``: which tools wait for a person, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolwise.cli.audit.app import app
from toolwise.cli.render import as_json as json_line
from toolwise.cli.render import cell, data, level_text, table, words
from toolwise.records import PERSON
from toolwise.text import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolwise.auditing import Waiting
    from toolwise.records import Json, Judgement


@app.command("queue")
def queue(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the index.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per tool.")] = False,
) -> None:
    """List the tools that wait for a person: votes two or more levels apart, or definitions that changed."""
    from toolwise.auditing import waiting

    found = waiting(folder)
    if as_json:
        for one in found:
            print(json_line(_contract(one)))
    elif found:
        grid = table("tool", "level", "votes", "why")
        for one in found:
            grid.add_row(cell(one.tool.id), level_text(one.level), cell(votes_of(one)), cell(why(one)))
        data().print(grid)
    _say(folder, len(found))


def _say(folder: Path, waiting: int) -> None:
    from toolwise.auditing import unjudged
    from toolwise.store import Index

    new, tools = len(unjudged(folder)), len(Index.open(folder))
    words().print(
        f"waiting for a person: {waiting} of {count(tools, 'tool')}; "
        "the level shown counts until one has decided"
        if waiting
        else f"no tool of {tools} waits for a person"
    )
    if new:
        words().print(
            f"never part of an audit: {count(new, 'tool')}; toolwise audit run {folder}", style="yellow"
        )


def votes_of(one: Waiting) -> str:
    """The votes on the present definition in one line."""
    return ", ".join(f"{annotator} {int(level)}" for annotator, level in one.votes.items()) or "none"


def why(one: Waiting) -> str:
    """The reasons in one line."""
    reasons = [f"votes {one.span} levels apart"] if one.span > 1 else []
    if one.stale:
        reasons.append(f"definition changed since {judges(one.stale)}")
    return "; ".join(reasons)


def judges(stale: Sequence[Judgement]) -> str:
    """Who judged an older definition, when and how."""
    return ", ".join(
        f"{judgement.who or judgement.annotator} {_said(judgement)} ({judgement.at[:10]})"
        for judgement in stale
    )


def _said(judgement: Judgement) -> str:
    if judgement.verdict.level is not None:
        return f"judged it level {int(judgement.verdict.level)}"
    return "accepted it" if judgement.annotator == PERSON else "judged it without a level"


def as_stale(judgement: Judgement) -> dict[str, Json]:
    """A judgement as JSON."""
    level = judgement.verdict.level
    return {
        "annotator": judgement.annotator,
        "who": judgement.who,
        "at": judgement.at,
        "level": None if level is None else int(level),
        "reason": judgement.reason,
        "content_hash": judgement.content_hash,
    }


def _contract(one: Waiting) -> dict[str, Json]:
    return {
        "id": one.tool.id,
        "level": int(one.level),
        "span": one.span,
        "votes": {annotator: int(level) for annotator, level in one.votes.items()},
        "stale": [as_stale(judgement) for judgement in one.stale],
        "why": why(one),
        "content_hash": one.tool.content_hash,
    }
