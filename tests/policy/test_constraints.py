"""Rules that judge a set, by hand and by their laws."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolwise.policy import (
    BUILT_IN,
    Breadth,
    Cap,
    Eligibility,
    Policy,
    Pool,
    Redundancy,
    constraints,
    needs,
    price,
)
from toolwise.policy.constraints import Budget, CountCap, NoTwins, PerTool
from toolwise.records import Permission, to_bits


def sets(size: int) -> np.ndarray:
    """All sets over ``size`` members (2**size, size), the empty one first."""
    return np.array(list(itertools.product([False, True], repeat=size)), dtype=bool).reshape(2**size, size)


def members(*rows: str) -> np.ndarray:
    """Sets written as ``101``."""
    return np.array([[c == "1" for c in row] for row in rows])


def pool_of(
    size, levels=None, permissions=None, tokens=None, names=None, vectors=None, rows=None, capabilities=None
) -> Pool:
    """A pool whose facts are harmless where not given."""
    return Pool(
        rows=np.arange(size) if rows is None else np.array(rows, dtype=np.int64),
        levels=np.ones(size, int) if levels is None else np.array(levels, dtype=np.int64),
        permissions=np.zeros(size, int) if permissions is None else np.array(permissions, dtype=np.int64),
        tokens=np.full(size, 10) if tokens is None else np.array(tokens, dtype=np.int64),
        names=tuple(f"n{i}" for i in range(size)) if names is None else tuple(names),
        vectors=np.eye(size, dtype=np.float32) if vectors is None else np.array(vectors, dtype=np.float32),
        capabilities=np.zeros(size, int) if capabilities is None else np.array(capabilities, dtype=np.int64),
    )


def rules(policy: Policy, pool: Pool, ids=None):
    """The rules of ``policy`` over an index that is just the pool."""
    ids = tuple(ids or (f"t{i}" for i in range(len(pool.rows))))
    eligibility = Eligibility(policy, ids, pool.levels, pool.permissions)
    return constraints(policy, eligibility, pool, ids)


def test_per_tool_forbids_members():
    """A set is fine unless one of its members is forbidden."""
    rule = PerTool("deny", np.array([False, True, False]), ("", "it is denied", ""))
    assert rule.admits(members("000", "101", "010", "111")).tolist() == [True, True, False, False]
    assert rule.explain(1) == "it is denied"


def test_count_cap_counts_marked_members():
    """Up to the count, and one more is too many."""
    rule = CountCap("cap", np.array([True, True, False]), 1, "tools of level 4 or more")
    assert rule.admits(members("000", "101", "011", "110", "111")).tolist() == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert rule.explain(1) == "the answer may hold at most 1 tools of level 4 or more"


def test_no_twins_forbids_pairs():
    """Only sets that hold both."""
    twins = np.zeros((3, 3), dtype=bool)
    twins[0, 2] = twins[2, 0] = True
    rule = NoTwins("redundancy", twins, ("a/x", "b/y", "c/x"))
    assert rule.admits(members("000", "110", "011", "101", "111")).tolist() == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert rule.explain(2) == "does the same as a/x"
    assert rule.explain(0) == "does the same as a pinned tool"


def test_budget_adds_up_definitions():
    """The limit itself still fits."""
    rule = Budget("budget-tokens", np.array([100, 50, 70]), 150)
    assert rule.admits(members("000", "110", "011", "101", "111")).tolist() == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert rule.explain(2) == "its definition takes 70 tokens of a budget of 150"


def test_the_open_policy_has_no_rules():
    """Nothing to check, nothing to withhold."""
    assert rules(BUILT_IN["open"], pool_of(3, levels=[5, 5, 5])) == []


def test_default_admits_three_tools_of_level_4():
    """Three of level 4 are fine, four are not; level 5 needs a name."""
    found = {rule.rule: rule for rule in rules(BUILT_IN["default"], pool_of(5, levels=[4, 4, 4, 5, 4]))}
    assert list(found) == ["named-level", "cap-level-4"]
    assert found["cap-level-4"].admits(members("11100", "11101", "01001")).tolist() == [True, False, True]
    assert found["named-level"].admits(members("11100", "00010")).tolist() == [True, False]
    assert found["cap-level-4"].explain(2) == "the answer may hold at most 3 tools of level 4 or more"
    assert found["named-level"].explain(3) == "tools of level 5 or more must be allowed by name"


def test_paper_counts_permissions():
    """Three tools with two categories each are one too many."""
    broad = to_bits([Permission.SHELL, Permission.WRITE], Permission)
    one = to_bits([Permission.SHELL], Permission)
    found = {r.rule: r for r in rules(BUILT_IN["paper"], pool_of(4, permissions=[broad, broad, one, broad]))}
    assert found["breadth"].admits(members("1110", "1101")).tolist() == [True, False]


def test_redundancy_compares_vectors():
    """A cosine above the limit makes twins; the limit itself does not."""
    vectors = [[1, 0], [0.6, 0.8], [0, 1]]  # cosines .6, 0, .8
    (rule,) = rules(Policy(redundancy=Redundancy(cosine=0.7)), pool_of(3, vectors=vectors))
    assert rule.rule == "redundancy"
    assert rule.admits(members("110", "101", "011")).tolist() == [True, True, False]
    assert rules(Policy(redundancy=Redundancy(cosine=0.85)), pool_of(3, vectors=vectors)) == []


def test_redundancy_of_one_name_leaves_others():
    """With same_name, equal vectors are twins only under one name."""
    vectors = [[1, 0], [1, 0], [1, 0]]
    policy = Policy(redundancy=Redundancy(cosine=0.9, same_name=True))
    (rule,) = rules(policy, pool_of(3, vectors=vectors, names=["get", "list", "get"]))
    assert rule.admits(members("110", "011", "101")).tolist() == [True, True, False]
    assert rule.explain(2) == "does the same as t0"


def test_tools_without_vector_have_no_twins():
    """Two texts the encoder knows nothing of are not alike."""
    assert rules(Policy(redundancy=Redundancy(cosine=0)), pool_of(2, vectors=[[0, 0], [0, 0]])) == []


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_an_empty_pool_breaks_no_rule(name):
    """Nothing fits the request: every policy admits the empty set."""
    policy = BUILT_IN[name].model_copy(
        update={"budget_tokens": 5, "breadth": Breadth(permissions=1, count=0)}
    )
    pool = pool_of(0, vectors=np.zeros((0, 4)))
    eligibility = Eligibility(policy, ("x",), np.array([5]), np.array([31]))
    for rule in constraints(policy, eligibility, pool, ()):
        assert rule.admits(np.zeros((1, 0), dtype=bool)).tolist() == [True]


def test_rules_follow_the_rows_of_the_pool():
    """What is broken is looked up by row of the index, not by place in the pool."""
    policy = Policy(deny=("t2",))
    eligibility = Eligibility(policy, ("t0", "t1", "t2"), np.ones(3, int), np.zeros(3, int))
    (rule,) = constraints(policy, eligibility, pool_of(2, rows=[2, 0]), ("t2", "t0"))
    assert rule.admits(members("10", "01")).tolist() == [False, True]
    assert rule.explain(0) == "it matches a deny pattern"


@st.composite
def problems(draw):
    """A policy and a pool of up to five tools."""
    size = draw(st.integers(0, 5))
    numbers = lambda low, high: st.lists(st.integers(low, high), min_size=size, max_size=size)  # noqa: E731
    angles = np.array(draw(numbers(0, 8))) * (np.pi / 8)
    pool = pool_of(
        size,
        levels=draw(numbers(1, 5)),
        permissions=draw(numbers(0, 31)),
        tokens=draw(numbers(0, 40)),
        names=draw(st.lists(st.sampled_from("ab"), min_size=size, max_size=size)),
        vectors=np.stack([np.cos(angles), np.sin(angles)], axis=1) if size else np.zeros((0, 2)),
    )
    level = st.none() | st.integers(1, 5)
    policy = Policy(
        max_level=draw(level),
        named_level=draw(level),
        caps=tuple(
            draw(st.lists(st.builds(Cap, level=st.integers(1, 5), count=st.integers(0, 3)), max_size=2))
        ),
        breadth=draw(st.none() | st.builds(Breadth, permissions=st.integers(1, 5), count=st.integers(0, 3))),
        forbidden_permissions=draw(st.frozensets(st.sampled_from(list(Permission)), max_size=2)),
        redundancy=draw(
            st.none() | st.builds(Redundancy, cosine=st.floats(-1, 1, width=32), same_name=st.booleans())
        ),
        budget_tokens=draw(st.none() | st.integers(1, 100)),
        deny=tuple(draw(st.lists(st.sampled_from(["t0", "t1", "t*"]), max_size=1))),
    )
    return policy, pool


@settings(deadline=None)
@given(problems())
def test_rules_keep_the_laws(problem):
    """The empty set is admitted; of an admitted set every subset is; sets are judged one by one."""
    policy, pool = problem
    size = len(pool.rows)
    everything = sets(size)
    for rule in rules(policy, pool):
        admitted = rule.admits(everything)
        assert admitted.shape == (2**size,)
        assert admitted.dtype == bool
        assert admitted[0]
        assert admitted.tolist() == [bool(rule.admits(row[None])[0]) for row in everything]
        for row, fine in zip(everything, admitted, strict=True):
            if fine:
                for out in np.flatnonzero(row):
                    smaller = row.copy()
                    smaller[out] = False
                    assert rule.admits(smaller[None])[0]
        for member in range(size):
            assert rule.explain(member)


def test_reasons_name_the_tools_that_are_there_already():
    """Of a cap, an excluded pair and a budget: those of the answer that are in the way, and no others."""
    pool = pool_of(4, levels=[4, 1, 4, 4], tokens=[10, 20, 30, 40])
    policy = Policy(caps=(Cap(level=4, count=2),), excludes=(("t3", "t*"),), budget_tokens=60)
    found = {rule.rule: rule for rule in rules(policy, pool)}
    assert found["cap-level-4"].explain(3, [1, 0, 2]) == (
        "the answer may hold at most 2 tools of level 4 or more, not this one together with t0 and t2"
    )
    assert found["excludes"].explain(3, [0, 2]) == "the policy does not allow it together with t0 and t2"
    assert found["budget-tokens"].explain(3, [0, 2]) == (
        "its definition takes 40 tokens and those beside it 40, of a budget of 60"
    )


def test_excluded_pairs_do_not_stand_together():
    """The globs of a pair meet in no set, whichever comes first."""
    pool = pool_of(3)
    (rule,) = rules(Policy(excludes=(("pay/*", "mail/*"),)), pool, ["mail/send", "pay/refund", "x/y"])
    assert rule.rule == "excludes"
    assert rule.admits(members("101", "011", "110")).tolist() == [True, True, False]
    assert "pay/refund" in rule.explain(0)


def test_nothing_is_needed_where_there_is_no_candidate():
    """A policy with requires holds for requests that find nothing, too."""
    assert needs(Policy(requires=(("shop/*", "shop/login"),)), ()).shape == (0, 0)


def test_what_a_tool_needs_is_found_by_glob_and_id():
    """Rows need columns; a tool never needs itself."""
    found = needs(Policy(requires=(("shop/*", "shop/login"),)), ("shop/buy", "shop/login", "mail/send"))
    assert found.tolist() == [[False, True, False], [False, False, False], [False, False, False]]


def test_risk_costs_by_level_and_caution():
    """Nothing up to level 2, all of it at level 5."""
    assert price(Policy(caution=0.3), np.array([1, 2, 3, 4, 5])).tolist() == pytest.approx(
        [0, 0, 0.1, 0.2, 0.3]
    )
