"""Judgements as a table that people fill in: CSV for spreadsheets, JSONL for programs.

Columns that are read back: ``id``, ``content_hash``, ``level``, ``permissions``,
``capabilities``, ``who``, ``reason``.  The others (``waits``, ``votes``,
``description``) are there to judge by.

A cell that a spreadsheet would run as a formula gets an apostrophe in front,
which reading takes off again: descriptions come from strangers.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from io import StringIO
from string import whitespace
from typing import TypeVar

from toolwise.hygiene import escaped
from toolwise.records import AuditedTool, Capability, Json, Judgement, Level, Permission
from toolwise.wrong_value import kind_of, unread

COLUMNS = (
    "id",
    "level",
    "permissions",
    "capabilities",
    "who",
    "reason",
    "waits",
    "votes",
    "description",
    "content_hash",
)

_FORMULA = tuple("=+-@＝＋－＠|%")
_MARK = "'"
_CELL = 30_000
"""Characters of a description; spreadsheets cut a cell at 32,767."""
_SEPARATORS = re.compile(r"[,;\s]+")
_NONE = {"none", "-"}
LEVEL = re.compile(r"[Ll]?([1-5])(?:\.0*)?")
"""A level as people write it, and as spreadsheets do: ``3``, ``L3``, ``3.0``."""
_Flag = TypeVar("_Flag", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Line:
    """A tool on its way out."""

    audited: AuditedTool
    votes: Mapping[str, Level]
    waits: bool
    person: Judgement | None = None
    """What a person has decided about the present definition."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row on its way in."""

    line: int
    id: str
    content_hash: str
    level: Level | None
    """None where the cell is empty."""
    permissions: frozenset[Permission] | None
    """None where the sheet has no such column, or null in it: nothing is said."""
    capabilities: frozenset[Capability] | None
    who: str
    reason: str


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a row of a sheet is not taken."""

    line: int
    id: str
    """Empty where it cannot be read."""
    why: str


def to_jsonl(lines: Iterable[Line]) -> Iterator[str]:
    """One JSON object per tool, without line ends."""
    for line in lines:
        yield json.dumps(_record(line), ensure_ascii=False)


def to_csv(lines: Iterable[Line]) -> str:
    """The whole table with its header."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for line in lines:
        record = _record(line)
        record["votes"] = ", ".join(f"{annotator} {level}" for annotator, level in record["votes"].items())
        record["description"] = _readable(record["description"])
        record["waits"] = "yes" if line.waits else ""
        for column in ("permissions", "capabilities"):
            record[column] = ", ".join(record[column])
        writer.writerow([guarded(str(record[column])) for column in COLUMNS])
    return out.getvalue()


def guarded(cell: str) -> str:
    """``cell`` so that no spreadsheet takes it for a formula."""
    return f"{_MARK}{cell}" if _is_risky(cell) else cell


def unguarded(cell: str) -> str:
    """The inverse of :func:`guarded`."""
    return cell[1:] if cell.startswith(_MARK) and _is_risky(cell[1:]) else cell


def _is_risky(cell: str) -> bool:
    """Whether a formula, or what spreadsheets cut off before one, follows the apostrophes of ``cell``."""
    text = cell.lstrip(_MARK)
    return text.startswith(("\t", "\r", "\n")) or text.lstrip(f"{_MARK}{whitespace}").startswith(_FORMULA)


def from_jsonl(text: str) -> Iterator[Row | Fault]:
    """The rows of a JSONL sheet; blank lines are passed over."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield Fault(number, "", f"not JSON: {unread(error)}")
            continue
        yield _row(number, record) if isinstance(record, dict) else Fault(number, "", "expected an object")


def from_csv(text: str) -> Iterator[Row | Fault]:
    """The rows of a CSV sheet with a header, separated by commas, semicolons or tabs."""
    header = text.partition("\n")[0]
    reader = csv.reader(StringIO(text, newline=""), delimiter=max(",;\t", key=header.count), strict=True)
    start = 1
    columns: list[str] | None = None
    try:
        for cells in reader:
            if columns is None:
                columns = [cell.strip().lower() for cell in cells]
                if missing := [name for name in ("id", "content_hash", "level") if name not in columns]:
                    yield Fault(start, "", f"the header lacks {', '.join(missing)}")
                    return
            elif any(cells):
                yield _row(start, dict(zip(columns, map(unguarded, cells), strict=False)))
            start = reader.line_num + 1
    except csv.Error as error:
        yield Fault(start, "", f"not CSV: {error}; nothing is read from here on")


def _record(line: Line) -> dict[str, Json]:
    audited, person = line.audited, line.person
    return {
        "id": audited.tool.id,
        "level": int(audited.level),
        "permissions": sorted(audited.verdict.permissions),
        "capabilities": sorted(audited.verdict.capabilities),
        "who": "" if person is None else person.who,
        "reason": "" if person is None else person.reason,
        "waits": line.waits,
        "votes": {annotator: int(level) for annotator, level in line.votes.items()},
        "description": audited.tool.description,
        "content_hash": audited.tool.content_hash,
    }


def _readable(text: str) -> str:
    """``text`` with hidden characters escaped, cut where a cell ends."""
    shown = escaped(text, lines=True)
    return shown if len(shown) <= _CELL else f"{shown[:_CELL]} ... ({len(text)} characters in all)"


def _row(line: int, record: Mapping[str, Json]) -> Row | Fault:
    values = {key: record.get(key) for key in ("id", "content_hash", "who", "reason")}
    id_ = values["id"] if isinstance(values["id"], str) else ""
    if not id_:
        return Fault(line, "", "the id is missing")
    for key, value in values.items():
        if value is not None and not isinstance(value, str):
            return Fault(line, id_, f"{key} is {kind_of(value)}, expected text")
    level = str("" if record.get("level") is None else record["level"]).strip()
    found = LEVEL.fullmatch(level)
    if level and not found:
        return Fault(line, id_, f"level {level[:20]!r}, expected 1 to 5")
    permissions = _flags(record.get("permissions"), Permission)
    capabilities = _flags(record.get("capabilities"), Capability)
    for flags in (permissions, capabilities):
        if isinstance(flags, str):
            return Fault(line, id_, flags)
    texts = {key: (value or "").strip() for key, value in values.items()}
    return Row(
        line,
        id_,
        texts["content_hash"],
        Level(int(found[1])) if found else None,
        permissions,  # type: ignore[arg-type]
        capabilities,  # type: ignore[arg-type]
        texts["who"],
        texts["reason"],
    )


def _flags(value: Json, kind: type[_Flag]) -> frozenset[_Flag] | str | None:
    """The flags of a cell or a list, None where nothing is said, or what is wrong as a clause."""
    if value is None:
        return None
    given = [word for word in _SEPARATORS.split(value) if word] if isinstance(value, str) else value
    known = [str(flag) for flag in kind]
    if not isinstance(given, list) or not all(isinstance(word, str) for word in given):
        return f"expected a list of {', '.join(known)}"
    words = {word.lower() for word in given} - _NONE
    if wrong := sorted(words - set(known)):
        return f"{wrong[0][:40]!r} is not one of {', '.join(known)}"
    return frozenset(kind(word) for word in words)
