"""Answers restricted to some tools of an index."""

import pytest

from toolwise import Policy, Selector

REQUEST = "draft an email to Ida and look up her order"
MAIL = ["mail/draft_email", "mail/search", "mail/send_email"]


def test_an_answer_holds_only_the_tools_named(demo: Selector) -> None:
    """Neither chosen nor withheld tools come from elsewhere; unknown ids are passed over."""
    answer = demo.select(REQUEST, within=[*MAIL, "no such tool"])
    assert answer.tools
    assert {t.id for t in answer.tools} | {w.id for w in answer.withheld} <= set(MAIL)


def test_scores_are_those_of_the_whole_index(demo: Selector) -> None:
    """The restriction takes tools away and changes nothing else."""
    whole = {c.id: c.score for c in demo.rank(REQUEST, len(demo.index)).candidates}
    some = {c.id: c.score for c in demo.rank(REQUEST, within=MAIL).candidates}
    assert set(some) <= set(MAIL)
    assert some == {id_: whole[id_] for id_ in some}


def test_naming_every_tool_restricts_nothing(demo: Selector) -> None:
    """The answer is the same."""
    assert demo.select(REQUEST, within=demo.index.ids) == demo.select(REQUEST)


def test_naming_no_tool_leaves_nothing(demo: Selector) -> None:
    """An empty library answers nothing, pins included."""
    pinned = Policy(pins=("hr/get_leave_balance",))
    assert demo.select(REQUEST, pinned, within=[]).abstained
    assert demo.rank(REQUEST, within=[]).candidates == ()


def test_a_pin_joins_where_it_is_in_the_library(demo: Selector) -> None:
    """And stays out where it is not."""
    pinned = Policy(pins=("hr/get_leave_balance",))
    held = demo.select(REQUEST, pinned, within=[*MAIL, "hr/get_leave_balance"])
    assert "hr/get_leave_balance" in [t.id for t in held.tools]
    assert "hr/get_leave_balance" not in [t.id for t in demo.select(REQUEST, pinned, within=MAIL).tools]


@pytest.mark.parametrize("k", [1, 5, 100])
def test_a_ranking_is_cut_at_k(demo: Selector, k: int) -> None:
    """The first k of the longest ranking."""
    longest = demo.rank(REQUEST, len(demo.index)).candidates
    assert demo.rank(REQUEST, k).candidates == longest[:k]
