"""langgraph-bigtool's default retrieval: cosine over ``name: description`` in LangGraph's in-memory store.

The embedding is the shared static one, which it would otherwise ask of a provider.
"""

# mypy: disable-error-code="import-not-found, import-untyped"
from __future__ import annotations

from typing import Any

from peer_vectors import StaticTable
from peer_wire import Row, serve


class Stored:
    """The store and the retrieval function that an agent of langgraph-bigtool is given."""

    def __init__(self) -> None:
        from langgraph.store import base, memory
        from langgraph_bigtool.tools import get_default_retrieval_tool

        self._base: Any = base
        self._memory: Any = memory
        self._retrieval: Any = get_default_retrieval_tool
        self._table = StaticTable()

    def build(self, tools: list[Row]) -> None:
        """Put every tool into the store, in one batch."""
        index = {"embed": self._table.lists, "dims": self._table.dim, "fields": ["description"]}
        self._store = self._memory.InMemoryStore(index=index)
        self._store.batch(
            [
                self._base.PutOp(
                    ("tools",), tool["id"], {"description": f"{tool['name']}: {tool['description']}"}
                )
                for tool in tools
            ]
        )

    def search(self, query: str, k: int) -> list[str]:
        """What its retrieval function returns."""
        retrieve, _ = self._retrieval(("tools",), limit=k)
        found: list[str] = retrieve(query, store=self._store)
        return found


if __name__ == "__main__":
    serve(Stored)
