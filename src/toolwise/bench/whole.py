"""The whole of toolwise as a system: index, ranking, policy, delivered set."""

from __future__ import annotations

from collections.abc import Sequence
from tempfile import TemporaryDirectory

from toolwise.bench.data import Task
from toolwise.bench.system import Ranking
from toolwise.errors import RequestError
from toolwise.indexing import index_catalogue
from toolwise.pipeline import Selector
from toolwise.records import Catalogue, Query, Tool


class ToolwiseSystem:
    """A selector under a policy, with the audited levels of the index."""

    def __init__(self, policy: str = "default") -> None:
        self.name = "toolwise" if policy == "default" else f"toolwise-{policy}"
        self._policy = policy
        self._folder: TemporaryDirectory[str] | None = None
        self._opened: Selector | None = None

    def fit(self, tools: Sequence[Tool], train: Sequence[Task]) -> None:
        """Index the library in a folder that goes with the system."""
        self.close()
        self._folder = TemporaryDirectory(prefix="toolwise-bench-")
        index_catalogue(Catalogue(tuple(tools)), self._folder.name, encoder="static")
        self._opened = Selector.open(self._folder.name)

    @property
    def _selector(self) -> Selector:
        if self._opened is None:
            raise RequestError(f"{self.name} has no library; fit it first.")
        return self._opened

    def rank(self, query: Query, k: int) -> Ranking:
        """The ranking behind the selection."""
        return [(c.id, c.score) for c in self._selector.rank(query, k).candidates]

    def select(self, query: Query) -> list[str]:
        """The delivered set."""
        return [tool.id for tool in self._selector.select(query, self._policy).tools]

    def close(self) -> None:
        """Remove the index, or what there is of it."""
        if self._opened is not None:
            self._opened.index.close()
            self._opened = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
