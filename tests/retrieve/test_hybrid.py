"""Fusion of both scores."""

import numpy as np
import pytest

from tests.builders import WordEncoder, tool
from toolwise.records import Query
from toolwise.retrieve import bm25
from toolwise.retrieve.bm25 import Bm25Retriever
from toolwise.retrieve.dense import DenseRetriever
from toolwise.retrieve.hybrid import SCALE, WEIGHT, HybridRetriever

ENCODER = WordEncoder(["red", "green", "blue"])
TOOLS = (tool("a", "red"), tool("b", "red green"), tool("c", "blue"))
IDS = [t.id for t in TOOLS]
LEXICAL = Bm25Retriever(bm25.build(TOOLS), IDS)
DENSE = DenseRetriever(ENCODER, ENCODER.encode_tools(TOOLS), IDS)


@pytest.mark.parametrize("weight", [0.0, 0.25, 1.0])
def test_scores_are_weighted_sums(weight):
    """weight * cosine + (1 - weight) * BM25 / SCALE; the ends are the two halves."""
    found = HybridRetriever(LEXICAL, DENSE, IDS, weight).score("red blue")
    expected = weight * DENSE.score("red blue") + (1 - weight) * LEXICAL.score("red blue") / SCALE
    assert found == pytest.approx(expected, rel=1e-6)
    assert found.dtype == np.float32


def test_the_default_weight_is_the_chosen_one():
    """A share, and used where none is given."""
    assert 0 < WEIGHT < 1
    found = HybridRetriever(LEXICAL, DENSE, IDS)
    assert found.score("red").tolist() == HybridRetriever(LEXICAL, DENSE, IDS, WEIGHT).score("red").tolist()


def test_the_best_of_both_come_first():
    """At most k, in order of the fused score."""
    found = HybridRetriever(LEXICAL, DENSE, IDS, 0.5).retrieve(Query("q", "red green"), 2)
    assert [c.id for c in found.candidates] == ["b", "a"]
    scores = HybridRetriever(LEXICAL, DENSE, IDS, 0.5).score("red green")
    assert [c.score for c in found.candidates] == [float(scores[1]), float(scores[0])]
