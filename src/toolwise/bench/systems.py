"""Our own systems and the plain baselines, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from hashlib import sha256
from typing import TypeAlias

import numpy as np

from toolwise.bench.baselines import ADAPTERS, BASELINES, Parts, factory
from toolwise.bench.cases import PACKAGED, Models
from toolwise.bench.data import Task
from toolwise.bench.frontier_systems import DIALS, HEADS, DialSystem, delivering
from toolwise.bench.peers import RIVALS
from toolwise.bench.remembered import RememberingEncoder
from toolwise.bench.risk import FORMS, Plan, RiskSystem
from toolwise.bench.rival import RivalSystem
from toolwise.bench.sets import SET_HEADS, set_system
from toolwise.bench.sets_default import DefaultSetSystem
from toolwise.bench.system import Ranking, System
from toolwise.bench.whole import ToolwiseSystem
from toolwise.encode.load import load_encoder
from toolwise.errors import RegistryError
from toolwise.policy import BUILT_IN
from toolwise.protocols import Encoder, Retriever
from toolwise.records import Query, Tool
from toolwise.retrieve import Bm25Retriever, DenseRetriever, HybridRetriever, build_bm25
from toolwise.sets.default_weights import load


class RandomSystem:
    """Any order at all, the same for the same request: the floor of every metric."""

    name = "random"

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._ids: list[str] = []

    def fit(self, tools: Sequence[Tool], train: Sequence[Task]) -> None:
        """Remember the ids."""
        self._ids = [tool.id for tool in tools]

    def rank(self, query: Query, k: int) -> Ranking:
        """``k`` tools drawn without looking."""
        digest = sha256(f"{self._seed}:{query.id}:{query.text}".encode()).digest()
        order = np.random.default_rng(int.from_bytes(digest[:8], "big")).permutation(len(self._ids))
        return [(self._ids[row], -float(rank)) for rank, row in enumerate(order[:k])]


class RetrieverSystem:
    """One of our retrievers over a library."""

    retriever: Retriever

    def __init__(self, name: str, build: Callable[[Sequence[Tool]], Retriever]) -> None:
        self.name = name
        self._build = build

    def fit(self, tools: Sequence[Tool], train: Sequence[Task]) -> None:
        """Index the library."""
        self.retriever = self._build(tools)

    def rank(self, query: Query, k: int) -> Ranking:
        """The retriever's shortlist."""
        return [(c.id, c.score) for c in self.retriever.retrieve(query, k).candidates]


@cache
def encoder(specification: str) -> Encoder:
    """An encoder, loaded once; it reads a text once, but for the packaged table, which is as fast anyway."""
    found = load_encoder(specification)
    return found if specification == "static" else RememberingEncoder(found)


def lexical(tools: Sequence[Tool]) -> Bm25Retriever:
    """BM25 over a library."""
    return Bm25Retriever(build_bm25(tools), [tool.id for tool in tools])


def dense(specification: str) -> Callable[[Sequence[Tool]], DenseRetriever]:
    """Cosine of an encoder's vectors over a library."""

    def build(tools: Sequence[Tool]) -> DenseRetriever:
        model = encoder(specification)
        return DenseRetriever(model, model.encode_tools(tools), [tool.id for tool in tools])

    return build


def hybrid(specification: str) -> Callable[[Sequence[Tool]], HybridRetriever]:
    """Both over a library."""

    def build(tools: Sequence[Tool]) -> HybridRetriever:
        return HybridRetriever(lexical(tools), dense(specification)(tools), [tool.id for tool in tools])

    return build


def _toolwise(policy: str, seed: int) -> ToolwiseSystem:
    return ToolwiseSystem(policy)


Factory: TypeAlias = Callable[[int], System]
"""The seed of a run -> a fresh system."""

SYSTEMS: dict[str, Factory] = {
    "random": RandomSystem,
    "bm25": lambda seed: RetrieverSystem("bm25", lexical),
    "dense": lambda seed: RetrieverSystem("dense", dense("static")),
    "hybrid": lambda seed: RetrieverSystem("hybrid", hybrid("static")),
    "toolwise": lambda seed: ToolwiseSystem(),
    **{f"toolwise-{name}": partial(_toolwise, name) for name in BUILT_IN if name != "default"},
}
"""Our own systems by name."""


OUR_SETS = ("sets-default", "sets-experienced")
"""The default set scorer as it ships, and with the training requests for its experience."""


def make(name: str, seed: int, labels: Mapping[str, int], models: Models = PACKAGED) -> System:
    """A fresh system by name: ours, a baseline, a rival, or ``dense:ENCODER`` and ``hybrid:ENCODER``.

    ``labels`` are the risk levels that filters go by, ``models`` what stands in for the packaged weights.
    Raises RegistryError for an unknown name, and for a system that would go by the packaged weights all the
    same.
    """
    if models != PACKAGED:
        return _on(models, name, seed, labels)
    head, _, argument = name.partition(":")
    if name in SYSTEMS:
        return SYSTEMS[name](seed)
    if head in ("dense", "hybrid") and argument:
        return RetrieverSystem(name, (dense if head == "dense" else hybrid)(argument))
    if head in OUR_SETS:
        own = partial(encoder, argument or "static")
        return DefaultSetSystem(name, own, experienced=head == "sets-experienced")
    if name in RIVALS:
        return RivalSystem(name)
    if head in HEADS and argument:
        return delivering(name, make(argument, seed, labels), lambda: encoder("static"), labels)
    if head == DIALS and argument:
        return DialSystem(name, labels)
    if Plan.parse(name) is not None:
        return RiskSystem(name, seed, labels)
    if head in SET_HEADS:
        return set_system(name, seed, lambda inner: make(inner, seed, labels))
    parts = Parts(
        bm25=SYSTEMS["bm25"], hybrid=SYSTEMS["hybrid"], encoder=lambda: encoder("static"), levels=labels
    )
    if name in BASELINES or head in ADAPTERS:
        return factory(name, parts)(seed)
    raise RegistryError(f"there is no system called {name!r}; there are {', '.join(known())}.", name=name)


def _on(models: Models, name: str, seed: int, labels: Mapping[str, int]) -> System:
    """A system with other models than the packaged ones, under the name it has with those."""
    head, _, argument = name.partition(":")
    if head in HEADS and argument:
        inner = _on(models, argument, seed, labels)
        return delivering(name, inner, lambda: encoder(models.encoder), labels)
    if head == DIALS and argument:
        return DialSystem(name, labels, models)
    if name in RIVALS:
        return RivalSystem(name, models.table)
    if name in OUR_SETS and models.sets is not None:
        own, weights = partial(encoder, models.encoder), load(models.sets)
        return DefaultSetSystem(name, own, weights, experienced=name == "sets-experienced")
    if name in ("dense", "hybrid") or (name in SET_HEADS and name not in ("budget", "threshold")):
        made = make(f"{name}:{models.encoder}", seed, labels)
    elif name.endswith("@static"):
        made = make(name.removesuffix("static") + models.encoder, seed, labels)
    elif name in ("random", "bm25"):
        made = make(name, seed, labels)
    else:
        raise RegistryError(f"{name!r} cannot be had with other weights than the packaged ones.", name=name)
    made.name = name
    return made


def known() -> list[str]:
    """Every name a system goes by; those that take an argument with a placeholder."""
    open_ended = [f"{head}:ENCODER" for head in ("dense", "hybrid")] + [
        f"{head}:ARGUMENT" for head in ADAPTERS
    ]
    delivered = [*(f"{head}:SYSTEM" for head in HEADS), f"{DIALS}:caution=X+economy=Y"]
    risk_aware = [f"{form}+STEP@ENCODER" for form in FORMS]
    return [*SYSTEMS, *BASELINES, *RIVALS, *open_ended, *SET_HEADS, *OUR_SETS, *risk_aware, *delivered]
