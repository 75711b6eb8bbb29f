"""What served past requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save

from toolwise.errors import BrokenIndex
from toolwise.retrieve.adapter import Adapter
from toolwise.retrieve.experience import MOST, UNTAUGHT, Experience, Lessons, Recalled, keep, read

EAST, NORTH = [1.0, 0.0], [0.0, 1.0]
ASKED = np.array([EAST, NORTH, [0.6, 0.8]], np.float32)
SERVED = [(0, 2), (2,), (0, 2, 3)]
NOW = np.array(EAST, np.float32)
ALL = np.arange(5)


def recall(past: Experience, rows: np.ndarray) -> Recalled:
    """What it says for the request of now."""
    return past.recall(past.nearest(NOW), rows)


def test_tools_are_recalled_by_the_nearest_request_they_served():
    """Cosines to the three requests are 1, 0 and .6: tool 3 served the last alone, tool 1 none."""
    found = recall(Experience(ASKED, SERVED, 5), ALL)
    assert found.nearest == pytest.approx([1, 0, 1, 0.6, 0])
    assert found.uses.tolist() == [2, 0, 3, 1, 0]
    assert found.past == 3


def test_tools_that_served_together_are_counted():
    """0 and 2 twice, 0 and 3 once, in the order that is asked for."""
    found = recall(Experience(ASKED, SERVED, 5), np.array([2, 0, 3]))
    assert found.together.tolist() == [[3, 2, 1], [2, 2, 1], [1, 1, 1]]


def test_without_vectors_the_counts_are_left():
    """Another encoder's vectors say nothing; how often tools served does."""
    found = recall(Experience(np.zeros((3, 0), np.float32), SERVED, 5), ALL)
    assert np.isnan(found.nearest).all()
    assert found.uses.tolist() == [2, 0, 3, 1, 0]


def test_no_past_says_nothing_of_anything():
    """An empty experience is an experience."""
    found = recall(Experience(np.zeros((0, 2), np.float32), [], 2), np.arange(2))
    assert found.nearest.tolist() == found.uses.tolist() == [0, 0]


def test_it_is_read_as_it_was_kept(tmp_path: Path):
    """Ids are looked up in the library of today; tools that are gone are left out."""
    path = tmp_path / "past"
    keep(path, ASKED, [("a", "c"), ("c",), ("a", "c", "gone")], "words")
    past = read(path, ["c", "new", "a"], "words")
    assert past is not None
    found = recall(past, np.arange(3))
    assert found.uses.tolist() == [3, 0, 2]
    assert found.nearest == pytest.approx([1, 0, 1])


def test_what_nothing_served_is_kept_for_the_same_tools(tmp_path: Path):
    """By its vector, cosine .6 to the request of now; a new tool may serve it, so it is forgotten then."""
    path = tmp_path / "past"
    keep(path, ASKED[:1], [("a",)], "words", unserved=ASKED[2:], ids=["a", "b"])
    same, more = read(path, ["b", "a"], "words"), read(path, ["a", "b", "c"], "words")
    fewer = read(path, ["a"], "words")
    assert fewer is not None
    assert fewer.nearest_unserved(NOW) == pytest.approx(0.6, abs=1e-3)
    assert same is not None
    assert more is not None
    assert same.nearest_unserved(NOW) == pytest.approx(0.6, abs=1e-3)
    assert more.nearest_unserved(NOW) == Experience(ASKED, SERVED, 5).nearest_unserved(NOW) == 0
    assert same.past == more.past == 1


def test_one_past_request_can_be_passed_over():
    """Without the first, tool 0 is known from the last alone, at .6, and tool 2 as well."""
    past = Experience(ASKED, SERVED, 5)
    assert past.nearest(NOW, but=0) == pytest.approx([0.6, 0, 0.6, 0.6, 0])
    assert past.nearest(NOW) == pytest.approx([1, 0, 1, 0.6, 0])


def test_what_it_teaches_is_read_as_it_was_kept(tmp_path: Path):
    """The map, what words count, and how far set scorers are believed."""
    path, turn = tmp_path / "past", np.array([[0, 0.5], [0.25, 0]], np.float32)
    keep(path, ASKED, [("a",), ("a",), ("b",)], "words", Lessons(Adapter(turn, 0.3), 0.5))
    past = read(path, ["a", "b"], "words")
    assert past is not None and past.lessons.adapter is not None
    assert past.lessons.adapter.residual.tolist() == turn.tolist()
    assert past.lessons.adapter.lexical == pytest.approx(0.3)
    assert past.lessons.belief == recall(past, np.arange(2)).belief == 0.5


def test_another_encoder_is_taught_nothing(tmp_path: Path):
    """A map of other vectors says nothing of these."""
    path = tmp_path / "past"
    keep(
        path,
        ASKED,
        [("a",), ("a",), ("b",)],
        "words",
        Lessons(Adapter(np.eye(2, dtype=np.float32), 0.3), 0.5),
    )
    past = read(path, ["a", "b"], "other")
    assert past is not None
    assert past.lessons is UNTAUGHT


@pytest.mark.parametrize(
    ("notes", "residual"),
    [
        ({"belief": "2"}, None),
        ({"belief": "often"}, None),
        ({"lexical": "-1"}, np.eye(2, dtype=np.float16)),
        ({"lexical": "inf"}, np.eye(2, dtype=np.float16)),
        ({"lexical": "1"}, np.eye(3, dtype=np.float16)),
        ({"lexical": "1"}, np.full((2, 2), np.nan, np.float16)),
        ({"lexical": "1"}, None),
    ],
)
def test_lessons_that_cannot_be_are_refused(tmp_path: Path, notes: dict[str, str], residual: Any):
    """A damaged file is named, with what to do."""
    tensors: dict[str, np.ndarray] = {
        "vectors": ASKED.astype(np.float16),
        "counts": np.ones(3, np.int64),
        "tools": np.zeros(3, np.int64),
    }
    if residual is not None:
        tensors["residual"] = residual
    path = tmp_path / "past"
    path.write_bytes(save(tensors, {"encoder": "words", "tools": '["a"]', **notes}))
    with pytest.raises(BrokenIndex, match="train experience"):
        read(path, ["a"], "words")


def test_another_encoder_keeps_the_counts_only(tmp_path: Path):
    """Vectors of another fingerprint are not compared."""
    path = tmp_path / "past"
    keep(path, ASKED, [("a",), ("a",), ("b",)], "words")
    past = read(path, ["a", "b"], "other")
    assert past is not None
    assert np.isnan(recall(past, np.arange(2)).nearest).all()


def test_the_latest_are_kept(tmp_path: Path):
    """More than are looked at would only cost time."""
    path = tmp_path / "past"
    served = [("old",)] * 3 + [("new",)] * MOST
    keep(path, np.tile(np.array([EAST], np.float32), (len(served), 1)), served, "words")
    past = read(path, ["old", "new"], "words")
    assert past is not None
    assert recall(past, np.arange(2)).uses.tolist() == [0, MOST]


def test_a_library_without_experience_has_none(tmp_path: Path):
    """No file, no experience."""
    assert read(tmp_path / "past", ["a"], "words") is None


@pytest.mark.parametrize("content", [b"", b"{}", b"\x02\x00\x00\x00\x00\x00\x00\x00{}"])
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes):
    """The error names the file and what to do."""
    path = tmp_path / "past"
    path.write_bytes(content)
    with pytest.raises(BrokenIndex, match="delete it") as caught:
        read(path, ["a"], "words")
    assert caught.value.path == path


@pytest.mark.parametrize(
    "part",
    [
        {"known": "3"},
        {"known": '[["a"]]'},
        {"tools": np.array([0.0, 0.0])},
        {"counts": np.array([[1, 1]])},
        {"counts": np.array([-1, 3])},
        {"vectors": np.zeros(2, np.float16)},
        {"vectors": np.full((2, 2), np.nan, np.float16)},
    ],
)
def test_a_file_that_holds_something_else_is_refused(tmp_path: Path, part: dict[str, Any]):
    """Well-formed safetensors with another content are no past either, and break no ranking later."""
    path = tmp_path / "past"
    whole = {"vectors": np.eye(2, dtype=np.float16), "counts": np.array([1, 1]), "tools": np.array([0, 0])}
    known = part.pop("known", '["a"]')
    path.write_bytes(save({**whole, **part}, metadata={"encoder": "words", "tools": known}))
    with pytest.raises(BrokenIndex, match="train experience"):
        read(path, ["a"], "words")


@given(st.lists(st.sets(st.integers(0, 5), max_size=4), max_size=8), st.permutations(range(6)))
def test_counts_are_those_of_a_table_of_who_served_what(served: list[set[int]], order: list[int]):
    """Together is the product of that table with itself, whatever tools are asked for in what order."""
    asked = np.tile(NOW, (len(served), 1)).reshape(len(served), 2)
    table = np.array([[tool in some for tool in order] for some in served], np.float32).reshape(-1, 6)
    found = recall(Experience(asked, [sorted(some) for some in served], 6), np.array(order))
    assert found.together.tolist() == (table.T @ table).tolist()
    assert found.nearest.tolist() == table.max(axis=0, initial=0).tolist()
