"""Both forms of the heads learn what can be learned, the same again, and never from a held-out label."""

import numpy as np
import pytest

pytest.importorskip("torch")

from toolwise.errors import EncoderError
from toolwise.learn.dual_head import (
    DefaultPlan,
    Lesson,
    fit_platt,
    train_default,
    train_relevance,
    train_risk,
)
from toolwise.learn.dual_head_paper import PaperPlan, train_paper
from toolwise.rerank.dual_head import parameters

SIZE, DIM = 12, 8


def lesson(seed: int = 0, requests: int = 40) -> Lesson:
    """A request needs the tool after the one it is nearest to: the cosine is of no use, a residual is."""
    rng = np.random.default_rng(seed)
    tools = rng.normal(size=(SIZE, DIM)).astype(np.float32)
    tools /= np.linalg.norm(tools, axis=1, keepdims=True)
    gold = rng.integers(SIZE, size=requests)
    queries = tools[(gold + 1) % SIZE] + 0.1 * rng.normal(size=(requests, DIM)).astype(np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    levels = np.where(tools[:, 0] > 0, 4, 1).astype(np.int64)
    return Lesson(tools, queries.astype(np.float32), [[int(g)] for g in gold], levels, np.arange(SIZE) % 3)


def hits(heads, data: Lesson) -> float:
    """Share of requests whose gold tool comes first."""
    best = heads.relevance(data.queries, data.tools).argmax(1)
    return float(np.mean(best == [g[0] for g in data.gold]))


def test_the_published_form_learns():
    """From chance to most requests, and risk in the right order."""
    data = lesson()
    (heads,) = train_paper([data], PaperPlan(epochs=40, batch=16, rate=5e-3))
    assert hits(heads, data) > 0.6
    risk = heads.risk(data.tools)
    assert risk[data.levels == 4].mean() > risk[data.levels == 1].mean() + 0.3
    assert parameters(heads) == 2 * DIM * 64 + 129 + DIM * 64 + 129


def test_the_default_form_learns_from_where_the_encoder_stands():
    """Without training it ranks as the cosine does; with it, it finds the gold tools."""
    data = lesson()
    (before,) = train_default([data], DefaultPlan(epochs=0, risk_epochs=1))
    cosine = data.queries @ data.tools.T
    assert (
        np.array_equal(before.relevance(data.queries, data.tools).argsort(1), cosine.argsort(1))
        and not before.residual.any()
    )
    (after,) = train_default([data], DefaultPlan(epochs=40, rate=1e-2, batch=16))
    assert hits(after, data) > 0.5 > 0.3 > hits(before, data)


@pytest.mark.parametrize(("train", "plan"), [(train_paper, PaperPlan), (train_default, DefaultPlan)])
def test_the_same_seed_gives_the_same_heads(train, plan):
    """And another one others."""
    data = lesson()
    first, second, third = (train([data], plan(seed=seed, epochs=2))[0].tensors() for seed in (3, 3, 4))
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert any(not np.array_equal(first[name], third[name]) for name in first)


def test_a_risk_head_never_hears_of_the_labels_of_its_fold():
    """Other labels in fold 1 change the heads of folds 0 and 2, and not that of fold 1; in both forms."""
    one = lesson()
    other = Lesson(
        one.tools, one.queries, one.gold, np.where(one.held == 1, 6 - one.levels, one.levels), one.held
    )
    for form, plan in (
        (train_paper, PaperPlan(folds=3, epochs=2)),
        (train_default, DefaultPlan(folds=3, epochs=2)),
    ):
        # The best epoch is chosen by a loss that all heads share, so the paper's must not be chosen at all
        before, after = (form([data], plan) for data in (one, other))
        same = [
            np.array_equal(a.risk(one.tools), b.risk(one.tools)) for a, b in zip(before, after, strict=True)
        ]
        assert same == [False, True, False]
        assert np.array_equal(
            before[0].relevance(one.queries, one.tools), after[2].relevance(one.queries, one.tools)
        )


def test_a_label_that_is_not_known_is_not_learned_from():
    """With no label at all there is nothing to train a risk head on."""
    data = lesson()
    with pytest.raises(EncoderError, match="no risk label"):
        train_risk(data.tools, np.zeros(SIZE, np.int64), data.held)


@pytest.mark.parametrize("train", [train_paper, train_default, train_relevance])
def test_without_requests_there_is_nothing_to_train(train):
    """Said so."""
    data = lesson()
    with pytest.raises(EncoderError, match="no request to train heads on"):
        train([Lesson(data.tools, data.queries[:0], [], data.levels, data.held)])


def test_calibration_finds_the_slope_and_offset_that_made_the_truth():
    """20,000 draws with logit 2 x - 1; and where everything can be told apart it stays finite."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=20_000)
    truth = rng.random(20_000) < 1 / (1 + np.exp(-(2 * x - 1)))
    assert fit_platt(x, truth).tolist() == pytest.approx([2, -1], abs=0.1)
    sharp = fit_platt(np.array([-3.0, -2.0, 2.0, 3.0]), np.array([False, False, True, True]))
    assert np.isfinite(sharp).all() and sharp[0] > 0


def test_where_every_tool_is_gold_the_published_form_learns_nothing():
    """There is no tool to rank below another: an error, and no heads that were never trained."""
    data = lesson(requests=4)
    every = [list(range(SIZE))] * 4
    with pytest.raises(EncoderError, match="every request needs all tools"):
        train_paper([Lesson(data.tools, data.queries, every, data.levels, data.held)])
