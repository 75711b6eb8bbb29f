"""What the default set scorer is trained on: requests with the pools that inference would make for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from toolwise.catalog import load as load_catalogue
from toolwise.encode.load import load_encoder
from toolwise.errors import EncoderError
from toolwise.learn.data import PERMITTED, Library, Request, libraries
from toolwise.learn.own_words import HELD_OUT, SMALL
from toolwise.protocols import Bools, Encoder, Floats, Progress, silent
from toolwise.records import Query, Tool
from toolwise.retrieve import Bm25Retriever, DenseRetriever, HybridRetriever, build_bm25
from toolwise.retrieve.experience import MOST, UNTAUGHT, Experience, Lessons
from toolwise.sets.default import first_scores
from toolwise.sets.default_weights import Weights
from toolwise.sets.facts import Facts, facts_of
from toolwise.sets.features import PAIR, UNARY, View, asked
from toolwise.sets.pool import DEPTH, SIZE


@dataclass(frozen=True, slots=True)
class Room:
    """A library ready to be searched, by an encoder that never saw its requests."""

    library: Library
    retriever: HybridRetriever
    vectors: Floats
    """(N, D)"""
    rewards: tuple[float, ...] = ()
    """What each request counts; 1 each where there are none."""


@dataclass(frozen=True, slots=True)
class Lists:
    """The longer candidate lists of n requests, from which pools are chosen."""

    unary: Floats
    """(n, D, U)"""
    valid: Bools
    """(n, D)"""
    gold: Bools
    """(n, D)"""


@dataclass(frozen=True, slots=True)
class Pools:
    """The pools of n requests; K candidates, padded."""

    unary: Floats
    """(n, K, U)"""
    pairs: Floats
    """(n, P, V): the pairs a < b, row by row."""
    whole: Floats
    """(n, G)"""
    valid: Bools
    """(n, K)"""
    gold: Bools
    """(n, K)"""
    needed: Floats
    """(n,): how many tools serve the request, in the pool or not; 0 where none does."""
    reward: Floats
    """(n,): what each request counts."""
    described: Floats
    """(n,): share of the pool's tools that say enough of themselves (``View.described``)."""
    confidence: Floats
    """(n,): how sure the retriever is of the best of the pool."""
    library: tuple[str, ...]
    """The library of each request."""
    kept: tuple[tuple[int, ...], ...]
    """The rows of each pool in its library."""


_ARRAYS = ("unary", "pairs", "whole", "valid", "gold", "needed", "described", "confidence", "reward")


def with_unserved(data: Path, found: Sequence[Library]) -> tuple[Library, ...]:
    """Workspaces with the permitted requests that no tool of theirs serves, gold empty, at the end."""
    unserved: dict[str, list[Request]] = {}
    for split in PERMITTED["mcp_tasks"]:
        path = data / "mcp_tasks" / f"queries.{split}.jsonl"
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            if not row["tools"]:
                unserved.setdefault(f"mcp_tasks/{row['workspace']}", []).append(Request(row["query"], ()))
    return tuple(
        replace(library, requests=(*library.requests, *unserved.get(library.name, ()))) for library in found
    )


def complete_tools(data: Path, found: Sequence[Library]) -> tuple[Library, ...]:
    """Libraries with their tools as an index holds them: details, results and all."""
    read: dict[str, Mapping[str, Tool]] = {}
    made = []
    for library in found:
        source = library.name.partition("/")[0]
        if source not in read:
            read[source] = {tool.id: tool for tool in load_catalogue([data / source / "tools.jsonl"]).tools}
        tools = tuple(read[source].get(tool.id, tool) for tool in library.tools)
        made.append(replace(library, tools=tools))
    return tuple(made)


def permitted(data: Path, sets: Sequence[str] = ("mcp_tasks",)) -> tuple[Library, ...]:
    """The permitted libraries with complete tools and unserved requests."""
    return with_unserved(data, complete_tools(data, libraries(data, sets)))


def beside(data: Path, encoder: Encoder, most: int, counts: float = 0.5) -> list[Room]:
    """The other permitted data sets, ``most`` requests of each library, every one counting ``counts``.

    The packaged encoders were trained on their requests; they are few here and
    count less, and keep the weights from suiting one kind of catalogue only.
    """
    others = [name for name in PERMITTED if name != "mcp_tasks"]
    rng = np.random.default_rng(0)
    made = []
    for library in complete_tools(data, libraries(data, others)):
        drawn = np.sort(rng.permutation(len(library.requests))[:most])
        requests = tuple(library.requests[place] for place in drawn)
        one = room(replace(library, requests=requests), encoder)
        made.append(replace(one, rewards=(counts,) * len(requests)))
    return made


def room(library: Library, encoder: Encoder) -> Room:
    """A library ready to be searched."""
    ids = [tool.id for tool in library.tools]
    vectors = encoder.encode_tools(library.tools)
    lexical = Bm25Retriever(build_bm25(library.tools), ids)
    return Room(library, HybridRetriever(lexical, DenseRetriever(encoder, vectors, ids), ids), vectors)


PAST = (0.1, 0.6)
"""Least and greatest share of a library's requests that training takes for its past."""


def part(one: Room, places: Iterable[int]) -> Room:
    """The room with the requests at ``places`` only."""
    chosen = list(places)
    rewards = tuple(one.rewards[place] for place in chosen) if one.rewards else ()
    library = replace(one.library, requests=tuple(one.library.requests[place] for place in chosen))
    return replace(one, library=library, rewards=rewards)


def experienced(one: Room, past: Sequence[Request], lessons: Lessons = UNTAUGHT) -> Room:
    """The room with a retriever that knows the last of ``past``; requests that nothing served say nothing."""
    told = [request for request in past if request.gold][-MOST:]
    vectors = one.retriever.vectors([request.text for request in told])
    known = Experience(vectors, [request.gold for request in told], len(one.library.tools), lessons)
    return replace(one, retriever=one.retriever.remembering(known))


def partly_experienced(one: Room, rng: np.random.Generator) -> list[Room]:
    """The room in two: its past and half of the rest know nothing, the other half knows that past."""
    count = len(one.library.requests)
    order = rng.permutation(count)
    cut = round(count * rng.uniform(*PAST))
    middle = cut + (count - cut) // 2
    past = [one.library.requests[place] for place in sorted(order[:cut].tolist())]
    return [part(one, sorted(order[:middle])), experienced(part(one, sorted(order[middle:])), past)]


def halves(
    one: Room, rng: np.random.Generator, taught: Callable[[Room], Lessons] = lambda room: UNTAUGHT
) -> list[Room]:
    """The room in two halves, each with the other for its past, and with what that teaches."""
    order = rng.permutation(len(one.library.requests)).tolist()
    cut = len(order) // 2
    both = [part(one, sorted(order[:cut])), part(one, sorted(order[cut:]))]
    return [experienced(a, b.library.requests, taught(b)) for a, b in zip(both, reversed(both), strict=True)]


def held_out(specification: str, found: Sequence[Library]) -> list[str]:
    """The libraries that the encoder of a ``specification``, which ends in a folder, was trained without.

    Raises EncoderError without the list, and where it does not go with our own libraries among ``found``:
    then the encoder was trained before these were written, and may know them.
    """
    folder = Path(specification.partition(":")[2])
    path = folder / HELD_OUT
    if not path.is_file():
        raise EncoderError(
            f"{folder} has no {HELD_OUT}; expected an encoder that was trained with --fold.", path=path
        )
    names: list[str] = json.loads(path.read_text(encoding="utf-8"))
    own = {library.name for library in found if library.name.startswith(SMALL)}
    listed = {name for name in names if name.startswith(SMALL)}
    if (own and not listed) or (own and listed - own):
        raise EncoderError(
            f"{path} names {len(listed)} of our own libraries, {len(listed - own)} of them unknown; expected "
            "a part of those in training/. Train the encoder of this fold again, with --own.",
            path=path,
        )
    return names


def rooms_out_of_fold(found: Sequence[Library], encoders: Sequence[str]) -> list[list[Room]]:
    """The rooms of each encoder: the libraries that its ``held_out.json`` names and no earlier one's did.

    ``encoders`` are specifications that end in a folder, ``static:FOLDER``.
    """
    by_name = {library.name: library for library in found}
    made = []
    for specification in encoders:
        names = held_out(specification, found)
        encoder = load_encoder(specification)
        made.append([room(by_name.pop(name), encoder) for name in names if name in by_name])
    return made


class Gatherer:
    """Features of every request of some rooms, as inference would compute them."""

    def __init__(self, rooms: Sequence[Room], progress: Progress = silent) -> None:
        self._rooms = rooms
        self._facts: list[dict[int, Facts]] = [{} for _ in rooms]
        self._progress = progress
        self.total = sum(len(one.library.requests) for one in rooms)

    def lists(self) -> Lists:
        """The retriever's best candidates."""
        unary = np.zeros((self.total, DEPTH, len(UNARY)), dtype=np.float32)
        valid = np.zeros((self.total, DEPTH), dtype=bool)
        gold = np.zeros_like(valid)
        for place, (at, request) in enumerate(self._requests()):
            rows = self._candidates(at, request)
            unary[place, : len(rows)] = self._view(at, request, rows).unary
            valid[place, : len(rows)] = True
            gold[place, : len(rows)] = np.isin(rows, request.gold)
            self._progress("reading requests", place + 1, self.total)
        return Lists(unary, valid, gold)

    def pools(self, weights: Weights, size: int = SIZE) -> Pools:
        """The pools that ``weights`` choose."""
        above = np.triu_indices(size, 1)
        columns: dict[str, list[np.ndarray]] = {name: [] for name in _ARRAYS}
        names, kept = [], []
        for place, (at, request) in enumerate(self._requests()):
            rows = self._narrowed(at, request, weights, size)
            view = self._view(at, request, rows)
            k = len(rows)
            pairs = np.zeros((size, size, len(PAIR)), dtype=np.float16)
            pairs[:k, :k] = view.pairs()
            columns["unary"].append(_padded(view.unary, size))
            columns["pairs"].append(pairs[above])
            columns["whole"].append(view.whole)
            columns["valid"].append(np.arange(size) < k)
            columns["gold"].append(_padded(np.isin(rows, request.gold), size))
            columns["needed"].append(np.array(len(request.gold), np.float32))
            columns["described"].append(np.array(view.described, np.float32))
            columns["confidence"].append(np.array(view.evidence.confidence, np.float32))
            names.append(self._rooms[at].library.name)
            kept.append(tuple(rows.tolist()))
            self._progress("making pools", place + 1, self.total)
        rewards = [value for one in self._rooms for value in one.rewards or [1.0] * len(one.library.requests)]
        columns["reward"] = [np.array(value, np.float32) for value in rewards]
        return Pools(
            **{name: np.stack(found) for name, found in columns.items()},
            library=tuple(names),
            kept=tuple(kept),
        )

    def names(self) -> list[str]:
        """The library of each request."""
        return [self._rooms[at].library.name for at, _ in self._requests()]

    def _requests(self) -> list[tuple[int, Request]]:
        return [(at, request) for at, one in enumerate(self._rooms) for request in one.library.requests]

    def _candidates(self, at: int, request: Request) -> np.ndarray:
        found = self._rooms[at].retriever.retrieve(Query("", request.text), DEPTH)
        return np.array([candidate.row for candidate in found.candidates], dtype=np.int64)

    def _narrowed(self, at: int, request: Request, weights: Weights, size: int) -> np.ndarray:
        rows = self._candidates(at, request)
        if len(rows) <= size:
            return rows
        scores = first_scores(weights, self._view(at, request, rows))
        return rows[np.lexsort((rows, -scores))[:size]]

    def _view(self, at: int, request: Request, rows: np.ndarray) -> View:
        one, facts = self._rooms[at], self._facts[at]
        for row in rows.tolist():
            if row not in facts:
                facts[row] = facts_of(one.library.tools[row])
        evidence = one.retriever.evidence(Query("", request.text), rows)
        return View(asked(request.text), [facts[row] for row in rows.tolist()], evidence, one.vectors[rows])


def _padded(rows: np.ndarray, size: int) -> np.ndarray:
    found = np.zeros((size, *rows.shape[1:]), dtype=rows.dtype)
    found[: len(rows)] = rows
    return found
