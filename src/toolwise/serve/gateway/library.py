"""What is behind the gateway: the listings of all upstreams as one audited index.

A tool is trusted as it was when it was first seen.  One whose definition
changes later is held back (``quarantine``), reported (``warn``) or taken as it
is (``accept``) until a person has approved the new one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import numpy as np

from toolwise.catalog.mcp_listing import McpListingReader
from toolwise.catalog.merge import merge
from toolwise.errors import IndexBusy, ServerUnreachable
from toolwise.expose import original_ids
from toolwise.indexing import index_catalogue
from toolwise.pipeline import Selector
from toolwise.protocols import Bools
from toolwise.records import Catalogue, Json, Problem, Tool
from toolwise.retrieve.experience import FILE as EXPERIENCE
from toolwise.serve.gateway.memory import Memory
from toolwise.sets.default import weights_of

INDEX = "index"
"""Folder of the index within the state folder."""
_PATIENCE = 10.0
"""Seconds for which another process may be writing the index."""

_MOST_TOLD = 20
"""Tools named in one go as not approved; of more the number is told."""

_log = logging.getLogger(__name__)


class Changed(StrEnum):
    """What becomes of a tool whose definition is not the one that was approved."""

    QUARANTINE = "quarantine"
    WARN = "warn"
    ACCEPT = "accept"


@dataclass(frozen=True, slots=True)
class Listing:
    """What one upstream listed last; ``raw`` None where it has never been reached by this process."""

    server: str
    raw: Sequence[Json] | None
    cut: str = ""


@dataclass(frozen=True)
class View:
    """One state of the library, never changed: an open selector and what follows from it."""

    selector: Selector
    names: Mapping[str, str]
    """The name an agent sees -> id."""
    held: frozenset[str]
    """Ids in quarantine."""
    trusted: Bools
    """(N,): the rows that are not in quarantine."""
    problems: tuple[Problem, ...] = ()
    own_names: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """id -> server and the server's own name for the tool."""
    learned: object = None
    """As :meth:`Library.learned` was when it was opened."""

    @property
    def state(self) -> object:
        """What decides every answer: views of one state are interchangeable."""
        meta = self.selector.index.meta
        return meta.get("made"), meta["generation"], meta.get("revision"), self.held, self.learned


class Library:
    """Builds a view from listings; the index and the approvals live in a state folder."""

    def __init__(self, folder: Path, memory: Memory, changed: Changed = Changed.QUARANTINE) -> None:
        self._folder, self._memory, self._changed = folder, memory, changed
        self._told: frozenset[str] = frozenset()

    def build(self, listings: Sequence[Listing]) -> View:
        """Index what changed and open the result.  Blocking: run it in a thread.

        Upstreams that were never reached keep the tools of the last run.  Raises
        what indexing and opening raise.
        """
        catalogue = _catalogue(listings)
        self._index(catalogue)
        learned = self.learned()  # before it is read: what is written meanwhile is noticed later
        selector = Selector.open(self._folder / INDEX)
        selector.warm()
        index = selector.index
        stored = index.tools(index.ids)
        hashes = {audited.tool.id: audited.tool.content_hash for audited in stored}
        other = self._memory.approve_new(hashes, {listing.server for listing in listings})
        self._warn(other)
        held = frozenset(other if self._changed is Changed.QUARANTINE else ())
        if self._changed is Changed.ACCEPT:
            self._memory.approve(other, hashes, by="accept")
        return View(
            selector=selector,
            names=original_ids(index.ids),
            held=held,
            trusted=np.fromiter((id_ not in held for id_ in index.ids), dtype=bool, count=len(index)),
            problems=catalogue.problems,
            own_names={a.tool.id: (a.tool.server, a.tool.name) for a in stored},
            learned=learned,
        )

    def _warn(self, unapproved: Sequence[str]) -> None:
        """Name the tools that are not approved, once as long as they stay so."""
        news = sorted(set(unapproved) - self._told)
        self._told = frozenset(() if self._changed is Changed.ACCEPT else unapproved)
        for id_ in news[:_MOST_TOLD]:
            _log.warning("%s is not approved as it is now; `toolwise gateway held` shows why", id_)
        if more := news[_MOST_TOLD:]:
            told = "%d more are not approved as they are now; `toolwise gateway held` shows all"
            _log.warning(told, len(more))

    def learned(self) -> tuple[tuple[int, int] | None, ...]:
        """Another value once experience or weights of the index are written, replaced or deleted."""
        folder = self._folder / INDEX
        return tuple(_written(path) for path in (folder / EXPERIENCE, weights_of(folder)))

    def _index(self, catalogue: Catalogue) -> None:
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                index_catalogue(catalogue, self._folder / INDEX)
            except ServerUnreachable:  # none has ever been reached: nothing to serve yet, no error here
                catalogue = Catalogue((), catalogue.problems)
            except IndexBusy:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.2)
            else:
                return


def _written(path: Path) -> tuple[int, int] | None:
    """When, and as which file; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino


def _catalogue(listings: Sequence[Listing]) -> Catalogue:
    parts = []
    for listing in sorted(listings, key=lambda each: each.server):
        if listing.raw is None:
            parts.append(Catalogue((), (), (listing.server,)))
            continue
        read = McpListingReader().read({"tools": list(listing.raw)}, listing.server, listing.server)
        cut = (Problem(listing.server, listing.server, "/nextCursor", listing.cut, kept=True),)
        once = _first_of_each_name(read, listing.server)
        parts.append(Catalogue(once.tools, once.problems + (cut if listing.cut else ())))
    return merge(parts)


def _first_of_each_name(read: Catalogue, server: str) -> Catalogue:
    """Without tools whose name their server lists again: a policy that names one would miss the other."""
    kept: dict[str, Tool] = {}
    again = []
    for tool in read.tools:
        if kept.setdefault(tool.name, tool) is not tool:
            message = "its server lists this name twice; only the first definition is used"
            again.append(Problem(server, tool.id, "/name", message, kept=False))
    return Catalogue(tuple(kept.values()), (*read.problems, *again))
