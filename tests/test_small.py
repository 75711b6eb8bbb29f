"""What the benchmark of small libraries counts, by hand, and that its libraries are nobody's training."""

import json
import re
from pathlib import Path

from benchmarks.small import Answer, answers, means, table

from toolwise.learn.data import Library, Request
from toolwise.learn.own_words import requests, small_libraries
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
    assert found["rightly empty"] is None
    json.dumps(found, allow_nan=False)
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


def test_what_is_measured_by_is_not_trained_on():
    """No request comes near to one of the training, word by word; hardly a description is shared."""
    measured, trained = small_libraries(ROOT / "benchmarks" / "small"), small_libraries(ROOT / "training")

    def words(text):
        return frozenset(re.findall(r"\w+", text.casefold()))

    told = [request.text for library in trained for request in library.requests]
    known = {words(text) for text in told} | {words(one.text) for one in requests(ROOT / "training")}
    for request in (request for library in measured for request in library.requests):
        said = words(request.text)
        assert not [other for other in known if len(said & other) >= 0.7 * len(said | other)]
    descriptions = {tool.description.casefold() for library in trained for tool in library.tools}
    every = [tool.description.casefold() for library in measured for tool in library.tools]
    assert sum(one in descriptions for one in every) < 0.06 * len(every)
