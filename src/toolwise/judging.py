"""What people decide, out to a sheet and back in."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from toolwise.audit.sheet import Fault, Line, Row
from toolwise.audit.votes import NO_CAPABILITY, NO_PERMISSION
from toolwise.auditing import Change, Drift, drifted, outcomes, settle, tools_of
from toolwise.records import PERSON, AuditedTool, Evidence, Judgement, Verdict
from toolwise.store import Ledger, now


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of the rows of a sheet."""

    taken: tuple[str, ...]
    """Tools with a new judgement."""
    known: tuple[str, ...]
    """Tools of rows that say what stands already."""
    passed_over: int
    """Rows that nobody put a name to."""
    refused: tuple[Fault, ...]
    changed: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """What became of ids whose definitions a person knows now."""

    taken: tuple[str, ...]
    unchanged: tuple[str, ...]
    """Ids that were asked for, of tools that wait for no acknowledgement or are not there."""
    changed: tuple[Change, ...]


def sheet(folder: str | Path, *, only_waiting: bool = False) -> list[Line]:
    """A line per tool of an index, in order of id, for people to judge.  Raises BrokenIndex."""
    known = {audited.tool.id: outcome for audited, outcome in outcomes(folder)}
    persons = {id_: last.get(PERSON) for id_, last in Ledger(folder).latest().items()}
    lines = []
    for audited in tools_of(folder):
        outcome = known.get(audited.tool.id)
        if outcome is None:
            lines.append(Line(audited, {}, waits=False))
        else:
            person = persons.get(audited.tool.id) if outcome.decided else None
            lines.append(Line(audited, outcome.votes, outcome.waits, person))
    return [line for line in lines if line.waits or not only_waiting]


def accept(folder: str | Path, rows: Iterable[Row | Fault], *, who: str = "") -> Accepted:
    """Take the rows of a sheet as judgements of the people they name, and settle what they change.

    A row that names nobody is passed over; with ``who`` it is theirs where it
    differs from the index.  A row on another definition than the present one,
    on a tool that the index lacks, or on one that an earlier row has judged, is
    refused; the others are taken.  Raises BrokenIndex, IndexBusy.
    """
    tools = {audited.tool.id: audited for audited in tools_of(folder)}
    ledger = Ledger(folder)
    standing = ledger.latest()
    judged: dict[str, Judgement] = {}
    known: dict[str, Row] = {}
    refused: list[Fault] = []
    passed_over = 0
    for row in rows:
        if isinstance(row, Fault):
            refused.append(row)
            continue
        audited = tools.get(row.id)
        name = row.who or (who if audited is None or _differs(row, audited) else "")
        if not name:
            passed_over += 1
        elif audited is None:
            refused.append(Fault(row.line, row.id, "the index has no such tool"))
        elif why := _fault(row, audited, judged.keys() | known.keys()):
            refused.append(Fault(row.line, row.id, why))
        elif _stands(row, name, audited, standing.get(row.id, {}).get(PERSON)):
            known[row.id] = row
        else:
            judged[row.id] = _judgement(row, name)
    if judged:
        ledger.add(judged.values(), [tools[id_].tool for id_ in judged])
    changed = settle(folder, [*judged, *known]) if judged or known else ()
    return Accepted(tuple(judged), tuple(known), passed_over, tuple(refused), changed)


def acknowledge(folder: str | Path, ids: Collection[str] | None = None, *, who: str = "") -> Acknowledged:
    """Take the definitions of changed tools (all by default) as known, each with the level it had before.

    Raises BrokenIndex, IndexBusy.
    """
    found = {one.new.id: one for one in drifted(folder)}
    chosen = sorted(found.keys() if ids is None else found.keys() & set(ids))
    if chosen:
        judgements = [acknowledgement(found[id_], who) for id_ in chosen]
        Ledger(folder).add(judgements, [found[id_].new for id_ in chosen])
    changed = settle(folder, chosen) if chosen else ()
    return Acknowledged(tuple(chosen), tuple(sorted(set(ids or ()) - found.keys())), changed)


def acknowledgement(drift: Drift, who: str, reason: str = "") -> Judgement:
    """A person's word that a changed definition is known.

    What a person said of the definition before is said of this one too; where none did it has no level,
    and the votes go on deciding that.
    """
    before = [judgement.verdict for judgement in drift.stale if judgement.annotator == PERSON]
    verdict = before[-1] if before else Verdict()
    return Judgement(drift.new.id, PERSON, drift.new.content_hash, verdict, now(), who, reason)


def _fault(row: Row, audited: AuditedTool, seen: Collection[str]) -> str:
    """Why a row cannot be taken; empty where it can."""
    if row.level is None:
        return "the level is empty, expected 1 to 5"
    if not row.content_hash:
        return "the content_hash is empty; it says which definition was judged"
    if row.content_hash != audited.tool.content_hash:
        return "its definition is another one now than the one that was judged; export it again"
    return "an earlier row has judged this tool" if row.id in seen else ""


def _differs(row: Row, audited: AuditedTool) -> bool:
    """Whether a row says anything that the index does not."""
    found = audited.verdict
    flags = (row.permissions, found.permissions), (row.capabilities, found.capabilities)
    level = row.level is not None and row.level != audited.level
    return level or any(said is not None and said != has for said, has in flags)


def _stands(row: Row, who: str, audited: AuditedTool, last: Judgement | None) -> bool:
    """Whether a row says what its person's standing judgement says."""
    if last is None or last.content_hash != audited.tool.content_hash or _differs(row, audited):
        return False
    return (last.verdict.level, last.who, last.reason.strip()) == (row.level, who, row.reason)


def _judgement(row: Row, who: str) -> Judgement:
    said = [
        *_claims("permission", row.permissions, NO_PERMISSION),
        *_claims("capability", row.capabilities, NO_CAPABILITY),
    ]
    evidence = [Evidence(claim, PERSON, f"{who} says so") for claim in said]
    verdict = Verdict(
        row.level, row.permissions or frozenset(), row.capabilities or frozenset(), tuple(evidence)
    )
    return Judgement(row.id, PERSON, row.content_hash, verdict, now(), who, row.reason)


def _claims(kind: str, flags: Collection[str] | None, none: str) -> list[str]:
    """What a person claims by the flags of a sheet: each one named, that there are none, or nothing."""
    if flags is None:
        return []
    return [f"{kind}:{flag}" for flag in sorted(flags)] or [none]
