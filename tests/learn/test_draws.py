"""What a step of the encoder's training sees."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from toolwise.learn.data import Library, Request
from toolwise.learn.draws import Drawing, Turn, balanced, block, hard_negatives, view, whole_pass
from toolwise.records import Tool, ToolText

WORDS = "cloud river stone apple tiger piano lemon rocket candle anchor".split()


def library(name: str = "toy", requests: int = 10) -> Library:
    """Ten tools, each about one word; a request for each of the first ``requests``, one for two of them."""
    tools = tuple(Tool(f"t/{w}", w, server="t", text=ToolText(f"About {w}.", ("size",))) for w in WORDS)
    asked = [Request(f"tell me of {w}", (row,)) for row, w in enumerate(WORDS[:requests])]
    return Library(name, tools, (*asked, Request("cloud and river", (0, 1))))


def one_hot(texts: list[str]) -> np.ndarray:
    """A ranker that knows the words: unit vectors over them."""
    found = np.array([[float(w in text) for w in WORDS] for text in texts], np.float32)
    return found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1)


@given(st.integers(1, 12), st.integers(0, 5))
def test_an_epoch_shows_every_request_once(size: int, seed: int):
    """All eleven requests of both libraries, none twice, no block over its size."""
    both = [library(), library("other")]
    turns = whole_pass(both, Drawing(requests=size), np.random.default_rng(seed))
    shown = sorted((turn.library, row) for turn in turns for row in turn.rows)
    assert shown == [(place, row) for place in (0, 1) for row in range(11)]
    assert max(len(turn.rows) for turn in turns) <= size


def test_data_sets_come_equally_often_whatever_their_size():
    """Two libraries of one set share its turns; a set of one library has as many as both."""
    libraries = [library("a/1"), library("a/2"), library("b")]
    turns = balanced(libraries, 20, Drawing(requests=3), np.random.default_rng(0))
    assert sum(turn.library == 2 for turn in turns) == 10
    assert {turn.library for turn in turns} == {0, 1, 2}
    assert all(len(turn.rows) == 3 for turn in turns)


def test_nothing_beside_gives_no_turns():
    """Without other data sets there is nothing to balance."""
    assert balanced([], 5, Drawing(), np.random.default_rng(0)) == []


def test_a_small_library_is_shown_whole():
    """Ten tools at a limit of ten; the request for two has two gold tools, in their columns."""
    found = block([library()], Turn(0, (10, 3)), Drawing(tools=10), {}, np.random.default_rng(0))
    assert len(found.tools) == 10
    assert found.requests == ["cloud and river", "tell me of apple"]
    assert found.gold.tolist() == [[True, True, *[False] * 8], [*[False] * 3, True, *[False] * 6]]


def test_gold_tools_are_never_hard_negatives():
    """Cloud and river rank first for the request for both, and are left out of its list of eight others."""
    mined = hard_negatives([library()], [Turn(0, (10,))], Drawing(tools=5, depth=20), one_hot)
    assert mined[0, 10].tolist() == [2, 3, 4, 5, 6, 7, 8, 9]


def test_hard_negatives_follow_the_encoder_as_it_stands():
    """A tool that names the request's word is the first negative."""
    storm = Tool("t/storm", "storm", text=ToolText("A cloud with rain."))
    toy = Library("toy", (*library().tools, storm), (Request("cloud", (0,)),))
    mined = hard_negatives([toy], [Turn(0, (0,))], Drawing(tools=5, depth=1), one_hot)
    assert mined[0, 0].tolist() == [10]


def test_a_library_shown_whole_needs_no_hard_negatives():
    """Nothing is encoded for it."""
    assert hard_negatives([library()], [Turn(0, (0,))], Drawing(tools=10), one_hot) == {}


def test_of_a_large_library_gold_and_hard_tools_are_shown():
    """Four of ten tools: the two gold ones, the hard one, and one at random."""
    drawing = Drawing(tools=4, hard=1)
    for seed in range(5):
        mined = {(0, 10): np.array([7])}
        found = block([library()], Turn(0, (10,)), drawing, mined, np.random.default_rng(seed))
        assert len(found.tools) == 4
        assert found.gold.sum() == 2
        assert any("rocket" in text for text in found.tools)


def test_a_view_keeps_the_name():
    """Only the name remains with all else left out; with nothing left out it is the encoder's own text."""
    tool, rng = library().tools[0], np.random.default_rng(0)
    assert view(tool, rng, {"server": 1.0, "description": 1.0, "parameters": 1.0}) == "cloud."
    assert (
        view(tool, rng, {"server": 0.0, "description": 0.0, "parameters": 0.0})
        == "t: cloud. About cloud. size"
    )
