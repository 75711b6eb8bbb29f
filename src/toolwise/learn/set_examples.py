"""Requests, tools and gold sets as arrays: what set scorers are trained on."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from toolwise.errors import EncoderError
from toolwise.learn.data import Library
from toolwise.learn.holdout import Reads
from toolwise.learn.hyperedge_pools import Example
from toolwise.protocols import Floats, Ints
from toolwise.records import Tool

DEV_SHARE = 0.1
DEV_MOST = 200
"""Requests held out for early stopping at most."""


@dataclass(frozen=True, slots=True)
class SetExamples:
    """Training requests over one library or several."""

    ids: tuple[str, ...]
    """(N,): every tool of every library once, in the order of the rows."""
    tools: Floats
    """(N, D): unit vectors of the tools' texts."""
    texts: tuple[str, ...]
    """(Q,): all requests, by :attr:`Example.row`."""
    requests: Floats
    """(Q, R): their vectors."""
    train: tuple[Example, ...]
    dev: tuple[Example, ...]
    """Held out for early stopping; they share no gold set with ``train`` unless asked to.  May be empty."""
    libraries: tuple[Ints, ...]
    """Rows of each library, ascending."""
    negatives: tuple[Ints, ...]
    """Rows of each library that negatives may be drawn from."""
    left_out: int
    """Requests whose gold set is empty or larger than the largest set that is scored."""


def set_examples(
    libraries: Sequence[Library],
    encoder: Reads,
    largest: int,
    *,
    seed: int = 0,
    dev_share: float = DEV_SHARE,
    by_request: bool = False,
    most: int = 0,
    never_negative: Collection[str] = (),
) -> SetExamples:
    """Encode ``libraries`` and hold out whole gold sets for early stopping, or single requests.

    A gold set of more than ``largest`` tools is outside the scored sets, so its
    request is left out and counted.  ``most`` requests at most are kept (0:
    all), drawn with ``seed``.  Tools of ``never_negative`` are in no drawn
    negative.  Raises EncoderError where nothing is left to train on.
    """
    tools, rows = _tools(libraries)
    position = {tool.id: row for row, tool in enumerate(tools)}
    texts: list[str] = []
    found: list[Example] = []
    left_out = 0
    for number, library in enumerate(libraries):
        for request in library.requests:
            gold = tuple(sorted({position[library.tools[row].id] for row in request.gold}))
            if not 0 < len(gold) <= largest:
                left_out += 1
                continue
            found.append(Example(len(texts), gold, number))
            texts.append(request.text)
    if not found:
        raise EncoderError(
            f"there is no request with 1 to {largest} gold tools to train on ({left_out} left out).",
            left_out=left_out,
        )
    generator = np.random.default_rng(seed)
    if most and len(found) > most:
        found = [found[row] for row in np.sort(generator.choice(len(found), most, replace=False)).tolist()]
        texts = [texts[example.row] for example in found]
        found = [Example(row, one.gold, one.library) for row, one in enumerate(found)]
    train, dev = _held_out(found, dev_share, by_request, generator)
    barred = {position[id_] for id_ in never_negative if id_ in position}
    kept = [np.array([row for row in own.tolist() if row not in barred], dtype=np.int64) for own in rows]
    return SetExamples(
        tuple(tool.id for tool in tools),
        encoder.encode_tools(tools),
        tuple(texts),
        encoder.encode_queries(texts),
        tuple(train),
        tuple(dev),
        tuple(rows),
        tuple(kept),
        left_out,
    )


def _tools(libraries: Sequence[Library]) -> tuple[list[Tool], list[Ints]]:
    """Every tool once, in order of id, and the rows of each library."""
    tools = {tool.id: tool for library in libraries for tool in library.tools}
    ordered = sorted(tools)
    position = {id_: row for row, id_ in enumerate(ordered)}
    rows = [np.array(sorted(position[tool.id] for tool in one.tools), dtype=np.int64) for one in libraries]
    return [tools[id_] for id_ in ordered], rows


def _held_out(
    found: Sequence[Example], share: float, by_request: bool, generator: np.random.Generator
) -> tuple[list[Example], list[Example]]:
    """Whole gold sets in random order until ``share`` of the requests, or :data:`DEV_MOST`, are out."""
    wanted = min(round(share * len(found)), DEV_MOST)
    if by_request:
        aside = set(generator.permutation(len(found))[:wanted].tolist())
        train = [example for example in found if example.row not in aside]
        return train, [example for example in found if example.row in aside]
    by_gold: dict[tuple[int, ...], list[Example]] = {}
    for example in found:
        by_gold.setdefault(example.gold, []).append(example)
    scenes = sorted(by_gold)
    out: set[tuple[int, ...]] = set()
    held = 0
    for place in generator.permutation(len(scenes)).tolist():
        size = len(by_gold[scenes[place]])
        if held + size <= wanted:
            out.add(scenes[place])
            held += size
    train = [example for example in found if example.gold not in out]
    return train, [example for example in found if example.gold in out]
