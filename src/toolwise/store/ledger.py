"""Who judged which tool when, on which definition: the one part of an index that cannot be made again.

    DIR/audit.sqlite    judgements, retractions, and the definitions that were judged, by content hash

It lies beside the index and not in it, so that making the index again keeps
what people decided.  Rows are only ever added: a newer judgement outweighs an
older one, and one that was taken back is named by a retraction.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from toolwise.errors import BrokenIndex, IndexBusy, IndexVersionError
from toolwise.hygiene import sound
from toolwise.records import PERSON, Judgement, Tool
from toolwise.store.index import connect_to_read
from toolwise.store.schema import batches, marks, to_verdict, verdict_values

LEDGER = "audit.sqlite"
LEDGER_VERSION = 1

_WAIT_SECONDS = 5.0
_TABLES = """
CREATE TABLE IF NOT EXISTS judgements (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    tool TEXT NOT NULL,
    annotator TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    at TEXT NOT NULL,
    who TEXT NOT NULL,
    reason TEXT NOT NULL,
    level INTEGER,
    permissions INTEGER NOT NULL,
    capabilities INTEGER NOT NULL,
    verdict TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS judgements_of_tools ON judgements (tool);
CREATE TABLE IF NOT EXISTS retractions (
    number INTEGER PRIMARY KEY REFERENCES judgements (number),
    at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS definitions (
    content_hash TEXT PRIMARY KEY,
    definition TEXT NOT NULL
) WITHOUT ROWID;
"""
_COLUMNS = "tool, annotator, content_hash, at, who, reason, level, permissions, capabilities, verdict"
_INSERT = f"INSERT INTO judgements ({_COLUMNS}) VALUES ({', '.join('?' * 10)})"
_STANDING = "number NOT IN (SELECT number FROM retractions)"
_FIELDS = ("id", "name", "server", "title", "description", "parameters", "returns", "annotations", "source")


def now() -> str:
    """The moment in UTC, as judgements write it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Ledger:
    """The judgements on the tools of one index.

    A ledger whose file does not exist yet is empty; the first judgement makes
    the file.  Nothing is held open, so processes and threads may share a
    folder.  Every method raises IndexBusy where another process writes for
    long, IndexVersionError for the file of another toolwise, and BrokenIndex
    for one that cannot be read or written.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.path = self.folder / LEDGER

    def exists(self) -> bool:
        """Whether anything was ever judged here."""
        with self._errors("looked at"):
            return self.path.exists()

    def add(self, judgements: Iterable[Judgement], tools: Iterable[Tool] = ()) -> None:
        """Write judgements down, all or none; ``tools`` are the definitions that they were made on."""
        rows = [_row(judgement) for judgement in judgements]
        known = [(tool.content_hash, _definition(tool)) for tool in tools]
        with self._writing() as connection:
            connection.executemany(_INSERT, rows)
            connection.executemany("INSERT OR IGNORE INTO definitions VALUES (?, ?)", known)

    def undo(
        self, *, annotator: str = PERSON, who: str | None = None, tool: str | None = None, at: str = ""
    ) -> Judgement | None:
        """Take back the last judgement that stands (of ``who``, on ``tool``) and return it; None without one.

        The one before it on the same tool counts again.
        """
        if not self.exists():
            return None
        limits = {"annotator": annotator, "who": who, "tool": tool}
        given = {column: value for column, value in limits.items() if value is not None}
        where = " AND ".join(f"{column} = ?" for column in given)
        with self._writing() as connection:
            row = connection.execute(
                f"SELECT number, {_COLUMNS} FROM judgements WHERE {_STANDING} AND {where} "
                "ORDER BY number DESC LIMIT 1",
                tuple(given.values()),
            ).fetchone()
            if row is None:
                return None
            connection.execute("INSERT INTO retractions VALUES (?, ?)", (row[0], at or now()))
            return _judgement(row[1:])

    def of(self, tools: Sequence[str] | None = None) -> dict[str, list[Judgement]]:
        """The judgements that stand by id of the tool, in the order they were made; of all tools by default.

        Tools that nobody judged are not in it.
        """
        found: dict[str, list[Judgement]] = {}
        for judgement in self._judgements(_STANDING, tools):
            found.setdefault(judgement.tool, []).append(judgement)
        return dict(sorted(found.items()))

    def judged(self, *, retracted: bool = False) -> frozenset[str]:
        """Ids of the tools that have a judgement which stands, or with ``retracted`` ever had one.

        Quicker than reading them.
        """
        with self._reading() as connection:
            if connection is None:
                return frozenset()
            rows = connection.execute(
                f"SELECT DISTINCT tool FROM judgements WHERE {'1' if retracted else _STANDING}"
            )
            return frozenset(id_ for (id_,) in rows)

    def latest(self, tools: Sequence[str] | None = None) -> dict[str, dict[str, Judgement]]:
        """The last judgement that stands by tool and annotator."""
        return {id_: {j.annotator: j for j in judgements} for id_, judgements in self.of(tools).items()}

    def history(self, tool: str, *, retracted: bool = False) -> list[Judgement]:
        """The judgements on a tool in the order they were made; with ``retracted`` those taken back too."""
        return list(self._judgements("1" if retracted else _STANDING, [tool]))

    def definitions(self, hashes: Sequence[str]) -> dict[str, Tool]:
        """Tools as they were when they were judged, by hash, without their searchable text; known ones."""
        found: dict[str, Tool] = {}
        with self._reading() as connection:
            if connection is None:
                return found
            for batch in batches(hashes):
                query = f"SELECT * FROM definitions WHERE content_hash IN ({marks(batch)})"
                for content_hash, text in connection.execute(query, batch):
                    fields = dict(zip(_FIELDS, json.loads(text), strict=True))
                    found[content_hash] = Tool(**fields, content_hash=content_hash)
        return found

    def _judgements(self, where: str, tools: Sequence[str] | None) -> Iterator[Judgement]:
        query = f"SELECT {_COLUMNS} FROM judgements WHERE {where}"
        with self._reading() as connection:
            if connection is None:
                return
            if tools is None:
                yield from map(_judgement, connection.execute(f"{query} ORDER BY number"))
                return
            for batch in batches(tools):
                rows = connection.execute(f"{query} AND tool IN ({marks(batch)}) ORDER BY number", batch)
                yield from map(_judgement, rows)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """A connection whose reads all see one state; None where there is no ledger."""
        if not self.exists():
            yield None
            return
        with self._errors("read"), closing(connect_to_read(self.path)) as connection:
            connection.execute("BEGIN")
            if _is_blank(connection):  # its first writer was stopped
                yield None
                return
            self._check(connection)
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction: kept as a whole, or not at all where an error leaves it."""
        with (
            self._errors("written"),
            closing(sqlite3.connect(self.path, timeout=_WAIT_SECONDS, isolation_level=None)) as connection,
        ):
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("BEGIN IMMEDIATE")
            if _is_blank(connection):
                for statement in filter(str.strip, _TABLES.split(";")):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {LEDGER_VERSION}")
            self._check(connection)
            yield connection
            connection.execute("COMMIT")

    def _check(self, connection: sqlite3.Connection) -> None:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > LEDGER_VERSION:
            raise IndexVersionError(
                f"{self.path} was written in format {version}; this toolwise knows format {LEDGER_VERSION}. "
                "Use the toolwise that wrote it, or a newer one.",
                folder=self.folder,
                found=version,
                expected=LEDGER_VERSION,
            )
        connection.execute(f"SELECT {_COLUMNS} FROM judgements LIMIT 1")  # is the table ours?

    @contextmanager
    def _errors(self, done: str) -> Iterator[None]:
        """Errors of the database, its file and its rows as errors of the house."""
        try:
            yield
        except (sqlite3.DatabaseError, OSError, ValueError, TypeError) as error:
            if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                raise IndexBusy(
                    f"another process is writing {self.path}. Wait until it is done, then try again.",
                    folder=self.folder,
                ) from error
            raise BrokenIndex(
                f"{self.path} cannot be {done}: {error}. It holds what people judged: ask for access, put a "
                "copy of it back, or move it away to begin anew.",
                folder=self.folder,
            ) from error


def _is_blank(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None


def _row(judgement: Judgement) -> tuple[Any, ...]:
    *flags, verdict = verdict_values(judgement.verdict)
    return (
        judgement.tool,
        judgement.annotator,
        judgement.content_hash,
        judgement.at,
        sound(judgement.who),
        sound(judgement.reason),
        *flags,
        sound(str(verdict)),
    )


def _judgement(row: Sequence[Any]) -> Judgement:
    """The inverse of :func:`_row`."""
    tool, annotator, content_hash, at, who, reason, *verdict = row
    return Judgement(tool, annotator, content_hash, to_verdict(*verdict), at, who, reason)


def _definition(tool: Tool) -> str:
    return json.dumps([getattr(tool, field) for field in _FIELDS], ensure_ascii=False, separators=(",", ":"))
