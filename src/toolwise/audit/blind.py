"""A sheet on which a person judges tools without seeing what anybody else said.

The check of *Risk-aware reranking*: a uniform random sample, in random order,
with what the annotators get to read and nothing that tells what they answered.
A row is known again by a key that is a hash of the tool's id and definition.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import StringIO
from random import Random

from toolwise.audit.sheet import LEVEL, guarded, unguarded
from toolwise.errors import InvalidRequest
from toolwise.hygiene import escaped
from toolwise.records import Json, Level, Tool

COLUMNS = ("key", "level", "reason", "server", "name", "description", "parameters", "hints")
_TEXT = 10_000
"""Characters of a description or schema on the sheet."""


@dataclass(frozen=True, slots=True)
class Filled:
    """What a sheet says once it is filled in."""

    levels: Mapping[str, Level]
    """By id of the tool."""
    empty: int
    """Rows of known tools without a level."""
    unknown: int
    """Rows of tools that the index lacks or that have another definition now."""
    faults: tuple[tuple[int, str], ...]
    """Number and fault of rows that cannot be read, the header being row 1."""


def key_of(tool: Tool) -> str:
    """A name for a tool as it is now that says nothing about it."""
    return sha256(f"{tool.content_hash}\n{tool.id}".encode("utf-8", "backslashreplace")).hexdigest()[:12]


def sample(tools: Sequence[Tool], count: int, generator: Random) -> list[Tool]:
    """``count`` tools, or all where there are fewer, each set and order equally likely."""
    ordered = sorted(tools, key=lambda tool: tool.id)
    return generator.sample(ordered, min(count, len(ordered)))


def to_sheet(tools: Iterable[Tool]) -> str:
    """The sheet as CSV; ``level`` and ``reason`` are left for the person."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for tool in tools:
        shown = (tool.server, tool.name, tool.description, _json(tool.parameters), _json(tool.annotations))
        cells = (key_of(tool), "", "", *(escaped(text, _TEXT, lines=True) for text in shown))
        writer.writerow(map(guarded, cells))
    return out.getvalue()


def from_sheet(text: str, tools: Iterable[Tool], name: str = "the sheet") -> Filled:
    """Read a sheet that a person has filled in; of two levels for one tool the row is a fault.

    Commas, semicolons and tabs separate.  Raises InvalidRequest where it is no
    such sheet.
    """
    by_key = {key_of(tool): tool.id for tool in tools}
    levels: dict[str, Level] = {}
    empty = unknown = 0
    faults: list[tuple[int, str]] = []
    for number, (key, level) in enumerate(_rows(text, name), start=2):
        found = LEVEL.fullmatch(level)
        if key not in by_key:
            unknown += 1
        elif not level:
            empty += 1
        elif found is None:
            faults.append((number, f"level {level[:20]!r}, expected 1 to 5"))
        elif levels.setdefault(by_key[key], Level(int(found[1]))) != int(found[1]):
            faults.append((number, "an earlier row gives this tool another level"))
    return Filled(levels, empty, unknown, tuple(faults))


def _rows(text: str, name: str) -> list[tuple[str, str]]:
    """Key and level of each row that is not blank."""
    header = text.partition("\n")[0]
    reader = csv.reader(StringIO(text, newline=""), delimiter=max(",;\t", key=header.count), strict=True)
    try:
        columns = [cell.strip().lower() for cell in next(reader, [])]
        if missing := [column for column in ("key", "level") if column not in columns]:
            raise InvalidRequest(
                f"{name}: the header lacks {' and '.join(missing)}. Expected a sheet made by "
                "`toolwise audit sample`, saved as CSV.",
                source=name,
            )
        at = columns.index("key"), columns.index("level")
        rows = [cells + [""] * len(columns) for cells in reader if any(cell.strip() for cell in cells)]
    except csv.Error as error:
        raise InvalidRequest(f"{name} is not CSV: {error}. Save it as CSV again.", source=name) from error
    return [(unguarded(cells[at[0]]).strip(), unguarded(cells[at[1]]).strip()) for cells in rows]


def _json(value: Json) -> str:
    if value is None:
        return ""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError, TypeError):
        return "(not shown)"
