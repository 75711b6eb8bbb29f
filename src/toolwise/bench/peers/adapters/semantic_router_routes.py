"""semantic-router with one route per tool, its utterance being ``name: description``, in its local index.

The encoder is the shared static one, which it would otherwise ask of a provider.
"""

# mypy: disable-error-code="import-not-found, import-untyped, no-any-return"
from __future__ import annotations

from typing import Any

from peer_vectors import StaticTable
from peer_wire import Row, serve, unique_names


class Routes:
    """Its ``IndexedRouter``, asked for as many routes as there is room for."""

    def __init__(self) -> None:
        from semantic_router import IndexedRouter, Route

        self._router_of: Any = IndexedRouter
        self._route: Any = Route
        self._encoder = _shared_encoder()
        self._ids: dict[str, str] = {}

    def build(self, tools: list[Row]) -> None:
        """One route per tool."""
        self._ids = unique_names(tools)
        routes = [
            self._route(name=name, utterances=[f"{name}: {tool['description']}"])
            for name, tool in zip(self._ids, tools, strict=True)
        ]
        self._router = self._router_of(encoder=self._encoder, routes=routes)

    def search(self, query: str, k: int) -> list[str]:
        """The routes it chooses."""
        self._router.top_k = k  # utterances it looks at: one per route here
        chosen = self._router(query, limit=k)
        return [self._ids[one.name] for one in (chosen if isinstance(chosen, list) else [chosen]) if one.name]


def _shared_encoder() -> Any:
    from semantic_router.encoders import DenseEncoder

    table = StaticTable()

    class SharedEncoder(DenseEncoder):  # type: ignore[misc, unused-ignore]
        """The shared vectors as a semantic-router encoder."""

        name: str = "shared-static"

        def __call__(self, docs: list[Any]) -> list[list[float]]:
            return table.lists(docs)

    return SharedEncoder()


if __name__ == "__main__":
    serve(Routes)
