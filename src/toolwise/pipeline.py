"""The main job in one screen: request -> shortlist -> policy -> tool set -> exposure."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from toolwise.config import settings
from toolwise.errors import BrokenIndex, InvalidRequest
from toolwise.explain import EMPTY, abstention, choice_reason, predicted, summary
from toolwise.expose import export_name
from toolwise.hygiene import escaped
from toolwise.methods import Parts, open_parts
from toolwise.policy import (
    Eligibility,
    GreedySearch,
    Policy,
    Pool,
    constraints,
    idle,
    load_policy,
    matches,
    needs,
    price,
)
from toolwise.protocols import Bools, Constraint, Retriever, SetEnergy, SetSearch
from toolwise.records import Candidate, ExposedTool, Exposure, Query, Shortlist, Tool, ToolSet, Withheld
from toolwise.retrieve import HybridRetriever, fitting
from toolwise.sets.decide import NEVER, gate_of
from toolwise.sets.default_weights import LARGEST
from toolwise.sets.exact import ExactSearch
from toolwise.sets.pool import DEPTH, compose, energy_of
from toolwise.store import Index

_log = logging.getLogger(__name__)
MOST_WITHHELD = 10
MOST_SCORED = 22
"""Candidates whose sets are compared at most: beyond, there are too many sets."""
_ATTEMPTS = 3
MOST_POLICIES = 64
"""Policies whose eligible rows are remembered."""


@dataclass(frozen=True)
class Considered:
    """One request before the decision: a pool of K candidates and what is known of them."""

    query: Query
    pool: tuple[Candidate, ...]
    admitted: Bools
    """(N,): the rows of the index that rules on single tools, and ``within``, admit."""
    facts: Pool
    rules: tuple[Constraint, ...]
    needs: Bools | None
    """(K, K): which candidate (row) is only shown together with which other."""
    first: frozenset[int]
    """Members that come before all others: pins."""
    confidence: float
    """The retriever's: for sets among all tools of the index or of ``within``, else among the admitted."""
    searched: int
    """How many tools the index or ``within`` has."""
    energy: SetEnergy | None
    """The values of the pool's sets, where there is a scorer."""


class Selector:
    """Answers requests from one index.  Safe to share between threads.

    >>> selector = Selector.open("index-folder")            # doctest: +SKIP
    >>> selector.select("refund order 1182").tools          # doctest: +SKIP
    """

    def __init__(self, index: Index, parts: Parts | Retriever, *, depth: int = 100) -> None:
        self.index = index
        parts = parts if isinstance(parts, Parts) else Parts(parts)
        self._retriever, self._reranker, self._scorer = parts.retriever, parts.reranker, parts.scorer
        self._depth = depth
        self._eligibility: dict[Policy, Eligibility] = {}
        self._told: set[str] = set()

    @classmethod
    def open(cls, folder: str | Path, *, method: str | None = None) -> Selector:
        """Open the index in ``folder``; ``method`` is one of :func:`toolwise.methods.names`.

        Raises IndexNotFound, IndexVersionError, BrokenIndex, EncoderMismatch, RegistryError.
        """
        chosen = method or settings().method
        for _ in range(_ATTEMPTS):
            index = Index.open(folder)
            try:
                parts = open_parts(chosen, index)
            except FileNotFoundError:  # writers were quick: the generation is gone already
                index.close()
            except (ValueError, EOFError, OSError) as error:
                index.close()
                raise BrokenIndex(
                    f"{index.arrays} cannot be read: {error}. Run `toolwise index` with --rebuild.",
                    folder=index.folder,
                ) from error
            else:
                return cls(index, parts, depth=settings().depth)
        raise BrokenIndex(
            f"{folder}: arrays are missing. Run `toolwise index` with --rebuild.", folder=folder
        )

    def select(
        self,
        request: str | Query,
        policy: Policy | str | Path | None = None,
        *,
        within: Collection[str] | None = None,
    ) -> Exposure:
        """The tools an agent should see for ``request`` under ``policy`` (a policy, its name or its file).

        ``within`` names the only tools that may be in the answer, pins included; ids that are not in the
        index are passed over.  Scores stay those of the whole index: BM25 weighs words by all its tools.

        Pins and patterns of the policy that match no tool of the index do nothing; each is logged once, as
        a warning.  Raises PolicyError for an unusable policy.
        """
        rules = load_policy(settings().policy if policy is None else policy)
        considered = self.consider(request, rules, within=within)
        return self._expose(considered.query, rules, self.decide(considered, rules))

    def consider(
        self, request: str | Query, rules: Policy, *, within: Collection[str] | None = None
    ) -> Considered:
        """All that a decision on ``request`` needs; the same for every caution and economy of ``rules``."""
        query = _query(request)
        eligibility = self._eligible(rules)
        mask = self._rows(within)
        admitted = eligibility.rows if mask is None else eligibility.rows & mask
        known = (self.index.row(id_) for id_ in dict.fromkeys(rules.pins) if id_ in self.index)
        pins = [row for row in known if mask is None or mask[row]]
        pool, confidence, unbound = self._pool(query, rules, admitted, pins, mask)
        first = frozenset(i for i, candidate in enumerate(pool) if candidate.row in set(pins))
        facts = self._facts(pool)
        ids = tuple(candidate.id for candidate in pool)
        return Considered(
            query,
            tuple(pool),
            admitted,
            facts,
            tuple(constraints(rules, eligibility, facts, ids)),
            needs(rules, ids) if rules.requires else None,
            first,
            confidence,
            len(self.index) if mask is None else int(mask.sum()),
            energy_of(self._scorer, query, pool, unbound)
            if self._scorer is not None and _by_sets(pins) and len(pool) <= MOST_SCORED
            else None,
        )

    def decide(self, considered: Considered, rules: Policy) -> ToolSet:
        """The best of all sets where there is a scorer, else the ranking from its top."""
        levels = considered.facts.levels
        search: SetSearch = GreedySearch(rules.max_tools, needs=considered.needs)
        if considered.energy is not None:
            search = ExactSearch(
                considered.energy,
                rules.max_tools,
                rules.economy,
                price(rules, levels),
                needs=considered.needs,
                gate=gate_of(considered.energy, considered.confidence, considered.searched)
                if rules.fit
                else NEVER,
            )
        chosen = search.search(considered.pool, considered.rules, levels, considered.first)
        if chosen.gains and LARGEST == len(chosen.chosen) < rules.max_tools:
            return self._longer(considered, rules, chosen)
        return chosen

    def together(self, ids: Sequence[str], policy: Policy) -> tuple[str, ...]:
        """The tools, in this order, that the rules of ``policy`` admit beside each other, however many.

        Raises UnknownTool for an id that is not in the index.
        """
        pool = [Candidate(self.index.row(id_), id_, 0.0) for id_ in dict.fromkeys(ids)]
        return tuple(candidate.id for candidate in self._walk(pool, policy, 0, len(pool)).chosen)

    def _walk(self, pool: Sequence[Candidate], policy: Policy, first: int, most: int) -> ToolSet:
        """What the rules admit of a pool from its top, the ``first`` before all others."""
        facts, ids = self._facts(pool), tuple(candidate.id for candidate in pool)
        search = GreedySearch(most, needs=needs(policy, ids) if policy.requires else None)
        checks = constraints(policy, self._eligible(policy), facts, ids, guesses=False)
        return search.search(pool, checks, facts.levels, frozenset(range(first)))

    def _longer(self, considered: Considered, policy: Policy, chosen: ToolSet) -> ToolSet:
        """A full set of the search, and after it what the ranking brings, for policies that want more."""
        ranked = self._ranked(considered.query, self._depth, considered.admitted)
        further = fitting(ranked) if policy.fit else ranked.candidates
        taken = {candidate.row for candidate in chosen.chosen}
        pool = [*chosen.chosen, *(candidate for candidate in further if candidate.row not in taken)]
        longer = self._walk(pool, policy, len(taken), policy.max_tools)
        shown = {candidate.id for candidate in longer.chosen}
        kept = tuple(withheld for withheld in chosen.withheld if withheld.id not in shown)
        known = {withheld.id for withheld in kept}
        return ToolSet(
            longer.chosen,
            (*kept, *(withheld for withheld in longer.withheld if withheld.id not in known)),
            (*chosen.gains, *[0.0] * (len(longer.chosen) - len(chosen.chosen))),
            chosen.completeness,
        )

    def select_many(
        self, requests: Iterable[Query], policy: Policy | str | Path | None = None
    ) -> Iterator[Exposure]:
        """One answer per request, in order."""
        rules = load_policy(settings().policy if policy is None else policy)
        return (self.select(request, rules) for request in requests)

    def rank(self, request: str | Query, k: int = 100, *, within: Collection[str] | None = None) -> Shortlist:
        """The ``k`` best tools for ``request`` before any policy; ``within`` as in :meth:`select`."""
        return self._ranked(_query(request), k, self._rows(within))

    def _ranked(self, query: Query, k: int, within: Bools | None) -> Shortlist:
        found = self._retriever.retrieve(query, k, within)
        return found if self._reranker is None else self._reranker.rerank(query, found)

    def warm(self) -> None:
        """Read every tool for the scorer now, where the method has one, rather than when it is first ranked.

        About 0.1 ms a tool; worth it for a process that answers many requests.
        """
        warm = getattr(self._scorer, "warm", None)
        if warm is not None:
            warm([Candidate(row, id_, 0.0) for row, id_ in enumerate(self.index.ids)])

    def close(self) -> None:
        """Let go of the index.  A selector is a context manager that does so."""
        self.index.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rows(self, within: Collection[str] | None) -> Bools | None:
        if within is None:
            return None
        if isinstance(within, str):
            raise InvalidRequest(
                f"within={within!r} is one text; expected a collection of ids.", within=within
            )
        wanted = frozenset(within)
        return np.fromiter((id_ in wanted for id_ in self.index.ids), dtype=bool, count=len(self.index))

    def _eligible(self, policy: Policy) -> Eligibility:
        found = self._eligibility.get(policy)
        if found is None:
            index = self.index
            if len(self._eligibility) >= MOST_POLICIES:
                self._eligibility.clear()
            for sentence in idle(policy, index.ids):
                if sentence not in self._told:
                    self._told.add(sentence)
                    _log.warning("policy %r: %s", policy.name, escaped(sentence))
            found = Eligibility(policy, index.ids, index.levels, index.permissions)
            self._eligibility[policy] = found
        return found

    def _pool(
        self, query: Query, policy: Policy, admitted: Bools, pins: Sequence[int], within: Bools | None
    ) -> tuple[list[Candidate], float, list[Candidate]]:
        """The best eligible candidates and better-ranked ones a rule may withhold, best first, then pins.

        With them, how sure the retriever is that any admitted tool fits; for a set scorer, which sees what
        the rules keep out, that any tool does.  Then the pool of no policy, where rules on single tools made
        another one for a set scorer.
        """
        merged: dict[int, Candidate] = {}
        confidence, unbound = 0.0, list[Candidate]()
        if query.text.strip():
            sets = self._scorer is not None and _by_sets(pins)
            depth = min(DEPTH, self._depth) if sets else self._depth
            everything = self._ranked(query, depth, within)
            among = everything
            if not admitted.all():  # what fits is judged among the tools the policy admits, and by them alone
                among = self._ranked(query, depth, admitted)
            confidence = (everything if sets else among).confidence
            found, eligible = (_kept(one, policy, sets=sets) for one in (everything, among))
            kept_out = (one for one in found[: policy.max_tools] if not admitted[one.row])
            wanted: Sequence[Candidate] = (*eligible, *kept_out)
            if self._scorer is not None and sets:
                index = self.index
                known = (index.levels, index.vectors)
                wanted = compose(self._scorer, query, eligible, found, *known, admitted)
                if not all(admitted[candidate.row] for candidate in found[:DEPTH]):
                    unbound = compose(self._scorer, query, found, found, *known, np.ones_like(admitted))
            merged = {candidate.row: candidate for candidate in wanted}
        for row in self._needed(policy, {*merged, *pins}, within):
            merged.setdefault(row, Candidate(row, self.index.ids[row], 0.0))
        ranked = sorted(merged.values(), key=lambda candidate: (-candidate.score, candidate.row))
        pinned = [Candidate(row, self.index.ids[row], 0.0) for row in pins if row not in merged]
        return ranked + pinned, confidence, unbound

    def _needed(self, policy: Policy, pool: Collection[int], within: Bools | None) -> list[int]:
        """Rows that tools of the pool are only shown together with, and what those need."""
        held = {self.index.ids[row] for row in pool} if policy.requires else set()
        fresh = set(held)
        while fresh:
            ids = tuple(sorted(fresh))
            wanted = {needed for glob, needed in policy.requires if matches(ids, (glob,)).any()}
            fresh = {id_ for id_ in wanted - held if id_ in self.index}
            held |= fresh
        rows = (self.index.row(id_) for id_ in held)
        return sorted(row for row in rows if within is None or within[row])

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
            capabilities=index.capabilities[rows],
            chances=index.chances[rows],
            predicted=lambda place: predicted(index.tools([index.ids[rows[place]]])[0].verdict),
        )

    def _refused(self, query: Query) -> bool:
        return isinstance(self._retriever, HybridRetriever) and self._retriever.unserved_the_like(query)

    def _elsewhere(self, query: Query) -> Tool | None:
        """What others do that is nearer to a request than any tool here, where the method knows of that."""
        like = getattr(self._scorer, "elsewhere_like", None)
        found: Tool | None = like(query) if like is not None and query.text.strip() else None
        return found

    def _expose(self, query: Query, policy: Policy, chosen: ToolSet) -> Exposure:
        stored = self.index.tools([candidate.id for candidate in chosen.chosen])
        gains = chosen.gains or (None,) * len(stored)
        rows = np.array([candidate.row for candidate in chosen.chosen], dtype=np.int64)
        known = [False] * len(rows)
        if isinstance(self._retriever, HybridRetriever):
            known = self._retriever.served_the_like(query, rows).tolist()
        tools = tuple(
            ExposedTool(
                id=audited.tool.id,
                name=export_name(audited.tool.id),
                server=audited.tool.server,
                score=round(candidate.score, 4),
                level=int(audited.level),
                reason=choice_reason(
                    query, audited, pinned=audited.tool.id in policy.pins, gain=gain, known=before
                ),
                tool=audited.tool,
            )
            for candidate, audited, gain, before in zip(chosen.chosen, stored, gains, known, strict=True)
        )
        withheld: tuple[Withheld, ...] = chosen.withheld[:MOST_WITHHELD]
        return Exposure(
            id=query.id,
            query=query.text,
            abstained=not tools,
            reason=summary(tools, withheld, policy.name, chosen.completeness)
            if tools
            else EMPTY
            if not len(self.index)
            else abstention(
                query, withheld, policy.name, self._elsewhere(query), refused=self._refused(query)
            ),
            tools=tools,
            withheld=withheld,
            tokens=sum(audited.tokens for audited in stored),
        )


def _query(request: str | Query) -> Query:
    query = request if isinstance(request, Query) else Query("", request)
    if not isinstance(query.text, str):
        raise InvalidRequest(
            f"the request is {type(query.text).__name__}; expected text or a Query.", request=request
        )
    return query


def _by_sets(pins: Sequence[int]) -> bool:
    """Whether sets are compared: not where pins alone fill the largest of them."""
    return len(pins) < LARGEST


def _kept(found: Shortlist, policy: Policy, *, sets: bool) -> tuple[Candidate, ...]:
    """What a policy considers of a shortlist: what fits, or whatever there is any evidence for.

    A scorer judges for itself whether anything fits: to it, the empty set is a set like any other.
    """
    if policy.fit and not sets:
        return fitting(found)
    return found.candidates if found.confidence > 0 else ()
