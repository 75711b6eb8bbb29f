"""Fusion of both scores."""

import numpy as np
import pytest
from tests.builders import WordEncoder, tool

from toolwise.records import Query
from toolwise.retrieve import bm25, clauses
from toolwise.retrieve.adapter import Adapter
from toolwise.retrieve.bm25 import Bm25Retriever
from toolwise.retrieve.dense import DenseRetriever
from toolwise.retrieve.experience import Experience, Lessons
from toolwise.retrieve.fit import FAMILIAR_FLOOR
from toolwise.retrieve.hybrid import FAMILIAR, SCALE, HybridRetriever

ENCODER = WordEncoder(["red", "green", "blue"])
TOOLS = (tool("a", "red"), tool("b", "red green"), tool("c", "blue"))
IDS = [t.id for t in TOOLS]
LEXICAL = Bm25Retriever(bm25.build(TOOLS), IDS)
DENSE = DenseRetriever(ENCODER, ENCODER.encode_tools(TOOLS), IDS)


def scores(scale: float, text: str) -> list[float]:
    """The score of each tool."""
    found = HybridRetriever(LEXICAL, DENSE, IDS, scale).retrieve(Query("", text), len(IDS))
    return [candidate.score for candidate in sorted(found.candidates, key=lambda c: c.row)]


@pytest.mark.parametrize("scale", [0.5, 1.0, 10.0])
def test_words_count_by_their_square(scale):
    """Cosine + (BM25 / scale) ** 2."""
    expected = DENSE.score("red blue") + (LEXICAL.score("red blue") / scale) ** 2
    assert scores(scale, "red blue") == pytest.approx(expected, rel=1e-5)


def test_the_default_scale_is_the_chosen_one():
    """Used where none is given."""
    given = HybridRetriever(LEXICAL, DENSE, IDS, SCALE).retrieve(Query("", "red"), 3)
    assert HybridRetriever(LEXICAL, DENSE, IDS).retrieve(Query("", "red"), 3) == given


def test_the_best_of_both_come_first():
    """At most k, in order of the fused score."""
    found = HybridRetriever(LEXICAL, DENSE, IDS, 1.0).retrieve(Query("q", "red green"), 2)
    assert [c.id for c in found.candidates] == ["b", "a"]
    assert [c.score for c in found.candidates] == sorted(scores(1.0, "red green"), reverse=True)[:2]


def test_a_tool_that_served_the_same_request_before_comes_up():
    """By hand: familiar * (r - floor) / (1 - floor), r being 1 for c, and nothing for the others."""
    plain = HybridRetriever(LEXICAL, DENSE, IDS)
    past = Experience(ENCODER.encode_queries(["red"]), [(2,)], 3)
    before, after = (r.evidence(Query("", "red"), np.arange(3)) for r in (plain, plain.remembering(past)))
    assert after.fused - before.fused == pytest.approx([0, 0, FAMILIAR], abs=1e-6)
    assert before.recalled is None
    assert after.recalled is not None
    assert after.recalled.uses.tolist() == [0, 0, 1]


def test_a_request_known_from_before_convinces():
    """The text says nothing; the same text was served before, and familiarity 1 is twice its floor."""
    past = Experience(ENCODER.encode_queries(["green"]), [(2,)], 3)
    known = HybridRetriever(LEXICAL, DENSE, IDS).remembering(past)
    assert known.retrieve(Query("", "green"), 3).confidence >= 1 / FAMILIAR_FLOOR
    only = np.array([False, False, True])
    assert known.retrieve(Query("", "green"), 3, only).confidence == pytest.approx(1 / FAMILIAR_FLOOR)


def test_a_request_that_nothing_served_before_is_known():
    """The very same one is; another is not, nor one that some tool served as well."""
    red, none = ENCODER.encode_queries(["red"]), np.zeros((0, 3), np.float32)
    plain = HybridRetriever(LEXICAL, DENSE, IDS)
    told = plain.remembering(Experience(none, [], 3, unserved=red))
    assert told.unserved_the_like(Query("", "red"))
    assert not told.unserved_the_like(Query("", "blue"))
    assert not plain.unserved_the_like(Query("", "red"))
    both = plain.remembering(Experience(red, [(2,)], 3, unserved=red))
    assert not both.unserved_the_like(Query("", "red"))


def test_a_past_request_of_another_kind_changes_nothing():
    """Cosines up to the encoder's floor mean nothing."""
    past = Experience(ENCODER.encode_queries(["blue"]), [(2,)], 3)
    plain = HybridRetriever(LEXICAL, DENSE, IDS)
    assert plain.remembering(past).retrieve(Query("", "red"), 3) == plain.retrieve(Query("", "red"), 3)


def adapted(lexical: float) -> HybridRetriever:
    """A library whose past says nothing but that red means blue."""
    swap = np.array([[-1, 0, 1], [0, 0, 0], [0, 0, 0]], np.float32)
    none = np.zeros((0, 3), np.float32)
    return HybridRetriever(LEXICAL, DENSE, IDS).remembering(
        Experience(none, [], 3, Lessons(Adapter(swap, lexical)))
    )


def test_requests_are_read_as_experience_says():
    """The request for red is compared as one for blue, and its words count for nothing."""
    found = adapted(0.0).evidence(Query("", "red"), np.arange(3))
    assert found.fused == pytest.approx([0, 0, 1], abs=1e-6)
    assert found.dense[0] == pytest.approx([0, 0, 1], abs=1e-6)
    assert found.best == pytest.approx([1], abs=1e-6)


def test_words_count_as_experience_says():
    """Half of what they count without it."""
    found = adapted(0.5).evidence(Query("", "red"), np.arange(3))
    assert found.fused - [0, 0, 1] == pytest.approx(0.5 * (LEXICAL.score("red") / SCALE) ** 2, abs=1e-6)


def test_how_sure_it_is_goes_by_the_encoder():
    """The cosine to what was asked, not to what is read."""
    plain = HybridRetriever(LEXICAL, DENSE, IDS)
    assert (
        adapted(0.0).retrieve(Query("", "red"), 3).confidence
        == plain.retrieve(Query("", "red"), 3).confidence
    )
    assert adapted(0.0).evidence(Query("", "red"), np.arange(3)).plain == pytest.approx(DENSE.score("red"))


def test_confidence_is_that_of_the_surer_half():
    """Shared words may convince where the encoder knows nothing, and the other way round."""
    both = HybridRetriever(LEXICAL, DENSE, IDS)
    for text in ("red", "green green", "zebra", "🙂"):
        halves = [half.retrieve(Query("", text), 1).confidence for half in (LEXICAL, DENSE)]
        assert both.retrieve(Query("", text), 1).confidence == max(halves)


def test_every_clause_brings_its_best_tool():
    """By hand: whole + coverage * max(whole) * the greatest share of a clause's best score."""
    parts = ["find red things", "paint blue things"]
    request = f"{parts[0]}, and then {parts[1]}"
    assert clauses(request) == parts
    plain = HybridRetriever(LEXICAL, DENSE, IDS, 1.0, coverage=0.0)

    def of(some):
        return np.array(
            [c.score for c in sorted(plain.retrieve(Query("", some), 3).candidates, key=lambda c: c.row)]
        )

    whole, first, second = of(request), of(parts[0]), of(parts[1])
    expected = whole + 0.5 * whole.max() * np.maximum(first / first.max(), second / second.max())
    found = HybridRetriever(LEXICAL, DENSE, IDS, 1.0, coverage=0.5).retrieve(Query("", request), 3)
    got = [c.score for c in sorted(found.candidates, key=lambda c: c.row)]
    assert got == pytest.approx(expected, rel=1e-5)


def test_a_request_of_one_clause_is_scored_as_a_whole():
    """Coverage changes nothing there."""
    one, other = (HybridRetriever(LEXICAL, DENSE, IDS, 1.0, coverage=c) for c in (0.0, 0.5))
    assert one.retrieve(Query("", "red green"), 3) == other.retrieve(Query("", "red green"), 3)
