"""graph-tool-call's ``ToolGraph`` as it comes: keywords and graph, no embedding, no language model."""

# mypy: disable-error-code="import-not-found, import-untyped"
from __future__ import annotations

from typing import Any

from peer_wire import Row, serve, unique_names


class Graphed:
    """Its graph over tools in the form of an MCP listing."""

    def __init__(self) -> None:
        from graph_tool_call import ToolGraph

        self._make: Any = ToolGraph
        self._ids: dict[str, str] = {}

    def build(self, tools: list[Row]) -> None:
        """Add the tools and search once, which is when it makes its index."""
        self._ids = unique_names(tools)
        self._graph = self._make()
        self._graph.add_tools(
            [
                {
                    "name": name,
                    "description": tool["description"],
                    "inputSchema": tool["parameters"] or {"type": "object", "properties": {}},
                }
                for name, tool in zip(self._ids, tools, strict=True)
            ]
        )
        self.search("first", 1)

    def search(self, query: str, k: int) -> list[str]:
        """Retrieved tools; a node that it made itself is not one."""
        found = self._graph.retrieve(query, top_k=k)
        return [self._ids[tool.name] for tool in found if tool.name in self._ids]


if __name__ == "__main__":
    serve(Graphed)
