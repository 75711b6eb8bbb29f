"""What a library should remember of its traces, chosen by traces that are held out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from toolwise.learn.adapter import USUAL, AdapterPlan, fit_adapter
from toolwise.learn.sets import Reached, no_worse, reached
from toolwise.learn.sets_data import Gatherer, Room, experienced, part
from toolwise.protocols import Progress, silent
from toolwise.retrieve.experience import MOST, UNTAUGHT, Lessons, keep
from toolwise.sets.default_weights import Weights

LEAST = 10
"""Traces below which nothing is remembered."""
HELD = 0.2
"""Share of the traces that judges."""


@dataclass(frozen=True, slots=True)
class Judged:
    """How held-out traces were served, and what made it so."""

    before: Reached
    """Without a past."""
    after: Reached
    """With the other traces for a past, as :attr:`lessons` say."""
    lessons: Lessons
    """What those taught; its adapter is of them alone."""

    @property
    def kept(self) -> bool:
        """Whether the traces are worth remembering."""
        return no_worse(self.before, self.after)


def judged(
    kept: Room, held: Room, weights: Weights, plan: AdapterPlan = USUAL, progress: Progress = silent
) -> Judged:
    """How ``held`` requests are served by the past ``kept``: with or without an adapter, by sets or by rank.

    The adapter has been stopped by requests of its own, so it stays unless memory alone completes clearly
    more, by more than the standard error of a share, or is no worse than no past where the adapter is.  A
    set scorer that knows neither the library nor the adapter may spoil what they find: it is believed
    unless the ranking alone completes clearly more.
    """
    past = kept.library.requests

    def measured(lessons: Lessons) -> Reached:
        room = experienced(held, past, lessons)
        return reached(weights, Gatherer([room], progress).pools(weights))

    before = reached(weights, Gatherer([held], progress).pools(weights))
    lessons, after = UNTAUGHT, measured(UNTAUGHT)
    adapter = fit_adapter(kept.retriever, kept.vectors, past, plan, progress)
    if adapter is not None:
        adapted = measured(Lessons(adapter))
        safe = no_worse(before, adapted) or not no_worse(before, after)
        if safe and not _clearly(after, adapted, held):
            lessons, after = Lessons(adapter), adapted
    ranked = measured(replace(lessons, belief=0.0))
    if _clearly(ranked, after, held):
        lessons, after = replace(lessons, belief=0.0), ranked
    return Judged(before, after, lessons)


def _clearly(one: Reached, other: Reached, held: Room) -> bool:
    """Whether one completes more of some requests than the other, by more than a share's standard error.

    A single request decides nothing.
    """
    count = len(held.library.requests)
    return round((one.complete - other.complete) * count, 6) > max(0.5 * float(np.sqrt(count)), 1.0)


def taught(room: Room, lessons: Lessons, plan: AdapterPlan = USUAL, progress: Progress = silent) -> Lessons:
    """What the requests of a room teach in the way of ``lessons``; no adapter where they teach none."""
    if lessons.adapter is None:
        return lessons
    adapter = fit_adapter(room.retriever, room.vectors, room.library.requests, plan, progress)
    return replace(lessons, adapter=adapter)


def relearned(
    room: Room, lessons: Lessons, plan: AdapterPlan = USUAL, progress: Progress = silent
) -> Lessons:
    """The lessons of all requests of a room, of the kind that a part of them was judged by.

    The adapter of that part stays where all of them make none.
    """
    found = taught(room, lessons, plan, progress)
    return replace(found, adapter=found.adapter or lessons.adapter)


def divided(room: Room, share: float, seed: int) -> tuple[Room, Room]:
    """The requests of a room to learn from and, a ``share`` of them, to judge by."""
    order = np.random.default_rng(seed).permutation(len(room.library.requests)).tolist()
    cut = max(1, round(share * len(order)))
    return part(room, sorted(order[cut:])), part(room, sorted(order[:cut]))


def chosen(
    room: Room, weights: Weights, share: float = HELD, seed: int = 0, progress: Progress = silent
) -> Lessons | None:
    """What the requests of a room teach; None where they are few, or serve held-out ones worse."""
    if sum(bool(request.gold) for request in room.library.requests) < LEAST:
        return None
    plan = AdapterPlan(seed=seed)
    found = judged(*divided(room, share, seed), weights, plan, progress)
    return relearned(room, found.lessons, plan, progress) if found.kept else None


def write(path: Path, room: Room, lessons: Lessons, fingerprint: str) -> None:
    """Keep at ``path`` the requests of a room, by the encoder of this fingerprint, and what they teach."""
    told = [request for request in room.library.requests if request.gold][-MOST:]
    vectors = room.retriever.vectors([request.text for request in told])
    served = [sorted(room.library.tools[row].id for row in request.gold) for request in told]
    asked = [request.text for request in room.library.requests if not request.gold][-MOST:]
    unserved = room.retriever.vectors(asked) if asked else None
    keep(path, vectors, served, fingerprint, lessons, unserved, [tool.id for tool in room.library.tools])
