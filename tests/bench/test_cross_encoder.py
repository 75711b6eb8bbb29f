"""Reranking by pairs, over a stand-in for the library."""

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.bench.systems import FixedSystem, ids
from tests.builders import tool

from toolwise.bench.baselines import PairSystem, cross_encoder
from toolwise.bench.baselines.cross_encoder import CrossEncoderScorer
from toolwise.errors import EncoderError, MissingExtra
from toolwise.protocols import Floats
from toolwise.records import Query

TOOLS = [tool(f"s/{c}", f"Does {c}.") for c in "abcd"]
INNER = FixedSystem(*((t.id, -float(i)) for i, t in enumerate(TOOLS)))


class Model:
    """A stand-in: a pair scores as many points as its text has letters b, or what ``answer`` holds."""

    loaded: ClassVar[list[tuple[str, dict[str, Any]]]] = []
    pairs: ClassVar[list[tuple[str, str]]] = []
    answer: ClassVar[Any] = None

    def __init__(self, name: str, **options: Any) -> None:
        if name == "broken":
            raise OSError("no such model")
        self.loaded.append((name, options))

    def predict(self, pairs: list[tuple[str, str]], **options: Any) -> Any:
        """(K,)."""
        assert options == {"show_progress_bar": False}
        self.pairs.extend(pairs)
        if isinstance(self.answer, Exception):
            raise self.answer
        return np.array([t.count("b") for _, t in pairs], float) if self.answer is None else self.answer


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("sentence_transformers")
    module.CrossEncoder = Model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    monkeypatch.setattr(cross_encoder, "find_spec", lambda name: object())
    for name, value in (("loaded", []), ("pairs", []), ("answer", None)):
        monkeypatch.setattr(Model, name, value)


class Points:
    """Scores by a table of letters."""

    def __init__(self, **points: float) -> None:
        self.points = points

    def score(self, request: str, texts: Sequence[str]) -> Floats:
        """The points of the letter that a text names."""
        return np.array([self.points[text[3]] for text in texts], np.float32)


def test_the_head_is_in_order_of_the_scores():
    """D has the most points but is beyond the depth; a and b have as many, and keep their inner order."""
    system = PairSystem("pairs", INNER, lambda: Points(a=1, b=1, c=2, d=9), depth=3)
    system.fit(TOOLS, [])
    assert ids(system.rank(Query("q", "go"), 4)) == ["s/c", "s/a", "s/b", "s/d"]
    assert ids(system.rank(Query("q", "go"), 2)) == ["s/c", "s/a"]


def test_the_model_is_loaded_when_fitted_and_not_before():
    """Making a system costs nothing; fitting asks for the model."""
    asked: list[int] = []

    def load() -> Points:
        asked.append(1)
        return Points(a=1, b=2, c=3, d=4)

    system = PairSystem("pairs", INNER, load)
    assert asked == []
    system.fit(TOOLS, [])
    assert asked == [1]


def test_pairs_are_the_request_and_the_text_of_the_tool():
    """The same text that encoders read of a tool."""
    system = PairSystem("pairs", INNER, lambda: CrossEncoderScorer("name"))
    system.fit(TOOLS, [])
    assert ids(system.rank(Query("q", "call getUser"), 4))[0] == "s/b"
    assert Model.pairs[0] == ("call get user", "s: a. Does a.")


def test_a_folder_is_read_offline_and_no_code_of_a_model_runs(tmp_path: Path):
    """A folder forbids the network; a name allows it; neither trusts remote code."""
    CrossEncoderScorer(str(tmp_path))
    CrossEncoderScorer("org/name")
    assert Model.loaded == [
        (str(tmp_path), {"trust_remote_code": False, "local_files_only": True}),
        ("org/name", {"trust_remote_code": False, "local_files_only": False}),
    ]


@pytest.mark.parametrize("spec", ["/no/such/folder", "./gone", ""])
def test_a_path_that_leads_nowhere_is_not_taken_for_a_name(spec: str):
    """Nothing is fetched for a mistyped path."""
    with pytest.raises(EncoderError, match="is no folder"):
        CrossEncoderScorer(spec)
    assert Model.loaded == []


def test_a_model_that_does_not_load_is_named():
    """The library's error becomes ours."""
    with pytest.raises(EncoderError, match="broken cannot be loaded: no such model"):
        CrossEncoderScorer("broken")


@pytest.mark.parametrize("answer", [np.ones((2, 3)), np.ones(3), np.array([1.0, np.nan])])
def test_scores_must_be_one_finite_number_a_pair(monkeypatch: pytest.MonkeyPatch, answer: Any):
    """Classifiers of several classes and undefined values are refused."""
    monkeypatch.setattr(Model, "answer", answer)
    with pytest.raises(EncoderError, match="expected one number a pair"):
        CrossEncoderScorer("name").score("r", ["x", "y"])


def test_a_model_that_fails_is_named(monkeypatch: pytest.MonkeyPatch):
    """Whatever it raises."""
    monkeypatch.setattr(Model, "answer", RuntimeError("out of memory"))
    with pytest.raises(EncoderError, match="name fails with: out of memory"):
        CrossEncoderScorer("name").score("r", ["x"])


def test_no_texts_no_scores():
    """The model is not asked."""
    assert CrossEncoderScorer("name").score("r", []).shape == (0,)
    assert Model.pairs == []


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    """Without the library the error holds the line that installs it."""
    monkeypatch.setattr(cross_encoder, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r'pip install "toolwise\[sentence-transformers\]"'):
        CrossEncoderScorer("name")
