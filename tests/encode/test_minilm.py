"""The encoder of the separate distribution toolwise-minilm, where it is installed."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from toolwise import registry
from toolwise.encode.load import load_encoder
from toolwise.errors import EncoderError
from toolwise.records import Tool, ToolText
from toolwise.retrieve.fit import DENSE_FLOOR

ROOT = Path(__file__).parents[2] / "models" / "toolwise-minilm"
LIMIT = 25_000_000


@pytest.fixture
def package():
    """The installed distribution."""
    return pytest.importorskip("toolwise_minilm", reason="toolwise-minilm is not installed: make minilm")


def test_the_distribution_registers_the_encoder():
    """Its entry point is one of the group that the registry reads, and its weights are within the limit."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["toolwise.encoder"] == {"minilm": "toolwise_minilm:encoder"}
    weights = ROOT / "src" / "toolwise_minilm" / "weights"
    manifest = json.loads((weights / "manifest.json").read_text(encoding="utf-8"))
    assert set(manifest["sha256"]) == {"model.onnx", "tokenizer.json", "training.json"}
    assert sum(path.stat().st_size for path in weights.iterdir()) <= LIMIT


def test_it_is_found_by_name(package):
    """Unit vectors of 384 dimensions; a request is nearest to the tool it is about."""
    assert "minilm" in registry.names("encoder")
    encoder = load_encoder("minilm")
    tools = [
        Tool("git/push", "push", server="git", text=ToolText("Send local commits to a remote repository.")),
        Tool("mail/send", "send_message", server="mail", text=ToolText("Send an e-mail to a person.")),
        Tool("sky/forecast", "get_forecast", server="sky", text=ToolText("The weather of the next days.")),
    ]
    found = encoder.encode_tools(tools)
    assert found.shape == (3, encoder.dim) == (3, 384)
    assert np.linalg.norm(found, axis=1) == pytest.approx(1, abs=1e-5)
    asked = encoder.encode_queries(["Will it rain on Saturday?", "Let Ida know by mail that I am late."])
    assert (asked @ found.T).argmax(1).tolist() == [2, 1]


def test_a_text_reads_the_same_beside_others(package):
    """A vector depends on its own text alone."""
    encoder = load_encoder("minilm")
    texts = ["push my changes", "a much longer request about the weather in the mountains next week"]
    assert encoder.encode_queries(texts)[0] == pytest.approx(encoder.encode_queries(texts[:1])[0], abs=1e-5)


def test_damaged_weights_are_refused(package, tmp_path: Path):
    """The file, what was found and what to do are named."""
    (tmp_path / "manifest.json").write_text('{"sha256": {"model.onnx": "00"}}', encoding="utf-8")
    with pytest.raises(EncoderError, match="found no file, expected sha256 00"):
        package.verify(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"other")
    with pytest.raises(EncoderError, match="Install toolwise-minilm again"):
        package.verify(tmp_path)


def test_it_brings_its_floor(package):
    """The manifest's, chosen out of fold: more than the default, for its cosines are greater."""
    manifest = json.loads((package.FOLDER / package.MANIFEST).read_text(encoding="utf-8"))
    assert load_encoder("minilm").floor == manifest["floor"] > DENSE_FLOOR
