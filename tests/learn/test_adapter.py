"""Fitting how requests are read: the gradient, what is learned, and where nothing is."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import WordEncoder
from tests.builders import tool as tool_of
from toolwise.learn.adapter import (
    LEAST,
    USUAL,
    Adam,
    Table,
    Values,
    fit_adapter,
    fitted,
    loss,
    slopes,
    table_of,
)
from toolwise.learn.data import Request
from toolwise.retrieve import Bm25Retriever, DenseRetriever, HybridRetriever, build_bm25
from toolwise.retrieve.hybrid import SCALE

WORDS = ("list", "order", "mail", "stork", "heron", "now", "soon", "please")
TOOLS = (tool_of("a", "list order"), tool_of("b", "list mail"), tool_of("c", "order mail"))
ENCODER = WordEncoder(WORDS)
VECTORS = ENCODER.encode_tools(TOOLS)
WHEN = ("now", "soon", "please", "now now", "soon soon")


def retriever() -> HybridRetriever:
    """Over three tools."""
    ids = [tool.id for tool in TOOLS]
    lexical = Bm25Retriever(build_bm25(TOOLS), ids)
    return HybridRetriever(lexical, DenseRetriever(ENCODER, VECTORS, ids), ids)


def birds(times: int) -> list[Request]:
    """Storks are orders here, and herons mails: no tool says so."""
    return [
        Request(f"{bird} {' '.join([when] * (1 + n))}", gold)
        for n in range(times)
        for when in WHEN
        for bird, gold in (("stork", (0,)), ("heron", (1,)))
    ]


def table(seed: int, requests: int = 6, tools: int = 5, width: int = 4) -> Table:
    """Drawn numbers."""
    rng = np.random.default_rng(seed)
    queries, rows = (rng.normal(size=(n, width)).astype(np.float32) for n in (requests, tools))
    words, familiar = (rng.uniform(size=(requests, tools)).astype(np.float16) for _ in range(2))
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return Table(queries, rows, words, familiar, [[n % tools, (n + 2) % tools] for n in range(requests)])


@given(st.integers(0, 2**32 - 1))
def test_the_gradient_is_that_of_the_loss(seed: int):
    """Against differences of the loss along a drawn direction of P and along both logarithms."""
    some, rng = table(seed), np.random.default_rng(seed + 1)
    rows = np.arange(6)
    values = Values(rng.normal(size=(4, 4)).astype(np.float32) * 0.3, np.array([1.0, 0.3], np.float32))
    by_map, by_logs = slopes(some, values, rows)
    way, step = rng.normal(size=(4, 4)).astype(np.float32), 1e-2

    def moved(far: float, log: int | None = None) -> float:
        logs = values.logs.copy()
        if log is not None:
            logs[log] += far
        return loss(some, Values(values.residual + (far * way if log is None else 0), logs), rows)

    assert (moved(step) - moved(-step)) / (2 * step) == pytest.approx(float((by_map * way).sum()), abs=5e-3)
    for log in (0, 1):
        found = (moved(step, log) - moved(-step, log)) / (2 * step)
        assert found == pytest.approx(float(by_logs[log]), abs=5e-3)


def test_the_first_step_is_as_long_as_the_rate():
    """Adam's first step is the sign of the slope: mean and root are the slope itself."""
    values = np.zeros(2, np.float32)
    Adam(values, 0.5)(np.array([3.0, -0.1], np.float32))
    assert values == pytest.approx([-0.5, 0.5], abs=1e-5)


def test_no_request_is_familiar_from_itself():
    """Two alike know each other, the third is known by nobody."""
    asked = [Request("stork now", (0,)), Request("stork now", (1,)), Request("mail", (2,))]
    found = table_of(retriever(), VECTORS, asked)
    assert found.familiar.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]


def test_words_are_those_of_the_whole_request():
    """(BM25 / scale) squared."""
    asked = [Request("list order", (0,))]
    lexical = Bm25Retriever(build_bm25(TOOLS), ["a", "b", "c"]).score("list order")
    assert table_of(retriever(), VECTORS, asked).words[0] == pytest.approx((lexical / SCALE) ** 2, rel=1e-3)


def test_what_no_tool_says_is_learned():
    """A stork with words it never came with finds what storks were served by."""
    adapter = fit_adapter(retriever(), VECTORS, birds(4), replace(USUAL, rate=3e-2))
    assert adapter is not None
    read = adapter(ENCODER.encode_queries(["stork list", "heron list"])) @ VECTORS.T
    assert read.argmax(axis=1).tolist() == [0, 1]
    assert not (ENCODER.encode_queries(["stork", "heron"]) @ VECTORS.T).any()


def test_the_same_seed_fits_the_same():
    """To the last bit."""
    one, other = (fit_adapter(retriever(), VECTORS, birds(4), replace(USUAL, rate=3e-2)) for _ in range(2))
    assert one is not None and other is not None
    assert (one.residual == other.residual).all()
    assert one.lexical == other.lexical


def test_few_requests_teach_nothing():
    """Nor do many that no tool served, or a library of one tool."""
    assert fit_adapter(retriever(), VECTORS, birds(4)[: LEAST - 1]) is None
    assert fit_adapter(retriever(), VECTORS, [Request(f"mail {n}", ()) for n in range(2 * LEAST)]) is None
    assert fit_adapter(retriever(), VECTORS[:1], birds(4)) is None


def test_nothing_is_kept_that_serves_held_out_requests_no_better():
    """All ask for the same; held-out ones were served as the encoder says, the others were not."""
    east = np.tile(np.array([[1, 0]], np.float32), (20, 1))
    nothing = np.zeros((20, 2), np.float16)
    held = set(np.random.default_rng(USUAL.seed).permutation(20)[:2].tolist())
    gold = [[0] if row in held else [1] for row in range(20)]
    assert fitted(Table(east, np.eye(2, dtype=np.float32), nothing, nothing, gold), USUAL) is None
