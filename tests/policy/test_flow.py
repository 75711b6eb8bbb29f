"""The rule that keeps private data, untrusted content and a way out apart, known and guessed."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.test_constraints import members, pool_of, rules, sets

from toolwise.policy import Eligibility, Policy, constraints
from toolwise.policy.flow import NoFlow
from toolwise.records import Capability

PRIVATE, UNTRUSTED, EXTERNAL = 1, 2, 4


def test_no_members_complete_a_flow_together():
    """Private, untrusted and external are too much together; any two of them are not."""
    pool = pool_of(4, capabilities=[PRIVATE, UNTRUSTED, EXTERNAL, 0])
    (rule,) = rules(Policy(forbid_flows=True), pool)
    assert rule.rule == "toxic-flow"
    assert rule.admits(members("0000", "1101", "1011", "0111", "1110", "1111")).tolist() == [
        *[True] * 4,
        *[False] * 2,
    ]
    assert rule.explain(2) == "it sends outside; together with the others it would let private data leave"
    assert rule.explain(2, [1, 3, 0]) == (
        "it sends outside; together with t0 (reads private data) and t1 (takes in untrusted content) "
        "it would let private data leave"
    )


def test_a_flag_that_is_only_predicted_is_marked_so_in_the_reason():
    """Of the tool itself and of the others, flag by flag."""
    said = {0: frozenset(), 1: frozenset({Capability.UNTRUSTED}), 2: frozenset({Capability.EXTERNAL})}
    pool = replace(pool_of(3, capabilities=[PRIVATE | UNTRUSTED, UNTRUSTED, EXTERNAL]), predicted=said.get)
    (rule,) = rules(Policy(forbid_flows=True), pool)
    assert rule.explain(2, [1, 0]) == (
        "it sends outside (predicted); together with t0 (reads private data) and t1 (takes in untrusted "
        "content, predicted) it would let private data leave"
    )


def test_a_tool_that_is_a_whole_flow_keeps_no_other_out():
    """It is priced by its level; what stands beside it is judged without it."""
    pool = pool_of(4, capabilities=[PRIVATE | UNTRUSTED | EXTERNAL, PRIVATE, UNTRUSTED, EXTERNAL])
    (rule,) = rules(Policy(forbid_flows=True), pool)
    assert rule.admits(members("1000", "1110", "0111")).tolist() == [True, True, False]


def test_two_capabilities_of_one_tool_count_both():
    """One tool that reads private data and takes in untrusted content leaves no room for a way out."""
    pool = pool_of(2, capabilities=[PRIVATE | UNTRUSTED, EXTERNAL])
    (rule,) = rules(Policy(forbid_flows=True), pool)
    assert rule.admits(members("10", "01", "11")).tolist() == [True, True, False]


def test_flows_that_cannot_be_completed_are_no_rule():
    """A pool without a way out needs no check."""
    assert not rules(Policy(forbid_flows=True), pool_of(2, capabilities=[PRIVATE, UNTRUSTED]))


def guessed(*chances: tuple[float, float, float], limit: float = 0.1, capabilities=None) -> NoFlow:
    """The rule over tools that are only guessed at."""
    said = np.zeros(len(chances), int) if capabilities is None else np.array(capabilities)
    ids = tuple(f"t{i}" for i in range(len(chances)))
    return NoFlow("toxic-flow", said, ids, chances=np.array(chances, np.float32), limit=limit)


def test_the_chance_of_a_flow_is_that_of_all_three_together():
    """One tool for each: the product.  Two readers of .5: one of them reads in 3 of 4 cases."""
    rule = guessed((0.5, 0, 0), (0.5, 0, 0), (0, 0.4, 0), (0, 0, 1))
    found = rule.chance(members("1011", "1111", "0111", "1100", "0000"))
    assert found == pytest.approx([0.2, 0.3, 0.2, 0, 0], abs=1e-5)


def test_a_tool_that_may_do_all_three_adds_nothing_where_it_does():
    """Alone it completes no flow; beside a reader it does where it takes in and sends, but does not read."""
    rule = guessed((0.5, 0.5, 0.5), (1, 0, 0))
    assert rule.chance(members("10", "11")) == pytest.approx([0, 0.125], abs=1e-5)


@given(st.lists(st.tuples(*[st.sampled_from([0, 0.1, 0.35, 0.8, 1])] * 3), min_size=1, max_size=4))
def test_the_chance_is_the_sum_over_all_that_tools_may_be(chances):
    """As counted out: every tool is each of the eight kinds with the product of its chances."""
    rule = guessed(*chances)
    kinds = list(itertools.product([0, 1], repeat=3))
    for row in sets(len(chances)):
        expected = 0.0
        inside = [c for c, is_in in zip(chances, row, strict=True) if is_in]
        for worlds in itertools.product(kinds, repeat=len(inside)):
            weight = np.prod(
                [
                    p if bit else 1 - p
                    for c, w in zip(inside, worlds, strict=True)
                    for p, bit in zip(c, w, strict=True)
                ]
            )
            parts = [w for w in worlds if w != (1, 1, 1)]
            expected += weight * (bool(parts) and all(map(any, zip(*parts, strict=True))))
        assert rule.chance(row[None])[0] == pytest.approx(expected, abs=1e-4)


def test_sets_are_kept_out_from_the_limit_on():
    """.4 * .5 * .5 = .1: out where the limit is .0999, in where it is .11; at 1 nothing is guessed."""
    tools = ((0.4, 0, 0), (0, 0.5, 0), (0, 0, 0.5))
    assert not guessed(*tools, limit=0.0999).admits(members("111"))[0]
    assert guessed(*tools, limit=0.11).admits(members("111"))[0]
    assert guessed((1, 0, 0), (0, 1, 0), (0, 0, 1), limit=1).admits(members("111"))[0]


def test_what_is_said_of_tools_is_forbidden_however_unlikely():
    """Three flags that complete a flow do so, though each was hardly likely enough to be set."""
    chances = ((0.3, 0, 0), (0, 0.3, 0), (0, 0, 0.3))
    rule = guessed(*chances, capabilities=[PRIVATE, UNTRUSTED, EXTERNAL])
    assert rule.chance(members("111"))[0] == pytest.approx(0.027, abs=1e-5)
    assert not rule.admits(members("111"))[0]


def test_the_reason_tells_guesses_with_their_chance():
    """Who most likely does each of the three, what is said as said, and the chance of all together."""
    rule = guessed((1, 0, 0), (0, 0.3, 0), (0, 0.1, 0.9), capabilities=[PRIVATE, 0, EXTERNAL])
    assert rule.explain(1, [0, 2]) == (
        "it may take in untrusted content (0.30); together with t0 (reads private data) and t2 (sends "
        "outside) it might let private data leave: the chance with all that is there is 0.33, and less than "
        "0.1 is allowed"
    )
    assert rule.explain(2, [1, 0]).startswith(
        "it sends outside; together with t0 (reads private data) and t1"
    )
    told = replace(rule, predicted={0: {Capability.PRIVATE}, 1: {}, 2: {}}.get).explain(1, [0, 2])
    assert "together with t0 (reads private data (predicted)) and t2 (sends outside)" in told


def test_the_reason_tells_what_the_tool_itself_may_do_though_others_are_likelier():
    """Two may send: the one that is kept out is named with its own chance, the others with the rest."""
    rule = guessed((0, 0, 0.2), (0.9, 0, 0), (0, 0.2, 0.5))
    assert rule.explain(0, [1, 2]).startswith(
        "it may send outside (0.20); together with t1 (may read private data (0.90)) and t2 (may take in"
    )


def test_a_tool_that_is_said_to_do_all_three_adds_no_chance():
    """However likely it does only two of them; beside a reader it is no flow, as by what is said."""
    whole = PRIVATE | UNTRUSTED | EXTERNAL
    rule = guessed((0.6, 0.6, 0.5), (1, 0, 0), capabilities=[whole, PRIVATE])
    assert rule.chance(members("11", "10")).tolist() == [0, 0]
    assert rule.admits(members("11"))[0]


def test_guesses_count_among_few_tools_alone():
    """In answers of up to five; a longer list goes by what is said."""
    pool = replace(pool_of(3), chances=np.array([[0.5, 0, 0], [0, 0.5, 0], [0, 0, 0.5]], np.float32))
    assert [rule.rule for rule in rules(Policy(forbid_flows=True, max_tools=5), pool)] == ["toxic-flow"]
    assert not rules(Policy(forbid_flows=True, max_tools=6), pool)
    policy = Policy(forbid_flows=True)
    eligible = Eligibility(policy, ("t0", "t1", "t2"), pool.levels, pool.permissions)
    assert not constraints(policy, eligible, pool, ("t0", "t1", "t2"), guesses=False)


def test_pools_whose_tools_hardly_complete_a_flow_need_no_rule():
    """The whole pool is below the limit of the policy, so every set of it is."""
    pool = replace(pool_of(3), chances=np.array([[0.4, 0, 0], [0, 0.4, 0], [0, 0, 0.4]], np.float32))
    assert not rules(Policy(forbid_flows=True, flow_chance=0.065), pool)
    assert [rule.rule for rule in rules(Policy(forbid_flows=True, flow_chance=0.06), pool)] == ["toxic-flow"]
    assert not rules(Policy(forbid_flows=False, flow_chance=0.06), pool)
