"""The work of ``toolwise train sets`` and ``experience``: traces of an index to what serves it better."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from toolwise.cli.render import progress_bar, words
from toolwise.errors import InvalidRequest
from toolwise.evaluate.lines import objects, refused
from toolwise.records import Json
from toolwise.text import count

if TYPE_CHECKING:
    from toolwise.learn.adapter import AdapterPlan
    from toolwise.learn.experience import Judged
    from toolwise.learn.rewards import TraceLog
    from toolwise.learn.sets import Reached
    from toolwise.learn.sets_data import Room
    from toolwise.retrieve.experience import Lessons
    from toolwise.sets.default_weights import Weights

PREVIOUS = "previous.safetensors"
"""The weights before the last training, beside the present ones."""
ENOUGH = 30
"""Traces below which no weights are trained: too few are held out to tell better from worse."""


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

    return _examples(read_traces(path))


def _examples(log: TraceLog) -> list[Example]:
    from toolwise.learn.rewards import training_traces

    for problem in log.problems[:5]:
        words().print(problem, style="yellow")
    return [Example(one.text, one.gold, one.reward) for one in training_traces(log.traces)]


def sources(folder: Path, traces: Path | None, *, from_log: bool) -> tuple[Path, list[Example]]:
    """The folder of the index, and what it is to learn from: a file, or the log of the gateway it belongs to.

    With ``from_log``, ``folder`` is the state folder of a gateway or the index within it.  Raises
    InvalidRequest unless one of both is given, and GatewayError where there is no log.
    """
    if from_log == (traces is not None):
        raise InvalidRequest(
            "give --traces FILE, or --from-log for the log of the gateway whose state this is."
        )
    if traces is not None:
        return folder, read_examples(traces)
    from toolwise.learn.rewards import parse_traces
    from toolwise.serve.gateway.memory import DATABASE
    from toolwise.serve.gateway.traces import logged_traces

    within = not (folder / DATABASE).is_file() and (folder.parent / DATABASE).is_file()
    state = folder.parent if within else folder
    lines = (json.dumps(row) for row in logged_traces(state))
    return state / "index", _examples(parse_traces(lines))


@dataclass(frozen=True, slots=True)
class Lesson:
    """Traces of an index, the part to learn from and the part to judge by, and the weights so far."""

    folder: Path
    every: Room
    """All traces that name tools of the index."""
    kept: Room
    held: Room
    start: Weights

    plan: AdapterPlan

    def judged(self) -> Judged:
        """The held-out traces without a past, and with the others for a past."""
        from toolwise.learn.experience import judged

        with progress_bar() as progress:
            return judged(self.kept, self.held, self.start, self.plan, progress)

    def remember(self, lessons: Lessons) -> None:
        """Keep all traces as the experience of the index, and what they teach in the way of ``lessons``."""
        from toolwise.learn.experience import relearned, write
        from toolwise.retrieve.experience import FILE
        from toolwise.store import Index

        with progress_bar() as progress:
            lessons = relearned(self.every, lessons, self.plan, progress)
        index = Index.open(self.folder)
        fingerprint = index.meta["fingerprint"]
        index.close()
        write(self.folder / FILE, self.every, lessons, fingerprint)

    def told(self, reached: Mapping[str, Reached], **done: bool) -> dict[str, Any]:
        """What is printed."""
        sizes = {"kept": len(self.kept.library.requests), "held": len(self.held.library.requests)}
        known = {
            name: {key: None if np.isnan(value) else value for key, value in asdict(one).items()}
            for name, one in reached.items()
        }
        return {**known, **sizes, **done}


def remember(folder: Path, examples: list[Example], share: float, seed: int) -> dict[str, Any]:
    """Keep traces as the experience of an index, where held-out ones are served better by the others.

    Raises InvalidRequest where too few traces name tools of the index.
    """
    from toolwise.learn.experience import LEAST

    lesson = _lesson(folder, examples, share, seed, LEAST)
    found = lesson.judged()
    if found.kept:
        lesson.remember(found.lessons)
    return lesson.told({"before": found.before, "after": found.after}, **_learned(found))


def _learned(found: Judged) -> dict[str, bool]:
    return {
        "remembered": found.kept,
        "adapted": found.kept and found.lessons.adapter is not None,
        "believed": not found.kept or found.lessons.belief > 0,
    }


def learn_on(folder: Path, examples: list[Example], share: float, seed: int) -> dict[str, Any]:
    """Keep traces as experience and train on them; either goes into the index where held-out traces gain.

    Raises InvalidRequest where too few traces name tools of the index.
    """
    from toolwise.learn.experience import taught
    from toolwise.learn.sets import CONTINUED, better, continue_training
    from toolwise.learn.sets_data import experienced, halves
    from toolwise.retrieve.experience import FILE
    from toolwise.sets.default import weights_of
    from toolwise.sets.default_weights import save

    lesson = _lesson(folder, examples, share, seed, ENOUGH)
    found = lesson.judged()
    past = lesson.kept.library.requests
    trained = replace(found.lessons, belief=1.0)  # what is not believed cannot learn
    rooms, held = [lesson.kept], lesson.held
    with progress_bar() as progress:
        if found.kept:
            held = experienced(held, past, trained)
            rng = np.random.default_rng(seed)
            rooms = halves(lesson.kept, rng, lambda one: taught(one, trained, lesson.plan, progress))
        plan = replace(CONTINUED, seed=seed)
        weights, untaught, after = continue_training(lesson.start, rooms, [held], plan, progress)
    replaced = better(untaught, after) and (not found.kept or after.complete >= found.after.complete)
    if found.kept:
        lesson.remember(trained if replaced else found.lessons)
    if replaced:
        if not found.kept:  # the new weights were judged without a past
            (folder / FILE).unlink(missing_ok=True)
        own = weights_of(folder)
        save(lesson.start, own.with_name(PREVIOUS), {})
        save(weights, own, {"traces": str(len(past))})
    kinds = {"before": found.before, "experienced": found.after, "after": after}
    learned = _learned(found)
    learned["believed"] = learned["believed"] or replaced
    return lesson.told(kinds, **learned, replaced=replaced)


def _lesson(folder: Path, examples: list[Example], share: float, seed: int, least: int) -> Lesson:
    from toolwise.learn.adapter import AdapterPlan
    from toolwise.learn.experience import divided
    from toolwise.sets.default import weights_of
    from toolwise.sets.default_weights import PACKAGED, load

    every = _room(folder, examples, least)
    kept, held = divided(every, share, seed)
    own = weights_of(folder)
    start = load(own if own.is_file() else PACKAGED)
    return Lesson(folder, every, kept, held, start, AdapterPlan(seed=seed))


def _distinct(examples: Iterable[Example]) -> list[Example]:
    """The last of the best examples of each request, in order: none is both learned from and judged by."""
    best: dict[tuple[str, ...], Example] = {}
    for one in examples:
        key = tuple(one.text.casefold().split())
        if key not in best or one.reward >= best[key].reward:
            best.pop(key, None)
            best[key] = one
    return list(best.values())


def _room(folder: Path, examples: list[Example], least: int) -> Room:
    """The traces that name tools of the index, each request once, and the index with them as requests."""
    from toolwise.learn.data import Library, Request
    from toolwise.learn.experience import LEAST
    from toolwise.learn.sets_data import Room
    from toolwise.retrieve import Bm25Retriever, DenseRetriever, HybridRetriever
    from toolwise.store import Index

    index = Index.open(folder)
    row = {id_: place for place, id_ in enumerate(index.ids)}
    known = [one for one in examples if all(id_ in row for id_ in one.tools)]
    if len(known) < len(examples):
        missing = sorted({id_ for one in examples for id_ in one.tools if id_ not in row})
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        words().print(
            f"{len(examples) - len(known)} of {len(examples)} traces left out: the index lacks "
            f"{', '.join(missing[:3])}{more}"
        )
    fit = _distinct(known)
    if len(fit) < least:
        other = f", or use `toolwise train experience` ({LEAST})" if len(fit) >= LEAST else ""
        raise InvalidRequest(
            f"{count(len(fit), 'trace')} of tools of {folder}; expected {least} at least. Get more{other}.",
            traces=len(fit),
        )
    tools = tuple(audited.tool for audited in index.scan())
    # without the experience so far: it is to be replaced, and may be damaged
    retriever = HybridRetriever(Bm25Retriever.open(index), DenseRetriever.open(index), index.ids)
    vectors = np.array(index.vectors)
    index.close()
    requests = tuple(Request(one.text, tuple(sorted(row[id_] for id_ in one.tools))) for one in fit)
    return Room(Library("own", tools, requests), retriever, vectors, tuple(one.reward for one in fit))
