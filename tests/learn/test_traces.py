"""A user's own requests as training data."""

import pytest

from toolwise.errors import EncoderError
from toolwise.evaluate.judgements import Task
from toolwise.learn.data import Library, Request
from toolwise.learn.traces import of_traces, sources_of
from toolwise.records import Tool

TOOLS = [Tool(f"t/{n}", n) for n in "abcd"]


def task(number: int, gold: str, workspace: str | None = None) -> Task:
    """A request served by the tools of the letters in ``gold``."""
    return Task(
        id=str(number), text=f"r{number}", gold=frozenset(f"t/{n}" for n in gold), workspace=workspace
    )


def test_without_workspaces_requests_choose_from_all_tools():
    """Gold tools become rows; requests of nothing, and of unknown tools, are counted and left out."""
    own = of_traces(TOOLS, [task(1, "db"), task(2, ""), task(3, "az")])
    assert own.left_out == 2
    assert [library.requests for library in own.libraries] == [(Request("r1", (1, 3)),)]
    assert own.libraries[0].tools == tuple(TOOLS)


def test_a_workspace_is_a_library():
    """Rows are those of the workspace's own tools; a request of another workspace's tool says nothing."""
    spaces = {"x": frozenset({"t/b", "t/d"}), "y": frozenset({"t/a"})}
    own = of_traces(TOOLS, [task(1, "d", "x"), task(2, "a", "y"), task(3, "a", "x")], spaces)
    assert [(one.name, len(one.tools), one.requests) for one in own.libraries] == [
        ("own/x", 2, (Request("r1", (1,)),)),
        ("own/y", 1, (Request("r2", (0,)),)),
    ]
    assert own.left_out == 1


def test_an_unknown_workspace_is_an_error():
    """It is named."""
    with pytest.raises(EncoderError, match="workspace 'z'"):
        of_traces(TOOLS, [task(1, "a", "z")], {"x": frozenset()})


def test_of_few_libraries_requests_are_held_out():
    """A fifth of ten: no request is on both sides, and both sides choose from the same tools."""
    library = Library("own/", tuple(TOOLS), tuple(Request(f"r{i}", (0,)) for i in range(10)))
    found = sources_of([library], 0.2, 0)
    assert (len(found.main[0].requests), len(found.held[0].requests)) == (8, 2)
    assert set(found.main[0].requests) | set(found.held[0].requests) == set(library.requests)
    assert found.main[0].tools == found.held[0].tools


def test_of_many_libraries_whole_ones_are_held_out():
    """Two of ten."""
    libraries = [Library(f"own/{i}", tuple(TOOLS), (Request("r", (0,)),)) for i in range(10)]
    found = sources_of(libraries, 0.2, 0)
    assert (len(found.main), len(found.held)) == (8, 2)


def test_nothing_held_out_where_nothing_is_asked_for():
    """A share of zero trains on all."""
    library = Library("own/", tuple(TOOLS), (Request("r", (0,)),))
    assert sources_of([library], 0.0, 0).held == ()


def test_what_is_asked_again_is_never_on_both_sides():
    """Twenty requests in four wordings, their case and blanks aside: whole wordings are held out."""
    texts = [f"{'Ask' if i % 8 < 4 else 'ask '} {i % 4}" for i in range(20)]
    library = Library("own/", tuple(TOOLS), tuple(Request(text, (0,)) for text in texts))
    for seed in range(5):
        found = sources_of([library], 0.3, seed)
        kept, out = ({r.text[-1] for one in side for r in one.requests} for side in (found.main, found.held))
        assert (len(kept), len(out)) == (3, 1)
        assert not kept & out
