"""What one training step sees: requests, tools to choose from, and which tools serve which request.

Three kinds of block: requests of a library against the tools of that library
(the hard negatives are all its other tools), the same for data sets with large
libraries (a sample of their tools), and descriptions against names and
parameters of tools of a few servers, which needs no requests at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolwise.encode.text import query_text, tool_text
from toolwise.learn.data import Library
from toolwise.protocols import Bools
from toolwise.records import Tool, ToolText

Bag: TypeAlias = NDArray[np.int64]
"""Token ids of one text, the unknown token left out."""

DROPPED = {"server": 0.3, "description": 0.15, "parameters": 0.3}
"""How often a part of a tool's text is left out, so that no part is relied on."""
TOKENS_DROPPED = 0.2
"""How often a single token is left out."""


@dataclass(frozen=True, slots=True)
class ToolBags:
    """The parts of a tool's text as token bags."""

    server: Bag
    name: Bag
    description: Bag
    parameters: Bag


@dataclass(frozen=True, slots=True)
class LibraryBags:
    """A library, tokenised: T tools, R requests with their gold rows."""

    name: str
    tools: tuple[ToolBags, ...]
    requests: tuple[Bag, ...]
    gold: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Block:
    """Requests (Q,), tools (T,), which serve which (Q, T), and the weight of its loss."""

    requests: list[Bag]
    tools: list[Bag]
    gold: Bools
    weight: float


def bags(tokenizer: Any, texts: Sequence[str]) -> list[Bag]:
    """Token ids of each text, without the unknown token (id 0)."""
    found = tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
    return [np.array([i for i in encoding.ids if i], np.int64) for encoding in found]


def tool_bags(tokenizer: Any, tools: Sequence[Tool]) -> tuple[ToolBags, ...]:
    """The parts of each tool's text, cut as the encoder's template cuts them."""
    whole = [
        [tool_text(Tool(id="", name="", server=tool.server)) for tool in tools],
        [tool_text(Tool(id="", name=tool.name)) for tool in tools],
        [tool_text(Tool(id="", name="", text=ToolText(tool.text.description))) for tool in tools],
        [tool_text(Tool(id="", name="", text=ToolText("", tool.text.parameters))) for tool in tools],
    ]
    return tuple(ToolBags(*parts) for parts in zip(*(bags(tokenizer, texts) for texts in whole), strict=True))


def library_bags(tokenizer: Any, library: Library) -> LibraryBags:
    """``library`` tokenised; requests of which no token is known are left out."""
    requests = bags(tokenizer, [query_text(request.text) for request in library.requests])
    kept = [row for row, bag in enumerate(requests) if len(bag)]
    return LibraryBags(
        library.name,
        tool_bags(tokenizer, library.tools),
        tuple(requests[row] for row in kept),
        tuple(library.requests[row].gold for row in kept),
    )


class Batches:
    """Draws blocks with one random generator, so that a seed fixes them all."""

    def __init__(self, rng: np.random.Generator, servers: Sequence[Sequence[ToolBags]]) -> None:
        self._rng = rng
        self._servers = [[t for t in tools if len(t.name) and len(t.description)] for tools in servers]
        self._servers = [tools for tools in self._servers if tools]

    def _thin(self, bag: Bag) -> Bag:
        kept = bag[self._rng.random(len(bag)) >= TOKENS_DROPPED]
        return kept if len(kept) else bag

    def _tool(self, tool: ToolBags) -> Bag:
        keep = {part: self._rng.random() >= rate for part, rate in DROPPED.items()}
        parts = [tool.name] + [getattr(tool, part) for part, kept in keep.items() if kept]
        found = np.concatenate(parts)
        whole = found if len(found) else np.concatenate([tool.description, tool.parameters, tool.server])
        return self._thin(whole)

    def some(self, pool: Sequence[LibraryBags], count: int) -> list[LibraryBags]:
        """``count`` libraries of the pool, each drawn from all; none of none."""
        return [pool[int(self._rng.integers(len(pool)))] for _ in range(count if pool else 0)]

    def of_library(self, library: LibraryBags, requests: int, tools: int, weight: float) -> Block:
        """Up to ``requests`` requests against the library, or ``tools`` of its tools with all gold ones."""
        picked = self._rng.choice(len(library.requests), min(requests, len(library.requests)), replace=False)
        rows = np.arange(len(library.tools))
        if len(rows) > tools:
            needed = sorted({row for line in picked for row in library.gold[line]})
            others = np.setdiff1d(rows, needed)
            room = min(len(others), max(0, tools - len(needed)))
            rows = np.concatenate([np.array(needed, np.int64), self._rng.choice(others, room, replace=False)])
        place = {int(row): column for column, row in enumerate(rows)}
        gold = np.zeros((len(picked), len(rows)), bool)
        for line, request in enumerate(picked):
            gold[line, [place[row] for row in library.gold[request]]] = True
        asked = [self._thin(library.requests[request]) for request in picked]
        return Block(asked, [self._tool(library.tools[row]) for row in rows], gold, weight)

    def of_texts(self, size: int, per_server: int, weight: float) -> Block:
        """About ``size`` descriptions against the names of the same tools, siblings among them."""
        drawn: list[ToolBags] = []
        while len(drawn) < size:
            tools = self._servers[self._rng.integers(len(self._servers))]
            drawn += [tools[i] for i in self._rng.permutation(len(tools))[:per_server]]
        with_server, with_parameters = self._rng.random(len(drawn)) < 0.5, self._rng.random(len(drawn)) < 0.5
        named = [
            np.concatenate([t.name, *([t.server] if s else []), *([t.parameters] if p else [])])
            for t, s, p in zip(drawn, with_server, with_parameters, strict=True)
        ]
        same = np.array([[a is b for b in drawn] for a in drawn])
        return Block([self._thin(t.description) for t in drawn], [self._thin(n) for n in named], same, weight)
