"""Tuning the packaged static table on a few requests."""

from pathlib import Path

import numpy as np
import pytest

from toolwise.encode.static import PACKAGED, StaticEncoder
from toolwise.errors import EncoderError
from toolwise.learn.data import Library, Request
from toolwise.learn.encoder import Sources
from toolwise.learn.static_tuning import tune_static, widened
from toolwise.records import Tool, ToolText

PAIRS = dict(
    zip(
        "apple tiger piano lemon rocket candle".split(),
        "river bread desert engine garden winter".split(),
        strict=True,
    )
)


def library() -> Library:
    """Tools named by one word, asked for by another that has nothing to do with it."""
    tools = tuple(Tool(f"t/{w}", w, server="t", text=ToolText(f"Everything about the {w}.")) for w in PAIRS)
    return Library("own/", tools, tuple(Request(f"the {s}", (row,)) for row, s in enumerate(PAIRS.values())))


def test_the_packaged_table_opens_into_unit_vectors_and_weights():
    """Vector times weight is the row as the encoder reads it."""
    vectors, weights = widened(PACKAGED)
    used = weights > 0
    assert np.linalg.norm(vectors[used], axis=1) == pytest.approx(1, abs=1e-4)
    assert weights[0] == 0


def test_it_learns_the_users_own_words(tmp_path: Path):
    """Requests whose words say nothing of the tools are found after a hundred steps, and the folder loads."""
    pytest.importorskip("torch", reason="the [train] extra is not installed")
    pytest.importorskip("transformers", reason="the [train] extra is not installed")
    before, after = tune_static(Sources((library(),), (), (library(),)), tmp_path, steps=100)
    assert before.ndcg < 0.8
    assert after.ndcg > 0.95
    assert StaticEncoder(tmp_path).dim == StaticEncoder().dim


def test_nothing_to_learn_from_is_an_error(tmp_path: Path):
    """No requests, no training."""
    pytest.importorskip("torch", reason="the [train] extra is not installed")
    pytest.importorskip("transformers", reason="the [train] extra is not installed")
    with pytest.raises(EncoderError, match="no request to train on"):
        tune_static(Sources((Library("own/", library().tools, ()),)), tmp_path)
