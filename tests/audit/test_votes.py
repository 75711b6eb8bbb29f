"""Votes become a level or a question for a person, as the first paper does it."""

from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import tool
from toolwise.audit.load import load_annotator
from toolwise.audit.votes import combine, known_hash, level_of, votes_of
from toolwise.records import (
    PERSON,
    Capability,
    Evidence,
    Finding,
    Judgement,
    Level,
    Permission,
    Severity,
    Verdict,
)

NOW, BEFORE = "hash now", "hash before"


def vote(annotator, level, *flags, of=NOW, who="", reason="", evidence=(), findings=()):
    """A judgement whose flags are permissions or capabilities by name."""
    verdict = Verdict(
        None if level is None else Level(level),
        frozenset(Permission(f) for f in flags if f in list(Permission)),
        frozenset(Capability(f) for f in flags if f in list(Capability)),
        tuple(evidence),
        tuple(findings),
    )
    return Judgement("a/x", annotator, of, verdict, "2026-05-31T12:00:00+00:00", who, reason)


@pytest.mark.parametrize(
    ("votes", "level"),
    [
        ([], None),
        ([4], 4),
        ([2, 2, 2], 2),  # span 0
        ([2, 3], 3),  # span 1, two votes: never rounded down
        ([2, 2, 3], 2),  # span 1: the median
        ([2, 3, 3], 3),
        ([1, 1, 2, 2], 2),
        ([1, 3], 3),  # span 2: the highest until a person has decided
        ([1, 1, 5], 5),
        ([4, 2, 3], 4),
    ],
)
def test_the_level_is_that_of_the_paper(votes, level):
    """Span 0 that level, span 1 the median, from 2 on the highest."""
    assert level_of([Level(v) for v in votes]) == level


@pytest.mark.parametrize(
    ("levels", "span", "waits"), [([3, 3], 0, False), ([3, 4], 1, False), ([2, 4], 2, True)]
)
def test_a_span_of_two_waits_for_a_person(levels, span, waits):
    """One apart settles itself."""
    outcome = combine([vote("rules", levels[0]), vote("llm:m", levels[1])], NOW)
    assert (outcome.span, outcome.waits) == (span, waits)


def test_a_wide_span_says_so_first():
    """The reason for the level names the votes."""
    outcome = combine([vote("llm:b", 5), vote("rules", 2), vote("llm:a", 3)], NOW)
    assert outcome.verdict.level == 5
    assert outcome.verdict.evidence[0] == Evidence(
        "level>=5",
        "votes",
        "the votes differ (rules 2, llm:a 3, llm:b 5): the highest counts until a person decides",
    )


def test_a_vote_above_the_median_is_overruled():
    """Its reason stays, marked, so that it is not read as the reason for the level."""
    why = {a: [Evidence(f"level>={n}", a, "why")] for a, n in (("rules", 2), ("llm:a", 3), ("llm:b", 2))}
    votes = [vote("rules", 2, evidence=why["rules"]), vote("llm:a", 3, evidence=why["llm:a"])]
    outcome = combine([*votes, vote("llm:b", 2, evidence=why["llm:b"])], NOW)
    assert outcome.verdict.level == 2
    assert sorted(item.claim for item in outcome.verdict.evidence) == [
        "level>=2",
        "level>=2",
        "overruled:level>=3",
    ]


def test_who_cannot_tell_has_no_vote():
    """None is no level; nobody's vote is no level either."""
    assert combine([vote("rules", None), vote("head", 2)], NOW).verdict.level == 2
    assert combine([vote("rules", None)], NOW).verdict.level is None
    assert combine([], NOW).verdict == Verdict()


def test_one_vote_alone_is_taken_whole():
    """Nothing is added to what the rules say."""
    only = vote("rules", 4, "shell", evidence=[Evidence("level>=4", "rules", "x")])
    assert combine([only], NOW).verdict is only.verdict


def test_the_last_vote_on_the_present_definition_counts():
    """An earlier one, and one on another definition, do not."""
    outcome = combine([vote("rules", 2), vote("rules", 3), vote("rules", 5, of=BEFORE)], NOW)
    assert (outcome.votes, outcome.stale) == ({"rules": 3}, {})


def test_a_person_settles_it():
    """Up or down, whatever the others say; why is the first evidence."""
    rules = vote("rules", 5, evidence=[Evidence("level>=5", "rules", "name says wipe")])
    ada = vote(PERSON, 2, who="Ada", reason="it is a toy")
    outcome = combine([rules, ada], NOW)
    assert (outcome.verdict.level, outcome.decided, outcome.waits) == (2, True, False)
    assert outcome.verdict.evidence == (
        Evidence("level>=2", PERSON, "Ada judged it so on 2026-05-31: it is a toy"),
        Evidence("overruled:level>=5", "rules", "name says wipe"),
    )


def test_a_person_who_gives_no_level_decides_nothing():
    """The votes count, and an older word of theirs stays stale."""
    outcome = combine([vote(PERSON, 4, of=BEFORE), vote("rules", 1), vote(PERSON, None)], NOW)
    assert (outcome.decided, outcome.waits, outcome.verdict.level) == (False, True, 4)


def test_what_a_person_said_of_another_definition_is_stale():
    """The tool waits again, and is thought no less harmful than before."""
    outcome = combine([vote(PERSON, 4, of=BEFORE, who="Ada"), vote("rules", 2)], NOW)
    assert (outcome.decided, outcome.waits, list(outcome.stale)) == (False, True, [PERSON])
    assert outcome.verdict.level == 4
    assert "Ada judged level 4 before the definition changed" in outcome.verdict.evidence[0].because
    assert combine([vote(PERSON, 1, of=BEFORE), vote("rules", 2)], NOW).verdict.level == 2


def test_a_stale_vote_of_an_annotator_asks_a_person_and_counts_nothing():
    """Until the annotator has judged again."""
    old = vote("llm:m", 5, of=BEFORE)
    assert combine([old, vote("rules", 2)], NOW).waits
    assert combine([old, vote("rules", 2)], NOW).verdict.level == 2


def test_judging_a_changed_definition_again_does_not_make_it_known():
    """Whoever judges anew settles the level; a person's word, with a level or without, ends the waiting."""
    judged = [vote("rules", 5, of=BEFORE), vote("rules", 2)]
    outcome = combine(judged, NOW)
    assert (outcome.verdict.level, outcome.waits, outcome.known) == (2, True, BEFORE)
    assert {a: j.verdict.level for a, j in outcome.stale.items()} == {"rules": 5}
    for word in (vote(PERSON, 3), vote(PERSON, None)):
        outcome = combine([*judged, word], NOW)
        assert (outcome.waits, outcome.stale, outcome.known) == (False, {}, NOW)


def test_what_counts_as_known_is_the_first_definition_until_a_person_looks_at_another():
    """Nothing an annotator says moves it, so that two small changes are told as one; coming back ends it."""
    first, second, third = ("1" * 64, "2" * 64, "3" * 64)
    said = [vote("rules", 1, of=first), vote("rules", 1, of=second), vote("llm:m", 1, of=second)]
    assert known_hash(said, third) == first
    assert {a: j.content_hash for a, j in combine(said, third).stale.items()} == {
        "rules": first,
        "llm:m": second,
    }
    assert known_hash([*said, vote(PERSON, None, of=second)], third) == second
    assert not combine(said, first).waits
    assert known_hash([], third) == third


def test_a_definition_that_comes_back_brings_its_judgements_back():
    """The present hash was judged, though another was judged since."""
    outcome = combine([vote(PERSON, 2), vote(PERSON, 5, of=BEFORE)], NOW)
    assert (outcome.verdict.level, outcome.waits) == (2, False)


def test_flags_go_by_majority_and_a_tie_is_yes():
    """Two of three, and one of two, but not one of three."""
    three = [vote("rules", 3, "shell", "private"), vote("llm:a", 3, "private"), vote("llm:m", 3)]
    verdict = combine(three, NOW).verdict
    assert (verdict.permissions, verdict.capabilities) == (frozenset(), {Capability.PRIVATE})
    assert combine(three[::2], NOW).verdict.permissions == {Permission.SHELL}


def test_who_says_nothing_of_a_tool_denies_no_flag():
    """An annotator without level and flags does not outvote one that sees a shell."""
    votes = [vote("rules", 3, "shell"), vote("head", None), vote("llm:m", None)]
    assert combine(votes, NOW).verdict.permissions == {Permission.SHELL}


def test_a_person_names_flags_or_leaves_them():
    """Named ones replace the others' whole; none at all has to be said."""
    rules = vote("rules", 3, "shell", "private")
    assert combine([rules, vote(PERSON, 3)], NOW).verdict.permissions == {Permission.SHELL}
    assert combine([rules, vote(PERSON, 3, "code")], NOW).verdict.permissions == {Permission.CODE}
    none = vote(PERSON, 3, evidence=[Evidence("permission:none", PERSON, "Ada says so")])
    verdict = combine([rules, none], NOW).verdict
    assert (verdict.permissions, verdict.capabilities) == (frozenset(), {Capability.PRIVATE})


def test_findings_outlive_every_decision():
    """A person's word on the level does not hide what is wrong with the text."""
    finding = Finding("hidden-unicode", Severity.HIGH, "description", "\\u200b")
    votes = [vote("rules", 4, findings=[finding]), vote("llm:m", 4), vote(PERSON, 1)]
    assert combine(votes[:2], NOW).verdict.findings == (finding,)
    assert combine(votes, NOW).verdict.findings == (finding,)


def test_votes_of_annotators_are_judgements_on_the_present_definition():
    """One list per tool, in the order of the annotators."""
    one = tool("disk/wipe_disk", "Erase a disk")
    ((judgement,),) = votes_of([one], [load_annotator("rules")], "then")
    assert (judgement.tool, judgement.annotator, judgement.content_hash, judgement.at) == (
        one.id,
        "rules",
        one.content_hash,
        "then",
    )
    assert judgement.verdict.level >= 4


ANNOTATORS = ["rules", "head", "llm:a", "llm:b", PERSON]
FLAGS = [*Permission, *Capability]
JUDGEMENTS = st.lists(
    st.builds(
        lambda annotator, level, of, flags: vote(annotator, level, *flags, of=of),
        st.sampled_from(ANNOTATORS),
        st.none() | st.integers(1, 5),
        st.sampled_from([NOW, BEFORE]),
        st.sets(st.sampled_from(FLAGS)),
    ),
    max_size=8,
)
ONE_EACH = st.lists(st.sampled_from(ANNOTATORS), unique=True, max_size=4).flatmap(
    lambda names: st.tuples(
        *(st.builds(vote, st.just(name), st.none() | st.integers(1, 5)) for name in names)
    )
)


@given(JUDGEMENTS, st.integers(1, 5))
def test_the_present_word_of_a_person_always_wins(judgements, level):
    """Whatever was said before, by whomever."""
    outcome = combine([*judgements, vote(PERSON, level)], NOW)
    assert (outcome.verdict.level, outcome.waits) == (level, False)


@given(JUDGEMENTS)
def test_the_level_is_never_below_the_lowest_vote(judgements):
    """And never above the highest, but for the word of a person that became stale."""
    outcome = combine(judgements, NOW)
    votes = [outcome.votes[PERSON]] if outcome.decided else list(outcome.votes.values())
    said = [j.verdict.level for a, j in outcome.stale.items() if a == PERSON]
    before = [level for level in said if level is not None]
    if votes:
        assert min(votes) <= outcome.verdict.level <= max([*votes, *before])
    else:
        assert outcome.verdict.level == (before[0] if before else None)


@given(ONE_EACH)
def test_the_order_of_the_votes_does_not_matter(votes):
    """Each annotator with one vote: every order has the same outcome, evidence and all."""
    outcomes = [combine(order, NOW) for order in permutations(votes)]
    assert all(outcome == outcomes[0] for outcome in outcomes)


@given(JUDGEMENTS)
def test_a_flag_of_the_verdict_was_named_by_somebody(judgements):
    """Nothing is invented."""
    verdict = combine(judgements, NOW).verdict
    named = {f for j in judgements for f in (*j.verdict.permissions, *j.verdict.capabilities)}
    assert {*verdict.permissions, *verdict.capabilities} <= named


def test_what_the_catalogue_shows_weighs_on_votes_alone():
    """A grave finding makes level 4 of annotators' votes; a person's level stands, the finding is shown."""
    grave = Finding("lookalike-name", Severity.HIGH, "name", "'x' looks like 'y'")
    voted = combine([vote("rules", 2)], NOW)
    assert (voted.among([grave]).level, voted.among([grave]).findings) == (4, (grave,))
    assert voted.among([]) == voted.verdict
    decided = combine([vote("rules", 2), vote(PERSON, 1, who="Ada")], NOW).among([grave])
    assert (decided.level, decided.findings) == (1, (grave,))


def test_rules_and_head_are_one_vote_where_they_are_near():
    """The head says 2 where the rules say 3: together 2; far apart, the higher until a person looks."""
    ruled = vote("rules", 3, evidence=[Evidence("level>=3", "rules", "it writes")])
    learned = vote("head", 2, evidence=[Evidence("level>=2", "head", "a small change")])
    near = combine([ruled, learned], NOW)
    assert (near.verdict.level, near.span, near.waits) == (2, 1, False)
    far = combine([vote("rules", 2), vote("head", 4)], NOW)
    assert (far.verdict.level, far.span, far.waits) == (4, 2, True)


def test_guesses_are_averaged_with_what_others_say_and_end_where_a_person_decides():
    """.6 and no make .3; who names what a tool can do guesses nothing, who leaves it leaves the guesses."""
    head = vote("head", 3, "private", evidence=[Evidence("level>=3", "head", "")])
    head = replace(head, verdict=replace(head.verdict, chances=(0.6, 0.2, 0.0)))
    model = vote("llm:m", 3, "untrusted")
    assert combine([head, model], NOW).verdict.chances == (0.3, 0.6, 0.0)
    assert combine([head, vote(PERSON, 3)], NOW).verdict.chances == (0.6, 0.2, 0.0)
    rules = vote("rules", 3, "external", evidence=[Evidence("capability:external", "rules", "")])
    both = combine([rules, head, vote(PERSON, 3)], NOW).verdict
    assert (both.chances, both.capabilities) == ((0.6, 0.2, 0.0), {Capability.PRIVATE})
    decided = combine([head, vote(PERSON, 3, "external")], NOW).verdict
    assert (decided.chances, decided.likely) == ((), (0.0, 0.0, 1.0))
    assert combine([model, vote("llm:n", 3)], NOW).verdict.chances == ()
