"""When anything fits, and which candidates do."""

import pytest
from tests.builders import pool

from toolwise.records import Shortlist
from toolwise.retrieve.fit import DENSE_FLOOR, LEXICAL_FLOOR, SHARE, confidence, fitting, floor_of


def kept(sure: float, *scores: float) -> list[float]:
    """The scores of the candidates that fit."""
    return [candidate.score for candidate in fitting(Shortlist("q", tuple(pool(*scores)), sure))]


def test_without_convincing_evidence_nothing_fits():
    """However many follow; exactly convincing is enough."""
    assert kept(0.99, 0.9, 0.8) == []
    assert kept(1.0, 0.9, 0.8) == [0.9, 0.8]


def test_others_must_reach_a_share_of_the_best():
    """Where the best has 1.0, the share itself is enough and less is not."""
    assert kept(1.0, 1.0, SHARE, SHARE - 0.01) == [1.0, SHARE]


def test_nothing_comes_of_nothing():
    """An empty ranking stays empty."""
    assert kept(5.0) == []


def test_either_half_may_convince():
    """Words at their floor, or meaning at its own; less of both does not add up."""
    assert confidence(lexical=LEXICAL_FLOOR) == 1.0
    assert confidence(dense=DENSE_FLOOR) == 1.0
    assert confidence(0.9 * LEXICAL_FLOOR, 0.9 * DENSE_FLOOR) == pytest.approx(0.9)
    assert confidence() == 0.0


@pytest.mark.parametrize("scores", [(-0.5, -7.0), (-1.0,), (0.0, -1.0)])
def test_a_retriever_from_outside_may_score_below_zero(scores):
    """A share of a negative best says nothing: all its candidates fit."""
    assert kept(1.0, *scores) == list(scores)
    assert Shortlist("q", ()).confidence == 1.0


def test_an_encoder_brings_its_own_floor():
    """Half of it is half convincing; an encoder that brings none is measured by the default."""

    class Sharp:
        floor = 0.5

    class Plain:
        floor = None

    assert floor_of(Sharp()) == 0.5
    assert floor_of(Plain()) == floor_of(object()) == DENSE_FLOOR
    assert confidence(dense=0.25, floor=floor_of(Sharp())) == 0.5
