"""Both forms of the heads by hand, on disk and over an index."""

from pathlib import Path

import numpy as np
import pytest

from tests.builders import WordEncoder, audited, write
from toolwise.errors import BrokenIndex, EncoderError
from toolwise.records import Candidate, Query, Shortlist
from toolwise.rerank import dual_head
from toolwise.rerank.dual_head import (
    DefaultHeads,
    DualHeadReranker,
    PaperHeads,
    Perceptron,
    load_heads,
    parameters,
    save_heads,
)


def half(x: float) -> float:
    return 1 / (1 + np.exp(-x))


def perceptron(inputs: int, outputs: int = 1, hidden: int = 64, seed: int = 0) -> Perceptron:
    """Random weights."""
    rng = np.random.default_rng(seed)
    shapes = ((hidden, inputs), (hidden,), (outputs, hidden), (outputs,))
    return Perceptron(*(rng.normal(size=shape).astype(np.float32) for shape in shapes))


def default(dim: int, seed: int = 0) -> DefaultHeads:
    """A residual of nothing, logits of ten per cosine, the identity as calibration."""
    return DefaultHeads(
        np.zeros((dim, dim), np.float32),
        np.array([10], np.float32),
        np.array([1, 0], np.float32),
        perceptron(dim, 4, seed=seed),
    )


def rows(count: int, dim: int, seed: int = 1) -> np.ndarray:
    """Random unit rows."""
    found = np.random.default_rng(seed).normal(size=(count, dim)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def test_the_published_heads_have_the_published_number_of_parameters():
    """196,866 at 1,024 dimensions: 2048 * 64 + 64 + 64 + 1 and 1024 * 64 + 64 + 64 + 1."""
    assert parameters(PaperHeads(perceptron(2048), perceptron(1024))) == 196_866


def test_a_perceptron_by_hand():
    """Two hidden units, one of them cut off by ReLU: sigmoid(3 * (2 - 1) + 1) = sigmoid(4)."""
    net = Perceptron(
        np.array([[2.0], [-5.0]], np.float32),
        np.array([-1.0, 0.0], np.float32),
        np.array([[3.0, 7.0]], np.float32),
        np.array([1.0], np.float32),
    )
    assert net(np.ones((1, 1), np.float32))[0, 0] == pytest.approx(half(4))


def test_published_relevance_is_the_perceptron_of_both_vectors_in_a_row(monkeypatch):
    """Request by request and tool by tool it is the same, in blocks or not."""
    heads = PaperHeads(perceptron(10), perceptron(5))
    queries, tools = rows(3, 5), rows(4, 5, seed=2)
    whole = heads.relevance(queries, tools)
    for q, query in enumerate(queries):
        for t, tool in enumerate(tools):
            assert whole[q, t] == pytest.approx(
                heads.rel(np.concatenate([query, tool])[None])[0, 0], rel=1e-5
            )
    monkeypatch.setattr(dual_head, "_CHUNK", 1)
    assert np.array_equal(heads.relevance(queries, tools), whole)
    assert heads.relevance(queries[:0], tools).shape == (0, 4)


def test_the_published_score_takes_off_a_share_of_the_risk():
    """.8 - .1 * .5."""
    heads = PaperHeads(perceptron(4), perceptron(2))
    found = heads.score(np.array([[0.8]], np.float32), np.array([0.5], np.float32), 0.1)
    assert found[0, 0] == pytest.approx(0.75)


def test_the_default_form_starts_as_the_encoders_ranking():
    """Cosines 1 and 0 at ten per cosine: softmax shares e^10 to 1, with the identity as calibration."""
    heads = default(2)
    found = heads.relevance(np.array([[1, 0]], np.float32), np.eye(2, dtype=np.float32))[0]
    share = 1 / (1 + np.exp(-10))
    assert found[0] == pytest.approx(half(np.log(share)), rel=1e-5)
    assert found[1] == pytest.approx(half(np.log(1 - share)), rel=1e-3)
    assert heads.relevance(np.ones((1, 2), np.float32), np.zeros((0, 2), np.float32)).shape == (1, 0)


def test_the_default_form_asks_nothing_for_a_risk_that_is_needed():
    """1 stays 1 whatever the risk; at relevance 0 the whole price is due."""
    found = default(2).score(np.array([[1.0, 0.0]], np.float32), np.array([1.0, 0.5], np.float32), 0.1)
    assert found[0].tolist() == pytest.approx([1.0, -0.05])


def test_default_risk_is_the_mean_of_four_ordinal_outputs():
    """P(r > 1..4) of .9, .6, .2 and .1 are an expected (r - 1) / 4 of .45."""
    wanted = np.array([0.9, 0.6, 0.2, 0.1])
    bias = np.log(wanted / (1 - wanted)).astype(np.float32)
    net = Perceptron(
        np.zeros((1, 2), np.float32), np.zeros(1, np.float32), np.zeros((4, 1), np.float32), bias
    )
    heads = DefaultHeads(np.zeros((2, 2)), np.ones(1), np.ones(2), net)
    assert heads.risk(rows(1, 2))[0] == pytest.approx(0.45)


@pytest.mark.parametrize("heads", [PaperHeads(perceptron(6), perceptron(3)), default(3)])
def test_heads_come_back_from_disk_as_they_were(heads, tmp_path: Path):
    """Form, values and the encoder's fingerprint."""
    save_heads(heads, tmp_path / "h.safetensors", "words:1")
    again, fingerprint = load_heads(tmp_path / "h.safetensors")
    assert (type(again), fingerprint) == (type(heads), "words:1")
    for name, tensor in heads.tensors().items():
        assert np.array_equal(again.tensors()[name], tensor)
    assert [path.name for path in tmp_path.iterdir()] == ["h.safetensors"]


def test_what_holds_no_heads_is_refused(tmp_path: Path):
    """A missing file, a broken one, and one of an unknown form."""
    from safetensors.numpy import save

    with pytest.raises(EncoderError, match=r"there are no heads yet\. Make them by: toolwise train reranker"):
        load_heads(tmp_path / "none")
    (tmp_path / "broken").write_bytes(b"no")
    with pytest.raises(EncoderError, match="holds no heads"):
        load_heads(tmp_path / "broken")
    (tmp_path / "other").write_bytes(save({"x": np.ones(1)}, {"form": "third"}))
    with pytest.raises(EncoderError, match="of the form 'third'; expected 'paper' or 'default'"):
        load_heads(tmp_path / "other")


WORDS = WordEncoder(["file", "delete", "read", "mail", "send"])
CANDIDATES = tuple(Candidate(row, f"t/{row}", 1.0 - row / 10) for row in range(5))


@pytest.mark.parametrize("heads", [PaperHeads(perceptron(10), perceptron(5)), default(5)])
def test_a_reranker_keeps_the_candidates_whatever_their_order(heads):
    """Scores never increase, equal ones stand in order of id, and a permuted shortlist gives the same."""
    vectors = np.concatenate([rows(4, 5), rows(4, 5)[:1]])  # tools 0 and 4 are the same
    ranker = DualHeadReranker(heads, WORDS, vectors)
    query = Query("q", "delete the file")
    found = ranker.rerank(query, Shortlist("q", CANDIDATES, 0.7))
    assert ranker.rerank(query, Shortlist("q", CANDIDATES[::-1], 0.7)) == found
    assert found.confidence == 0.7
    assert {c.id for c in found.candidates} == {c.id for c in CANDIDATES}
    keys = [(-c.score, c.id) for c in found.candidates]
    assert keys == sorted(keys)
    assert ranker.rerank(query, Shortlist("q", ())).candidates == ()
    assert [c.id for c in found.candidates].index("t/0") + 1 == [c.id for c in found.candidates].index("t/4")


def test_a_request_that_says_nothing_to_the_encoder_keeps_its_order():
    """No word of it is known, so the shortlist's scores stand."""
    ranker = DualHeadReranker(default(5), WORDS, rows(5, 5))
    found = ranker.rerank(Query("q", "knit"), Shortlist("q", CANDIDATES[::-1], 0.7))
    assert found == Shortlist("q", CANDIDATES, 0.7)


def test_over_an_index_heads_must_be_of_its_encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Opened with heads for it, refused with heads for another and without any."""
    from toolwise.store import Index

    tools = [audited("t/delete", "delete file"), audited("t/read", "read file")]
    write(tmp_path, tools, vectors=WORDS.encode_tools([t.tool for t in tools]))
    monkeypatch.setattr(dual_head, "load_encoder", lambda specification: WORDS)
    index = Index.open(tmp_path)
    with pytest.raises(EncoderError, match="there are no heads yet"):
        DualHeadReranker.open(index)
    save_heads(default(5), tmp_path / dual_head.FILE, "another")
    with pytest.raises(BrokenIndex, match="was trained for the encoder another"):
        DualHeadReranker.open(index)
    save_heads(default(5), tmp_path / dual_head.FILE, WORDS.fingerprint)
    found = DualHeadReranker.open(index, lam=0).rerank(
        Query("q", "read"), Shortlist("q", (Candidate(0, "t/delete", 1.0), Candidate(1, "t/read", 0.5)))
    )
    assert [c.id for c in found.candidates] == ["t/read", "t/delete"]
    index.close()
