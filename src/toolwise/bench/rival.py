"""A rival as a system: its own process, its CPU time counted there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from toolwise.bench.data import Task
from toolwise.bench.peers.process import PeerProcess
from toolwise.bench.system import Ranking
from toolwise.records import Query, Tool


class RivalSystem:
    """One installed rival (``make peers``); scores are ranks, for rivals need not give any.

    ``table`` is the folder of the static table that it reads, where it reads one (None: the packaged one).
    """

    def __init__(self, name: str, table: Path | None = None) -> None:
        self.name = name
        self._table = table
        self.request_cpu_s = 0.0
        self.index_cpu_s = 0.0
        self.peak_mb = 0.0
        self._process: PeerProcess | None = None

    def fit(self, tools: Sequence[Tool], train: Sequence[Task]) -> None:
        """Index the library, in a process that ends with the system."""
        self._process = self._process or PeerProcess.of(self.name, table=self._table)
        cost = self._process.build(tools)
        self.index_cpu_s, self.peak_mb = cost.cpu_s, cost.peak_mb

    def rank(self, query: Query, k: int) -> Ranking:
        """What the rival returns, first to last."""
        if self._process is None:
            return []
        found = self._process.search(query.text, k)
        self.request_cpu_s += found.cpu_s
        return [(id_, float(k - place)) for place, id_ in enumerate(found.ids)]

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()
            self._process = None
