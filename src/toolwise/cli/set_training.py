"""The work of ``toolwise train sets``: traces of an index to better weights of its set scorer, or to none."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from toolwise.cli.render import progress_bar, words
from toolwise.errors import InvalidRequest
from toolwise.evaluate.lines import objects, refused
from toolwise.records import Json

if TYPE_CHECKING:
    from toolwise.learn.sets_data import Room

PREVIOUS = "previous.safetensors"
"""The weights before the last training, beside the present ones."""
LEAST = 10
"""Traces below which nothing is learned."""


@dataclass(frozen=True, slots=True)
class Example:
    """A request and the ids that served it, and how well."""

    text: str
    tools: frozenset[str]
    reward: float = 1.0


def read_examples(path: Path) -> list[Example]:
    """Requests with their tools, or logged traces; the first line says which.

    Raises EvaluationError, naming the line, for requests; lines that are no traces are left out with a word.
    """
    rows = list(objects(path))
    if rows and "called" in rows[0][1]:
        return _traces(path)
    return [_example(path, number, row) for number, row in rows]


def _example(path: Path, number: int, row: dict[str, Json]) -> Example:
    text, tools = row.get("query"), row.get("tools")
    if not isinstance(text, str) or not isinstance(tools, list):
        raise refused(path, number, 'expected {"query": text, "tools": [id...]}, or traces in all lines')
    if not all(isinstance(one, str) for one in tools):
        raise refused(path, number, "'tools' is not a list of tool ids")
    return Example(text, frozenset(map(str, tools)))


def _traces(path: Path) -> list[Example]:
    from toolwise.learn.rewards import read_traces

    log = read_traces(path)
    for problem in log.problems[:5]:
        words().print(problem, style="yellow")
    return [Example(one.text, one.gold, one.reward) for one in log.traces if one.reward > 0]


def learn_on(folder: Path, traces: Path, share: float, seed: int) -> dict[str, Any]:
    """Train, and put the weights into the index where they are better on the held-out traces.

    Raises InvalidRequest where too few traces name tools of the index.
    """
    from toolwise.learn.sets import CONTINUED, better, continue_training
    from toolwise.sets.default import weights_of
    from toolwise.sets.default_weights import PACKAGED, load, save

    kept, out = _rooms(folder, read_examples(traces), share, seed)
    own = weights_of(folder)
    start = load(own if own.is_file() else PACKAGED)
    with progress_bar() as progress:
        plan = replace(CONTINUED, seed=seed)
        weights, before, after = continue_training(start, [kept], [out], plan, progress)
    replaced = better(before, after)
    if replaced:
        save(start, own.with_name(PREVIOUS), {})
        save(weights, own, {"traces": str(len(kept.library.requests))})
    return {
        "before": asdict(before),
        "after": asdict(after),
        "kept": len(kept.library.requests),
        "held": len(out.library.requests),
        "replaced": replaced,
    }


def _rooms(folder: Path, examples: list[Example], share: float, seed: int) -> tuple[Room, Room]:
    """The traces to learn from and those to judge by, over the tools of the index."""
    from toolwise.learn.data import Library, Request
    from toolwise.learn.sets_data import Room
    from toolwise.retrieve import HybridRetriever
    from toolwise.store import Index

    index = Index.open(folder)
    row = {id_: place for place, id_ in enumerate(index.ids)}
    fit = [one for one in examples if all(id_ in row for id_ in one.tools)]
    if len(fit) < len(examples):
        words().print(f"{len(examples) - len(fit)} of {len(examples)} traces left out: unknown tools")
    if len(fit) < LEAST:
        raise InvalidRequest(
            f"{len(fit)} traces name tools of {folder}; expected at least {LEAST}. Collect more.",
            traces=len(fit),
        )
    tools = tuple(audited.tool for audited in index.scan())
    retriever, vectors = HybridRetriever.open(index), np.array(index.vectors)
    index.close()
    order = np.random.default_rng(seed).permutation(len(fit)).tolist()
    cut = max(1, round(share * len(fit)))

    def room(chosen: list[int]) -> Room:
        mine = [fit[place] for place in sorted(chosen)]
        requests = tuple(Request(one.text, tuple(sorted(row[id_] for id_ in one.tools))) for one in mine)
        return Room(Library("own", tools, requests), retriever, vectors, tuple(one.reward for one in mine))

    return room(order[cut:]), room(order[:cut])
