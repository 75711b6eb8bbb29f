"""dehydrator's ``ToolIndex``: BM25L, without the reranker, which is a paid service."""

# mypy: disable-error-code="import-not-found, import-untyped"
from __future__ import annotations

from typing import Any

from peer_wire import Row, serve, unique_names


class Indexed:
    """Its index over tool definitions in the form of the Anthropic interface."""

    def __init__(self) -> None:
        from dehydrator import ToolIndex

        self._make: Any = ToolIndex
        self._ids: dict[str, str] = {}

    def build(self, tools: list[Row]) -> None:
        """Index; the length of a result is fixed here, so it is that of the library and cut afterwards."""
        self._ids = unique_names(tools)
        definitions = [
            {
                "name": name,
                "description": tool["description"],
                "input_schema": tool["parameters"] or {"type": "object", "properties": {}},
            }
            for name, tool in zip(self._ids, tools, strict=True)
        ]
        self._index = self._make(definitions, top_k=len(definitions))

    def search(self, query: str, k: int) -> list[str]:
        """Tools with a positive score."""
        return [self._ids[name] for name in self._index.search(query)[:k]]


if __name__ == "__main__":
    serve(Indexed)
