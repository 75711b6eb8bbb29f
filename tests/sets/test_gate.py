"""Whether any tool serves: what a gate sees, and what its trees say."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save as to_bytes

from tests.builders import WordEncoder
from tests.sets.pools import LIBRARY, REQUEST, WORDS, random_weights, retriever
from toolwise.audit.verbs import Action
from toolwise.errors import EncoderError
from toolwise.protocols import SetEnergy
from toolwise.records import Query
from toolwise.retrieve.elsewhere import STANDING, of, operations
from toolwise.retrieve.experience import Experience
from toolwise.sets.decide import (
    BARE,
    CERTAIN,
    DOUBTFUL,
    FEW,
    LIKELY,
    MANY,
    MET,
    SPOKEN,
    UNSURE,
    WEAK,
    bar,
    gate_at,
    gate_of,
)
from toolwise.sets.default import DefaultScorer
from toolwise.sets.default_weights import Weights, load, plain, save, to_tensors
from toolwise.sets.exact import ExactSearch
from toolwise.sets.features import WHOLE
from toolwise.sets.gate import GATE, NEARBY, WANTED, Gate, gate_features, tempered, wanted


def gate(feature: str = "behind", threshold: float = 0.0, left: float = 2.0, right: float = -2.0) -> Gate:
    """Two trees: one that asks for a feature, and a leaf that adds one half."""
    return Gate(
        np.array([[GATE.index(feature), -1, -1], [-1, -1, -1]], np.int32),
        np.array([[threshold, 0, 0], [0, 0, 0]], np.float32),
        np.array([[1, 0, 0], [0, 0, 0]], np.int32),
        np.array([[2, 0, 0], [0, 0, 0]], np.int32),
        np.array([[0, left, right], [0.5, 0, 0]], np.float32),
        np.array([-1.0], np.float32),
    )


def scorer(weights: Weights, experience: Experience | None = None) -> DefaultScorer:
    """Over the small library, with the operations elsewhere that know its words."""
    encoder = WordEncoder(WORDS)
    vectors = encoder.encode_tools(LIBRARY)

    def read(pool):
        return [LIBRARY[candidate.row] for candidate in pool]

    return DefaultScorer(retriever().remembering(experience), read, vectors, weights, of(encoder))


def asked(found: DefaultScorer, query: Query = REQUEST) -> SetEnergy:
    """The energy of all of the library."""
    return found.energy(query, retriever().retrieve(query, 6).candidates)


def test_what_a_gate_sees():
    """Doubt is the log odds of the empty set: three sets of equal value, so 1 against 2."""
    energy = SetEnergy(np.zeros(2, np.float32), np.zeros((2, 2, 2), np.float32), np.zeros(2, np.float32))
    view = scorer(plain())._view(REQUEST, retriever().retrieve(REQUEST, 6).candidates[:2])
    view.whole[0] = np.nan
    view.evidence = replace(view.evidence, confidence=9.0)
    elsewhere = of(WordEncoder(WORDS))
    first = np.array([0.5, 2.0], np.float32)
    cosines = elsewhere.cosines(WordEncoder(WORDS).encode_queries([REQUEST.text])[0])
    found = gate_features(energy, first, view, elsewhere, cosines, 0.5)
    named = dict(zip(GATE, found.tolist(), strict=True))
    assert named["doubt"] == pytest.approx(np.log(0.5), abs=1e-4)
    assert (named["confidence"], named["floor"]) == (5, 0.5)
    assert (named["leader"], named["runner_up"], named["third"]) == (2, 0.5, -20)
    assert named["named"] == 1  # all words of cancel_order are said
    assert named[WHOLE[0]] == -1
    standing = elsewhere.standing(cosines, float(view.evidence.plain.max()))
    assert [named[one] for one in STANDING] == standing.tolist()
    told = wanted(cosines, elsewhere.offered, first, view.actions)
    assert [named[one] for one in WANTED] == told.tolist()
    assert len(set(GATE)) == len(GATE) == len(found)


def test_operations_vote_for_what_is_wanted():
    """Two of them are near, one twice as strong: two thirds for deleting, one third for reading."""
    names = [operation.name for operation in operations()]
    cosines = np.full(len(names), -1.0, np.float32)
    cosines[names.index("delete_message")] = 0.5
    cosines[names.index("search_messages")] = 0.5 - np.log(2) / NEARBY
    reads, sends = int(Action.READ), int(Action.SEND)
    first = np.log(np.array([1.0, 0.25, 0.5], np.float32))  # a sender leads, readers follow
    offered = np.array([name == "search_messages" for name in names])
    found = wanted(cosines, offered, first, np.array([sends, reads, reads]))
    named = dict(zip(WANTED, found.tolist(), strict=True))
    assert named["wants_delete"] == pytest.approx(2 / 3)
    assert named["wants_read"] == pytest.approx(1 / 3)
    assert named["wanted_here"] == pytest.approx(1 / 3 * 0.5)  # nobody deletes; readers come half as near
    assert named["wanted_of_leader"] == pytest.approx(0, abs=1e-6)
    assert named["wanted_offered"] == pytest.approx(1 / 3)
    assert sum(found[: len(Action) + 1]) == pytest.approx(1)


@pytest.mark.parametrize(("behind", "odds"), [(-1.0, 1.5), (0.0, 1.5), (0.1, -2.5)])
def test_trees_add_up(behind: float, odds: float):
    """-1 + (2 or -2) + .5, as a probability; up to the threshold the way goes left."""
    features = np.zeros(len(GATE), np.float32)
    features[GATE.index("behind")] = behind
    assert gate()(features) == pytest.approx(1 / (1 + np.exp(-odds)))


def test_a_gate_is_written_with_the_weights(tmp_path: Path):
    """And read as it was."""
    save(replace(random_weights(), gate=gate()), tmp_path / "w", {})
    found = load(tmp_path / "w")
    assert found.gate is not None
    features = np.full(len(GATE), -1, np.float32)
    assert found.gate(features) == gate()(features)
    save(random_weights(), tmp_path / "w", {})
    assert load(tmp_path / "w").gate is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("left", np.array([[0, 0, 0], [0, 0, 0]], np.int32)),  # a way that never ends
        ("right", np.array([[3, 0, 0], [0, 0, 0]], np.int32)),  # a node that is not there
        ("feature", np.array([[len(GATE), -1, -1], [-1, -1, -1]], np.int32)),
        ("threshold", np.full((2, 3), np.nan, np.float32)),
        ("value", np.zeros((2, 2), np.float32)),
        ("base", np.zeros(2, np.float32)),
        ("feature", np.array([-1, -1], np.int32)),
        ("feature", np.zeros((2, 0), np.int32)),
        ("feature", np.full((2, 3), -1, np.float32)),
    ],
)
def test_damaged_trees_are_refused(tmp_path: Path, name: str, value: np.ndarray):
    """Before they answer anything."""
    tensors = to_tensors(replace(plain(), gate=gate())) | {f"gate.{name}": value}
    (tmp_path / "w").write_bytes(to_bytes(tensors, {"features": "2"}))
    with pytest.raises(EncoderError, match="cannot be read"):
        load(tmp_path / "w")


def test_a_scorer_with_a_gate_says_what_it_holds():
    """The request is nearer to what others do than to any tool here, or it is not; no name is said."""
    request = Query("q", "cancel it")
    for way, expected in ((2.0, 0.5 + 2 - 1), (-2.0, 0.5 - 2 - 1)):
        found = asked(scorer(replace(plain(), gate=gate(threshold=1e9, left=way))), request)
        assert found.unserved == pytest.approx(1 / (1 + np.exp(-expected)))
    assert asked(scorer(plain())).unserved is None


def test_no_gate_judges_what_the_weights_do_not_know():
    """Requests as far from the usual ones as can be."""
    far = plain().usual.copy()
    far[0], far[1] = 1e3, 1e-6
    assert asked(scorer(replace(plain(), usual=far, gate=gate()))).unserved is None


def test_experience_knows_better_than_a_gate():
    """What served the same request before is there."""
    vectors = WordEncoder(WORDS).encode_queries([REQUEST.text])
    known = Experience(vectors, [(2, 3)], len(LIBRARY))
    for weights in (plain(), replace(plain(), gate=gate())):
        assert asked(scorer(weights, known)).unserved == 0
        like = vectors + 0.5 * np.roll(vectors, 1)
        like /= np.linalg.norm(like)
        for past, served in ((vectors[:0], []), (like, [(2, 3)])):  # nothing, or another request, was served
            refused = Experience(past, served, len(LIBRARY), unserved=vectors)
            assert asked(scorer(weights, refused)).unserved == 1


def test_another_encoders_operations_say_nothing():
    """Vectors of another width."""
    some = scorer(replace(plain(), gate=gate()))
    some._elsewhere = of(WordEncoder(WORDS[:3]))
    assert asked(some).unserved is None


def test_what_shuts_an_answer():
    """The gate's word where there is one, else that of the sets by the retriever's confidence."""
    energy = SetEnergy(np.ones(2, np.float32), np.zeros((2, 2, 2), np.float32), np.zeros(2, np.float32))
    assert gate_of(energy, 1.0, 10) == gate_at(1.0)
    assert not ExactSearch(energy, 1, gate=gate_of(energy, 1.0, 10)).shut
    for unserved, shut in ((CERTAIN, True), (CERTAIN - 0.01, False)):
        told = replace(energy, unserved=unserved)
        assert gate_of(told, 1.0, FEW) == CERTAIN
        assert ExactSearch(told, 1, gate=gate_of(told, 1.0, FEW)).shut is shut


def test_of_many_tools_less_doubt_is_enough():
    """Few up to 40, many from 100 on; half-way between their logarithms lies the mean: at 63."""
    assert bar(0, 1.0) == bar(1, 1.0) == bar(FEW, 1.0) == CERTAIN
    assert bar(MANY, 1.0) == bar(100_000, 1.0) == pytest.approx(LIKELY)
    assert bar(63, 1.0) == pytest.approx((CERTAIN + LIKELY) / 2, abs=2e-3)
    assert bar(50, 1.0) > bar(63, 1.0) > bar(80, 1.0)


def test_the_bar_goes_by_what_the_retriever_knows():
    """Of many tools: little where hardly anything is near, much where words meet that rarely do."""
    assert bar(MANY, WEAK - 0.01) == UNSURE < bar(MANY, WEAK) == LIKELY < bar(MANY, MET) == SPOKEN
    assert bar(FEW, BARE - 0.01) == DOUBTFUL < bar(FEW, BARE) == bar(FEW, MET) == CERTAIN


@given(st.integers(0, 100_000), st.floats(0, 10), st.floats(0, 10))
def test_the_surer_the_retriever_the_more_doubt_it_takes(tools: int, one: float, other: float):
    """Of any number of tools: nothing is shown at less doubt where more speaks for a tool."""
    assert bar(tools, min(one, other)) <= bar(tools, max(one, other))


def test_a_tool_whose_whole_name_is_said_is_shown_unless_the_gate_is_sure():
    """Doubts count in full where a word of the name is missing, and from .9 on always."""
    named = GATE.index("named")
    features = np.zeros(len(GATE), np.float32)

    def saying(probability: float) -> Gate:
        odds = np.array([np.log(probability / (1 - probability))], np.float32)
        leaf = np.zeros((1, 1), np.float32)
        return Gate(np.full((1, 1), -1), leaf, np.zeros((1, 1), int), np.zeros((1, 1), int), leaf, odds)

    for said, probability, expected in ((0.5, 0.8, 0.8), (1.0, 0.8, 0.0), (1.0, 0.95, 0.95)):
        features[named] = said
        assert tempered(saying(probability), features) == pytest.approx(expected, abs=1e-6)
