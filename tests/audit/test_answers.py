"""Answers kept on disk."""

from __future__ import annotations

import pytest

from toolwise.audit.answers import Answers
from toolwise.errors import AnnotatorError


@pytest.mark.parametrize("on_disk", [True, False])
def test_what_was_put_is_there(tmp_path, on_disk):
    """A newer answer replaces an older one; what was not put is not there."""
    answers = Answers(tmp_path / "a.sqlite" if on_disk else None)
    answers.put({"a": "1", "b": "2"})
    answers.put({"b": "3"})
    assert answers.get(["a", "b", "c"]) == {"a": "1", "b": "3"}
    assert answers.get([]) == {}


def test_another_process_finds_it(tmp_path):
    """The file is the memory."""
    Answers(tmp_path / "a.sqlite").put({f"k{i}": str(i) for i in range(1_200)})
    assert len(Answers(tmp_path / "a.sqlite").get([f"k{i}" for i in range(1_300)])) == 1_200


def test_a_file_that_cannot_be_used_is_named(tmp_path):
    """It says which and what to do."""
    (tmp_path / "a.sqlite").write_bytes(b"this is no database" * 100)
    with pytest.raises(AnnotatorError, match=r"a\.sqlite cannot be used: .*Delete the file"):
        Answers(tmp_path / "a.sqlite").get(["a"])
