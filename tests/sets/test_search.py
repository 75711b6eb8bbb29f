"""The constrained search: exact under rules, with reasons that hold."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sets.energies import energies
from toolwise.protocols import Bools, SetEnergy
from toolwise.sets.kernel import completeness, softmax, subsets, values
from toolwise.sets.search import constrained


@dataclass(frozen=True)
class AtMost:
    """At most ``count`` of the marked candidates."""

    marked: tuple[bool, ...]
    count: int
    rule: str = "at-most"

    def admits(self, sets: Bools) -> Bools:
        """By counting."""
        return (sets & np.array(self.marked)).sum(axis=1) <= self.count

    def explain(self, member: int, beside: Sequence[int] = ()) -> str:
        """A clause."""
        return f"at most {self.count} like {member}"


@st.composite
def cases(draw):
    """An energy and up to three rules for its pool."""
    drawn = draw(energies)
    k = len(drawn.unary)
    rule = st.builds(AtMost, st.tuples(*[st.booleans()] * k), st.integers(0, 2))
    return drawn, draw(st.lists(rule, max_size=3))


def table_of(drawn: SetEnergy):
    """All sets that an energy values."""
    return subsets(len(drawn.unary), len(drawn.pairs) - 1)


@given(cases(), st.floats(0.0, 0.5), st.integers(0, 3))
def test_no_admitted_set_is_worth_more(case, cost, max_tools):
    """The choice keeps every rule and the size limit, and is the best that does."""
    drawn, rules = case
    table = table_of(drawn)
    covered = completeness(softmax(values(drawn, table)), table)
    able = table.sizes <= max_tools
    for rule in rules:
        able &= rule.admits(table.members)
    choice = constrained(drawn, table, rules, cost=cost, max_tools=max_tools)
    worth = covered - cost * table.sizes
    assert able[choice.row]
    assert worth[choice.row] >= worth[able].max() - 1e-12
    assert choice.members == tuple(np.flatnonzero(table.members[choice.row]).tolist())
    assert choice.completeness == pytest.approx(covered[choice.row])


@given(cases())
def test_gains_are_differences_of_completeness(case):
    """Each member's by taking it away, each other candidate's by adding it, also beyond the largest size."""
    drawn, rules = case
    table = table_of(drawn)
    choice = constrained(drawn, table, rules, cost=0.05)
    probabilities = softmax(values(drawn, table))
    inside = set(choice.members)

    def covered(members: set[int]) -> float:
        rows = [set(np.flatnonzero(row).tolist()) <= members for row in table.members]
        return float(probabilities[np.array(rows)].sum())

    for i, gain in enumerate(choice.gains):
        assert gain == pytest.approx(abs(covered(inside ^ {i}) - covered(inside)), abs=1e-9)


@given(cases(), st.floats(0.0, 0.2))
def test_a_blocked_candidate_would_be_in_without_its_rule(case, cost):
    """Blocked are those of the best set without rules; a deciding rule alone makes the difference."""
    drawn, rules = case
    table = table_of(drawn)
    choice = constrained(drawn, table, rules, cost=cost)
    free = constrained(drawn, table, (), cost=cost)
    assert [b.member for b in choice.blocked] == sorted(set(free.members) - set(choice.members))
    for blocked in choice.blocked:
        assert blocked.member in blocked.instead
        if blocked.instead != free.members:
            others = [rule for i, rule in enumerate(rules) if i != blocked.rule]
            relaxed = constrained(drawn, table, others, cost=cost)
            assert relaxed.members == blocked.instead
            assert blocked.gain == pytest.approx(relaxed.completeness - choice.completeness)


@given(cases(), st.data())
def test_required_candidates_are_in_or_nothing_is(case, data):
    """Pins come first; where rules or the size do not bear them, the answer is empty."""
    drawn, rules = case
    required = data.draw(st.frozensets(st.integers(0, len(drawn.unary) - 1), max_size=3))
    choice = constrained(drawn, table_of(drawn), rules, required=required)
    assert not choice.members or required <= set(choice.members)


def two_needed(both: float, one: float) -> SetEnergy:
    """Three candidates: 0 and 1 are needed together with odds ``both``, 2 alone with odds ``one``."""
    unary = np.full(3, -50.0, np.float32)
    unary[2] = np.log(one)
    pairs = np.zeros((3, 3, 3), np.float32)
    pairs[2, 0, 1] = pairs[2, 1, 0] = 100.0 + np.log(both)
    return SetEnergy(unary, pairs, np.array([-np.inf, 0, 0], np.float32))


def test_a_rule_has_its_price():
    """Forbid 0: {2} remains, and the rule costs .75 - .25; 1 goes with its company, not by itself."""
    choice = constrained(two_needed(3.0, 1.0), subsets(3, 2), [AtMost((True, False, False), 0)], cost=0.01)
    assert choice.members == (2,)
    assert choice.completeness == pytest.approx(0.25, abs=1e-5)
    own, company = choice.blocked
    assert (own.member, own.rule, own.itself, own.instead) == (0, 0, True, (0, 1))
    assert (company.member, company.rule, company.itself) == (1, 0, False)
    assert own.gain == company.gain == pytest.approx(0.5, abs=1e-5)


def test_two_rules_against_one_tool_name_the_first():
    """No single rule decides, so the price is that of all together."""
    rules = [AtMost((True, False, False), 0), AtMost((True, False, False), 0, "other")]
    choice = constrained(two_needed(3.0, 1.0), subsets(3, 2), rules, cost=0.01)
    own, company = choice.blocked
    assert (own.rule, own.itself, own.instead, own.gain) == (0, True, (0, 1), pytest.approx(0.5, abs=1e-5))
    assert (company.rule, company.itself) == (None, False)


def test_a_penalty_is_a_price_of_the_set():
    """The pair is given up where its risk outweighs what it adds."""
    table = subsets(3, 2)
    for price, expected in ((0.4, (0, 1)), (0.6, (2,))):
        penalty = np.where(table.members[:, 0], price, 0.0)
        assert constrained(two_needed(3.0, 1.0), table, penalty=penalty, cost=0.01).members == expected
