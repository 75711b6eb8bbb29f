"""The baselines of both papers that are not retrievers of ours, by name.

A baseline is built from :class:`Parts`, which whoever owns the table of
systems hands in, so that this package imports no system of ours::

    parts = Parts(bm25=SYSTEMS["bm25"], hybrid=SYSTEMS["hybrid"], encoder=lambda: encoder("static"))
    SYSTEMS |= factories(parts)                                  # "mmr", "clause-bm25", ...
    factory("cross-encoder:FOLDER", parts)                       # the names that take an argument

Every factory takes the seed of the run, hands it to its inner system, and
loads nothing before ``fit`` (a missing extra is named there, or when the
LLM reranker is made).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from toolwise.bench.baselines.cardinality import CardinalitySystem
from toolwise.bench.baselines.clause import ClauseBm25System
from toolwise.bench.baselines.cross_encoder import PairSystem, load_cross_encoder, load_monot5
from toolwise.bench.baselines.facility_location import FacilityLocationSystem
from toolwise.bench.baselines.llm_reranker import LlmReranker
from toolwise.bench.baselines.mmr import MmrSystem
from toolwise.bench.baselines.rule_filter import RuleFilterSystem
from toolwise.bench.system import System
from toolwise.errors import RegistryError
from toolwise.protocols import Encoder
from toolwise.rerank.rule_filter import Mode

__all__ = [
    "ADAPTERS",
    "BASELINES",
    "CardinalitySystem",
    "ClauseBm25System",
    "FacilityLocationSystem",
    "Factory",
    "LlmReranker",
    "MmrSystem",
    "Mode",
    "PairSystem",
    "Parts",
    "RuleFilterSystem",
    "factories",
    "factory",
]

Factory: TypeAlias = Callable[[int], System]
"""The seed of a run -> a fresh system."""


@dataclass(frozen=True)
class Parts:
    """What baselines are made from."""

    bm25: Factory
    hybrid: Factory
    """The inner system of every reranker here but ``rule-filter-bm25``."""
    encoder: Callable[[], Encoder]
    """The encoder of vectors for diversity, redundancy and set sizes; called in ``fit``."""
    levels: Mapping[str, int] = field(default_factory=dict)
    """Labelled risk levels by tool id for the rule filter; the audit judges tools without one."""


BASELINES: dict[str, Callable[[int, Parts], System]] = {
    "clause-bm25": lambda seed, parts: ClauseBm25System(),
    "mmr": lambda seed, parts: MmrSystem(parts.hybrid(seed), parts.encoder),
    "facility-location": lambda seed, parts: FacilityLocationSystem(parts.hybrid(seed), parts.encoder),
    "cardinality": lambda seed, parts: CardinalitySystem(parts.hybrid(seed), parts.encoder),
    "rule-filter": lambda seed, parts: RuleFilterSystem(parts.hybrid(seed), parts.encoder, parts.levels),
    "rule-filter-bm25": lambda seed, parts: RuleFilterSystem(
        parts.bm25(seed), parts.encoder, parts.levels, name="rule-filter-bm25"
    ),
}
"""Baselines that run with what the package ships."""

ADAPTERS: dict[str, Callable[[int, Parts, str], System]] = {
    "cross-encoder": lambda seed, parts, spec: PairSystem(
        f"cross-encoder:{spec}", parts.hybrid(seed), lambda: load_cross_encoder(spec)
    ),
    "monot5": lambda seed, parts, spec: PairSystem(
        f"monot5:{spec}", parts.hybrid(seed), lambda: load_monot5(spec)
    ),
    "llm-reranker": lambda seed, parts, spec: LlmReranker(spec, parts.hybrid(seed), seed=seed),
}
"""Baselines that need a model: ``NAME:ARGUMENT``, the argument being a folder or a model's name."""


def factories(parts: Parts) -> dict[str, Factory]:
    """The factories of :data:`BASELINES`, ready for a table of systems."""
    return {name: _bound(build, parts) for name, build in BASELINES.items()}


def factory(name: str, parts: Parts) -> Factory:
    """The factory of a baseline by name; ``NAME:ARGUMENT`` for those of :data:`ADAPTERS`.

    Raises RegistryError for an unknown name or a missing argument.
    """
    if name in BASELINES:
        return _bound(BASELINES[name], parts)
    head, _, argument = name.partition(":")
    if head not in ADAPTERS or not argument:
        known = ", ".join([*sorted(BASELINES), *(f"{adapter}:ARGUMENT" for adapter in sorted(ADAPTERS))])
        raise RegistryError(f"there is no baseline called {name!r}; there are {known}.", name=name)
    build = ADAPTERS[head]
    return lambda seed: build(seed, parts, argument)


def _bound(build: Callable[[int, Parts], System], parts: Parts) -> Factory:
    return lambda seed: build(seed, parts)
