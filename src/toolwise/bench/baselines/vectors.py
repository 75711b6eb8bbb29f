"""The unit vectors of a library, by tool id."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from toolwise.bench.system import Ranking
from toolwise.protocols import Encoder, Floats
from toolwise.records import Tool


class Vectors:
    """Unit rows (N, D) of fitted tools, handed out for the head of a ranking."""

    def __init__(self, encoder: Callable[[], Encoder]) -> None:
        self._encoder = encoder
        self._rows: dict[str, int] = {}
        self._vectors: Floats = np.zeros((0, 0), np.float32)

    def fit(self, tools: Sequence[Tool]) -> None:
        """Encode ``tools``."""
        self._rows = {tool.id: row for row, tool in enumerate(tools)}
        self._vectors = self._encoder().encode_tools(tools)

    def of(self, head: Ranking) -> Floats:
        """The rows (K, D) of the tools of ``head``, in its order."""
        found: Floats = self._vectors[[self._rows[id_] for id_, _ in head]]
        return found
