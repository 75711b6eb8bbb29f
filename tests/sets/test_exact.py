"""The exact search behind the seam that the greedy one stands behind."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.sets.energies import energies
from tests.sets.test_search import AtMost, cases, two_needed
from toolwise.protocols import SetSearch
from toolwise.records import Candidate
from toolwise.sets.exact import ExactSearch


def pool_of(k: int) -> list[Candidate]:
    """Candidates a, b, c and so on."""
    return [Candidate(i, chr(97 + i), 1.0 - i / 100) for i in range(k)]


@given(cases(), st.integers(1, 4), st.data())
def test_every_rule_admits_the_answer_and_withheld_tools_would_be_in_it(case, max_tools, data):
    """The laws of a set search, pins included."""
    drawn, rules = case
    k = len(drawn.unary)
    pins = data.draw(st.frozensets(st.integers(0, k - 1), max_size=3))
    pool, levels = pool_of(k), np.full(k, 2)
    search: SetSearch = ExactSearch(drawn, max_tools, cost=0.05)
    answer = search.search(pool, rules, levels, pins)
    chosen = np.zeros((1, k), dtype=bool)
    chosen[0, [c.row for c in answer.chosen]] = True
    assert all(rule.admits(chosen)[0] for rule in rules)
    assert len(answer.chosen) == chosen.sum() <= max_tools
    withheld = {w.id for w in answer.withheld}
    assert len(withheld) == len(answer.withheld)
    assert not withheld & {c.id for c in answer.chosen}
    assert {pool[i].id for i in pins} <= withheld | {c.id for c in answer.chosen}


@given(energies)
def test_without_rules_nothing_is_withheld(drawn):
    """What no rule keeps out is not mentioned."""
    k = len(drawn.unary)
    assert ExactSearch(drawn, 3).search(pool_of(k), [], np.full(k, 1), frozenset()).withheld == ()


def test_the_answer_says_what_each_rule_costs():
    """The forbidden tool by its rule, its company by the forbidden tool, both with the price."""
    rule = AtMost((True, False, False), 0, "no-first")
    answer = ExactSearch(two_needed(3.0, 1.0), 2, cost=0.01).search(
        pool_of(3), [rule], np.array([4, 1, 1]), frozenset()
    )
    assert [c.id for c in answer.chosen] == ["c"]
    assert [(w.id, w.level, w.rule, w.reason) for w in answer.withheld] == [
        ("a", 4, "no-first", "at most 0 like 0; without this rule, completeness +0.50"),
        (
            "b",
            1,
            "no-first",
            "it would help beside a, which this rule keeps out; without this rule, completeness +0.50",
        ),
    ]


def test_company_lost_to_several_rules():
    """No single rule brings it back, and the answer says so."""
    rules = [AtMost((True, False, False), 0), AtMost((True, False, False), 0, "other")]
    answer = ExactSearch(two_needed(3.0, 1.0), 2, cost=0.01).search(
        pool_of(3), rules, np.array([4, 1, 1]), frozenset()
    )
    assert [(w.id, w.rule) for w in answer.withheld] == [("a", "at-most"), ("b", "several-rules")]


def test_pins_come_first_and_fill_the_answer():
    """More pins than places: the first of the pool stay, the others are named."""
    search = ExactSearch(two_needed(3.0, 1.0), 1)
    answer = search.search(pool_of(3), [], np.array([1, 1, 1]), frozenset({1, 2}))
    assert [c.id for c in answer.chosen] == ["b"]
    assert [(w.id, w.rule) for w in answer.withheld] == [("c", "max-tools")]


def test_more_pins_than_the_energy_values_are_the_answer():
    """Sets of three have no value here; three pins are delivered all the same."""
    answer = ExactSearch(two_needed(3.0, 1.0), 5).search(
        pool_of(3), [], np.array([1, 1, 1]), frozenset({0, 1, 2})
    )
    assert [c.id for c in answer.chosen] == ["a", "b", "c"]


def test_a_price_per_tool_is_a_trade_not_a_rule():
    """Too dear a tool is left out and nothing is withheld."""
    answer = ExactSearch(two_needed(3.0, 1.0), 2, 0.01, np.array([0.6, 0.0, 0.0])).search(
        pool_of(3), [], np.array([5, 1, 1]), frozenset()
    )
    assert ([c.id for c in answer.chosen], answer.withheld) == (["c"], ())
