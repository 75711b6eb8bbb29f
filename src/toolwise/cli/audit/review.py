"""``toolwise audit review``: decide, tool by tool, what the annotators could not."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolwise.cli.audit.app import app
from toolwise.cli.audit.drift import show_drift
from toolwise.cli.audit.queue import votes_of, why
from toolwise.cli.audit.run import say_changes
from toolwise.cli.render import cell, data, level_text, table, words
from toolwise.text import count

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolwise.auditing import Change, Drift, Waiting
    from toolwise.records import AuditedTool, Json, Judgement

_KEYS = "1-5 sets the level, a accepts a changed definition, s skips, u undoes, q quits"
_SHOWN = 4_000
"""Characters of a description, and of a schema, that are shown."""


@dataclass(slots=True)
class _Session:
    """One person's way through the queue."""

    folder: Path
    who: str
    queue: list[Waiting]
    tools: Mapping[str, AuditedTool]
    drifts: Mapping[str, Drift]
    place: int = 0
    decided: list[int] = field(default_factory=list)
    """Places in the queue, in the order they were decided."""


@app.command("review")
def review(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the index.")],
    who: Annotated[str, typer.Option(metavar="NAME", help="Your name, kept with each judgement.")] = "",
) -> None:
    """Walk through the tools that wait for a person; every answer is kept at once."""
    session = _begin(folder, who.strip())
    if not session.queue:
        words().print(f"no tool of {len(session.tools)} waits for a person")
        return
    try:
        while session.place < len(session.queue):
            _show(session)
            if not _answer(session):
                break
    finally:
        _end(session)


def _begin(folder: Path, who: str) -> _Session:
    """The queue of this moment; decisions that an interrupted review has not settled are settled first."""
    from toolwise.auditing import drifted, outcomes, settle, tools_of, waiting
    from toolwise.records import PERSON

    pending = [a.tool.id for a, o in outcomes(folder) if o.decided and o.votes[PERSON] != a.level]
    if pending:
        settle(folder, pending)
    tools = {audited.tool.id: audited for audited in tools_of(folder)}
    drifts = {one.new.id: one for one in drifted(folder)}
    return _Session(folder, who, list(waiting(folder)), tools, drifts)


def _end(session: _Session) -> None:
    """Give the decided tools their level in the index, and say what was done."""
    from toolwise.auditing import settle, waiting

    ids = sorted({session.queue[place].tool.id for place in session.decided})
    changed: tuple[Change, ...] = settle(session.folder, ids) if ids else ()
    say_changes(changed)
    left = len(waiting(session.folder))
    go_on = f": toolwise audit review {session.folder}" if left else ""
    words().print(f"{count(len(ids), 'tool')} decided, {left} left{go_on}")


def _show(session: _Session) -> None:
    one = session.queue[session.place]
    found = session.tools[one.tool.id].verdict
    console = data()
    console.rule(f"{session.place + 1} of {len(session.queue)}", align="left", style="dim")
    if one.tool.id in session.drifts:
        show_drift(session.drifts[one.tool.id])
    grid = table("", "")
    grid.show_header = False
    grid.add_row("tool", f"[bold]{cell(one.tool.id)}[/bold]")
    grid.add_row("why", cell(why(one)))
    grid.add_row("votes", cell(votes_of(one)))
    grid.add_row("counts as", level_text(one.level))
    texts = {
        "title": one.tool.title,
        "description": one.tool.description,
        "parameters": _json(one.tool.parameters),
        "hints": _json(one.tool.annotations),
        "permissions": ", ".join(sorted(found.permissions)),
        "capabilities": ", ".join(sorted(found.capabilities)),
    }
    for label, text in texts.items():
        if text:
            grid.add_row(label, cell(text[:_SHOWN], lines=label == "description"))
    for evidence in found.evidence:
        grid.add_row("evidence", cell(f"{evidence.claim} ({evidence.source}): {evidence.because}"))
    for finding in found.findings:
        grid.add_row("finding", cell(f"{finding.code} ({finding.severity}): {finding.text}"))
    console.print(grid)


def _json(value: Json) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _answer(session: _Session) -> bool:
    """Do what the next key says; whether to go on."""
    key = _key()
    while key not in (*"12345asuq", ""):
        words().print(_KEYS)
        key = _key()
    if key in ("q", ""):
        return False
    if key == "s":
        session.place += 1
    elif key == "u":
        _undo(session)
    elif key == "a":
        _accept(session)
    else:
        _decide(session, int(key))
    return True


def _decide(session: _Session, level: int) -> None:
    from toolwise.records import PERSON, Judgement, Level, Verdict
    from toolwise.store import now

    tool = session.queue[session.place].tool
    reason = _line(f"level {level}, because (may be empty): ")
    verdict = Verdict(Level(level))
    _keep(session, Judgement(tool.id, PERSON, tool.content_hash, verdict, now(), session.who, reason))


def _accept(session: _Session) -> None:
    """Take a changed definition as known, its level left to those who give it."""
    from toolwise.judging import acknowledgement

    change = session.drifts.get(session.queue[session.place].tool.id)
    if change is None:
        words().print("its definition has not changed: it waits for a level")
        return
    _keep(session, acknowledgement(change, session.who, _line("accepted, because (may be empty): ")))


def _keep(session: _Session, judged: Judgement) -> None:
    from toolwise.store import Ledger

    Ledger(session.folder).add([judged], [session.queue[session.place].tool])
    session.decided.append(session.place)
    session.place += 1


def _undo(session: _Session) -> None:
    """Take back the last answer of this session, and ask again."""
    from toolwise.store import Ledger

    if not session.decided:
        words().print("nothing to undo in this session")
        return
    session.place = session.decided.pop()
    id_ = session.queue[session.place].tool.id
    Ledger(session.folder).undo(who=session.who, tool=id_)
    words().print(f"taken back: {id_}")


def _key() -> str:
    """One key, or the first letter of a line where stdin is no terminal; "" at its end."""
    _prompt(f"level? ({_KEYS}) ")
    if not sys.stdin.isatty():
        line = sys.stdin.readline()
        words().print()
        return (line.strip().lower()[:2] or "?") if line else ""
    key = typer.getchar().lower()
    words().print(key if key.isprintable() else "")
    return "" if key in "\x04\x1a" else key


def _line(prompt: str) -> str:
    _prompt(prompt)
    return sys.stdin.readline().strip()


def _prompt(text: str) -> None:
    print(text, end="", file=sys.stderr, flush=True)
