"""Small systems, encoders and libraries for the tests of the bench."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tests.builders import tool

from toolwise.bench.data import Task
from toolwise.bench.system import Ranking
from toolwise.protocols import Floats
from toolwise.records import Query, Tool

DEMO = Path(__file__).parents[2] / "examples" / "demo"


class FixedSystem:
    """The same ranking for every request."""

    name = "fixed"

    def __init__(self, *ranking: tuple[str, float]) -> None:
        self.ranking = list(ranking)

    def fit(self, tools: Sequence[Tool], train: Sequence[Task]) -> None:
        """Nothing."""

    def rank(self, query: Query, k: int) -> Ranking:
        """The first ``k``."""
        return self.ranking[: max(k, 0)]


class TableEncoder:
    """Vectors of tools by id and of requests by text, written down by hand; requests not listed are zero."""

    fingerprint = "table"

    def __init__(self, vectors: dict[str, Sequence[float]]) -> None:
        self.vectors = vectors
        self.dim = len(next(iter(vectors.values())))

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        """(Q, D)."""
        return np.array([self.vectors.get(text, [0.0] * self.dim) for text in texts], np.float32)

    def encode_tools(self, tools: Sequence[Tool]) -> Floats:
        """(N, D)."""
        return np.array([self.vectors[tool.id] for tool in tools], np.float32)


def tools(*ids: str) -> list[Tool]:
    """Bare tools in order of id."""
    return [tool(id_) for id_ in sorted(ids)]


def ids(ranking: Ranking) -> list[str]:
    """The ids of a ranking."""
    return [id_ for id_, _ in ranking]


def demo_tasks() -> list[Task]:
    """The requests of the demo catalogue."""
    lines = (DEMO / "requests.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [Task(Query(row["id"], row["query"]), tuple(row["tools"]), "demo", row) for row in rows]
