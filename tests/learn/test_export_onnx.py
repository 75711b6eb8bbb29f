"""The ONNX form of an encoder: the same vectors, a quarter of the size."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.tiny_model import save_tiny
from toolwise.encode.onnx import OnnxEncoder
from toolwise.errors import EncoderError
from toolwise.learn.export_onnx import eight_bits, export, to_blocks, to_rows
from toolwise.learn.model_package import fill
from toolwise.learn.text_model import TextModel
from toolwise.records import Tool, ToolText

TEXTS = ["list the files", "send a mail to the whole team about the meeting of tomorrow", "x"]


def test_a_block_by_hand():
    """Four weights in blocks of three: scales 1/127 and 2/127, the second block filled up by zeros (128)."""
    levels, scales = to_blocks(np.array([[1.0], [-0.5], [0.0], [2.0]], np.float32), 3)
    assert scales == pytest.approx(np.array([[1 / 127, 2 / 127]]))
    assert levels.tolist() == [[[255, 64, 128], [255, 128, 128]]]


@given(arrays(np.float32, (5, 3), elements=st.floats(-4, 4, width=32)))
def test_no_weight_moves_by_more_than_half_a_level(matrix: np.ndarray):
    """A level is a 127th of the greatest weight of the block."""
    levels, scales = to_blocks(matrix, 2)
    back = ((levels.astype(np.float32) - 128) * scales[:, :, None]).reshape(3, -1)[:, :5].T
    room = np.repeat(scales, 2, axis=1)[:, :5].T / 2
    assert (np.abs(back - matrix) <= room * 1.001 + 1e-30).all()


def test_rows_of_a_table_have_a_scale_each():
    """A zero row stays zero."""
    levels, scales = to_rows(np.array([[0.0, 0.0], [0.5, -1.0]], np.float32))
    assert levels.tolist() == [[0, 0], [64, -127]]
    assert scales == pytest.approx(np.array([[0.0], [1 / 127]]))


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A random transformer, its float export and its small one."""
    pytest.importorskip("onnxscript", reason="the [train] extra is not installed")
    words = sorted({word for text in TEXTS for word in text.split()})
    folder = tmp_path_factory.mktemp("model")
    save_tiny(folder / "tuned", [*words, *map(str, range(400))], 128)
    export(folder / "tuned", folder / "float", small=False)
    export(folder / "tuned", folder / "small")
    return folder / "tuned", folder / "float", folder / "small"


def test_the_float_export_gives_the_vectors_of_torch(exported: tuple[Path, Path, Path]):
    """To rounding, for requests and tools, alone and beside longer texts."""
    tuned, whole, _ = exported
    expected, encoder = TextModel(tuned), OnnxEncoder(whole)
    assert encoder.encode_queries(TEXTS) == pytest.approx(expected.encode_queries(TEXTS), abs=1e-5)
    tool = Tool("mail/send", "send", server="mail", text=ToolText("send a mail", ("team",)))
    assert encoder.encode_tools([tool]) == pytest.approx(expected.encode_tools([tool]), abs=1e-5)


def test_eight_bits_keep_the_direction(exported: tuple[Path, Path, Path]):
    """Cosine of at least .99 with torch for every text, in less than half the bytes."""
    tuned, whole, small = exported
    found, expected = OnnxEncoder(small).encode_queries(TEXTS), TextModel(tuned).encode_queries(TEXTS)
    assert (found * expected).sum(1).min() >= 0.99
    assert (small / "model.onnx").stat().st_size < 0.5 * (whole / "model.onnx").stat().st_size


def test_a_small_model_reads_each_text_by_itself(exported: tuple[Path, Path, Path]):
    """A vector is the same alone and beside others."""
    encoder = OnnxEncoder(exported[2])
    together = encoder.encode_queries(TEXTS)
    for text, row in zip(TEXTS, together, strict=True):
        assert encoder.encode_queries([text])[0] == pytest.approx(row, abs=1e-5)


def test_what_is_small_already_is_refused(exported: tuple[Path, Path, Path]):
    """There is no float matrix left."""
    onnx = pytest.importorskip("onnx", reason="the [train] extra is not installed")
    with pytest.raises(EncoderError, match="no matrix to shrink"):
        eight_bits(onnx.load(str(exported[2] / "model.onnx")))


def test_the_distribution_pins_what_it_holds(tmp_path: Path):
    """Three files and their hashes; a missing one is an error."""
    for name in ("model.onnx", "tokenizer.json", "training.json"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    fill(tmp_path, tmp_path, tmp_path / "made")
    weights = tmp_path / "made" / "src" / "toolwise_minilm" / "weights"
    assert sorted(path.name for path in weights.iterdir()) == [
        "manifest.json",
        "model.onnx",
        "tokenizer.json",
        "training.json",
    ]
    assert set(json.loads((weights / "manifest.json").read_text(encoding="utf-8"))) == {"sha256"}
    fill(tmp_path, tmp_path, tmp_path / "made", floor=0.4)
    assert json.loads((weights / "manifest.json").read_text(encoding="utf-8"))["floor"] == 0.4
    shutil.move(tmp_path / "model.onnx", tmp_path / "elsewhere")
    with pytest.raises(EncoderError, match="does not exist"):
        fill(tmp_path, tmp_path, tmp_path / "made")


def test_no_path_of_the_machine_is_written(exported: tuple[Path, Path, Path]):
    """The exporter's stack traces stay out of the file."""
    for folder in exported[1:]:
        content = (folder / "model.onnx").read_bytes()
        assert b"export_onnx.py" not in content
        assert b"site-packages" not in content
