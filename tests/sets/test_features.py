"""Features of candidates, pairs and requests, worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from tests.builders import WordEncoder
from tests.sets.pools import LIBRARY, REQUEST, WORDS, retriever
from toolwise.audit.verbs import Action
from toolwise.records import Query
from toolwise.retrieve.experience import Experience, Lessons
from toolwise.sets.facts import facts_of
from toolwise.sets.features import PAIR, UNARY, WHOLE, View, asked, odds

PAST = Experience(
    WordEncoder(WORDS).encode_queries(["cancel", "mail team", "order"]), [(2, 3), (0, 1), (2,)], len(LIBRARY)
)
"""An order is looked up and cancelled, a mail read and sent, an order cancelled again."""


def view(query: Query = REQUEST, rows: list[int] | None = None, experience: Experience | None = None) -> View:
    """The view of some rows of the library, all of them in order unless given."""
    at = np.arange(len(LIBRARY)) if rows is None else np.array(rows)
    vectors = WordEncoder(WORDS).encode_tools([LIBRARY[row] for row in at])
    evidence = retriever().remembering(experience).evidence(query, at)
    return View(asked(query.text), [facts_of(LIBRARY[row]) for row in at], evidence, vectors)


def of(seen: View, name: str) -> np.ndarray:
    """One feature of all candidates."""
    return seen.unary[:, UNARY.index(name)]


def between(seen: View, name: str, a: int, b: int) -> float:
    """One feature of a pair, both ways round."""
    found = seen.pairs()[:, :, PAIR.index(name)]
    assert found[a, b] == found[b, a]
    return float(found[a, b])


def test_a_request_is_read_once():
    """Its actions, its length and what it gives."""
    found = asked('Delete note A-17 and "mail" x.org about 12 of them, Bob')
    assert found.actions[Action.DELETE]
    assert not found.actions[Action.PAY]
    assert found.given == pytest.approx(np.log1p([1, 1, 1, 2, 1]), abs=1e-6)


def test_names_said_in_the_request():
    """Every word of ``cancel_order`` is said, none of ``get_weather``."""
    said = of(view(), "name_said")
    assert said[2] == 1
    assert said[3] == 0.5  # list_orders: order alone
    assert said[4] == 0


def test_the_verb_that_is_asked_for():
    """Cancelling is asked for, looking something up is not."""
    asks = of(view(), "action_asked")
    assert asks[2] == 1
    assert asks[3] == 0


def test_shares_and_ranks_go_by_the_best_of_the_pool():
    """The best candidate has share 1 and rank 0."""
    seen = view()
    best = int(np.argmax(seen.evidence.fused))
    assert of(seen, "share")[best] == 1
    assert of(seen, "rank")[best] == 0
    assert of(seen, "top").sum() == 1
    assert of(seen, "share").max() == 1


def test_the_tool_that_finds_what_another_needs():
    """``cancel_order`` needs an order id; ``list_orders`` finds it, is mentioned, and shares the noun."""
    seen = view()
    assert between(seen, "feeds", 2, 3) == 1
    assert between(seen, "feeds_read", 2, 3) == 1
    assert between(seen, "told", 2, 3) == 1
    assert between(seen, "same_server", 2, 3) == 1
    assert between(seen, "look_then_change_noun", 2, 3) == 1
    assert between(seen, "nouns", 2, 3) == 1
    assert between(seen, "told", 2, 4) == 0


def test_a_finder_on_another_server_feeds_by_name_alone():
    """A team id is found by ``list_teams``, though of another server."""
    seen = view()
    assert between(seen, "feeds", 1, 5) == 1
    assert between(seen, "feeds_read", 1, 5) == 0


def test_tools_that_are_best_for_different_clauses_complement_each_other():
    """One cancels, the other mails: together they cover what neither does alone."""
    seen = view()
    assert seen.count == 2
    assert between(seen, "own_clauses", 1, 2) == 1
    assert between(seen, "clause_gain", 1, 2) > 0.3
    assert between(seen, "same_clause", 1, 2) == 0


def test_two_vectors_span_more_of_the_request_than_one():
    """Orthogonal tools with cosines a and b explain the root of a² + b²."""
    seen = view(Query("q", "weather team"), [4, 5])
    a, b = seen.evidence.dense[0]
    assert between(seen, "explained", 0, 1) == pytest.approx(np.hypot(a, b) - max(a, b), abs=1e-5)
    assert between(seen, "joint", 0, 1) == pytest.approx((a + b) / np.sqrt(2) - max(a, b), abs=1e-5)


def test_the_order_of_the_pool_does_not_matter():
    """The features of a candidate, of a pair and of the request move with it or stay."""
    order = [3, 0, 5, 2, 4, 1]
    one, other = view(experience=PAST), view(rows=order, experience=PAST)
    assert np.allclose(one.unary[order], other.unary, atol=1e-6)
    assert np.allclose(one.pairs()[order][:, order], other.pairs(), atol=1e-6)
    assert np.allclose(one.whole, other.whole, atol=1e-6)


def test_past_requests_speak_for_the_tools_they_used():
    """The request says five of the words once each: cosines are sqrt(1/5), sqrt(2/5) and sqrt(1/5)."""
    seen = view(experience=PAST)
    assert of(seen, "recalled") == pytest.approx(np.sqrt([0.4, 0.4, 0.2, 0.2, 0, 0]), abs=1e-6)
    assert of(seen, "recalled_gap")[2] == pytest.approx(np.sqrt(0.2) - np.sqrt(0.4), abs=1e-6)
    assert of(seen, "used") == pytest.approx(np.sqrt([1 / 3, 1 / 3, 2 / 3, 1 / 3, 0, 0]), abs=1e-6)
    assert between(seen, "used_together", 2, 3) == pytest.approx(np.log(2))
    assert between(seen, "mostly_together", 2, 3) == 0.5
    assert between(seen, "used_together", 0, 2) == 0


def test_without_experience_nothing_is_known_of_the_past():
    """Unknown is not never."""
    seen = view()
    assert np.isnan(of(seen, "used")).all()
    assert np.isnan(seen.pairs()[:, :, PAIR.index("used_together")]).all()


def test_what_a_catalogue_does_not_say_is_unknown():
    """Without servers there is no company on one; it is no bad sign."""
    facts = [facts_of(replace(tool, server="")) for tool in LIBRARY]
    vectors = WordEncoder(WORDS).encode_tools(LIBRARY)
    known = retriever().remembering(PAST)
    seen = View(asked(REQUEST.text), facts, known.evidence(REQUEST, np.arange(6)), vectors)
    assert np.isnan(of(seen, "server_best")).all()
    assert np.isnan(seen.whole[WHOLE.index("servers")])
    assert np.isfinite(seen.pairs()).all()
    assert np.isnan(seen.unary).sum() == 3 * len(LIBRARY)


@pytest.mark.parametrize("text", ["", "的天气", "???", "cancel"])
def test_every_request_has_finite_features(text):
    """Requests without words, or with one, are no special case; nor is a pool of one."""
    for rows in (None, [4]):
        seen = view(Query("q", text), rows, PAST)
        assert seen.unary.shape[1] == len(UNARY)
        assert seen.pairs().shape[2] == len(PAIR)
        assert seen.whole.shape == (len(WHOLE),)
        assert all(np.isfinite(array).all() for array in (seen.unary, seen.pairs(), seen.whole))


def test_a_first_score_of_two_is_one_in_two():
    """First scores are log odds, two above the middle."""
    assert odds(np.array([2.0, -100, 100], np.float32)) == pytest.approx([0.5, 0, 1])


def test_weights_count_as_far_as_experience_believes_them():
    """Half of what they count where tools have servers or parameters."""
    doubting = Experience(np.zeros((0, 8), np.float32), [], len(LIBRARY), Lessons(belief=0.5))
    assert view(experience=doubting).described == 0.5 * view().described == 0.5


def test_a_pool_that_all_points_away_is_a_pool():
    """Cosines below zero alone: the features of the request are numbers."""
    seen = view(Query("q", "zebra"), [4])
    seen.share = np.array([-1e5], np.float32)
    assert np.isfinite(seen.whole[[WHOLE.index("entropy"), WHOLE.index("near_best")]]).all()
