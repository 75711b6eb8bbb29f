"""The onnx adapter, over models of a few bytes written here."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from toolwise.encode import onnx
from toolwise.encode.onnx import OnnxEncoder
from toolwise.errors import EncoderError, MissingExtra
from toolwise.records import Tool, ToolText

pytest.importorskip("onnxruntime", reason="the [onnx] extra is not installed")

VOCABULARY = {"[PAD]": 0, "[UNK]": 1, "red": 2, "blue": 3, "void": 4}
TABLE = np.array([[100, 100], [0, 0], [3, 0], [0, 4], [np.inf, 0]], np.float32)
"""Padding would be seen at once; unknown words count nothing."""
INT32, INT64, FLOAT = 6, 7, 1


# A writer of the protobuf messages of ONNX: enough for Gather nodes over one table.


def varint(value: int) -> bytes:
    low, rest = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def message(field: int, content: bytes | str) -> bytes:
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def tensor(name: str, array: np.ndarray, kind: int) -> bytes:
    dims = b"".join(number(1, size) for size in array.shape)
    return dims + number(2, kind) + message(8, name) + message(9, array.tobytes())


def value(name: str, kind: int, *dims: str) -> bytes:
    shape = b"".join(message(1, message(2, dim)) for dim in dims)
    return message(1, name) + message(2, message(1, number(1, kind) + message(2, shape)))


def gather(data: str, index: str, output: str, axis: int) -> bytes:
    attribute = message(1, "axis") + number(3, axis) + number(20, 2)
    ends = message(1, data) + message(1, index) + message(2, output)
    return ends + message(4, "Gather") + message(5, attribute)


def model(*, inputs: tuple[str, ...], pooled: bool = False, kind: int = INT64) -> bytes:
    """Token vectors from the table; with ``pooled`` also the second token's, as the sentence's."""
    graph = message(1, gather("table", "input_ids", "last_hidden_state", 0)) + message(2, "tiny")
    graph += message(5, tensor("table", TABLE, FLOAT))
    outputs = value("last_hidden_state", FLOAT, "n", "t", "d")
    if pooled:
        graph += message(1, gather("last_hidden_state", "second", "sentence_embedding", 1))
        graph += message(5, tensor("second", np.array(1, np.int64), INT64))
    graph += b"".join(message(11, value(name, kind, "n", "t")) for name in inputs) + message(12, outputs)
    if pooled:
        graph += message(12, value("sentence_embedding", FLOAT, "n", "d"))
    return number(1, 8) + message(7, graph) + message(8, message(1, "") + number(2, 13))


USUAL = ("input_ids", "attention_mask", "token_type_ids")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, model(inputs=USUAL))
    return tmp_path


def write(folder: Path, content: bytes, name: str = "model.onnx") -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    tokenizer = Tokenizer(models.WordLevel(VOCABULARY, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.enable_padding(length=64)
    tokenizer.save(str(folder / "tokenizer.json"))


def test_token_vectors_are_averaged_and_made_unit_length(folder: Path):
    """Red (3, 0) and blue (0, 4) average to (1.5, 2), which is (0.6, 0.8) at unit length."""
    encoder = OnnxEncoder(folder)
    assert encoder.dim == 2
    vectors = encoder.encode_queries(["red blue", "blue", "nothing known"])
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, [[0.6, 0.8], [0, 1], [0, 0]], atol=1e-6)


def test_tools_are_read_by_their_searchable_text(folder: Path):
    """Name and description of a tool are read: red and blue again."""
    tool = Tool(id="x/red", name="red", text=ToolText("blue"))
    np.testing.assert_allclose(OnnxEncoder(folder).encode_tools([tool]), [[0.6, 0.8]], atol=1e-6)


@given(st.lists(st.lists(st.sampled_from(["red", "blue", "x"]), max_size=9), max_size=70))
def test_a_row_depends_on_its_own_text_alone(
    tmp_path_factory: pytest.TempPathFactory, words: list[list[str]]
):
    """Padding, batching and the order of work leave no trace in a vector."""
    encoder = _shared(tmp_path_factory)
    texts = [" ".join(some) for some in words]
    expected = np.zeros((len(texts), 2))
    for row, some in enumerate(words):
        total = np.array([3 * some.count("red"), 4 * some.count("blue")])
        expected[row] = total / (np.linalg.norm(total) or 1)
    np.testing.assert_allclose(encoder.encode_queries(texts).reshape(-1, 2), expected, atol=1e-6)


_made: list[OnnxEncoder] = []


def _shared(factory: pytest.TempPathFactory) -> OnnxEncoder:
    if not _made:
        folder = factory.mktemp("shared")
        write(folder, model(inputs=USUAL))
        _made.append(OnnxEncoder(folder))
    return _made[0]


def test_at_most_256_tokens_are_read(folder: Path):
    """Of 256 times red and many times blue, blue is beyond the limit."""
    text = " ".join(["red"] * 256 + ["blue"] * 50)
    np.testing.assert_allclose(OnnxEncoder(folder).encode_queries([text]), [[1, 0]], atol=1e-6)


def test_the_sentence_output_is_preferred(tmp_path: Path):
    """A model with a sentence_embedding output is taken at its word: here, the second token."""
    write(tmp_path, model(inputs=("input_ids",), pooled=True))
    (tmp_path / "tokenizer.json").write_text(_starting(tmp_path), encoding="utf-8")
    np.testing.assert_allclose(OnnxEncoder(tmp_path).encode_queries(["blue red"]), [[0, 1]], atol=1e-6)


def _starting(folder: Path) -> str:
    """The tokenizer, with an unknown token set before every text."""
    content = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    start = [{"SpecialToken": {"id": "[UNK]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
    special = {"[UNK]": {"id": "[UNK]", "ids": [1], "tokens": ["[UNK]"]}}
    content["post_processor"] = {
        "type": "TemplateProcessing",
        "single": start,
        "pair": start,
        "special_tokens": special,
    }
    return json.dumps(content)


def test_pooling_by_the_first_token_is_kept_when_the_model_asks_for_it(folder: Path):
    """1_Pooling/config.json decides: the first of blue, red, red alone is blue."""
    (folder / "1_Pooling").mkdir()
    plain = OnnxEncoder(folder).fingerprint
    (folder / "1_Pooling/config.json").write_text('{"pooling_mode_cls_token": true}', encoding="utf-8")
    encoder = OnnxEncoder(folder)
    np.testing.assert_allclose(encoder.encode_queries(["blue red red"]), [[0, 1]], atol=1e-6)
    assert encoder.fingerprint != plain


@pytest.mark.parametrize("name", ["onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx"])
def test_the_model_is_found_where_exports_put_it(tmp_path: Path, name: str):
    """All usual places of the model file are looked at."""
    write(tmp_path, model(inputs=USUAL), name)
    assert OnnxEncoder(str(tmp_path)).dim == 2


def test_whoever_loads_a_model_may_say_what_convinces(tmp_path: Path):
    """The floor is given beside the folder; nobody's word is None."""
    write(tmp_path, model(inputs=USUAL))
    assert OnnxEncoder(tmp_path).floor is None
    assert OnnxEncoder(tmp_path, floor=0.4).floor == 0.4


def test_an_export_may_say_what_convinces(tmp_path: Path):
    """It is read where the one who loads says nothing; what is no number is named."""
    write(tmp_path, model(inputs=("input_ids", "attention_mask")))
    told = tmp_path / "export.json"
    told.write_text('{"template": "x"}', encoding="utf-8")
    assert OnnxEncoder(tmp_path).floor is None
    told.write_text('{"floor": 0.34}', encoding="utf-8")
    assert OnnxEncoder(tmp_path).floor == 0.34
    assert OnnxEncoder(tmp_path, floor=0.4).floor == 0.4
    told.write_text('{"floor": "high"}', encoding="utf-8")
    with pytest.raises(EncoderError, match=r"export.json is not what an export writes"):
        OnnxEncoder(tmp_path)


def test_models_with_32_bit_inputs_are_fed_so(tmp_path: Path):
    """The declared type of an input is respected."""
    write(tmp_path, model(inputs=USUAL, kind=INT32))
    np.testing.assert_allclose(OnnxEncoder(tmp_path).encode_queries(["blue"]), [[0, 1]], atol=1e-6)


def test_the_fingerprint_follows_the_weights(tmp_path: Path):
    """Equal files in two folders have one fingerprint; another model has another."""
    for name, inputs in (("a", USUAL), ("b", USUAL), ("c", USUAL[:2])):
        (tmp_path / name).mkdir()
        write(tmp_path / name, model(inputs=inputs))
    first, second, third = (OnnxEncoder(tmp_path / name).fingerprint for name in "abc")
    assert first == second != third
    assert first.startswith("onnx:")


def test_no_texts_give_no_rows(folder: Path):
    """An empty list gives (0, D)."""
    assert OnnxEncoder(folder).encode_tools([]).shape == (0, 2)


def test_values_that_are_not_finite_are_an_error(folder: Path):
    """A model that gives infinity is refused rather than indexed."""
    with pytest.raises(EncoderError, match="infinite or undefined"):
        OnnxEncoder(folder).encode_queries(["void"])


def test_a_model_with_strange_inputs_is_refused(tmp_path: Path):
    """An input nobody can feed is named."""
    write(tmp_path, model(inputs=("input_ids", "pixel_values")))
    with pytest.raises(EncoderError, match="wants the inputs pixel_values"):
        OnnxEncoder(tmp_path)


def test_missing_and_damaged_files_are_named(folder: Path):
    """No folder, a damaged model, a missing and a damaged tokenizer each have their message."""
    with pytest.raises(EncoderError, match=r"holds none of model\.onnx"):
        OnnxEncoder(folder / "elsewhere")
    tokenizer = (folder / "tokenizer.json").read_text(encoding="utf-8")
    (folder / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(EncoderError, match="is not a tokenizer"):
        OnnxEncoder(folder)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(EncoderError, match="cannot be read"):
        OnnxEncoder(folder)
    (folder / "tokenizer.json").write_text(tokenizer, encoding="utf-8")
    (folder / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(EncoderError, match="is not an ONNX model"):
        OnnxEncoder(folder)


def test_the_missing_extra_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """Without onnxruntime the error holds the line that installs it."""
    monkeypatch.setattr(onnx, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r'pip install "toolwise\[onnx\]"'):
        OnnxEncoder(folder)
