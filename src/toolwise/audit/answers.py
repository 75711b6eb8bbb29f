"""Answers of a language model, kept on disk so that the same question is never paid for twice."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from toolwise.errors import AnnotatorError

_BATCH = 500


class Answers:
    """A map from question to answer, both texts; in ``path`` or, without one, in memory.

    Each answer is on disk as soon as it is put.  Raises AnnotatorError where the file cannot be used.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._memory: dict[str, str] = {}

    def get(self, keys: Sequence[str]) -> dict[str, str]:
        """The answers that are there."""
        if self._path is None:
            return {key: self._memory[key] for key in keys if key in self._memory}
        found: dict[str, str] = {}
        with self._open() as connection:
            for start in range(0, len(keys), _BATCH):
                batch = tuple(keys[start : start + _BATCH])
                marks = ", ".join("?" * len(batch))
                found |= dict(
                    connection.execute(f"SELECT key, answer FROM answers WHERE key IN ({marks})", batch)
                )
        return found

    def put(self, answers: Mapping[str, str]) -> None:
        """Keep ``answers``."""
        if self._path is None:
            self._memory |= answers
            return
        with self._open() as connection, connection:
            connection.executemany("INSERT OR REPLACE INTO answers VALUES (?, ?)", answers.items())

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self._path or "", timeout=30)) as connection:
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, answer TEXT NOT NULL)"
                )
                yield connection
        except sqlite3.Error as error:
            raise AnnotatorError(
                f"the kept answers in {self._path} cannot be used: {error}. Delete the file, or ask for "
                "access to its folder.",
                path=self._path,
            ) from error
