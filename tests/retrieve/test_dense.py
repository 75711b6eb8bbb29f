"""Dense retrieval with vectors that can be read."""

import numpy as np
import pytest
from tests.builders import WordEncoder, audited, tool, write

from toolwise.encode.load import check_fingerprint, load_encoder
from toolwise.errors import EncoderError, EncoderMismatch, RegistryError
from toolwise.records import Query
from toolwise.retrieve import dense
from toolwise.retrieve.dense import DenseRetriever
from toolwise.store import Index

ENCODER = WordEncoder(["red", "green", "blue"])
TOOLS = (tool("a", "red"), tool("b", "red green"), tool("c", "blue"), tool("d", ""))


def retriever() -> DenseRetriever:
    """Over the four tools."""
    return DenseRetriever(ENCODER, ENCODER.encode_tools(TOOLS), [t.id for t in TOOLS])


def test_scores_are_cosines():
    """By hand: 1, 1/sqrt 2, 0, and 0 for a tool without vector."""
    assert retriever().score("red") == pytest.approx([1, 0.5**0.5, 0, 0], abs=1e-6)
    assert retriever().score("red").dtype == np.float32


@pytest.mark.parametrize("texts", [0, 1, 4, 5, 6])
def test_several_texts_have_the_cosines_of_each(texts: int):
    """However many are compared at once, on both sides of where the way to do it changes."""
    rng = np.random.default_rng(texts)
    vectors = rng.normal(size=(7, 3)).astype(np.float32)
    queries = rng.normal(size=(texts, 3)).astype(np.float32)
    found = DenseRetriever(WordEncoder(()), vectors, [str(i) for i in range(7)]).cosines(queries)
    expected = [[sum(q[d] * v[d] for d in range(3)) for v in vectors] for q in queries]
    assert found.shape == (texts, 7)
    np.testing.assert_allclose(found, np.reshape(expected, (texts, 7)), rtol=1e-5, atol=1e-6)


def test_the_nearest_come_first():
    """At most k, ties by id, only rows that are admitted."""
    found = retriever().retrieve(Query("q", "red"), 3)
    assert [c.id for c in found.candidates] == ["a", "b", "c"]
    assert found.query_id == "q"
    within = np.array([False, True, False, True])
    assert [c.id for c in retriever().retrieve(Query("q", "red"), 3, within).candidates] == ["b", "d"]


def test_a_request_without_vector_is_near_to_nothing():
    """All cosines are 0, none undefined."""
    assert retriever().score("zebra").tolist() == [0, 0, 0, 0]


def test_opening_takes_the_encoder_of_the_index(tmp_path, monkeypatch):
    """Its specification and fingerprint are in the index."""
    monkeypatch.setattr(dense, "load_encoder", {"words": ENCODER}.__getitem__)
    vectors = ENCODER.encode_tools(TOOLS)
    write(tmp_path, [audited(t.id, t.description) for t in TOOLS], vectors=vectors, encoder="words")
    found = DenseRetriever.open(Index.open(tmp_path))
    assert found.score("green").tolist() == retriever().score("green").tolist()


def test_opening_with_another_encoder_is_refused(tmp_path, monkeypatch):
    """Vectors of two encoders do not compare."""
    monkeypatch.setattr(dense, "load_encoder", lambda _: ENCODER)
    write(tmp_path, [audited("a")], encoder="words", fingerprint="words:0")
    with pytest.raises(
        EncoderMismatch, match=r"'words' \(words:0\); this one is words:1.*--rebuild"
    ) as caught:
        DenseRetriever.open(Index.open(tmp_path))
    assert (caught.value.found, caught.value.expected) == ("words:0", "words:1")


def test_a_new_index_fits_any_encoder(tmp_path):
    """Nothing is written yet, so nothing differs."""
    check_fingerprint(ENCODER, {}, tmp_path)
    check_fingerprint(ENCODER, {"encoder": "words", "fingerprint": "words:1"}, tmp_path)


def test_an_unknown_encoder_lists_the_known():
    """By the registry."""
    with pytest.raises(RegistryError, match="no encoder called 'bert'"):
        load_encoder("bert:large")


@pytest.mark.parametrize("name", ["onnx", "sentence-transformers", "openai"])
def test_an_encoder_that_needs_a_model_says_so(name):
    """Without an argument there is nothing to load."""
    for specification in (name, f"{name}:"):
        with pytest.raises(EncoderError, match=f"write {name}:MODEL or {name}:FOLDER"):
            load_encoder(specification)


def test_an_argument_may_hold_colons(monkeypatch):
    """Only the first one separates."""
    monkeypatch.setattr("toolwise.registry.get", lambda kind, name: lambda argument: (kind, name, argument))
    assert load_encoder("onnx:C:\\models:v1") == ("encoder", "onnx", "C:\\models:v1")


def test_an_error_inside_an_encoder_is_not_taken_for_a_missing_argument(monkeypatch):
    """A TypeError of the encoder's own code is a bug to be seen."""

    def factory():
        return len(3)

    monkeypatch.setattr("toolwise.registry.get", lambda kind, name: factory)
    with pytest.raises(TypeError):
        load_encoder("static")


def test_confidence_is_by_the_floor_of_the_encoder(monkeypatch):
    """A cosine of 1 is twice a floor of 0.5; both halves of a hybrid see the same floor."""
    monkeypatch.setattr(ENCODER, "floor", 0.5, raising=False)
    found = retriever()
    assert found.floor == 0.5
    assert found.retrieve(Query("q", "red"), 1).confidence == pytest.approx(2.0)
