"""Systems of the suite ``frontier``: rankings and sets as they are delivered, and toolwise's dials."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from toolwise.bench.baselines.rule_filter import RuleFilterSystem
from toolwise.bench.cases import PACKAGED, Group, Models
from toolwise.bench.data import Task
from toolwise.bench.sets.training import TUNED, Data
from toolwise.bench.system import Learning, Ranking, Selecting, System
from toolwise.errors import RegistryError
from toolwise.indexing import index_catalogue
from toolwise.learn.encoder import Sources
from toolwise.learn.static_tuning import tune_static
from toolwise.pipeline import Considered, Selector
from toolwise.policy import Policy, load_policy, revise
from toolwise.protocols import Encoder
from toolwise.records import Catalogue, Query, Tool
from toolwise.rerank.rule_filter import Mode
from toolwise.sets.decide import ranking
from toolwise.sets.default import weights_of

TOP = 5
HEADS = ("top5", "rule5", "rule")
DIALS = "toolwise"
_DEPTH = 100
_PROCESS = frozenset({"index_cpu_s", "request_cpu_s", "close"})
"""What only systems have that run in a process of their own."""


class _Wrapper:
    """A system around another, which learns, and keeps accounts of its process where it has one."""

    _inner: System

    def learn(self, training: Sequence[Group]) -> None:
        """The inner system learns."""
        if isinstance(self._inner, Learning):
            self._inner.learn(training)

    def __getattr__(self, name: str) -> Any:
        if name in _PROCESS:
            return getattr(self._inner, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class TopSystem(_Wrapper):
    """A ranking whose first five are delivered."""

    def __init__(self, name: str, inner: System) -> None:
        self.name, self._inner = name, inner

    def fit(self, tools: Sequence[Tool], train: Sequence[Task]) -> None:
        """The inner system fits."""
        self._inner.fit(tools, train)

    def rank(self, query: Query, k: int) -> Ranking:
        """The inner ranking."""
        return self._inner.rank(query, k)

    def select(self, query: Query) -> list[str]:
        """Its first five."""
        return [id_ for id_, _ in self._inner.rank(query, TOP)]


class RuleSystem(_Wrapper, RuleFilterSystem):
    """The rule filter in deployment, over a ranking or over the set that a system delivers."""

    def __init__(
        self,
        name: str,
        inner: System,
        encoder: Callable[[], Encoder],
        levels: Mapping[str, int],
        *,
        sets: bool,
    ) -> None:
        super().__init__(inner, encoder, levels, Mode.DEPLOYMENT, name=name)
        self._sets = sets

    def select(self, query: Query) -> list[str]:
        """What the rules admit, five at most."""
        if not self._sets or not isinstance(self._inner, Selecting):
            return super().select(query)
        return self._split([(id_, 0.0) for id_ in self._inner.select(query)])[0]


class _Library:
    """An indexed library; what is known of a request is worked out once for all settings."""

    def __init__(
        self, tools: Sequence[Tool], levels: Mapping[str, int], encoder: str, weights: Path | None
    ) -> None:
        self._folder = TemporaryDirectory(prefix="toolwise-bench-")
        index_catalogue(Catalogue(tuple(tools)), self._folder.name, encoder=encoder)
        if weights is not None:
            own = weights_of(Path(self._folder.name))
            own.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(weights, own)
        self.selector = Selector.open(self._folder.name, method="toolwise")
        index = self.selector.index
        known = (levels.get(id_, int(level)) for id_, level in zip(index.ids, index.levels, strict=True))
        index.levels = np.fromiter(known, dtype=np.int64, count=len(index))
        self._considered: dict[tuple[str, Policy], Considered] = {}

    def considered(self, query: Query, policy: Policy) -> Considered:
        """See :meth:`Selector.consider`; ``policy`` without its dials."""
        key = (query.text, policy)
        if key not in self._considered:
            self._considered[key] = self.selector.consider(query, policy)
        return self._considered[key]


class _Kept:
    """Tools, levels, encoder and weights of the set scorer as a key."""

    def __init__(
        self, tools: Sequence[Tool], levels: Mapping[str, int], encoder: str, weights: Path | None
    ) -> None:
        self.tools, self.levels, self.encoder, self.weights = tools, levels, encoder, weights
        said = [
            encoder,
            weights,
            *((tool.id, tool.content_hash, tool.text, levels.get(tool.id)) for tool in tools),
        ]
        self._digest = sha256(repr(said).encode()).hexdigest()

    def __hash__(self) -> int:
        return hash(self._digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Kept) and other._digest == self._digest


@lru_cache(maxsize=64)
def _library(kept: _Kept) -> _Library:
    return _Library(kept.tools, kept.levels, kept.encoder, kept.weights)


@lru_cache(maxsize=8)
def _tuned(data: Data, seed: int) -> TemporaryDirectory[str]:
    """The packaged table, tuned on training requests, in a folder that lives as long as it is remembered."""
    folder: TemporaryDirectory[str] = TemporaryDirectory(prefix="toolwise-bench-")
    libraries = (
        replace(library, requests=tuple(r for r in library.requests if r.gold))
        for library in data.libraries()
    )
    tune_static(
        Sources(tuple(one for one in libraries if one.requests), (), ()), Path(folder.name), seed=seed
    )
    return folder


class DialSystem:
    """The method ``toolwise`` at one setting: ``toolwise:caution=.1+economy=.05+policy=default``.

    ``levels`` stand in for the audit's where they name a tool.  With ``encoder=tuned`` the packaged table is
    tuned on the training requests; the set scorer stays as it ships.  Where ``models`` names another table
    nothing is tuned.
    """

    def __init__(
        self, name: str, levels: Mapping[str, int], seed: int = 0, models: Models = PACKAGED
    ) -> None:
        self.name, self._labels, self._seed, self._models = name, levels, seed, models
        self._policy, self._encoder = _policy(name)
        if self._encoder == TUNED and models.table is not None:
            raise RegistryError(f"{name!r} tunes the packaged table, which may not answer here.", name=name)
        self._data = Data.of(())
        self._plain = revise(self._policy, caution=0.0, economy=0.0)

    def learn(self, training: Sequence[Group]) -> None:
        """Take the requests that a table may be tuned on."""
        self._data = Data.of(training) if self._encoder == TUNED else self._data

    def fit(self, tools: Sequence[Tool], train: Sequence[Task]) -> None:
        """Index the library, once for all settings."""
        tuned, weights = self._data.teaches, self._models.sets
        encoder = f"static:{_tuned(self._data, self._seed).name}" if tuned else self._models.encoder
        self._library = _library(_Kept(tuple(tools), self._labels, encoder, weights))

    def rank(self, query: Query, k: int) -> Ranking:
        """The pool by the probability of a complete set, then the retriever's order; no policy."""
        seen = self._library.considered(query, self._plain)
        ahead = [] if seen.energy is None else [seen.pool[place].id for place in ranking(seen.energy)]
        rest = [c.id for c in self._library.selector.rank(query, max(k, _DEPTH)).candidates]
        ids = list(dict.fromkeys([*ahead, *rest]))[: max(k, 0)]
        return [(id_, float(len(ids) - place)) for place, id_ in enumerate(ids)]

    def select(self, query: Query) -> list[str]:
        """The delivered set."""
        seen = self._library.considered(query, self._plain)
        return [candidate.id for candidate in self._library.selector.decide(seen, self._policy).chosen]


def _policy(name: str) -> tuple[Policy, str]:
    """The policy with its dials, and the encoder."""
    given = dict(part.partition("=")[::2] for part in name.partition(":")[2].split("+"))
    try:
        changes = {dial: float(given[dial]) for dial in ("caution", "economy") if dial in given}
    except ValueError as error:
        raise RegistryError(f"{name!r}: {error}; expected numbers.", name=name) from error
    if unknown := sorted(given.keys() - {"caution", "economy", "policy", "encoder"}):
        raise RegistryError(
            f"{name!r} has a setting {unknown[0]!r}; the settings are caution, economy, policy and encoder.",
            name=name,
        )
    encoder = given.get("encoder", "static")
    if encoder not in ("static", TUNED):
        raise RegistryError(f"{name!r}: the encoder is static or {TUNED}, not {encoder!r}.", name=name)
    return revise(load_policy(given.get("policy", "default")), **changes), encoder


def delivering(name: str, inner: System, encoder: Callable[[], Encoder], levels: Mapping[str, int]) -> System:
    """A wrapper of :data:`HEADS` by name, around the system it names."""
    head = name.partition(":")[0]
    if head == "top5":
        return TopSystem(name, inner)
    return RuleSystem(name, inner, encoder, levels, sets=head == "rule")
