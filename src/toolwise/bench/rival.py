"""A rival as a system: its own process, its CPU time counted there."""

from __future__ import annotations

from collections.abc import Sequence

from toolwise.bench.data import Task
from toolwise.bench.peers.process import PeerProcess
from toolwise.bench.system import Ranking
from toolwise.records import Query, Tool


class RivalSystem:
    """One installed rival (``make peers``); scores are ranks, for rivals need not give any."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.request_cpu_s = 0.0
        self.index_cpu_s = 0.0
        self.peak_mb = 0.0
        self._process: PeerProcess | None = None

    def fit(self, tools: Sequence[Tool], train: Sequence[Task]) -> None:
        """A fresh process that indexes the library."""
        self.close()
        self._process = PeerProcess.of(self.name)
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
