"""An encoder that reads every text once per process: dense and hybrid systems ask for the same ones."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import numpy as np

from toolwise.protocols import Encoder, Floats
from toolwise.records import Tool

T = TypeVar("T")


class RememberingEncoder:
    """The vectors of another encoder, each computed when it is first asked for and then kept.

    What a request costs is therefore only told by the first system that asks.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.dim = encoder.dim
        self.fingerprint = encoder.fingerprint
        self.floor: float | None = getattr(encoder, "floor", None)
        self._requests: dict[Hashable, Floats] = {}
        self._tools: dict[Hashable, Floats] = {}

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        """Texts of requests -> (Q, D)."""
        return self._looked_up(self._requests, texts, list(texts), self._encoder.encode_queries)

    def encode_tools(self, tools: Sequence[Tool]) -> Floats:
        """Tools -> (N, D); those with the same server, name and searchable text share a vector."""
        keys = [(tool.server, tool.name, tool.text) for tool in tools]
        return self._looked_up(self._tools, tools, keys, self._encoder.encode_tools)

    def _looked_up(
        self,
        known: dict[Hashable, Floats],
        items: Sequence[T],
        keys: Sequence[Hashable],
        encode: Callable[[Sequence[T]], Floats],
    ) -> Floats:
        new = {key: item for key, item in zip(keys, items, strict=True) if key not in known}
        if new:
            known.update(zip(new, encode(list(new.values())), strict=True))
        if not keys:
            return np.zeros((0, self.dim), np.float32)
        return np.stack([known[key] for key in keys])
