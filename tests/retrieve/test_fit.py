"""When nothing fits."""

import pytest

from tests.builders import pool
from toolwise import registry
from toolwise.retrieve import Fit


def kept(fit: Fit, *scores: float) -> list[float]:
    """The scores of the candidates that fit."""
    return [candidate.score for candidate in fit.keep(pool(*scores))]


def test_the_best_must_reach_the_floor():
    """Or nothing fits, however many follow; the floor itself is enough."""
    assert kept(Fit(floor=0.5), 0.49, 0.48) == []
    assert kept(Fit(floor=0.5), 0.5, 0.1) == [0.5, 0.1]


def test_others_must_reach_a_share_of_the_best():
    """Half of 0.8 is 0.4, which is enough."""
    assert kept(Fit(share=0.5), 0.8, 0.4, 0.39) == [0.8, 0.4]


def test_nothing_comes_of_nothing():
    """An empty ranking stays empty."""
    assert kept(Fit()) == []


def test_built_in_retrievers_have_thresholds():
    """All of them; a share is between 0 and 1."""
    for name in ("bm25", "dense", "hybrid"):
        fit = Fit.of(name)
        assert fit.floor > 0
        assert 0 < fit.share < 1
        assert name in registry.names("retriever")


@pytest.mark.parametrize("scores", [(0.9, 0.0), (0.5, -3.0), (-0.5, -7.0), (-1.0,)])
def test_other_retrievers_have_none(scores):
    """A retriever from outside may score as it likes, below 0 as well: all its candidates fit."""
    assert kept(Fit.of("from-outside"), *scores) == list(scores)
