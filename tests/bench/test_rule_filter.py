"""The rule filter of the risk-aware paper, by hand in both modes and against the policy's greedy search."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.bench.systems import FixedSystem, TableEncoder, ids
from tests.builders import pool, tool

from toolwise.bench.baselines import Mode, RuleFilterSystem
from toolwise.policy.constraints import CountCap, NoTwins
from toolwise.policy.greedy import GreedySearch
from toolwise.records import Query
from toolwise.rerank.rule_filter import filter_rows

APART = np.eye(8, dtype=np.float32)


def mask(*rows: int, size: int = 8) -> np.ndarray:
    """True at ``rows``."""
    found = np.zeros(size, bool)
    found[list(rows)] = True
    return found


def test_one_risky_tool_is_accepted():
    """Of the risky rows 1, 3 and 4 the first stays."""
    assert filter_rows(mask(1, 3, 4), mask(), APART) == ([0, 1, 2, 5, 6, 7], [3, 4])


def test_two_broad_tools_are_accepted():
    """Of the broad rows 0, 2, 5 and 6 the first two stay."""
    assert filter_rows(mask(), mask(0, 2, 5, 6), APART) == ([0, 1, 2, 3, 4, 7], [5, 6])


def test_a_twin_is_rejected_above_the_threshold_alone():
    """Cosine .91 with an accepted tool is too near, .9 is not."""
    near = np.array([[1, 0], [0.91, np.sqrt(1 - 0.91**2)], [0.9, -np.sqrt(1 - 0.9**2)]], np.float32)
    near[2] = [0.8999, -np.sqrt(1 - 0.8999**2)]
    assert filter_rows(mask(size=3), mask(size=3), near) == ([0, 2], [1])


def test_a_twin_of_a_rejected_tool_is_accepted():
    """Row 1 is risky and comes too late; its twin, row 2, is harmless and stays."""
    vectors = APART[[0, 1, 1]]
    assert filter_rows(mask(0, 1, size=3), mask(size=3), vectors) == ([0, 2], [1])


def test_a_rejected_tool_uses_up_no_allowance():
    """Row 1 is risky, and a twin of row 0, so it is rejected; the one risky place is still free for row 2.

    Likewise rows 3 and 4 are risky and broad: rejected, they leave both broad places to rows 5 and 6.
    """
    vectors = APART[[0, 0, 1, 2, 3, 4, 5, 6]]
    accepted, rejected = filter_rows(mask(1, 2, 3, 4), mask(3, 4, 5, 6, 7), vectors)
    assert accepted == [0, 2, 5, 6]
    assert rejected == [1, 3, 4, 7]


def test_nothing_in_nothing_out():
    """An empty ranking stays empty."""
    assert filter_rows(mask(size=0), mask(size=0), np.zeros((0, 3), np.float32)) == ([], [])


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 4)), min_size=1, max_size=8))
def test_it_accepts_what_the_greedy_policy_search_accepts(marks: list[tuple[bool, bool, int]]):
    """The same caps as constraints of a policy choose the same tools."""
    size = len(marks)
    risky = np.array([m[0] for m in marks])
    broad = np.array([m[1] for m in marks])
    vectors = APART[[m[2] for m in marks]]
    twins = vectors @ vectors.T > 0.9
    np.fill_diagonal(twins, False)
    candidates = pool(*range(size, 0, -1))
    rules = [
        CountCap("risky", risky, 1, "risky tools"),
        CountCap("broad", broad, 2, "broad tools"),
        NoTwins("twins", twins, tuple(c.id for c in candidates)),
    ]
    levels = np.where(risky, 3, 1)
    chosen = GreedySearch(size).search(candidates, rules, levels, frozenset()).chosen
    assert [c.row for c in chosen] == filter_rows(risky, broad, vectors)[0]


TOOLS = [
    tool("files/delete", "Permanently deletes a file."),
    tool("files/list", "Lists the names of files in a folder."),
    tool("files/purge", "Permanently deletes every file of a folder."),
    tool("sky/weather", "Gives the weather forecast of a city."),
]
RANKED = FixedSystem(
    *((id_, -float(i)) for i, id_ in enumerate(["files/delete", "files/purge", "sky/weather", "files/list"]))
)
ENCODER = TableEncoder({t.id: APART[i] for i, t in enumerate(TOOLS)})


def fitted(**options: object) -> RuleFilterSystem:
    system = RuleFilterSystem(RANKED, lambda: ENCODER, **options)  # type: ignore[arg-type]
    system.fit(TOOLS, [])
    return system


def test_in_the_benchmark_rejected_tools_fill_up():
    """The audit finds both deletions risky: the second goes behind, and every list is full."""
    system = fitted()
    query = Query("q", "")
    assert ids(system.rank(query, 4)) == ["files/delete", "sky/weather", "files/list", "files/purge"]
    assert ids(system.rank(query, 2)) == ["files/delete", "sky/weather"]
    assert system.rank(query, 0) == []


def test_in_deployment_they_stay_out():
    """Asked for four, three are given; a set for an agent never holds a rejected tool in either mode."""
    system = fitted(mode=Mode.DEPLOYMENT)
    query = Query("q", "")
    assert ids(system.rank(query, 4)) == ["files/delete", "sky/weather", "files/list"]
    assert system.rank(query, 0) == []
    assert system.select(query) == fitted().select(query) == ["files/delete", "sky/weather", "files/list"]


def test_labels_come_before_the_audit():
    """The first deletion labelled harmless leaves the risky place to the second; weather at 3 is last."""
    system = fitted(levels={"files/delete": 1, "sky/weather": 3})
    assert ids(system.rank(Query("q", ""), 4)) == ["files/delete", "files/purge", "files/list", "sky/weather"]


def test_beyond_the_depth_the_inner_order_stays():
    """With a depth of two, the deletions are settled between themselves and the tail is as it was."""
    system = fitted(depth=2)
    assert ids(system.rank(Query("q", ""), 4)) == ["files/delete", "files/purge", "sky/weather", "files/list"]


def test_a_set_has_five_tools_at_most():
    """Seven harmless tools in a ranking, five in the set."""
    many = [tool(f"t/look_{c}", "Looks something up.") for c in "abcdefg"]
    encoder = TableEncoder({t.id: APART[i] for i, t in enumerate(many)})
    inner = FixedSystem(*((t.id, -float(i)) for i, t in enumerate(many)))
    system = RuleFilterSystem(inner, lambda: encoder, levels={t.id: 1 for t in many})
    system.fit(many, [])
    assert system.select(Query("q", "")) == [t.id for t in many[:5]]


@pytest.mark.parametrize("level", [1, 2])
def test_low_levels_are_not_capped(level: int):
    """Two tools of level 2 may stand side by side."""
    system = fitted(levels={t.id: level for t in TOOLS})
    assert ids(system.rank(Query("q", ""), 4)) == ids(RANKED.ranking)
