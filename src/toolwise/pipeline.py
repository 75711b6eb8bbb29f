"""The main job in one screen: request -> shortlist -> policy -> tool set -> exposure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from toolwise import registry
from toolwise.config import settings
from toolwise.explain import abstention, choice_reason, summary
from toolwise.expose import export_name
from toolwise.policy import Eligibility, GreedySearch, Policy, Pool, constraints, load_policy
from toolwise.protocols import Retriever
from toolwise.records import Candidate, ExposedTool, Exposure, Query, ToolSet, Withheld
from toolwise.retrieve import Fit
from toolwise.store import Index

POOL = 20
"""Eligible candidates the set search chooses from."""
MOST_WITHHELD = 10


class Selector:
    """Answers requests from one index.  Safe to share between threads.

    >>> selector = Selector.open("index-folder")            # doctest: +SKIP
    >>> selector.select("refund order 1182").tools          # doctest: +SKIP
    """

    def __init__(self, index: Index, retriever: Retriever, fit: Fit, *, depth: int = 100) -> None:
        self.index = index
        self._retriever = retriever
        self._fit = fit
        self._depth = depth
        self._eligibility: dict[Policy, Eligibility] = {}

    @classmethod
    def open(cls, folder: str | Path, *, method: str | None = None) -> Selector:
        """Open the index in ``folder``; ``method`` is ``bm25``, ``dense`` or ``hybrid``.

        Raises IndexNotFound, IndexVersionError, EncoderMismatch, RegistryError.
        """
        index = Index.open(folder)
        method = method or settings().method
        retriever: Retriever = registry.get("retriever", method).open(index)
        return cls(index, retriever, Fit.of(method), depth=settings().depth)

    def select(self, request: str | Query, policy: Policy | str | Path | None = None) -> Exposure:
        """The tools an agent should see for ``request`` under ``policy`` (a policy, its name or its file).

        Raises PolicyError for an unusable policy, UnknownTool for a pin that is not in the index.
        """
        query = request if isinstance(request, Query) else Query("", request)
        rules = load_policy(settings().policy if policy is None else policy)
        eligibility = self._eligible(rules)
        pins = [self.index.row(pin) for pin in rules.pins]
        pool = self._pool(query, rules, eligibility, pins)
        first = frozenset(i for i, candidate in enumerate(pool) if candidate.row in set(pins))
        facts = self._facts(pool)
        checks = constraints(rules, eligibility, facts, tuple(candidate.id for candidate in pool))
        chosen = GreedySearch(rules.max_tools).search(pool, checks, facts.levels, first)
        return self._expose(query, rules, chosen, pool)

    def select_many(
        self, requests: Iterable[Query], policy: Policy | str | Path | None = None
    ) -> Iterator[Exposure]:
        """One answer per request, in order."""
        rules = load_policy(settings().policy if policy is None else policy)
        return (self.select(request, rules) for request in requests)

    def _eligible(self, policy: Policy) -> Eligibility:
        if policy not in self._eligibility:
            index = self.index
            self._eligibility[policy] = Eligibility(policy, index.ids, index.levels, index.permissions)
        return self._eligibility[policy]

    def _pool(
        self, query: Query, policy: Policy, eligibility: Eligibility, pins: Sequence[int]
    ) -> list[Candidate]:
        """Pins, the best eligible candidates, and the better-ranked ones a rule may withhold, best first."""
        found = self._retriever.retrieve(query, self._depth).candidates if query.text.strip() else ()
        eligible = [candidate for candidate in found if eligibility.rows[candidate.row]]
        if len(eligible) < POOL and len(found) == self._depth:
            eligible = list(self._retriever.retrieve(query, POOL, eligibility.rows).candidates)
        wanted = {
            candidate.row
            for candidate in (*found[: policy.max_tools], *eligible[: max(POOL, policy.max_tools)])
        }
        merged = {candidate.row: candidate for candidate in (*found, *eligible) if candidate.row in wanted}
        ranked = sorted(merged.values(), key=lambda candidate: (-candidate.score, candidate.row))
        if policy.fit:
            ranked = self._fit.keep(ranked)
        missing = [row for row in pins if row not in {candidate.row for candidate in ranked}]
        return ranked + [Candidate(row, self.index.ids[row], 0.0) for row in missing]

    def _facts(self, pool: Sequence[Candidate]) -> Pool:
        index = self.index
        rows = np.array([candidate.row for candidate in pool], dtype=np.int64)
        return Pool(
            rows=rows,
            levels=index.levels[rows],
            permissions=index.permissions[rows],
            tokens=index.tokens[rows],
            names=tuple(index.names[row] for row in rows),
            vectors=np.asarray(index.vectors[rows]),
        )

    def _expose(self, query: Query, policy: Policy, chosen: ToolSet, pool: Sequence[Candidate]) -> Exposure:
        stored = self.index.tools([candidate.id for candidate in chosen.chosen])
        tools = tuple(
            ExposedTool(
                id=audited.tool.id,
                name=export_name(audited.tool.id),
                server=audited.tool.server,
                score=round(candidate.score, 4),
                level=int(audited.level),
                reason=choice_reason(query, audited, pinned=audited.tool.id in policy.pins),
                tool=audited.tool,
            )
            for candidate, audited in zip(chosen.chosen, stored, strict=True)
        )
        withheld: tuple[Withheld, ...] = chosen.withheld[:MOST_WITHHELD]
        return Exposure(
            id=query.id,
            query=query.text,
            abstained=not tools,
            reason=summary(tools, withheld, policy.name)
            if tools
            else abstention(query, withheld, policy.name),
            tools=tools,
            withheld=withheld,
            tokens=sum(audited.tokens for audited in stored),
        )
