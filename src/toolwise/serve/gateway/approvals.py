"""Approved definitions: a tool is trusted as it was when first seen, or as a person last approved it."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from toolwise.errors import ToolwiseError
from toolwise.records import Json
from toolwise.serve.gateway.definitions import definition, present
from toolwise.serve.gateway.state_file import StateFile

MOST_GONE = 10_000
"""Names of a server that it lists no more, from which on new ones are no longer trusted on sight.

To forget the oldest instead would let a server that renames its tools long enough change an approved one.
"""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Approved:
    """How a tool was when it was approved."""

    at: str
    by: str
    """``first seen``, ``operator`` or ``accept``."""
    definition: Mapping[str, Json] | None
    """By field; None where it was approved before definitions were kept."""


class Approvals(StateFile):
    """What is approved, by id and content hash, with the definitions themselves."""

    tables = """
CREATE TABLE IF NOT EXISTS approvals (
    id TEXT NOT NULL, content_hash TEXT NOT NULL, at TEXT NOT NULL, approved_by TEXT NOT NULL,
    PRIMARY KEY (id, content_hash)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS definitions (
    id TEXT NOT NULL, content_hash TEXT NOT NULL, definition TEXT NOT NULL, PRIMARY KEY (id, content_hash)
) WITHOUT ROWID;
"""

    def stamp(self) -> tuple[int, str]:
        """Another value after every change of the approvals."""
        with self._lock:
            count, at = self._connection.execute(
                "SELECT count(*), coalesce(max(at), '') FROM approvals"
            ).fetchone()
        return count, at

    def approve_new(self, hashes: Mapping[str, str], servers: Collection[str] = ()) -> tuple[str, ...]:
        """Approve tools never seen before; returns those that are not approved as they are, sorted.

        ``hashes``: content hash by id of all tools there are; ``servers``: the servers, of which none has a
        name that begins with another's and a slash.  New tools of a server that has left
        ``MOST_GONE`` others behind are not approved: what is kept has an end.
        """
        with self._writing():
            known = self._approved()
            gone = Counter(_server(id_, servers) for id_ in known.keys() - hashes.keys())
            new = [pair for pair in hashes.items() if pair[0] not in known]
            self._insert([pair for pair in new if gone[_server(pair[0], servers)] < MOST_GONE], "first seen")
        self._keep(hashes)
        return self.unapproved(hashes)

    def unapproved(self, hashes: Mapping[str, str]) -> tuple[str, ...]:
        """The tools that are not approved as they are, sorted; nothing changes."""
        with self._lock:
            known = self._approved()
        return tuple(sorted(id_ for id_, h in hashes.items() if h not in known.get(id_, ())))

    def _approved(self) -> dict[str, set[str]]:
        known: dict[str, set[str]] = {}
        for id_, content_hash in self._connection.execute("SELECT id, content_hash FROM approvals"):
            known.setdefault(id_, set()).add(content_hash)
        return known

    def approve(self, ids: Iterable[str], hashes: Mapping[str, str], by: str) -> None:
        """Approve tools as they are now; only the new definition is approved from then on."""
        chosen = sorted(set(ids) & set(hashes))
        with self._writing():
            for table in ("approvals", "definitions"):
                self._connection.executemany(f"DELETE FROM {table} WHERE id = ?", [(id_,) for id_ in chosen])
            self._insert([(id_, hashes[id_]) for id_ in chosen], by)
        self._keep(hashes)

    def approved(self, ids: Iterable[str]) -> dict[str, Approved]:
        """How tools were when they were approved, by id; those that never were are left out."""
        with self._lock:
            rows = self._connection.execute(
                "SELECT id, at, approved_by, definition FROM approvals "
                "LEFT JOIN definitions USING (id, content_hash) ORDER BY at"
            ).fetchall()
        wanted = set(ids)
        return {
            id_: Approved(at, by, None if said is None else json.loads(said))
            for id_, at, by, said in rows
            if id_ in wanted
        }

    def _keep(self, hashes: Mapping[str, str]) -> None:
        """Keep the definitions that are approved and in the index, where they are not kept yet."""
        with self._lock:
            bare = self._connection.execute(
                "SELECT id, content_hash FROM approvals EXCEPT SELECT id, content_hash FROM definitions"
            ).fetchall()
        missing = [id_ for id_, content_hash in bare if hashes.get(id_) == content_hash]
        if not missing:
            return
        try:
            tools = [audited.tool for audited in present(self._folder, missing).values()]
        except ToolwiseError as error:
            _log.warning("definitions are approved and not kept: %s", error)
            return
        rows = [
            (tool.id, tool.content_hash, json.dumps(definition(tool), ensure_ascii=False))
            for tool in tools
            if tool.content_hash == hashes[tool.id]
        ]
        with self._writing():
            self._connection.executemany("INSERT OR REPLACE INTO definitions VALUES (?, ?, ?)", rows)

    def _insert(self, pairs: Sequence[tuple[str, str]], by: str) -> None:
        at = self._now()
        self._connection.executemany(
            "INSERT OR REPLACE INTO approvals VALUES (?, ?, ?, ?)", [(*pair, at, by) for pair in pairs]
        )


def _server(id_: str, servers: Collection[str]) -> str:
    """The server of a tool: the one of ``servers`` with whose name the id begins, else what stands first."""
    parts = id_.split("/")
    begins = ("/".join(parts[:end]) for end in range(1, len(parts)))
    return next((name for name in begins if name in servers), parts[0])
