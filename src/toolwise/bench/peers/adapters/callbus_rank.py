"""callbus: its keyword scorer (``bm25``), or that and a dense one fused by reciprocal rank (``hybrid``).

Each scorer reads the text it reads by default.  The dense one is given the
shared static vectors in place of an eight-billion-parameter model on a GPU, so
this says nothing of the numbers that callbus reports for itself.
"""

# mypy: disable-error-code="import-not-found, import-untyped"
from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from peer_vectors import StaticTable
from peer_wire import Row, serve


class SharedEncoder:
    """The shared vectors as a callbus encoder."""

    name = "shared-static"

    def __init__(self) -> None:
        self._table = StaticTable()
        self.dim = self._table.dim

    def encode(self, texts: Sequence[str], *, kind: str = "document") -> Any:
        """Vectors, the same for both kinds of text."""
        return self._table.encode(texts)


class Ranked:
    """A scorer of callbus."""

    def __init__(self, method: str) -> None:
        from callbus import domain
        from callbus.adapters.bm25 import BM25Scorer
        from callbus.adapters.dense import DenseScorer
        from callbus.adapters.hybrid import HybridScorer

        self._domain: Any = domain
        keywords = BM25Scorer()
        self._scorer: Any = (
            keywords if method == "bm25" else HybridScorer(DenseScorer(SharedEncoder()), keywords)
        )

    def build(self, tools: list[Row]) -> None:
        """Index tools with their servers as categories."""
        self._scorer.index([self._tool(tool) for tool in tools])

    def search(self, query: str, k: int) -> list[str]:
        """The scorer's list, without the keyword scorer's padding of zero scores."""
        (found,) = self._scorer.rank([self._domain.Query("request", query, {})], k)
        return [one for one, score in zip(found.tool_ids, found.scores, strict=True) if score > 0]

    def _tool(self, tool: Row) -> Any:
        document = {key: tool[key] for key in ("name", "description", "parameters")}
        return self._domain.Tool(id=tool["id"], doc=document, category=tool["server"] or "")


if __name__ == "__main__":
    serve(partial(Ranked, sys.argv[1]))
