"""Systems of the suite ``frontier``: rankings and sets as they are delivered, and toolwise's dials."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from toolwise.bench.baselines.rule_filter import RuleFilterSystem
from toolwise.bench.cases import PACKAGED, Group, Models
from toolwise.bench.data import Task
from toolwise.bench.sets_default import with_requests
from toolwise.bench.system import Learning, Ranking, Selecting, System
from toolwise.errors import RegistryError
from toolwise.indexing import index_catalogue
from toolwise.learn.experience import chosen, write
from toolwise.learn.sets_data import Room
from toolwise.pipeline import Considered, Selector
from toolwise.policy import Policy, load_policy, revise
from toolwise.protocols import Encoder
from toolwise.records import Catalogue, Query, Tool
from toolwise.rerank.rule_filter import Mode
from toolwise.retrieve import HybridRetriever
from toolwise.retrieve.experience import FILE
from toolwise.sets.decide import ranking
from toolwise.sets.default import weights_of
from toolwise.sets.default_weights import PACKAGED as PACKAGED_SETS
from toolwise.sets.default_weights import load
from toolwise.store import Index

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

    def __init__(self, kept: _Kept) -> None:
        self._folder = TemporaryDirectory(prefix="toolwise-bench-")
        folder = Path(self._folder.name)
        models = kept.models
        index_catalogue(Catalogue(kept.tools), folder, encoder=models.encoder, annotators=models.annotators)
        if models.sets is not None:
            own = weights_of(folder)
            own.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(models.sets, own)
        if kept.past:
            _remember(folder, kept)
        self.selector = Selector.open(folder, method="toolwise")
        index = self.selector.index
        known = (kept.levels.get(id_, int(level)) for id_, level in zip(index.ids, index.levels, strict=True))
        index.levels = np.fromiter(known, dtype=np.int64, count=len(index))
        self._considered: dict[tuple[str, Policy], Considered] = {}

    def considered(self, query: Query, policy: Policy) -> Considered:
        """See :meth:`Selector.consider`; ``policy`` without its dials."""
        key = (query.text, policy)
        if key not in self._considered:
            self._considered[key] = self.selector.consider(query, policy)
        return self._considered[key]


@dataclass(frozen=True, eq=False, slots=True)
class _Kept:
    """What an indexed library is made of, as a key."""

    tools: tuple[Tool, ...]
    levels: Mapping[str, int]
    models: Models
    past: tuple[Task, ...]
    """Requests that it may learn from as ``toolwise train experience`` would."""

    def _said(self) -> list[object]:
        told = [(task.query.text, task.gold) for task in self.past]
        tools = [(tool.id, tool.content_hash, tool.text, self.levels.get(tool.id)) for tool in self.tools]
        return [self.models, told, tools]

    def __hash__(self) -> int:
        return hash(sha256(repr(self._said()).encode()).digest())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Kept) and other._said() == self._said()


@lru_cache(maxsize=64)
def _library(kept: _Kept) -> _Library:
    return _Library(kept)


def _remember(folder: Path, kept: _Kept) -> None:
    """Give an index the experience of past requests, where that is worth having."""
    index = Index.open(folder)
    retriever = HybridRetriever.open(index)
    rows = {id_: row for row, id_ in enumerate(index.ids)}
    tools = sorted(kept.tools, key=lambda tool: rows[tool.id])
    room = Room(with_requests(tools, kept.past), retriever, np.array(index.vectors))
    fingerprint = index.meta["fingerprint"]
    index.close()
    own = weights_of(folder)
    lessons = chosen(room, load(own if own.is_file() else PACKAGED_SETS))
    if lessons is not None:
        write(folder / FILE, room, lessons, fingerprint)


class DialSystem:
    """The method ``toolwise`` at one setting: ``toolwise:caution=.1+economy=.05+policy=default``.

    ``levels`` stand in for the audit's where they name a tool.  With ``past=train`` the index learns from the
    training requests of its tools what ``toolwise train experience`` would.
    """

    def __init__(self, name: str, levels: Mapping[str, int], models: Models = PACKAGED) -> None:
        self.name, self._labels, self._models = name, levels, models
        self._policy, self._learns = _policy(name)
        self._plain = revise(self._policy, caution=0.0, economy=0.0)

    def fit(self, tools: Sequence[Tool], train: Sequence[Task]) -> None:
        """Index the library, once for all settings."""
        past = tuple(train) if self._learns else ()
        kept = _Kept(tuple(tools), self._labels, self._models, past)
        self._library = _library(kept)

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


def _policy(name: str) -> tuple[Policy, bool]:
    """The policy with its dials, and whether the index learns from training requests."""
    given = dict(part.partition("=")[::2] for part in name.partition(":")[2].split("+"))
    try:
        changes = {dial: float(given[dial]) for dial in ("caution", "economy") if dial in given}
    except ValueError as error:
        raise RegistryError(f"{name!r}: {error}; expected numbers.", name=name) from error
    if unknown := sorted(given.keys() - {"caution", "economy", "policy", "past"}):
        raise RegistryError(
            f"{name!r} has a setting {unknown[0]!r}; the settings are caution, economy, policy and past.",
            name=name,
        )
    past = given.get("past", "")
    if past not in ("", "train"):
        raise RegistryError(f"{name!r}: the past is train, not {past!r}.", name=name)
    return revise(load_policy(given.get("policy", "default")), **changes), bool(past)


def delivering(name: str, inner: System, encoder: Callable[[], Encoder], levels: Mapping[str, int]) -> System:
    """A wrapper of :data:`HEADS` by name, around the system it names."""
    head = name.partition(":")[0]
    if head == "top5":
        return TopSystem(name, inner)
    return RuleSystem(name, inner, encoder, levels, sets=head == "rule")
