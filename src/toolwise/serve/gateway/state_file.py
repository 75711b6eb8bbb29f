"""The SQLite file in the state folder of a gateway: shared between threads, written in transactions."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from toolwise.errors import GatewayError

DATABASE = "gateway.sqlite"
_PATIENCE = 5.0  # seconds


def _opened(path: Path, tables: str) -> sqlite3.Connection:
    """A connection to the file, tables made.  Switching to WAL waits for no lock, so it is tried again."""
    ends = time.monotonic() + _PATIENCE
    while True:
        connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA secure_delete=ON")  # what is forgotten is overwritten
            connection.executescript(tables)
        except sqlite3.OperationalError as error:
            connection.close()
            if "locked" not in str(error) or time.monotonic() > ends:
                raise
            time.sleep(0.05)
        else:
            return connection


class StateFile:
    """The file, opened for reading and writing.  Safe to share between threads."""

    tables: ClassVar[str] = ""
    """SQL that makes what is not there."""

    def __init__(
        self, folder: Path, *, make: bool = True, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        """Open the file in ``folder``, made if need be and ``make`` says so.  ``clock`` gives UTC.

        Raises GatewayError where it cannot be used, or is not there.
        """
        self._folder, self._clock = folder, clock
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
            path.touch(mode=0o600)  # in a folder that was there before, too; SQLite's own files follow it
            self._connection = _opened(path, self.tables)
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

    def _now(self) -> str:
        return self._clock().isoformat(timespec="milliseconds")
