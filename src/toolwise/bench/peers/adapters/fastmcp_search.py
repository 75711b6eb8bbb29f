"""FastMCP's ``BM25SearchTransform``: the search behind its ``search_tools``, without the server around it."""

# mypy: disable-error-code="import-not-found, import-untyped"
from __future__ import annotations

import asyncio
from typing import Any

from peer_wire import Row, serve, unique_names


class Transformed:
    """The transform over tools of FastMCP, in this process."""

    def __init__(self) -> None:
        from fastmcp.server.transforms.search import BM25SearchTransform
        from fastmcp.tools import Tool

        self._transform: Any = BM25SearchTransform()
        self._tool: Any = Tool
        self._loop = asyncio.new_event_loop()
        self._ids: dict[str, str] = {}

    def build(self, tools: list[Row]) -> None:
        """Make the tools and search once, which is when the transform builds its index."""
        self._ids = unique_names(tools)
        self._tools = [
            self._tool(
                name=name,
                description=tool["description"],
                parameters=tool["parameters"] or {"type": "object", "properties": {}},
            )
            for name, tool in zip(self._ids, tools, strict=True)
        ]
        self.search("first", 1)

    def search(self, query: str, k: int) -> list[str]:
        """What ``search_tools`` would show."""
        self._transform._max_results = k  # else fixed by the constructor
        found = self._loop.run_until_complete(self._transform._search(self._tools, query))
        return [self._ids[tool.name] for tool in found]


if __name__ == "__main__":
    serve(Transformed)
