"""Rules that judge one tool at a time."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwise.policy import BUILT_IN, Eligibility, Policy, matches
from toolwise.policy.eligibility import named
from toolwise.records import Permission, to_bits

IDS = ["fs/delete", "fs/read", "git/Read", "mail/[x]", "mail/x"]


def judge(policy: Policy, levels=(5, 1, 2, 3, 4), permissions=(0, 0, 0, 0, 0)) -> Eligibility:
    """``policy`` over the five tools above."""
    return Eligibility(policy, IDS, np.array(levels), np.array(permissions))


def kept(found: Eligibility) -> list[str]:
    """The ids that break nothing."""
    return [id_ for id_, fine in zip(IDS, found.rows, strict=True) if fine]


@pytest.mark.parametrize(
    ("globs", "expected"),
    [
        (["*"], IDS),
        ([], []),
        (["fs/*"], ["fs/delete", "fs/read"]),
        (["*/read"], ["fs/read"]),
        (["*/[rR]ead"], ["fs/read", "git/Read"]),
        (["fs/rea?"], ["fs/read"]),
        (["fs"], []),
        (["read"], []),
        (["fs/read", "git/*"], ["fs/read", "git/Read"]),
        (["mail/[[]x]"], ["mail/[x]"]),
        (["mail/x"], ["mail/x"]),
        (["fs/[!r]*"], ["fs/delete"]),
        (["(fs|git)/.*"], []),
    ],
)
def test_globs(globs, expected):
    """Shell wildcards over the whole id, case counted; nothing else has a meaning."""
    assert [id_ for id_, hit in zip(IDS, matches(IDS, globs), strict=True) if hit] == expected


def test_a_glob_equal_to_an_id_matches_it():
    """An id that holds brackets can be written as it is; as a pattern it matches what it matches."""
    assert matches(IDS, ["mail/[x]"]).tolist() == [False, False, False, True, True]


@given(st.lists(st.text(max_size=8), min_size=1, max_size=5))
def test_every_id_matches_itself(ids):
    """Whatever characters it holds."""
    assert matches(ids, ids).all()


def test_patterns_do_not_explode():
    """A hostile id and a pattern of many stars take no time."""
    started = time.perf_counter()
    matches(["a" * 5_000], ["*a" * 20 + "b"])
    assert time.perf_counter() - started < 1


def test_newlines_hide_nothing():
    """A star spans line ends, and an id that ends with one is not the id without."""
    assert matches(["fs/read\n", "fs/a\nb"], ["fs/read"]).tolist() == [False, False]
    assert matches(["fs/read\n", "fs/a\nb"], ["fs/*"]).all()


def test_without_limits_everything_is_eligible():
    """The open policy breaks nothing."""
    assert judge(BUILT_IN["open"]).broken == {}
    assert kept(judge(BUILT_IN["open"])) == IDS


def test_deny_is_stronger_than_allow_and_pins():
    """A pinned, allowed tool that is denied stays out."""
    found = judge(Policy(allow=("fs/*",), pins=("fs/delete",), deny=("*/delete",)))
    assert kept(found) == ["fs/read"]
    assert found.first_broken(0) == "deny"


def test_allow_keeps_the_others_out():
    """Everything no pattern matches breaks the rule."""
    found = judge(Policy(allow=("fs/*", "mail/x")))
    assert kept(found) == ["fs/delete", "fs/read", "mail/x"]
    assert found.first_broken(2) == "allow"
    assert found.first_broken(0) is None


def test_a_pin_counts_as_allowed():
    """By its exact id, not as a pattern."""
    assert kept(judge(Policy(allow=("git/*",), pins=("mail/[x]",)))) == ["git/Read", "mail/[x]"]


def test_an_empty_allow_list_allows_nothing():
    """No patterns, no tools."""
    assert kept(judge(Policy(allow=()))) == []


def test_a_level_above_the_highest_is_out():
    """The highest itself is in."""
    found = judge(Policy(max_level=3))
    assert kept(found) == ["fs/read", "git/Read", "mail/[x]"]
    assert found.first_broken(0) == "max-level"


@pytest.mark.parametrize(
    ("policy", "inside"),
    [
        (Policy(named_level=5), False),
        (Policy(named_level=5, allow=("fs/*", "*")), False),
        (Policy(named_level=5, allow=("fs/delet?",)), False),
        (Policy(named_level=5, allow=("fs/*", "fs/delete")), True),
        (Policy(named_level=5, allow=("*", "fs/delete")), True),
        (Policy(named_level=5, pins=("fs/delete",)), True),
        (Policy(named_level=5, pins=("fs/delete",), max_level=4), False),
    ],
)
def test_dangerous_tools_must_be_named(policy, inside):
    """A wildcard names nobody."""
    assert bool(judge(policy).rows[0]) is inside


def test_a_name_with_wildcards_is_no_name():
    """A tool that calls itself ``*`` or ``fs/*`` does not profit from a pattern spelt the same."""
    ids = ["*", "fs/*", "fs/rm"]
    found = Eligibility(
        Policy(named_level=5, allow=("*", "fs/*")), ids, np.array([5, 5, 5]), np.zeros(3, int)
    )
    assert found.rows.tolist() == [False, False, False]
    assert named(Policy(allow=("*", "fs/*", "a/b"), pins=("c/*",))) == {"a/b", "c/*"}


def test_forbidden_permissions_keep_tools_out():
    """One of them is enough; others do not matter."""
    bits = [to_bits(p, Permission) for p in ([], ["shell"], ["network"], ["write", "network"], ["code"])]
    found = judge(Policy(forbidden_permissions=frozenset({"shell", "write"})), permissions=bits)
    assert kept(found) == ["fs/delete", "git/Read", "mail/x"]
    assert found.first_broken(1) == "permissions"


def test_the_first_broken_rule_is_the_plainest():
    """Deny before allow before levels before permissions."""
    policy = Policy(deny=("fs/delete",), allow=("nothing",), max_level=1, named_level=4)
    found = judge(policy)
    assert list(found.broken) == ["deny", "allow", "max-level", "named-level"]
    assert [found.first_broken(row) for row in range(5)] == ["deny", "allow", "allow", "allow", "allow"]


def test_an_empty_index_is_judged_too():
    """No tools, no rows."""
    found = Eligibility(BUILT_IN["strict"], [], np.zeros(0, int), np.zeros(0, int))
    assert found.rows.shape == (0,)
