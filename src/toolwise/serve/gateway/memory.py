"""What the gateway remembers: approved definitions, what was shown for which request, and every call.

One SQLite file.  Arguments of calls are kept by name and kind alone unless
the settings say otherwise; results are never kept.
"""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from toolwise.errors import GatewayError
from toolwise.records import Exposure, Json

DATABASE = "gateway.sqlite"
_PATIENCE = 5.0  # seconds
_MOST_ITEMS = 20
_DEEPEST = 8

_log = logging.getLogger(__name__)

_TABLES = """
CREATE TABLE IF NOT EXISTS approvals (
    id TEXT NOT NULL, content_hash TEXT NOT NULL, at TEXT NOT NULL, approved_by TEXT NOT NULL,
    PRIMARY KEY (id, content_hash)
) WITHOUT ROWID;
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
"""


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
    """Counts over everything remembered."""

    answers: int
    tokens_saved: int
    """Definition tokens of reachable tools that answers did not show."""
    calls: Mapping[str, int]
    """By outcome."""


def _opened(path: Path) -> sqlite3.Connection:
    """A connection to the file, tables made.  Switching to WAL waits for no lock, so it is tried again."""
    ends = time.monotonic() + _PATIENCE
    while True:
        connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.executescript(_TABLES)
        except sqlite3.OperationalError as error:
            connection.close()
            if "locked" not in str(error) or time.monotonic() > ends:
                raise
            time.sleep(0.05)
        else:
            return connection


class Memory:
    """The file, opened for reading and writing.  Safe to share between threads."""

    def __init__(self, folder: Path, *, keep_arguments: bool = False, make: bool = True) -> None:
        """Open the file in ``folder``, made if need be and ``make`` says so.

        Raises GatewayError where it cannot be used, or is not there.
        """
        self._keep_arguments = keep_arguments
        self._lock = threading.Lock()
        path = folder / DATABASE
        if not make and not path.is_file():
            raise GatewayError(
                f"{folder} holds no log of a gateway. Give the folder that `toolwise gateway` was given "
                "with --state.",
                path=path,
            )
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # requests are private
            self._connection = _opened(path)
        except (sqlite3.Error, OSError) as error:
            raise GatewayError(
                f"{path} cannot be used: {error}. Choose another folder with --state.", path=path
            ) from error

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction: other processes see all of it or nothing."""
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield
                self._connection.execute("COMMIT")
            except BaseException as error:
                with suppress(sqlite3.Error):
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                if isinstance(error, sqlite3.OperationalError):
                    raise GatewayError(f"the gateway's file cannot be written: {error}.") from error
                raise

    def stamp(self) -> tuple[int, str]:
        """Another value after every change of the approvals."""
        with self._lock:
            count, at = self._connection.execute(
                "SELECT count(*), coalesce(max(at), '') FROM approvals"
            ).fetchone()
        return count, at

    def approve_new(self, hashes: Mapping[str, str]) -> tuple[str, ...]:
        """Approve tools never seen before; returns those seen before with another definition, sorted.

        ``hashes``: content hash by id.
        """
        with self._writing():
            known = self._approved()
            self._insert([(id_, h) for id_, h in hashes.items() if id_ not in known], "first seen")
        return tuple(sorted(id_ for id_, h in hashes.items() if id_ in known and h not in known[id_]))

    def drifted(self, hashes: Mapping[str, str]) -> tuple[str, ...]:
        """The tools seen before with another definition, sorted; nothing is approved."""
        with self._lock:
            known = self._approved()
        return tuple(sorted(id_ for id_, h in hashes.items() if id_ in known and h not in known[id_]))

    def _approved(self) -> dict[str, set[str]]:
        known: dict[str, set[str]] = {}
        for id_, content_hash in self._connection.execute("SELECT id, content_hash FROM approvals"):
            known.setdefault(id_, set()).add(content_hash)
        return known

    def approve(self, ids: Iterable[str], hashes: Mapping[str, str], by: str) -> None:
        """Approve tools as they are now; only the new definition is approved from then on."""
        chosen = sorted(set(ids) & set(hashes))
        with self._writing():
            self._connection.executemany("DELETE FROM approvals WHERE id = ?", [(id_,) for id_ in chosen])
            self._insert([(id_, hashes[id_]) for id_ in chosen], by)

    def _insert(self, pairs: Sequence[tuple[str, str]], by: str) -> None:
        at = _now()
        self._connection.executemany(
            "INSERT OR REPLACE INTO approvals VALUES (?, ?, ?, ?)", [(*pair, at, by) for pair in pairs]
        )

    def exposed(self, caller: Caller, exposure: Exposure, catalogue_tokens: int, milliseconds: float) -> int:
        """Remember an answer; returns its number."""
        shown = [[tool.id, tool.score, tool.level] for tool in exposure.tools]
        kept = [[withheld.id, withheld.rule] for withheld in exposure.withheld]
        return self._append(
            "INSERT INTO exposures VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(_now(), caller.who, caller.session, exposure.query, _dump(shown), _dump(kept)),
                *(exposure.reason, exposure.tokens, catalogue_tokens, milliseconds),
            ),
        )

    def called(self, caller: Caller, call: Call, exposure: int | None) -> None:
        """Remember a call, and the answer that had shown its tool (None: a pinned or listed tool)."""
        arguments = call.arguments if self._keep_arguments else redacted(call.arguments)
        self._append(
            "INSERT INTO calls VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(_now(), caller.who, caller.session, exposure, call.tool, call.level),
                *(_dump(arguments), call.outcome, call.detail[:500], call.milliseconds),
            ),
        )

    def _append(self, statement: str, values: Sequence[str | float | None]) -> int:
        """Write one row and return its number, 0 where the file takes none: a full disk stops no call."""
        try:
            with self._lock:
                return int(self._connection.execute(statement, values).lastrowid or 0)
        except (sqlite3.Error, UnicodeEncodeError) as error:
            _log.warning("the log takes no more: %s", error)
            return 0

    def forget(self, days: int) -> None:
        """Remove answers and calls older than ``days``."""
        limit = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="milliseconds")
        with self._writing():
            for table in ("exposures", "calls"):
                self._connection.execute(f"DELETE FROM {table} WHERE at < ?", (limit,))

    def totals(self) -> Totals:
        """Counts over everything remembered."""
        with self._lock:
            answers, saved = self._connection.execute(
                "SELECT count(*), coalesce(sum(catalogue_tokens - tokens), 0) FROM exposures"
            ).fetchone()
            calls = dict(self._connection.execute("SELECT outcome, count(*) FROM calls GROUP BY outcome"))
        return Totals(answers, saved, calls)

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


def redacted(value: Json, depth: int = 0) -> Json:
    """Arguments without their values: names of properties stay, every value becomes its kind."""
    if depth >= _DEEPEST and isinstance(value, Mapping | list):
        return "(...)"
    if isinstance(value, Mapping):
        return {str(key): redacted(value[key], depth + 1) for key in list(value)[:_MOST_ITEMS]}
    if isinstance(value, list):
        return [redacted(item, depth + 1) for item in value[:_MOST_ITEMS]]
    if value is None or isinstance(value, bool):
        return value
    return f"({type(value).__name__})"


def _dump(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
