"""What the gateway remembers: approved definitions, what was shown for which request, and every call.

One SQLite file.  Arguments of calls are kept by name and kind alone unless
the settings say otherwise; results are never kept.  Old answers and calls are
removed while it is written; what they came to stays counted.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from toolwise.errors import GatewayError
from toolwise.records import Exposure, Json
from toolwise.serve.gateway.approvals import Approvals
from toolwise.serve.gateway.redaction import redacted
from toolwise.serve.gateway.state_file import DATABASE

__all__ = ["DATABASE", "Call", "Caller", "Memory", "Totals"]

_HOUR = timedelta(hours=1)
"""Between two removals of what is old."""

_log = logging.getLogger(__name__)

_TABLES = """
CREATE TABLE IF NOT EXISTS exposures (
    number INTEGER PRIMARY KEY, at TEXT NOT NULL, who TEXT NOT NULL, session TEXT NOT NULL,
    request TEXT NOT NULL, exposed TEXT NOT NULL, withheld TEXT NOT NULL, reason TEXT NOT NULL,
    tokens INTEGER NOT NULL, catalogue_tokens INTEGER NOT NULL, milliseconds REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS calls (
    number INTEGER PRIMARY KEY, at TEXT NOT NULL, who TEXT NOT NULL, session TEXT NOT NULL,
    exposure INTEGER, tool TEXT NOT NULL, level INTEGER, arguments TEXT NOT NULL,
    outcome TEXT NOT NULL, detail TEXT NOT NULL, milliseconds REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS calls_by_exposure ON calls (exposure);
CREATE INDEX IF NOT EXISTS exposures_by_time ON exposures (at);
CREATE INDEX IF NOT EXISTS calls_by_time ON calls (at);
CREATE TABLE IF NOT EXISTS forgotten (
    kind TEXT NOT NULL, key TEXT NOT NULL, amount INTEGER NOT NULL, PRIMARY KEY (kind, key)
) WITHOUT ROWID;
"""
_COUNTS = """
SELECT 'answer', CASE WHEN exposed != '[]' THEN 'answered'
                      WHEN withheld != '[]' THEN 'refused' ELSE 'nothing_fits' END, count(*)
FROM exposures WHERE at < :limit GROUP BY 2
UNION ALL SELECT 'tokens', 'saved', coalesce(sum(catalogue_tokens - tokens), 0)
FROM exposures WHERE at < :limit AND exposed != '[]'
UNION ALL SELECT 'call', outcome, count(*) FROM calls WHERE at < :limit GROUP BY outcome
"""
_EVER = "9999"
"""After every time."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who speaks to the gateway, and in which session."""

    who: str
    """The name of the token; ``local`` where none is asked for."""
    session: str


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool, as it is remembered."""

    tool: str
    level: int | None
    arguments: Mapping[str, Json]
    outcome: str
    """``ok``, ``error`` (the tool says so), ``refused``, ``invalid``, ``unavailable`` or ``cancelled``."""
    detail: str
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts since the file was made, what is forgotten included."""

    answers: Mapping[str, int] = field(default_factory=dict)
    """``answered``: with tools; ``refused``: all that fits is withheld by a rule; ``nothing_fits``."""
    tokens_saved: int = 0
    """Definition tokens of the tools within reach, less those shown, over requests answered with tools."""
    calls: Mapping[str, int] = field(default_factory=dict)
    """By outcome."""


class Memory(Approvals):
    """Answers and calls beside the approvals."""

    tables = Approvals.tables + _TABLES

    def __init__(
        self,
        folder: Path,
        *,
        keep_arguments: bool = False,
        make: bool = True,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Open the file in ``folder``, made if need be and ``make`` says so.  ``clock`` gives UTC.

        Raises GatewayError where it cannot be used, or is not there.
        """
        super().__init__(folder, make=make, clock=clock)
        self._keep_arguments = keep_arguments
        self._days: int | None = None
        self._forgot = clock()

    def exposed(self, caller: Caller, exposure: Exposure, catalogue_tokens: int, milliseconds: float) -> int:
        """Remember an answer; returns its number."""
        shown = [[tool.id, tool.score, tool.level] for tool in exposure.tools]
        kept = [[withheld.id, withheld.rule] for withheld in exposure.withheld]
        return self._append(
            "INSERT INTO exposures VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(self._now(), caller.who, caller.session, exposure.query, _dump(shown), _dump(kept)),
                *(exposure.reason, exposure.tokens, catalogue_tokens, milliseconds),
            ),
        )

    def called(self, caller: Caller, call: Call, exposure: int | None) -> None:
        """Remember a call, and the answer that had shown its tool (None: a pinned or listed tool)."""
        arguments = call.arguments if self._keep_arguments else redacted(call.arguments)
        self._append(
            "INSERT INTO calls VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(self._now(), caller.who, caller.session, exposure, call.tool, call.level),
                *(_dump(arguments), call.outcome, call.detail[:500], call.milliseconds),
            ),
        )

    def _append(self, statement: str, values: Sequence[str | float | None]) -> int:
        """Write one row and return its number, 0 where the file takes none: a full disk stops no call."""
        try:
            with self._lock:
                number = int(self._connection.execute(statement, values).lastrowid or 0)
        except (sqlite3.Error, UnicodeEncodeError) as error:
            _log.warning("the log takes no more: %s", error)
            return 0
        if self._days is not None and abs(self._clock() - self._forgot) >= _HOUR:
            try:
                self.forget(self._days)
            except (sqlite3.Error, GatewayError) as error:
                _log.warning("what is old is not forgotten: %s", error)
        return number

    def forget(self, days: int) -> None:
        """Remove answers and calls older than ``days``, now and from now on: at most hourly, on writing."""
        self._days, self._forgot = days, self._clock()
        limit = (self._forgot - timedelta(days=days)).isoformat(timespec="milliseconds")
        with self._writing():
            self._connection.executemany(
                "INSERT INTO forgotten VALUES (?, ?, ?) "
                "ON CONFLICT (kind, key) DO UPDATE SET amount = amount + excluded.amount",
                self._connection.execute(_COUNTS, {"limit": limit}).fetchall(),
            )
            for table in ("exposures", "calls"):
                self._connection.execute(f"DELETE FROM {table} WHERE at < ?", (limit,))

    def totals(self) -> Totals:
        """Counts since the file was made: they never fall."""
        found: dict[str, dict[str, int]] = {"answer": {}, "tokens": {}, "call": {}}
        with self._lock:
            rows = self._connection.execute(
                f"SELECT * FROM forgotten UNION ALL {_COUNTS}", {"limit": _EVER}
            ).fetchall()
        for kind, key, amount in rows:
            found[kind][key] = found[kind].get(key, 0) + amount
        return Totals(found["answer"], found["tokens"].get("saved", 0), found["call"])

    def rows(self, table: str, after: int = 0) -> Iterator[dict[str, Json]]:
        """The rows of ``exposures`` or ``calls`` with a number above ``after``, oldest first."""
        _check_table(table)
        yield from self._read(f"SELECT * FROM {table} WHERE number > ? ORDER BY number", after)

    def newest(self, table: str, most: int) -> list[dict[str, Json]]:
        """The last ``most`` rows of ``exposures`` or ``calls``, oldest first."""
        _check_table(table)
        found = list(self._read(f"SELECT * FROM {table} ORDER BY number DESC LIMIT ?", most))
        return found[::-1]

    def _read(self, statement: str, value: int) -> Iterator[dict[str, Json]]:
        with self._lock:
            cursor = self._connection.execute(statement, (value,))
            names = [column[0] for column in cursor.description]
            found = cursor.fetchall()
        for row in found:
            record = dict(zip(names, row, strict=True))
            for key in ("exposed", "withheld", "arguments"):
                if key in record:
                    record[key] = json.loads(record[key])
            yield record


def _check_table(table: str) -> None:
    if table not in ("exposures", "calls"):
        raise ValueError(f"there is no table {table!r}; expected exposures or calls.")


def _dump(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
