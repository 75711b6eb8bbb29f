"""Training the default set scorer: the loss, what it learns, and what it never does."""

from dataclasses import replace

import numpy as np
import pytest

from tests.builders import WordEncoder
from tests.sets.pools import LIBRARY, WORDS, random_weights, retriever
from toolwise.errors import EncoderError
from toolwise.learn.data import Library, Request
from toolwise.learn.set_scorer import usual_of
from toolwise.learn.sets import Reached, better, continue_training, no_worse, reached, train
from toolwise.learn.sets_data import Gatherer, Room, halves, partly_experienced
from toolwise.records import Query, ToolText
from toolwise.sets.default_weights import SIGNS, plain
from toolwise.sets.kernel import subsets, values

NOUNS = ("order", "mail", "team", "weather")
REQUESTS = (
    Request("cancel the order", (2, 3)),
    Request("cancel order nine please", (2, 3)),
    Request("send a mail", (1,)),
    Request("mail them", (1,)),
    Request("list each team", (5,)),
    Request("weather today", (4,)),
    Request("cancel my order then send mail", (1, 2, 3)),
    Request("buy milk", ()),
)


def room(
    requests: tuple[Request, ...] = REQUESTS, name: str = "own", rewards: tuple[float, ...] = ()
) -> Room:
    """The small library with some requests."""
    vectors = WordEncoder(WORDS).encode_tools(LIBRARY)
    return Room(Library(name, LIBRARY, requests), retriever(), vectors, rewards)


def small_plan(**changes: object):
    """A quick training."""
    pytest.importorskip("torch", reason="the [train] extra is not installed")
    from toolwise.learn.set_scorer import Plan

    return Plan(
        **{
            "epochs": 12,
            "batch": 16,
            "patience": 12,
            "rate": 1e-2,
            "hidden": (4, 8, 8, 4),
            "draws": 50,
            **changes,
        }
    )


@pytest.mark.parametrize("bare", [False, True])
def test_pools_are_made_as_inference_makes_them(bare: bool):
    """The same energy comes out of the arrays of training and of the scorer itself, believed or not."""
    pytest.importorskip("torch", reason="the [train] extra is not installed")
    from tests.sets.pools import scorer
    from toolwise.learn.set_scorer import energies
    from toolwise.records import Candidate

    weights = random_weights()
    tools = (
        tuple(replace(t, server="", text=ToolText(t.text.description)) for t in LIBRARY) if bare else LIBRARY
    )
    one = room()
    one = replace(one, library=replace(one.library, tools=tools), retriever=retriever(tools))
    pools = Gatherer([one]).pools(weights, size=8)
    for place, (energy, request) in enumerate(zip(energies(weights, pools), REQUESTS, strict=True)):
        rows = pools.kept[place]
        candidates = [Candidate(row, LIBRARY[row].id, 0.0) for row in rows]
        live = scorer(weights, tools).energy(Query("", request.text), candidates)
        k = len(rows)
        assert energy.unary[:k] == pytest.approx(live.unary, abs=2e-3)
        assert energy.pairs[:, :k, :k] == pytest.approx(
            live.pairs, abs=2e-2
        )  # pairs are kept in half precision
        assert energy.sizes == pytest.approx(live.sizes, abs=2e-3)


def test_what_is_usual_is_told_by_other_libraries_than_our_own_small_ones():
    """They count where there are no others."""
    pools = Gatherer([room()]).pools(plain())
    half = len(pools.library) // 2
    mixed = replace(pools, library=("small/a",) * half + ("other",) * (len(pools.library) - half))
    expected = pools.whole[half:][:, list(SIGNS)]
    np.testing.assert_allclose(usual_of(mixed)[0], np.nanmean(expected, axis=0), rtol=1e-5)
    alone = replace(pools, library=("small/a",) * len(pools.library))
    np.testing.assert_allclose(usual_of(alone), usual_of(pools))


def test_the_loss_is_the_log_probability_of_what_serves():
    """With all sets drawn, it is what softmax over all of them says."""
    torch = pytest.importorskip("torch", reason="the [train] extra is not installed")
    from toolwise.learn.set_scorer import SetLoss, energies, inputs

    weights = random_weights()
    pools = Gatherer([room()]).pools(weights, size=8)
    loss = SetLoss(torch, pools, small_plan(draws=1000))
    made = inputs(pools, weights)
    table = subsets(8, 5)
    wanted = []
    for place, energy in enumerate(energies(weights, pools)):
        found = values(energy, table).astype(np.float64)
        row = table.row(tuple(np.flatnonzero(pools.gold[place]).tolist()))
        wanted.append(np.logaddexp.reduce(found) - found[row])
    unary = torch.tensor(weights.base[1] * made.first + weights.unary(made.unary)[..., 0])
    pairs = torch.tensor(weights.pair(made.pairs))
    sizes = torch.tensor(weights.sizes + weights.whole(made.whole))
    got = loss(torch.arange(len(REQUESTS)), unary, pairs, sizes, False)
    assert float(got) == pytest.approx(np.mean(wanted), abs=1e-3)


def test_pairs_that_go_together_are_learned():
    """After training what serves is more probable than before, also on a library kept out."""
    plan = small_plan()
    weights, after = train([[room(name=f"mcp/{i}") for i in range(7)]], plan)
    pools = Gatherer([room()]).pools(weights)
    assert after.loss < reached(plain(), pools).loss
    assert reached(weights, pools).exact > reached(plain(), pools).exact


def test_training_is_deterministic():
    """The same plan and data give the same weights."""
    plan = small_plan(epochs=2)
    first, _ = train([[room(name=f"mcp/{i}") for i in range(7)]], plan)
    second, _ = train([[room(name=f"mcp/{i}") for i in range(7)]], plan)
    assert np.array_equal(first.pair.out, second.pair.out)
    assert np.array_equal(first.first.hidden, second.first.hidden)


def test_learning_on_starts_where_the_weights_are():
    """Traces move the weights; the first scores, which made the pools, stay."""
    plan = small_plan(epochs=10, rate=1e-2, decay=0.0)
    start, _ = train([[room(name=f"mcp/{i}") for i in range(7)]], small_plan(epochs=2))
    weights, before, after = continue_training(start, [room(REQUESTS[:5])], [room(REQUESTS[:5])], plan)
    assert after.loss < before.loss
    assert np.array_equal(weights.first.hidden, start.first.hidden)
    assert not np.array_equal(weights.pair.out, start.pair.out)


def test_a_request_without_reward_teaches_nothing():
    """Training on rewards of zero leaves the loss at nothing."""
    torch = pytest.importorskip("torch", reason="the [train] extra is not installed")
    from toolwise.learn.set_scorer import SetLoss

    pools = Gatherer([room(rewards=(0.0,) * len(REQUESTS))]).pools(plain(), size=8)
    loss = SetLoss(torch, pools, small_plan())
    n = len(REQUESTS)
    assert (
        float(loss(torch.arange(n), torch.ones(n, 8), torch.zeros(n, 28, 4), torch.zeros(n, 6), False)) == 0
    )


def test_without_requests_there_is_no_training():
    """The error says what is missing."""
    with pytest.raises(EncoderError, match="no request"):
        train([[room(())]], small_plan())
    with pytest.raises(EncoderError, match="0 held out"):
        continue_training(plain(), [room()], [room(())], small_plan())


def test_an_experience_that_loses_tools_is_not_kept():
    """Neither complete answers nor the share of the needed tools may fall."""
    before = Reached(0.5, 0.7, 0.2, 1.5, 2.0)
    assert no_worse(before, Reached(0.5, 0.7, 0.1, 1.5, 2.5))
    assert not no_worse(before, Reached(0.6, 0.6, 0.2, 1.5, 2.0))
    assert not no_worse(before, Reached(0.4, 0.9, 0.2, 1.5, 2.0))


def test_a_room_is_parted_into_a_past_and_those_who_know_it():
    """Every request is in one part; the second part's retriever recalls the first part's tools."""
    plain_room, knowing = partly_experienced(room(), np.random.default_rng(0))
    texts = [request.text for one in (plain_room, knowing) for request in one.library.requests]
    assert sorted(texts) == sorted(request.text for request in REQUESTS)
    query, rows = Query("q", "cancel"), np.arange(len(LIBRARY))
    assert plain_room.retriever.evidence(query, rows).recalled is None
    recalled = knowing.retriever.evidence(query, rows).recalled
    assert recalled is not None
    assert 0 < recalled.past <= len(plain_room.library.requests)


def test_each_half_has_the_other_for_its_past():
    """Nobody remembers its own request."""
    for one in halves(room(REQUESTS[:7]), np.random.default_rng(0)):
        recalled = one.retriever.evidence(Query("q", "cancel"), np.arange(6)).recalled
        assert recalled is not None
        assert recalled.past == 7 - len(one.library.requests)


def test_worse_weights_replace_nothing():
    """Fewer complete answers, or what serves less probable, is worse."""
    before = Reached(0.5, 0.5, 0.2, 1.5, 2.0)
    assert better(before, Reached(0.5, 0.5, 0.2, 1.5, 1.9))
    assert not better(before, Reached(0.4, 0.9, 0.9, 1.5, 1.0))
    assert not better(before, Reached(0.6, 0.6, 0.2, 1.5, 2.1))
