"""Ids of merged catalogues."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwise.catalog import load, make_tool, merge
from toolwise.config import settings
from toolwise.records import Catalogue, Problem, Tool


def tool(tool_id: str, text: str) -> Tool:
    return make_tool(id=tool_id, name="t", description=text)[0]


def catalogue(*tools: tuple[str, str]) -> Catalogue:
    return Catalogue(tuple(tool(*pair) for pair in tools))


def outline(merged: Catalogue) -> list[tuple[str, str]]:
    return [(tool.id, tool.description) for tool in merged.tools]


def test_the_same_definition_counts_once():
    """One id with one hash is one tool, and nothing to report."""
    merged = merge([catalogue(("a", "x"), ("b", "y")), catalogue(("a", "x"), ("c", "z"))])
    assert outline(merged) == [("a", "x"), ("b", "y"), ("c", "z")]
    assert merged.problems == ()


def test_a_different_definition_is_kept_and_reported():
    """One id with two hashes is two tools; the later one gets a suffix."""
    merged = merge([catalogue(("a", "x")), catalogue(("a", "y"))], ["one.json", "two.json"])
    assert outline(merged) == [("a", "x"), ("a#2", "y")]
    (problem,) = merged.problems
    assert (problem.source, problem.tool, problem.pointer, problem.kept) == ("two.json", "a#2", "", True)


def test_a_suffix_never_takes_an_id_that_somebody_has():
    """``a#2`` is taken by a later source, so the second ``a`` becomes ``a#3``."""
    merged = merge([catalogue(("a", "x"), ("a", "y")), catalogue(("a#2", "z"))])
    assert outline(merged) == [("a", "x"), ("a#3", "y"), ("a#2", "z")]


def test_a_definition_that_was_renamed_before_counts_once():
    """Merging what is merged already changes nothing, and a renamed definition is recognised."""
    once = merge([catalogue(("a", "x"), ("a", "y"))])
    assert outline(merge([once, catalogue(("a", "y"))])) == [("a", "x"), ("a#2", "y")]
    assert outline(merge([once, once])) == outline(once)


def test_problems_and_unreachable_servers_are_carried_over():
    """Nothing of what the parts report is lost."""
    problem = Problem("s", "t", "", "m", kept=False)
    merged = merge([Catalogue((), (problem,), ("down",)), Catalogue((), (), ("down", "dead"))])
    assert merged == Catalogue((), (problem,), ("down", "dead"))


@given(
    st.lists(st.lists(st.tuples(st.sampled_from(["a", "a#2", "a#3", "b", "a#2#2"]), st.sampled_from("xyz"))))
)
def test_ids_are_unique_and_no_definition_is_lost(parts: list[list[tuple[str, str]]]):
    """Every id stands once, and every text that came in is still there."""
    merged = merge([catalogue(*part) for part in parts])
    ids = [tool.id for tool in merged.tools]
    assert len(ids) == len(set(ids))
    assert {text for _, text in outline(merged)} == {text for part in parts for _, text in part}
    assert {tool_id for part in parts for tool_id, _ in part} <= set(ids)


def test_two_real_catalogues_share_three_ids():
    """The sets livemcp and toucan_mcp: 13,947 rows of 13,944 ids; one shared id has two texts."""
    files = [settings().data / name / "tools.jsonl" for name in ("livemcp", "toucan_mcp")]
    if not all(file.exists() for file in files):
        pytest.skip("the shared data sets are not here")
    merged = load(files, text=False)
    assert len(merged.tools) == 13_945
    assert len({tool.id.removesuffix("#2") for tool in merged.tools}) == 13_944
    assert [p.tool for p in merged.problems if not p.pointer] == ["magicuidesign_mcp/getBackgrounds#2"]
