"""agent-tool-router by ``Router.from_descriptions``: TF-IDF of one and two words, which needs no model."""

# mypy: disable-error-code="import-not-found, import-untyped"
from __future__ import annotations

from typing import Any

from peer_wire import Row, serve, unique_names


class Routed:
    """Cosine of the request with each tool's description and the parts of its name."""

    def __init__(self) -> None:
        import sklearn.feature_extraction.text  # noqa: F401  # it would load it while it builds
        from agent_tool_router import Router

        self._router: Any = Router
        self._ids: dict[str, str] = {}

    def build(self, tools: list[Row]) -> None:
        """Fit on names and descriptions; it knows no parameters."""
        self._ids = unique_names(tools)
        described = zip(self._ids, tools, strict=True)
        self._fitted = self._router.from_descriptions(
            [(name, tool["description"]) for name, tool in described]
        )

    def search(self, query: str, k: int) -> list[str]:
        """The nearest tools."""
        return [self._ids[name] for name in self._fitted.route(query, k=k)]


if __name__ == "__main__":
    serve(Routed)
