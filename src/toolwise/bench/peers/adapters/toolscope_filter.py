"""toolscope's index and ``filter``, in memory, with the shared static vectors for its embedder."""

# mypy: disable-error-code="import-not-found, import-untyped, no-any-return"
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from peer_vectors import StaticTable
from peer_wire import Row, serve, unique_names


class SharedEmbedder:
    """The shared vectors as a toolscope embedder."""

    def __init__(self) -> None:
        self._table = StaticTable()

    def embed_texts(self, texts: Sequence[str]) -> list[list[float]]:
        """Vectors of texts."""
        return self._table.lists(texts)


class Filtered:
    """Its index over tools in the form of an MCP listing."""

    def __init__(self) -> None:
        import toolscope

        self._library: Any = toolscope
        self._embedder = SharedEmbedder()
        self._ids: dict[str, str] = {}

    def build(self, tools: list[Row]) -> None:
        """Index the tools."""
        self._ids = unique_names(tools)
        listed = [
            {"name": name, "description": tool["description"], "inputSchema": tool["parameters"] or {}}
            for name, tool in zip(self._ids, tools, strict=True)
        ]
        self._index = self._library.index(listed, embedder=self._embedder)

    def search(self, query: str, k: int) -> list[str]:
        """Tools that pass its filter."""
        return [self._ids[tool["name"]] for tool in self._index.filter(query, k=k)]


if __name__ == "__main__":
    serve(Filtered)
