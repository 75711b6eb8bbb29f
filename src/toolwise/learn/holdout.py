"""Libraries kept out of training to choose by: the split and the measures."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from toolwise.learn.data import Library
from toolwise.protocols import Floats
from toolwise.records import Tool

T = TypeVar("T")
CUT = 5
"""Tools that an answer holds when it is measured."""


class Reads(Protocol):
    """What is measured: requests and tools to unit vectors."""

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        """Texts of requests -> (Q, D)."""

    def encode_tools(self, tools: Sequence[Tool]) -> Floats:
        """Tools -> (N, D)."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Means over requests."""

    ndcg: float
    """NDCG@5 of binary gains, the ideal over at most five gold tools."""
    complete: float
    """Share of requests whose gold tools are all among the first five."""


def split(libraries: Sequence[Library], held: int, seed: int) -> tuple[list[Library], list[Library]]:
    """Libraries to train on and ``held`` others, drawn by ``seed``; no library is in both.

    Libraries are the unit, so that no tool that is measured was trained on.
    """
    out = set(np.random.default_rng(seed).permutation(len(libraries))[:held].tolist())
    kept = [library for place, library in enumerate(libraries) if place not in out]
    return kept, [libraries[place] for place in sorted(out)]


def fold(libraries: Sequence[T], part: int, parts: int) -> tuple[list[T], list[T]]:
    """Libraries, or their names, to train on and those of fold ``part`` of ``parts``: each is in one fold."""
    drawn = np.random.default_rng(0).permutation(len(libraries))
    out = set(drawn[part::parts].tolist())
    kept = [library for place, library in enumerate(libraries) if place not in out]
    return kept, [libraries[place] for place in sorted(out)]


def aside(keys: Sequence[Hashable], wanted: int, rng: np.random.Generator) -> set[int]:
    """Places of requests to hold out, ``wanted`` at most: all that share a key, or none of them.

    What is asked again and again would else be learned from and judged by.
    """
    places: dict[Hashable, list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    groups = list(places.values())
    out: set[int] = set()
    for drawn in rng.permutation(len(groups)).tolist():
        if len(out) + len(groups[drawn]) <= wanted:
            out.update(groups[drawn])
    return out


def judge(ranked: Sequence[int], gold: Sequence[int]) -> tuple[float, float]:
    """NDCG@5 and completeness of one ranking of tool rows, best first."""
    wanted = set(gold)
    gains = [1 / np.log2(rank + 2) for rank, row in enumerate(ranked[:CUT]) if row in wanted]
    ideal = sum(1 / np.log2(rank + 2) for rank in range(min(CUT, len(wanted))))
    return float(sum(gains) / ideal), float(wanted <= set(ranked[:CUT]))


def measure(encoder: Reads, libraries: Sequence[Library]) -> Measured:
    """How well ``encoder`` finds the gold tools of each request in its library; ties by row."""
    found: list[tuple[float, float]] = []
    for library in libraries:
        tools = encoder.encode_tools(library.tools)
        scores = encoder.encode_queries([request.text for request in library.requests]) @ tools.T
        ranked = np.argsort(-scores, axis=1, kind="stable")[:, :CUT]
        pairs = zip(ranked.tolist(), library.requests, strict=True)
        found += [judge(line, request.gold) for line, request in pairs]
    ndcg, complete = np.array(found).reshape(-1, 2).mean(0) if found else (0.0, 0.0)
    return Measured(float(ndcg), float(complete))
