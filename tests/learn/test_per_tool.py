"""The per-tool scorer learns what the cosine does not know."""

import numpy as np
import pytest

from toolwise.learn.hyperedge_pools import Example
from toolwise.learn.per_tool import PerTool, train_per_tool
from toolwise.learn.set_examples import SetExamples


def planted(seed: int = 0) -> SetExamples:
    """Requests point to one tool and need the one behind it."""
    rng = np.random.default_rng(seed)
    tools = np.eye(12, dtype=np.float32)
    asked = rng.integers(0, 12, 400)
    noisy = tools[asked] + 0.1 * rng.normal(size=(400, 12))
    vectors = (noisy / np.linalg.norm(noisy, axis=1, keepdims=True)).astype(np.float32)
    examples = tuple(Example(row, ((int(i) + 1) % 12,), 0) for row, i in enumerate(asked))
    rows = np.arange(12)
    ids = tuple(f"t{row:02}" for row in rows)
    texts = tuple(map(str, range(400)))
    return SetExamples(ids, tools, texts, vectors, examples[:340], examples[340:], (rows,), (rows,), 0)


def test_without_a_residual_it_is_the_cosine():
    """It is e(x) . e(t)."""
    found = PerTool(np.zeros((2, 2), np.float32)).scores(
        np.array([0.6, 0.8], np.float32), np.eye(2, dtype=np.float32)
    )
    assert found == pytest.approx([0.6, 0.8])


def test_it_learns_a_turn_of_the_vectors():
    """The tool behind the one that looks alike comes up."""
    pytest.importorskip("torch", reason="the [train] extra is not installed")
    pytest.importorskip("transformers", reason="the [train] extra is not installed")
    found = train_per_tool(planted(), epochs=20, rate=0.03)
    assert found.dev[0] < 0.6
    assert max(found.dev) > found.dev[0] + 0.2
    assert found.residual.any()


def test_the_untrained_weights_stay_where_training_does_harm():
    """Random gold tools teach nothing that development requests confirm."""
    pytest.importorskip("torch", reason="the [train] extra is not installed")
    pytest.importorskip("transformers", reason="the [train] extra is not installed")
    one = planted()
    dev = tuple(Example(e.row, (int(one.requests[e.row].argmax()),), 0) for e in one.dev)
    fair = SetExamples(
        one.ids, one.tools, one.texts, one.requests, one.train, dev, one.libraries, one.negatives, 0
    )
    found = train_per_tool(fair, epochs=3)
    assert found.dev[0] == 1.0
    assert not found.residual.any()
