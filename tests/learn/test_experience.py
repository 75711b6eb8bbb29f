"""What is remembered of traces, and what they are found to teach."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.learn.test_adapter import ENCODER, TOOLS, VECTORS, birds, retriever
from toolwise.learn.adapter import USUAL
from toolwise.learn.data import Library, Request
from toolwise.learn.experience import LEAST, Judged, chosen, divided, judged, relearned, taught, write
from toolwise.learn.sets import Reached
from toolwise.learn.sets_data import Room, experienced
from toolwise.records import Query
from toolwise.retrieve.adapter import Adapter
from toolwise.retrieve.experience import UNTAUGHT, Lessons, read
from toolwise.sets.default_weights import plain


def room(requests: list[Request]) -> Room:
    """Three tools and what they were asked."""
    return Room(Library("own", TOOLS, tuple(requests)), retriever(), VECTORS)


def test_requests_are_parted_once():
    """A fifth judges; nothing is on both sides."""
    kept, held = divided(room(birds(4)), 0.2, 0)
    assert len(held.library.requests) == 8
    texts = [request.text for one in (kept, held) for request in one.library.requests]
    assert sorted(texts) == sorted(request.text for request in birds(4))


def test_what_serves_held_out_traces_is_kept():
    """Birds that no tool speaks of are served once past requests are known."""
    found = judged(*divided(room(birds(4)), 0.2, 0), plain())
    assert found.after.complete >= found.before.complete
    assert found.kept


@pytest.mark.parametrize(("alone", "belief"), [(2 / 3, 1.0), (1.0, 0.0)])
def test_one_held_out_trace_more_decides_nothing(
    monkeypatch: pytest.MonkeyPatch, alone: float, belief: float
):
    """Of three, the sets complete one; the ranking two, which may be chance, or all three."""
    shares = iter((1 / 3, 1 / 3, alone))
    monkeypatch.setattr(
        "toolwise.learn.experience.reached", lambda weights, pools: Reached(next(shares), 0.5, 0.0, 1.0, 1.0)
    )
    monkeypatch.setattr("toolwise.learn.experience.fit_adapter", lambda *given: None)
    kept, held = divided(room(birds(2)), 0.2, 0)
    three = replace(held, library=replace(held.library, requests=held.library.requests[:3]))
    assert len(three.library.requests) == 3
    assert judged(kept, three, plain()).lessons.belief == belief


def test_a_scorer_that_spoils_the_ranking_is_not_believed(monkeypatch: pytest.MonkeyPatch):
    """The ranking alone completes all of eight, the sets none: far more than a standard error (.18)."""
    shares = iter((0.2, 0.3, 0.9))
    monkeypatch.setattr(
        "toolwise.learn.experience.reached", lambda weights, pools: Reached(next(shares), 0.5, 0.0, 1.0, 1.0)
    )
    monkeypatch.setattr("toolwise.learn.experience.fit_adapter", lambda *given: None)
    found = judged(*divided(room(birds(4)), 0.2, 0), plain())
    assert found.lessons.adapter is None
    assert found.lessons.belief == 0
    assert found.after.complete == 0.9


def test_a_little_more_by_rank_is_chance(monkeypatch: pytest.MonkeyPatch):
    """.4 against .3 of eight requests."""
    shares = iter((0.2, 0.3, 0.4))
    monkeypatch.setattr(
        "toolwise.learn.experience.reached", lambda weights, pools: Reached(next(shares), 0.5, 0.0, 1.0, 1.0)
    )
    monkeypatch.setattr("toolwise.learn.experience.fit_adapter", lambda *given: None)
    assert judged(*divided(room(birds(4)), 0.2, 0), plain()).lessons is UNTAUGHT


def test_a_past_that_serves_worse_is_not_kept():
    """Fewer complete answers with it than without."""
    worse = Judged(Reached(0.5, 0.7, 0, 1, 1), Reached(0.4, 0.7, 0, 1, 1), UNTAUGHT)
    assert not worse.kept


def test_few_traces_are_not_remembered():
    """Ten that some tool served at least."""
    few = [*birds(1)[: LEAST - 1], *(Request(f"buy {n}", ()) for n in range(9))]
    assert chosen(room(few), plain()) is None


def test_lessons_are_learned_anew_from_all_requests():
    """Of their kind only: what was judged without an adapter gets none."""
    every = room(birds(4))
    assert relearned(every, UNTAUGHT) == UNTAUGHT
    part = Adapter(np.zeros((8, 8), np.float32), 0.5)
    found = relearned(every, Lessons(part, 0.0), replace(USUAL, rate=3e-2))
    assert found.belief == 0
    assert found.adapter is not None and found.adapter is not part


def test_a_half_that_teaches_nothing_has_no_adapter():
    """It would else be judged by one that knows its own requests."""
    few, part = room(birds(1)), Adapter(np.zeros((8, 8), np.float32), 0.5)
    assert taught(few, Lessons(part, 1.0)) == UNTAUGHT
    assert relearned(few, Lessons(part, 1.0)) == Lessons(part, 1.0)


def test_what_is_written_is_what_is_known(tmp_path: Path):
    """A room that knows its past, and the same library with the file, rank alike."""
    every = room([*birds(2), Request("buy milk", ())])
    lessons = Lessons(Adapter(np.eye(8, dtype=np.float32) / 4, 0.5), 0.5)
    write(tmp_path / "past", every, lessons, "words:1")
    past = read(tmp_path / "past", [tool.id for tool in TOOLS], ENCODER.fingerprint)
    assert past is not None
    assert past.past == len(birds(2))
    known = experienced(every, every.library.requests, lessons)
    query, rows = Query("q", "stork soon"), np.arange(3)
    found, expected = (
        one.evidence(query, rows).fused for one in (retriever().remembering(past), known.retriever)
    )
    assert found == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("before", "memory", "adapted", "taken"),
    [
        (0.2, 0.3, 0.3, True),
        (0.2, 0.4, 0.3, True),  # chance: less than .18 of eight requests
        (0.2, 0.5, 0.3, False),  # clearly worse
        (0.35, 0.4, 0.3, False),  # worse than no past, where memory is not
        (0.5, 0.4, 0.3, True),  # neither will be kept
    ],
)
def test_an_adapter_stays_unless_memory_alone_is_better(
    monkeypatch: pytest.MonkeyPatch, before: float, memory: float, adapted: float, taken: bool
):
    """Beyond chance, or where it alone would lose what there was."""
    shares = iter((before, memory, adapted, 0.0))
    monkeypatch.setattr(
        "toolwise.learn.experience.reached", lambda weights, pools: Reached(next(shares), 0.5, 0.0, 1.0, 1.0)
    )
    adapter = Adapter(np.zeros((8, 8), np.float32), 1.0)
    monkeypatch.setattr("toolwise.learn.experience.fit_adapter", lambda *given: adapter)
    found = judged(*divided(room(birds(4)), 0.2, 0), plain())
    assert (found.lessons.adapter is adapter) == taken
    assert found.after.complete == (adapted if taken else memory)
