"""What the set systems of the bench learn from, trained once per data, design, encoder and seed."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from toolwise.bench.cases import Group
from toolwise.bench.remembered import RememberingEncoder
from toolwise.encode.load import load_encoder
from toolwise.encode.static import StaticEncoder
from toolwise.learn.data import Library, Request
from toolwise.learn.encoder import Sources
from toolwise.learn.hyperedges import PAPER, Plan, Trained, train_sets
from toolwise.learn.per_tool import PerTool, train_per_tool
from toolwise.learn.set_examples import SetExamples, set_examples
from toolwise.learn.static_tuning import tune_static
from toolwise.protocols import Encoder
from toolwise.records import Tool

MOST = 2_000
"""Training requests at most, drawn with the seed of the run."""
TUNED = "tuned"
"""The encoder specification that stands for the static table tuned on the training requests."""


@dataclass(frozen=True)
class Data:
    """Training requests by library; equal where ids, texts and gold sets are."""

    digest: str
    groups: tuple[Group, ...] = field(compare=False, repr=False)
    never_negative: frozenset[str] = frozenset()
    """Tools kept out of every drawn negative."""
    by_request: bool = False
    """Whether early stopping goes by single requests instead of whole gold sets."""

    @classmethod
    def of(cls, groups: Sequence[Group]) -> Data:
        """Groups as a key."""
        digest = sha256()
        for group in groups:
            digest.update(f"{group.library}\n{len(group.tools)}\n".encode())
            digest.update("\n".join(tool.id for tool in group.tools).encode())
            for task in group.tasks:
                digest.update(f"\n{task.query.id}\t{task.query.text}\t{task.gold}".encode())
        return cls(digest.hexdigest(), tuple(groups))

    @property
    def teaches(self) -> bool:
        """Whether any request has a gold set."""
        return any(task.gold for group in self.groups for task in group.tasks)

    def libraries(self) -> list[Library]:
        """The groups as libraries with requests."""
        return [_library(group.library, group.tools, group) for group in self.groups]


def _library(name: str, tools: tuple[Tool, ...], group: Group) -> Library:
    place = {tool.id: row for row, tool in enumerate(tools)}
    known = [task for task in group.tasks if all(id_ in place for id_ in task.gold)]
    requests = (Request(task.query.text, tuple(place[id_] for id_ in task.gold)) for task in known)
    return Library(name, tools, tuple(requests))


@lru_cache(maxsize=4)
def _named(specification: str) -> Encoder:
    found = load_encoder(specification)
    return found if specification == "static" else RememberingEncoder(found)


@lru_cache(maxsize=8)
def _tuned(data: Data, seed: int, most: int) -> Encoder:
    """The packaged table tuned on all requests but those that set training stops by."""
    dev = development(data, PAPER.largest, seed, most)
    libraries = [
        replace(library, requests=tuple(r for r in library.requests if r.gold and r.text not in dev))
        for library in data.libraries()
    ]
    sources = Sources(tuple(library for library in libraries if library.requests), (), ())
    with tempfile.TemporaryDirectory() as folder:
        tune_static(sources, Path(folder), seed=seed)
        return StaticEncoder(Path(folder))


def encoder_of(specification: str, data: Data, seed: int, most: int) -> Encoder:
    """An encoder by specification; :data:`TUNED` is learned from ``data``, where there is any."""
    if specification != TUNED:
        return _named(specification)
    return _tuned(data, seed, most) if data.teaches else _named("static")


def development(data: Data, largest: int, seed: int, most: int) -> frozenset[str]:
    """The texts of the requests that training stops by; they do not depend on the encoder."""
    if not data.teaches:
        return frozenset()
    found = examples_of(data, "static", largest, seed, most)
    return frozenset(found.texts[example.row] for example in found.dev)


@lru_cache(maxsize=8)
def examples_of(data: Data, specification: str, largest: int, seed: int, most: int) -> SetExamples:
    """The requests as arrays."""
    return set_examples(
        data.libraries(),
        encoder_of(specification, data, seed, most),
        largest,
        seed=seed,
        by_request=data.by_request,
        most=most,
        never_negative=data.never_negative,
    )


@lru_cache(maxsize=32)
def trained(data: Data, specification: str, plan: Plan = PAPER, most: int = MOST) -> Trained:
    """A set scorer of ``plan``, its seed included."""
    return train_sets(examples_of(data, specification, plan.largest, plan.seed, most), plan)


@lru_cache(maxsize=8)
def per_tool(data: Data, specification: str, seed: int, most: int = MOST) -> PerTool:
    """The per-tool scorer on the same requests."""
    return train_per_tool(examples_of(data, specification, PAPER.largest, seed, most), seed=seed)
