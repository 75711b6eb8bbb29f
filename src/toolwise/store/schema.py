"""The tables of an index, its format version, how records become rows, and lists within queries."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from toolwise.protocols import Floats, Ints
from toolwise.records import (
    AuditedTool,
    Capability,
    Evidence,
    Finding,
    Json,
    Level,
    Permission,
    Severity,
    Tool,
    ToolText,
    Verdict,
    from_bits,
    to_bits,
)

FORMAT_VERSION = 1
DATABASE = "index.sqlite"

TABLES = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tools (
    id TEXT PRIMARY KEY,
    content_hash TEXT NOT NULL,
    name TEXT NOT NULL,
    server TEXT NOT NULL,
    level INTEGER,
    permissions INTEGER NOT NULL,
    capabilities INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    definition TEXT NOT NULL,
    searchable TEXT NOT NULL,
    verdict TEXT NOT NULL
) WITHOUT ROWID;
"""


_AT_ONCE = 500


def batches(values: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """``values`` in parts that one query takes: SQLite has a limit."""
    for start in range(0, len(values), _AT_ONCE):
        yield tuple(values[start : start + _AT_ONCE])


def marks(values: Sequence[str]) -> str:
    """A question mark for each of ``values``, for the list of a query."""
    return ", ".join("?" * len(values))


def _dump(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def verdict_values(verdict: Verdict) -> tuple[int | None, int, int, str]:
    """A verdict as the columns ``level``, ``permissions``, ``capabilities`` and ``verdict``."""
    return (
        verdict.level,
        to_bits(verdict.permissions, Permission),
        _packed(verdict),
        _dump(
            [
                [[e.claim, e.source, e.because] for e in verdict.evidence],
                [[f.code, f.severity, f.field, f.text] for f in verdict.findings],
            ]
        ),
    )


_GUESSED = 1 << 7
"""Set among the bits of capabilities where hundredths follow, one byte for each of them."""


def _packed(verdict: Verdict) -> int:
    """The capabilities of a verdict as bits, and how likely each is where that is guessed."""
    bits = to_bits(verdict.capabilities, Capability)
    if not verdict.chances:
        return bits
    return bits | _GUESSED | sum(round(100 * one) << 8 * (i + 1) for i, one in enumerate(verdict.chances))


def _chances(packed: int) -> tuple[float, ...]:
    """The inverse of what :func:`_packed` does to chances."""
    if not packed & _GUESSED:
        return ()
    return tuple((packed >> 8 * (i + 1) & 0xFF) / 100 for i in range(len(Capability)))


def unpacked(packed: Ints) -> tuple[Ints, Floats]:
    """The column ``capabilities`` of N tools: capabilities as bits (N,), how likely each is (N, C)."""
    places = np.arange(len(Capability))
    guesses = (packed[:, None] >> 8 * (places + 1) & 0xFF) / 100
    said = packed[:, None] >> places & 1
    likely = np.where(packed[:, None] & _GUESSED, guesses, said).astype(np.float32)
    return packed & (1 << len(Capability)) - 1, likely


def to_verdict(level: int | None, permissions: int, capabilities: int, verdict: str) -> Verdict:
    """The inverse of :func:`verdict_values`.  Raises ValueError or TypeError for damaged values."""
    evidence, findings = json.loads(verdict)
    return Verdict(
        None if level is None else Level(level),
        from_bits(permissions, Permission),
        from_bits(capabilities, Capability),
        tuple(Evidence(*e) for e in evidence),
        tuple(Finding(code, Severity(severity), field, span) for code, severity, field, span in findings),
        _chances(capabilities),
    )


def to_row(audited: AuditedTool) -> tuple[Any, ...]:
    """One row of ``tools``."""
    tool = audited.tool
    level, permissions, capabilities, verdict = verdict_values(audited.verdict)
    definition = [tool.title, tool.description, tool.parameters, tool.returns, tool.annotations, tool.source]
    return (
        tool.id,
        tool.content_hash,
        tool.name,
        tool.server,
        level,
        permissions,
        capabilities,
        audited.tokens,
        _dump(definition),
        _dump([tool.text.description, list(tool.text.parameters), tool.text.details]),
        verdict,
    )


REVISE = "UPDATE tools SET level = ?, permissions = ?, capabilities = ?, verdict = ? WHERE id = ?"
INSERT = f"INSERT OR REPLACE INTO tools VALUES ({', '.join('?' * 11)})"


def from_row(row: sqlite3.Row | tuple[Any, ...]) -> AuditedTool:
    """The inverse of :func:`to_row`."""
    (
        id_,
        content_hash,
        name,
        server,
        level,
        permissions,
        capabilities,
        tokens,
        definition,
        searchable,
        verdict,
    ) = row
    title, description, parameters, returns, annotations, source = json.loads(definition)
    text, names, details = json.loads(searchable)
    tool = Tool(
        id=id_,
        name=name,
        server=server,
        title=title,
        description=description,
        parameters=parameters,
        returns=returns,
        annotations=annotations,
        source=source,
        text=ToolText(text, tuple(names), details),
        content_hash=content_hash,
    )
    return AuditedTool(tool, to_verdict(level, permissions, capabilities, verdict), tokens)
