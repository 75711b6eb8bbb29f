"""The greedy search, by hand and by its laws."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import pool
from tests.policy.test_constraints import problems, rules

from toolwise.policy import GreedySearch
from toolwise.policy.constraints import Budget, CountCap, PerTool
from toolwise.records import Candidate, Withheld

NOBODY: frozenset[int] = frozenset()


def ids(found) -> list[str]:
    """The ids of what was chosen or withheld."""
    return [item.id for item in found]


def test_without_rules_the_first_are_taken():
    """In the order of the pool."""
    found = GreedySearch(2).search(pool(0.9, 0.8, 0.7), [], np.ones(3, int), NOBODY)
    assert ids(found.chosen) == ["t0", "t1"]
    assert found.withheld == ()


def test_a_rejected_tool_makes_room():
    """The next one takes its place, and what was rejected is named with its rule."""
    rule = PerTool("deny", np.array([False, True, False, False]), ("",) * 1 + ("it is denied",) + ("",) * 2)
    found = GreedySearch(2).search(pool(0.9, 0.8, 0.7, 0.6), [rule], np.array([1, 4, 1, 1]), NOBODY)
    assert ids(found.chosen) == ["t0", "t2"]
    assert found.withheld == (Withheld("t1", 4, "deny", "it is denied"),)


def test_only_what_would_be_in_the_answer_is_withheld():
    """A tool beyond max_tools is not withheld, it is merely worse."""
    rule = PerTool("deny", np.array([False, False, True]), ("", "", "no"))
    found = GreedySearch(2).search(pool(0.9, 0.8, 0.7), [rule], np.ones(3, int), NOBODY)
    assert (ids(found.chosen), found.withheld) == (["t0", "t1"], ())


def test_a_cap_rejects_the_second():
    """The first of its kind is in, the second is out, others follow."""
    rule = CountCap("cap-level-4", np.array([True, True, False]), 1, "tool of level 4 or more")
    found = GreedySearch(3).search(pool(0.9, 0.8, 0.7), [rule], np.array([4, 4, 1]), NOBODY)
    assert ids(found.chosen) == ["t0", "t2"]
    assert ids(found.withheld) == ["t1"]


def test_a_small_tool_may_follow_one_that_did_not_fit():
    """The budget is used on."""
    rule = Budget("budget-tokens", np.array([60, 60, 40]), 100)
    found = GreedySearch(3).search(pool(0.9, 0.8, 0.7), [rule], np.ones(3, int), NOBODY)
    assert (ids(found.chosen), ids(found.withheld)) == (["t0", "t2"], ["t1"])


def test_pins_go_first():
    """Before all others, in the order of the pool; they take the places."""
    found = GreedySearch(2).search(pool(0.9, 0.8, 0.7, 0.0), [], np.ones(4, int), frozenset({3, 2}))
    assert ids(found.chosen) == ["t2", "t3"]
    found = GreedySearch(3).search(pool(0.9, 0.8, 0.7, 0.0), [], np.ones(4, int), frozenset({3}))
    assert ids(found.chosen) == ["t3", "t0", "t1"]


def test_a_pin_that_breaks_a_rule_is_withheld():
    """No answer breaks the policy, not even for a pin."""
    rule = PerTool("deny", np.array([False, False, True]), ("", "", "it is denied"))
    found = GreedySearch(2).search(pool(0.9, 0.8, 0.7), [rule], np.ones(3, int), frozenset({2}))
    assert (ids(found.chosen), ids(found.withheld)) == (["t0", "t1"], ["t2"])


def test_the_first_broken_rule_is_named():
    """Rules are asked in their order."""
    both = np.array([True])
    checks = [PerTool("deny", both, ("first",)), PerTool("max-level", both, ("second",))]
    found = GreedySearch(1).search(pool(0.9), checks, np.array([5]), NOBODY)
    assert found.withheld == (Withheld("t0", 5, "deny", "first"),)


def test_nothing_comes_of_nothing():
    """An empty pool, and a pool in which everything is forbidden."""
    assert GreedySearch(3).search([], [], np.zeros(0, int), NOBODY).chosen == ()
    rule = PerTool("deny", np.array([True, True]), ("no", "no"))
    found = GreedySearch(1).search(pool(0.9, 0.8), [rule], np.ones(2, int), NOBODY)
    assert (found.chosen, ids(found.withheld)) == ((), ["t0"])


def _plainly(candidates, checks, first, most):
    """Greedy as one would say it: go through the order, keep what leaves every rule kept."""
    order = [i for i in range(len(candidates)) if i in first] + [
        i for i in range(len(candidates)) if i not in first
    ]
    taken: list[int] = []
    for i in order:
        row = np.zeros((1, len(candidates)), dtype=bool)
        row[0, [*taken, i]] = True
        if len(taken) < most and all(check.admits(row)[0] for check in checks):
            taken.append(i)
    return [candidates[i] for i in taken], [candidates[i].id for i in order[:most]]


@settings(deadline=None)
@given(problems(), st.integers(1, 6), st.frozensets(st.integers(0, 4), max_size=3))
def test_the_search_keeps_the_laws(problem, most, first):
    """All rules admit the answer; what is withheld would be in it without them; it is what greedy means."""
    policy, facts = problem
    size = len(facts.rows)
    first = frozenset(i for i in first if i < size)
    candidates = [Candidate(i, f"t{i}", 1 - i / 10) for i in range(size)]
    checks = rules(policy, facts)
    found = GreedySearch(most).search(candidates, checks, facts.levels, first)
    chosen = np.zeros((1, size), dtype=bool)
    chosen[0, [candidate.row for candidate in found.chosen]] = True
    assert all(check.admits(chosen)[0] for check in checks)
    expected, free = _plainly(candidates, checks, first, most)
    assert list(found.chosen) == expected
    assert len(found.chosen) <= most
    assert not set(ids(found.withheld)) & set(ids(found.chosen))
    assert ids(found.withheld) == [id_ for id_ in free if id_ not in ids(found.chosen)]
    unruled = GreedySearch(most).search(candidates, [], facts.levels, first)
    assert ids(unruled.chosen) == free
