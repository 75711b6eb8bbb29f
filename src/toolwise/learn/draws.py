"""What one step of the encoder's training sees: requests, tools, and which tool serves which request.

A library of at most ``Drawing.tools`` tools is shown whole.  Of a larger one,
the gold tools are shown, hard negatives (tools that the encoder, as it stands
at the start of the epoch, ranks high for the requests) and tools at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from toolwise.encode.text import query_text, tool_text
from toolwise.learn.data import Library
from toolwise.protocols import Bools, Floats, Ints
from toolwise.records import Tool, ToolText

Ranker: TypeAlias = Callable[[Sequence[str]], Floats]
"""Texts -> unit vectors (N, D), by the encoder as it stands."""

DROPPED = {"server": 0.3, "description": 0.1, "parameters": 0.3}
"""How often a part of a tool's text is left out, so that a tool of poor text is found by what it has."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """How much a step sees of a library."""

    requests: int = 48
    """Requests at most."""
    tools: int = 160
    """Tools of a larger library."""
    hard: int = 3
    """Hard negatives drawn per request."""
    depth: int = 15
    """Ranks that hard negatives are drawn from."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Which requests of which library a block holds."""

    library: int
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """Texts of requests (Q) and tools (T), and which tool serves which request (Q, T)."""

    requests: list[str]
    tools: list[str]
    gold: Bools


def view(tool: Tool, rng: np.random.Generator, dropped: dict[str, float] | None = None) -> str:
    """The text of ``tool`` with parts left out at random; never the name."""
    rates = DROPPED if dropped is None else dropped
    keep = {part: rng.random() >= rate for part, rate in rates.items()}
    text = ToolText(
        tool.text.description if keep["description"] else "",
        tool.text.parameters if keep["parameters"] else (),
    )
    return tool_text(replace(tool, server=tool.server if keep["server"] else "", text=text))


def whole_pass(libraries: Sequence[Library], drawing: Drawing, rng: np.random.Generator) -> list[Turn]:
    """Every request of every library once, in even chunks of one library, shuffled."""
    turns: list[Turn] = []
    for place, library in enumerate(libraries):
        rows = rng.permutation(len(library.requests))
        chunks = np.array_split(rows, max(1, -(-len(rows) // drawing.requests)))
        turns += [Turn(place, tuple(int(row) for row in chunk)) for chunk in chunks if len(chunk)]
    return [turns[place] for place in rng.permutation(len(turns))]


def balanced(
    libraries: Sequence[Library], count: int, drawing: Drawing, rng: np.random.Generator
) -> list[Turn]:
    """``count`` turns, every data set (the name before the slash) as often as the others."""
    by_set: dict[str, list[int]] = {}
    for place, library in enumerate(libraries):
        if library.requests:
            by_set.setdefault(library.name.partition("/")[0], []).append(place)
    sets = list(by_set.values())
    turns = []
    for number in range(count if sets else 0):
        members = sets[number % len(sets)]
        place = members[int(rng.integers(len(members)))]
        total = len(libraries[place].requests)
        rows = rng.choice(total, min(drawing.requests, total), replace=False)
        turns.append(Turn(place, tuple(int(row) for row in rows)))
    return [turns[place] for place in rng.permutation(len(turns))]


def hard_negatives(
    libraries: Sequence[Library], turns: Iterable[Turn], drawing: Drawing, encode: Ranker
) -> dict[tuple[int, int], Ints]:
    """For requests of ``turns`` in libraries not shown whole: the best-ranked tools that do not serve."""
    asked: dict[int, set[int]] = {}
    for turn in turns:
        if len(libraries[turn.library].tools) > drawing.tools:
            asked.setdefault(turn.library, set()).update(turn.rows)
    found: dict[tuple[int, int], Ints] = {}
    for place, wanted in sorted(asked.items()):
        library, rows = libraries[place], sorted(wanted)
        tools = encode([tool_text(tool) for tool in library.tools])
        scores = encode([query_text(library.requests[row].text) for row in rows]) @ tools.T
        for row, line in zip(rows, scores, strict=True):
            gold = library.requests[row].gold
            line[list(gold)] = -np.inf
            room = len(library.tools) - len(set(gold))
            found[place, row] = np.argsort(-line, kind="stable")[: min(drawing.depth, room)]
    return found


def block(
    libraries: Sequence[Library],
    turn: Turn,
    drawing: Drawing,
    mined: dict[tuple[int, int], Ints],
    rng: np.random.Generator,
) -> Block:
    """The texts of one turn."""
    library = libraries[turn.library]
    requests = [library.requests[row] for row in turn.rows]
    needed = {row for request in requests for row in request.gold}
    shown = _shown(library, turn, needed, drawing, mined, rng)
    column = {row: place for place, row in enumerate(shown)}
    gold = np.zeros((len(requests), len(shown)), bool)
    for line, request in enumerate(requests):
        gold[line, [column[row] for row in request.gold]] = True
    texts = [view(library.tools[row], rng) for row in shown]
    return Block([query_text(request.text) for request in requests], texts, gold)


def _shown(
    library: Library,
    turn: Turn,
    needed: set[int],
    drawing: Drawing,
    mined: dict[tuple[int, int], Ints],
    rng: np.random.Generator,
) -> list[int]:
    """Rows of the tools shown, ascending: all of a small library, else needed, hard and random ones."""
    if len(library.tools) <= drawing.tools:
        return list(range(len(library.tools)))
    chosen = set(needed)
    for row in turn.rows:
        hard = mined.get((turn.library, row))
        if hard is not None and len(hard):
            chosen.update(int(t) for t in rng.choice(hard, min(drawing.hard, len(hard)), replace=False))
    others = np.setdiff1d(np.arange(len(library.tools)), np.array(sorted(chosen)))
    room = max(0, min(len(others), drawing.tools - len(chosen)))
    chosen.update(int(row) for row in rng.choice(others, room, replace=False))
    return sorted(chosen)
