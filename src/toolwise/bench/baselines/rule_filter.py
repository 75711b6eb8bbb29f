"""The rule filter of the risk-aware reranking paper over an inner ranking, as a system of the bench."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from toolwise import registry
from toolwise.audit import audit
from toolwise.audit.load import members
from toolwise.bench.baselines.pool import DEPTH, positions, rerank
from toolwise.bench.baselines.vectors import Vectors
from toolwise.bench.data import Task
from toolwise.bench.system import Ranking, System
from toolwise.protocols import Encoder
from toolwise.records import UNKNOWN_LEVEL, Query, Tool
from toolwise.rerank.rule_filter import BROAD_CATEGORIES, RISKY_LEVEL, SET_SIZE, Mode, filter_rows


class RuleFilterSystem:
    """An inner ranking under the paper's caps.

    ``levels`` are labels by tool id; a tool without one gets the level of the
    audit, permission categories always come from the audit.  ``rank`` is for
    metrics at a fixed length and follows ``mode``; ``select`` is what an agent
    would get: accepted tools alone.
    """

    def __init__(
        self,
        inner: System,
        encoder: Callable[[], Encoder],
        levels: Mapping[str, int] | None = None,
        mode: Mode = Mode.BENCHMARK,
        depth: int = DEPTH,
        name: str = "rule-filter",
    ) -> None:
        self.name = name
        self._inner, self._vectors = inner, Vectors(encoder)
        self._labels = dict(levels or {})
        self._mode, self._depth = mode, depth
        self._risky: frozenset[str] = frozenset()
        self._broad: frozenset[str] = frozenset()

    def fit(self, tools: Sequence[Tool], train: Sequence[Task]) -> None:
        """Fit the inner system, encode and audit the tools."""
        self._inner.fit(tools, train)
        self._vectors.fit(tools)
        verdicts = audit(tools, [registry.get("annotator", name)() for name in members()])
        judged = {
            tool.id: self._labels.get(tool.id, int(verdict.level or UNKNOWN_LEVEL))
            for tool, verdict in zip(tools, verdicts, strict=True)
        }
        self._risky = frozenset(id_ for id_, level in judged.items() if level >= RISKY_LEVEL)
        self._broad = frozenset(
            tool.id
            for tool, verdict in zip(tools, verdicts, strict=True)
            if len(verdict.permissions) >= BROAD_CATEGORIES
        )

    def rank(self, query: Query, k: int) -> Ranking:
        """Accepted tools, then rejected ones in benchmark mode."""
        if self._mode is Mode.DEPLOYMENT:
            return positions(self._split(self._inner.rank(query, self._depth))[0][: max(k, 0)])
        return rerank(self._inner, query, k, self._depth, self._filled)

    def select(self, query: Query) -> list[str]:
        """The first accepted tools, five at most."""
        return self._split(self._inner.rank(query, self._depth))[0][:SET_SIZE]

    def _filled(self, head: Ranking) -> list[str]:
        accepted, rejected = self._split(head)
        return accepted + rejected

    def _split(self, head: Ranking) -> tuple[list[str], list[str]]:
        ids = [id_ for id_, _ in head]
        accepted, rejected = filter_rows(
            np.array([id_ in self._risky for id_ in ids], bool),
            np.array([id_ in self._broad for id_ in ids], bool),
            self._vectors.of(head),
        )
        return [ids[row] for row in accepted], [ids[row] for row in rejected]
