"""Entries of a policy that match no tool."""

import pytest

from toolwise.policy import BUILT_IN, Policy, idle

IDS = ("mail/search", "mail/send", "odd/[a]")


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_built_in_policies_have_none(name):
    """On any index."""
    assert idle(BUILT_IN[name], IDS) == ()


def test_each_limit_is_looked_at():
    """A glob that matches something is left alone, an id that is there too, with wildcards in it or not."""
    policy = Policy(
        deny=("mail/*", "mial/*", "mial/*"),
        allow=("*", "odd/[a]"),
        pins=("odd/[a]", "mail/*"),
        requires=(("mail/s*", "mail/sned"), ("x/*", "mail/send")),
        excludes=(("mail/search", "odd/*"), ("y", "mail/send")),
    )
    assert [sentence.partition(" matches no tool of the index") for sentence in idle(policy, IDS)] == [
        ("deny 'mial/*'", " matches no tool of the index", ""),
        ("pins 'mail/*'", " matches no tool of the index", ""),
        (
            "requires 'mail/sned'",
            " matches no tool of the index",
            "; did you mean 'mail/send' or 'mail/search'?",
        ),
        ("requires 'x/*'", " matches no tool of the index", ""),
        ("excludes 'y'", " matches no tool of the index", ""),
    ]


def test_an_empty_index_is_no_slip_of_the_policy():
    """Nothing could match there."""
    assert idle(Policy(pins=("a",)), ()) == ()


def test_limits_that_do_nothing_are_said():
    """A chance of flows that nothing forbids, and guesses where answers may be long; no usual policy."""
    assert idle(Policy(flow_chance=0.2), IDS) == ("flow_chance does nothing without forbid_flows",)
    (said,) = idle(Policy(forbid_flows=True, max_tools=6), IDS)
    assert said.startswith("answers may hold 6 tools, so only what is said of tools counts")
    assert idle(Policy(forbid_flows=True, max_tools=6, flow_chance=1.0), IDS) == ()
    assert idle(Policy(forbid_flows=True), IDS) == ()
