"""Read an index: one SQLite file for tools, verdicts and settings, memory-mapped arrays beside it.

    DIR/index.sqlite          tools in order of id, meta: format version, generation, encoder
    DIR/generation-000007/    vectors.npy (N, D) float32 and the BM25 arrays of that generation

A writer makes a new generation folder, then switches to it in the transaction
that changes the tools, so a reader sees the old state or the new one, whole.
Verdicts may change within a generation: the revision in meta then goes up.
A reader keeps a read transaction open, so it goes on seeing the state it opened.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from toolwise.errors import BrokenIndex, IndexNotFound, IndexVersionError, UnknownTool
from toolwise.protocols import Floats, Ints
from toolwise.records import UNKNOWN_LEVEL, AuditedTool
from toolwise.store.schema import DATABASE, FORMAT_VERSION, batches, from_row, marks, unpacked
from toolwise.text import nearest

_ATTEMPTS = 5
_STATE = ("made", "generation", "revision")
"""``made`` is a random mark: a database that was deleted and indexed again counts its generations anew.
Indexes of older versions have none."""


def generation_folder(folder: Path, generation: int) -> Path:
    """Where the arrays of a generation lie."""
    return folder / f"generation-{generation:06d}"


class Index:
    """One generation of an index, open for reading.  Rows 0..N-1 stand in order of id."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self._connection = connection
        self._lock = threading.Lock()
        self._closed = False
        self.meta = _read_meta(folder, connection)
        rows = connection.execute(
            "SELECT id, level, permissions, tokens, name, capabilities FROM tools ORDER BY id"
        ).fetchall()
        self.ids: tuple[str, ...] = tuple(row[0] for row in rows)
        self.names: tuple[str, ...] = tuple(row[4] for row in rows)
        self.levels: Ints = np.array([UNKNOWN_LEVEL if r[1] is None else r[1] for r in rows], dtype=np.int64)
        self.permissions: Ints = np.array([row[2] for row in rows], dtype=np.int64)
        self.capabilities, self.chances = unpacked(np.array([row[5] for row in rows], dtype=np.int64))
        self.tokens: Ints = np.array([row[3] for row in rows], dtype=np.int64)
        self.generation = int(self.meta["generation"])
        self.arrays = generation_folder(folder, self.generation)
        self.vectors: Floats = load_vectors(folder, self.generation)
        if len(self.vectors) != len(self.ids):
            raise BrokenIndex(
                f"{folder}: {len(self.ids)} tools but {len(self.vectors)} vectors. "
                "Run `toolwise index` with --rebuild.",
                folder=folder,
            )

    @classmethod
    def open(cls, folder: str | Path) -> Index:
        """Open the newest generation.

        Raises IndexNotFound, IndexVersionError or BrokenIndex.
        """
        folder = Path(folder)
        database = folder / DATABASE
        if not _is_file(database):
            raise IndexNotFound(
                f"{folder} holds no index. Make one with `toolwise index SOURCE... --into {folder}`.",
                folder=folder,
            )
        for _ in range(_ATTEMPTS):
            try:
                return cls._open_once(folder, database)
            except FileNotFoundError as error:  # a writer removed this generation between our two looks
                missing = error.filename
        raise BrokenIndex(f"{missing} is missing. Run `toolwise index` with --rebuild.", folder=folder)

    @classmethod
    def _open_once(cls, folder: Path, database: Path) -> Index:
        connection: sqlite3.Connection | None = None
        try:
            connection = _snapshot(database)
            return cls(folder, connection)
        except BaseException as error:
            if connection is not None:
                connection.close()
            if isinstance(error, FileNotFoundError) or not isinstance(error, sqlite3.DatabaseError | OSError):
                raise
            raise BrokenIndex(
                f"{database} cannot be read: {error}. Delete that file and index again.", folder=folder
            ) from error

    def renew(self) -> None:
        """Read on over a new connection, where what it sees is the same state; else all stays as it is.

        A reader that opened while an older one was open keeps SQLite from beginning its log
        (``index.sqlite-wal``) anew, which then grows with every change.  So a process that stays and replaces
        its readers renews the new one once it has closed the old one.
        """
        with suppress(sqlite3.Error, OSError):
            fresh = _snapshot(self.folder / DATABASE)
            try:
                same = _is_state(fresh, self.meta)
                with self._lock:
                    if same and not self._closed:
                        self._connection, fresh = fresh, self._connection
            finally:
                fresh.close()

    def close(self) -> None:
        """Let go of the database."""
        with self._lock:
            self._closed = True
            self._connection.close()

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {id_: row for row, id_ in enumerate(self.ids)}

    def __contains__(self, id_: object) -> bool:
        return id_ in self._rows

    def row(self, id_: str) -> int:
        """The row of a tool.  Raises UnknownTool, naming the nearest ids."""
        if id_ not in self._rows:
            raise UnknownTool(
                f"the index has no tool {id_!r}{nearest(id_, self.ids)}. "
                f"`toolwise show {self.folder}` lists all ids.",
                id=id_,
            )
        return self._rows[id_]

    def tool(self, id_: str) -> AuditedTool:
        """One tool with its verdict.  Raises UnknownTool."""
        return self.tools([id_])[0]

    def tools(self, ids: Sequence[str]) -> list[AuditedTool]:
        """Tools by id, in the order asked for.  Raises UnknownTool."""
        by_id: dict[str, AuditedTool] = {}
        for batch in batches(ids):
            query = f"SELECT * FROM tools WHERE id IN ({marks(batch)})"
            with self._lock:
                found = self._connection.execute(query, batch).fetchall()
            by_id |= {row[0]: self._audited(row) for row in found}
        for id_ in ids:
            if id_ not in by_id:
                self.row(id_)
                raise BrokenIndex(
                    f"tool {id_!r} was removed meanwhile. Open the index again.", folder=self.folder
                )
        return [by_id[id_] for id_ in ids]

    def scan(self) -> Iterator[AuditedTool]:
        """Every tool in order of id."""
        with self._lock:
            rows = self._connection.execute("SELECT * FROM tools ORDER BY id").fetchall()
        return map(self._audited, rows)

    def _audited(self, row: tuple[Any, ...]) -> AuditedTool:
        try:
            return from_row(row)
        except (ValueError, TypeError) as error:
            raise BrokenIndex(
                f"{self.folder}: what is stored of tool {row[0]!r} cannot be read. "
                "Run `toolwise index` with --rebuild.",
                folder=self.folder,
                id=row[0],
            ) from error

    def is_current(self) -> bool:
        """Whether no newer generation, and no newer verdict, was written since this one was opened."""
        try:
            with closing(connect_to_read(self.folder / DATABASE)) as connection:  # our own sees the old state
                return _is_state(connection, self.meta)
        except sqlite3.DatabaseError:
            return False


def _is_state(connection: sqlite3.Connection, meta: Mapping[str, str]) -> bool:
    """Whether ``connection`` sees the generation and the verdicts of ``meta``."""
    found = dict(connection.execute("SELECT key, value FROM meta").fetchall())
    return "generation" in found and all(found.get(key) == meta.get(key) for key in _STATE)


def connect_to_read(database: Path) -> sqlite3.Connection:
    """A connection for reading, also where the folder may not be written, as WAL readers must."""
    settled = not database.with_name(f"{database.name}-wal").exists()
    mode = "immutable=1" if settled and not os.access(database.parent, os.W_OK) else "mode=rw"
    uri = f"{database.absolute().as_uri()}?{mode}"
    return sqlite3.connect(uri, uri=True, check_same_thread=False, isolation_level=None)


def _snapshot(database: Path) -> sqlite3.Connection:
    """A connection that goes on seeing one state, from its first query on: its transaction is never ended.

    What is in SQLite's log goes into the database first, as far as other readers let it.
    """
    connection = connect_to_read(database)
    try:
        with suppress(sqlite3.OperationalError):  # we may not write
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        connection.execute("BEGIN")
    except BaseException:
        connection.close()
        raise
    return connection


def _is_file(database: Path) -> bool:
    try:
        return database.is_file()
    except OSError as error:
        raise BrokenIndex(
            f"{database} cannot be looked at: {error.strerror}. Ask for access to its folder.",
            folder=database.parent,
        ) from error


def load_vectors(folder: Path, generation: int) -> Floats:
    """The vectors (N, D) of a generation, memory-mapped.

    Raises FileNotFoundError, or BrokenIndex for a damaged file.
    """
    path = generation_folder(folder, generation) / "vectors.npy"
    try:
        vectors: Floats = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:  # whose own words advise to trust the file
        raise BrokenIndex(
            f"{path} cannot be read: it holds no array of numbers. Run `toolwise index` with --rebuild.",
            folder=folder,
        ) from error
    if vectors.ndim != 2 or vectors.dtype != np.float32:
        raise BrokenIndex(
            f"{path} holds {vectors.dtype} of shape {vectors.shape}; expected float32 (N, D). "
            "Run `toolwise index` with --rebuild.",
            folder=folder,
        )
    return vectors.view(np.ndarray)  # reading rows of a memmap costs more, whatever they are


def _read_meta(folder: Path, connection: sqlite3.Connection) -> dict[str, str]:
    tables = connection.execute("SELECT name FROM sqlite_master").fetchall()
    meta = dict(connection.execute("SELECT key, value FROM meta").fetchall()) if ("meta",) in tables else {}
    if "format" not in meta:
        raise IndexNotFound(f"{folder} holds no finished index. Run `toolwise index` again.", folder=folder)
    if not (meta["format"].isdecimal() and meta.get("generation", "").isdecimal()):
        raise BrokenIndex(
            f"{folder}: format {meta['format']!r} and generation {meta.get('generation')!r}; "
            f"expected two numbers. Delete {DATABASE} in it and index again.",
            folder=folder,
        )
    if int(meta["format"]) != FORMAT_VERSION:
        raise IndexVersionError(
            f"{folder} was written in format {meta['format']}; this toolwise reads format {FORMAT_VERSION}. "
            "Run `toolwise index` with --rebuild, or use the toolwise that wrote it.",
            folder=folder,
            found=int(meta["format"]),
            expected=FORMAT_VERSION,
        )
    return meta
