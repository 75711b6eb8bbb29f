"""What the benchmark of small libraries counts, by hand, and that its libraries are nobody's training."""

import math
from pathlib import Path

from benchmarks.small import Answer, answers, means, table

from toolwise.learn.data import Library, Request
from toolwise.learn.own_words import small_libraries
from toolwise.records import Tool, ToolText

SAID = {"ring": "Ring a bell", "dig": "Dig a hole"}
ROOT = Path(__file__).parent.parent
ANSWERS = (
    Answer("a", 8, needed=1, delivered=3, held=1, first=True, ranked=True),
    Answer("a", 8, needed=2, delivered=3, held=1, first=True, ranked=False),
    Answer("b", 30, needed=1, delivered=0, held=0, first=False, ranked=True),
    Answer("b", 30, needed=1, delivered=4, held=1, first=False, ranked=True),
    Answer("b", 30, needed=0, delivered=0, held=0, first=False, ranked=True),
    Answer("b", 30, needed=0, delivered=2, held=0, first=False, ranked=True),
)


def test_means_are_over_requests_that_some_tool_serves_and_over_the_others():
    """Four served: two covered whole, one empty, 10 tools shown; of two unserved one is empty."""
    found = means(ANSWERS)
    assert found["requests"] == 4
    assert found["covered"] == 0.5
    assert found["wrongly empty"] == 0.25
    assert found["size"] == 2.5
    assert found["first"] == 0.5
    assert found["in five"] == 0.75
    assert (found["none"], found["rightly empty"]) == (2, 0.5)


def test_what_nothing_is_known_of_is_an_empty_cell():
    """No unserved request: no share of them."""
    found = means(ANSWERS[:4])
    assert math.isnan(found["rightly empty"])
    assert table({"all": found})[-1].endswith("| 0 |  |")


def test_the_product_answers_each_request_of_each_library():
    """Two libraries of two tools, one after the other in one folder: the second's tools are the second's."""
    tools = [
        Tool(f"s/{n}", n, server="s", text=ToolText(t))
        for n, t in (("ring", "Ring a bell"), ("dig", "Dig a hole"))
    ]
    libraries = [Library(f"small/{t.name}", (t,), (Request(t.text.description, (0,)),)) for t in tools]
    found = list(answers("static", None, libraries))
    assert [(a.library, a.tools, a.needed, a.first) for a in found] == [
        ("small/ring", 1, 1, True),
        ("small/dig", 1, 1, True),
    ]


def test_no_library_to_measure_by_is_among_those_to_train_on():
    """Neither a library nor a request."""
    measured, trained = small_libraries(ROOT / "benchmarks" / "small"), small_libraries(ROOT / "training")
    assert len(measured) == 16

    def texts(some):
        return {request.text.casefold() for library in some for request in library.requests}

    assert not texts(measured) & texts(trained)
    assert {one.name for one in measured}.isdisjoint(one.name for one in trained)
