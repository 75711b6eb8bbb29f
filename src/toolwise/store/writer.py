"""Write an index: one transaction and one new generation of arrays, or nothing at all."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import numpy as np

from toolwise.errors import BrokenIndex, IndexBusy, IndexVersionError
from toolwise.protocols import Floats
from toolwise.records import AuditedTool, Finding, Verdict
from toolwise.store.index import generation_folder, load_vectors
from toolwise.store.schema import (
    DATABASE,
    FORMAT_VERSION,
    INSERT,
    REVISE,
    TABLES,
    from_row,
    to_row,
    to_verdict,
    verdict_values,
)

_WAIT_SECONDS = 2.0
_MARK = ".toolwise"
_GENERATION = re.compile(r"generation-\d{6,}")
ARRAYS = ("bm25",)
"""What a generation holds beside its vectors."""


class IndexWriter:
    """The one writer of an index folder: a context manager, and leaving it by an error changes nothing."""

    def __init__(self, folder: str | Path, *, rebuild: bool = False) -> None:
        """Take the write lock of ``folder``, made if need be; ``rebuild`` forgets what it holds.

        Raises IndexBusy where another writer is at work, IndexVersionError or BrokenIndex.
        """
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BrokenIndex(
                f"{self.folder} cannot be made a folder: {error.strerror}. Choose another place.",
                folder=self.folder,
            ) from error
        self._connection = self._connect(rebuild)
        self.meta: dict[str, str] = dict(self._connection.execute("SELECT key, value FROM meta").fetchall())
        found = self.meta.get("format", str(FORMAT_VERSION))
        if found != str(FORMAT_VERSION):
            self._connection.close()
            raise IndexVersionError(
                f"{self.folder} was written in format {found}; this toolwise writes format {FORMAT_VERSION}. "
                "Use --rebuild to replace it.",
                folder=self.folder,
                found=found,
                expected=FORMAT_VERSION,
            )

    def _connect(self, rebuild: bool) -> sqlite3.Connection:
        try:
            connection = sqlite3.connect(self.folder / DATABASE, timeout=_WAIT_SECONDS, isolation_level=None)
        except sqlite3.OperationalError as error:
            raise BrokenIndex(
                f"{self.folder / DATABASE} cannot be opened: {error}. Choose another folder.",
                folder=self.folder,
            ) from error
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("BEGIN IMMEDIATE")
            if rebuild:
                connection.execute("DROP TABLE IF EXISTS tools")
                if _has_meta(connection):
                    connection.execute("DELETE FROM meta WHERE key <> 'generation'")
            for statement in TABLES.split(";"):
                connection.execute(statement)
            connection.execute("SELECT id, content_hash, verdict FROM tools LIMIT 1")  # is the table ours?
        except sqlite3.DatabaseError as error:
            connection.close()
            if "locked" in str(error):
                raise IndexBusy(
                    f"another process is writing {self.folder}. Wait until it is done, then try again.",
                    folder=self.folder,
                ) from error
            raise BrokenIndex(
                f"{self.folder / DATABASE} cannot be written: {error}. "
                "Choose another folder, or delete that file and index again.",
                folder=self.folder,
            ) from error
        return connection

    def __enter__(self) -> IndexWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        self._connection.close()

    @property
    def generation(self) -> int:
        """The generation readers see now; 0 where there is none."""
        return int(self.meta.get("generation", 0))

    def hashes(self) -> dict[str, str]:
        """Content hash by id of every tool the index holds, in order of id."""
        rows = self._connection.execute("SELECT id, content_hash FROM tools ORDER BY id").fetchall()
        return dict(rows)

    def scan(self) -> list[AuditedTool]:
        """Every tool the index holds, in order of id."""
        return [from_row(row) for row in self._connection.execute("SELECT * FROM tools ORDER BY id")]

    def findings(self, codes: Collection[str]) -> dict[str, tuple[Finding, ...]]:
        """The findings with one of ``codes`` by id, of the tools that have any."""
        some = " OR ".join(["instr(verdict, ?)"] * len(codes)) or "0"
        query = f"SELECT id, level, permissions, capabilities, verdict FROM tools WHERE {some} ORDER BY id"
        rows = self._connection.execute(query, tuple(codes)).fetchall()
        found = {
            id_: tuple(f for f in to_verdict(*verdict).findings if f.code in codes) for id_, *verdict in rows
        }
        return {id_: findings for id_, findings in found.items() if findings}

    def is_intact(self) -> bool:
        """Whether the arrays of the generation readers see now are there and readable."""
        folder = self.arrays
        try:
            return len(self.vectors()) == len(self.hashes()) and all(
                (folder / name).is_dir() for name in ARRAYS
            )
        except BrokenIndex:
            return False

    def server_tools(self, servers: Iterable[str]) -> list[AuditedTool]:
        """The tools the index holds of some servers."""
        names = tuple(servers)
        marks = ", ".join("?" * len(names))
        rows = self._connection.execute(f"SELECT * FROM tools WHERE server IN ({marks}) ORDER BY id", names)
        return [from_row(row) for row in rows.fetchall()]

    @property
    def arrays(self) -> Path:
        """Where the arrays of the generation lie that readers see now."""
        return generation_folder(self.folder, self.generation)

    def vectors(self) -> Floats:
        """The vectors (N, D) of the generation readers see now, rows in order of id.  Raises BrokenIndex."""
        try:
            return load_vectors(self.folder, self.generation)
        except FileNotFoundError as error:
            raise BrokenIndex(
                f"{error.filename} is missing. Run `toolwise index` with --rebuild.", folder=self.folder
            ) from error

    def commit(
        self,
        *,
        changed: Iterable[AuditedTool],
        removed: Iterable[str],
        vectors: Floats,
        write_arrays: Callable[[Path], None],
        meta: Mapping[str, str],
    ) -> int:
        """Make the new state visible and return its generation.

        ``vectors`` (N, D) are those of all tools after the change, in order of
        id; ``write_arrays`` puts what else belongs to the generation into a folder.
        A writer commits once: afterwards the folder is free for others.
        """
        if not self._connection.in_transaction:
            raise RuntimeError("this writer has committed already; make another one.")
        generation = self.generation + 1
        while _is_foreign(generation_folder(self.folder, generation)):
            generation += 1
        folder = generation_folder(self.folder, generation)
        shutil.rmtree(folder, ignore_errors=True)  # left by a writer that was killed
        folder.mkdir()
        (folder / _MARK).touch()
        np.save(folder / "vectors.npy", np.ascontiguousarray(vectors, dtype=np.float32), allow_pickle=False)
        write_arrays(folder)
        _to_disk(folder)
        self._connection.executemany("DELETE FROM tools WHERE id = ?", [(id_,) for id_ in removed])
        self._connection.executemany(INSERT, map(to_row, changed))
        (tools,) = self._connection.execute("SELECT count(*) FROM tools").fetchone()
        if len(vectors) != tools:
            raise ValueError(f"{tools} tools after the change but {len(vectors)} vectors; expected one each.")
        made = self.meta.get("made") or uuid.uuid4().hex  # tells this database from one that takes its place
        values = {**meta, "format": str(FORMAT_VERSION), "generation": str(generation), "made": made}
        self._connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())
        self._connection.execute("COMMIT")
        self._sweep(generation)
        return generation

    def revise(self, verdicts: Mapping[str, Verdict]) -> int:
        """Give tools (by id) new verdicts and return the revision; vectors and lexical index stay.

        Open readers go on seeing the old verdicts and find themselves no longer
        current.  Like :meth:`commit`, once per writer; ids the index lacks are passed over.
        """
        if not self._connection.in_transaction:
            raise RuntimeError("this writer has committed already; make another one.")
        revision = int(self.meta.get("revision", 0))
        if verdicts:
            revision += 1
            rows = ((*verdict_values(verdict), id_) for id_, verdict in verdicts.items())
            self._connection.executemany(REVISE, rows)
            self._connection.execute("INSERT OR REPLACE INTO meta VALUES ('revision', ?)", (str(revision),))
        self._connection.execute("COMMIT")
        return revision

    def _sweep(self, generation: int) -> None:
        """Remove our old arrays; those of the generation before stay for readers that are just opening it."""
        kept = {generation_folder(self.folder, g) for g in (generation, self.generation)}
        for folder in self.folder.glob("generation-*"):
            if folder not in kept and _GENERATION.fullmatch(folder.name) and not _is_foreign(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _to_disk(folder: Path) -> None:
    """Return once what lies in ``folder`` is on the disk: a commit must not outlive its arrays."""
    paths = [*folder.rglob("*"), folder, folder.parent]
    for path in paths:
        if path.is_file():
            with path.open("r+b") as file:
                os.fsync(file.fileno())
    for path in paths if hasattr(os, "O_DIRECTORY") else ():  # elsewhere folders cannot be opened
        if path.is_dir():
            descriptor = os.open(path, os.O_RDONLY)
            try:
                with suppress(OSError):  # network and user-space file systems may know no such thing
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _is_foreign(folder: Path) -> bool:
    """Whether something is there that no writer of ours made."""
    return folder.exists() and not (folder / _MARK).is_file()


def _has_meta(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone() is not None
