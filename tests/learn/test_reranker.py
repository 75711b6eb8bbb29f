"""Heads for one index: what they learn from and what they are judged by."""

from dataclasses import replace

import numpy as np
import pytest

from toolwise.errors import EncoderError
from toolwise.learn import reranker
from toolwise.learn.dual_head import Lesson
from toolwise.learn.reranker import teach
from toolwise.rerank.dual_head import Heads

TOOLS = np.eye(4, dtype=np.float32)


def lesson(*nearest: int) -> Lesson:
    """Requests that lie on the axis of a tool and need the tool after it."""
    levels, held = np.ones(4, np.int64), np.zeros(4, np.int64)
    return Lesson(TOOLS, TOOLS[list(nearest)], [[(row + 1) % 4] for row in nearest], levels, held)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Lesson]:
    """The lessons that were trained on; the heads that come of them know every answer."""
    seen: list[Lesson] = []

    class Knowing:
        def relevance(self, queries, tools):
            """The tool after the nearest."""
            return queries @ np.roll(tools, -1, axis=0).T @ np.eye(4)[:, [2, 3, 0, 1]]

    def train(lessons: list[Lesson], plan: object) -> list[Heads]:
        seen.extend(lessons)
        return [Knowing()]  # type: ignore[list-item]

    monkeypatch.setattr(reranker, "train_default", train)
    return seen


def test_heads_are_judged_by_other_requests_than_they_learn_from(shown: list[Lesson]):
    """Of eight requests in four wordings, two of the same words are held out together."""
    for seed in range(4):
        found = teach(lesson(0, 1, 2, 3, 0, 1, 2, 3), held=0.25, seed=seed)
        assert (found.trained, found.held) == (6, 2)
        learned = shown[-1].queries.argmax(1).tolist()
        assert len(set(learned)) == 3
        assert shown[-1].gold == [[(row + 1) % 4] for row in learned]


def test_the_measures_are_those_of_the_held_out_requests(shown: list[Lesson]):
    """Hand-made: the cosine has the gold tool second of the ties, by row; the heads have it first."""
    found = teach(lesson(0, 0, 0, 1), held=0.25, seed=0)
    assert (found.trained, found.held) == (3, 1)
    assert found.before == pytest.approx(1 / np.log2(4))  # row 1 first, then rows 0 and 2 in order
    assert found.after == 1


@pytest.mark.parametrize("rows", [(), (1,), (1, 1, 1)])
def test_one_request_is_not_enough(rows: tuple[int, ...]):
    """However often it was asked: nothing is left to judge by."""
    with pytest.raises(EncoderError, match=f"tells {min(len(rows), 1)} requests apart"):
        teach(lesson(*rows))


def test_an_unknown_form_is_named():
    """With the forms there are."""
    with pytest.raises(EncoderError, match="no form 'other' of heads; expected default or paper"):
        teach(replace(lesson(0, 1)), "other")
