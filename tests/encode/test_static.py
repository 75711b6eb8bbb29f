"""The static encoder: hand-computed vectors, the laws of an encoder, and the packaged table."""

import json
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from toolwise.encode.static import PACKAGED, TABLE, TOKENIZER, StaticEncoder
from toolwise.errors import EncoderError
from toolwise.records import Tool, ToolText

FOLDER_LIMIT = 8_000_000

WORDS = ["[UNK]", "read", "file", "##s"]
ROWS = np.array([[0, 0], [3, 4], [0, 10], [10, 0]], np.int8)
SCALE = np.array([0, 1, 0.5, 0.1], np.float16)


def tokenizer_json(words=WORDS):
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": True,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": {word: row for row, word in enumerate(words)},
        },
    }


def write(folder, rows=ROWS, scale=SCALE, words=WORDS):
    save_file({"rows": rows, "scale": scale}, folder / TABLE)
    (folder / TOKENIZER).write_text(json.dumps(tokenizer_json(words)), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def packaged():
    return StaticEncoder()


def test_a_vector_is_the_unit_sum_of_scaled_rows(tmp_path):
    """Read files = 1*(3, 4) + 0.5*(0, 10) + 0.1*(10, 0) = (4, 9), divided by its length sqrt(97)."""
    encoder = StaticEncoder(write(tmp_path))
    expected = np.array([[4, 9]]) / np.sqrt(97)
    assert encoder.dim == 2
    # 0.1 as float16 is off by 2e-5
    np.testing.assert_allclose(encoder.encode_queries(["Read files"]), expected, atol=1e-4)


def test_unknown_words_count_nothing(tmp_path):
    """A word outside the vocabulary leaves the vector as it was, and alone it leaves none."""
    encoder = StaticEncoder(write(tmp_path))
    known, mixed, unknown, empty = encoder.encode_queries(["read", "read zebra", "zebra", ""])
    np.testing.assert_array_equal(known, mixed)
    assert not unknown.any()
    assert not empty.any()


def test_tools_are_encoded_by_their_template_text(tmp_path):
    """A tool's name is split in words, so that readFile is read and file."""
    encoder = StaticEncoder(write(tmp_path))
    tool = Tool(id="x", name="readFile", text=ToolText())
    np.testing.assert_array_equal(encoder.encode_tools([tool]), encoder.encode_queries(["read file"]))


def test_no_texts_give_no_rows(tmp_path):
    """An empty batch has shape (0, D)."""
    encoder = StaticEncoder(write(tmp_path))
    assert encoder.encode_queries([]).shape == (0, 2)
    assert encoder.encode_tools([]).shape == (0, 2)


def test_fingerprints_follow_the_files(tmp_path):
    """The same files give the same fingerprint; another table or tokenizer another one."""
    for name in ("a", "b", "c", "d"):
        (tmp_path / name).mkdir()
    first = StaticEncoder(write(tmp_path / "a"))
    same = StaticEncoder(write(tmp_path / "b"))
    table = StaticEncoder(write(tmp_path / "c", rows=ROWS[::-1].copy()))
    words = StaticEncoder(write(tmp_path / "d", words=["[UNK]", "file", "read", "##s"]))
    assert first.fingerprint == same.fingerprint
    assert len({first.fingerprint, table.fingerprint, words.fingerprint}) == 3


def test_a_missing_folder_is_named(tmp_path):
    """The error carries the path that could not be read."""
    with pytest.raises(EncoderError, match="cannot be read") as caught:
        StaticEncoder(tmp_path / "nowhere")
    assert caught.value.path == tmp_path / "nowhere" / TABLE


def test_a_damaged_table_is_refused(tmp_path):
    """Bytes that are no safetensors raise EncoderError."""
    (write(tmp_path) / TABLE).write_bytes(b"not a table")
    with pytest.raises(EncoderError, match="no safetensors file"):
        StaticEncoder(tmp_path)


def test_a_table_of_another_type_is_refused(tmp_path):
    """Rows must be int8."""
    with pytest.raises(EncoderError, match="expected rows"):
        StaticEncoder(write(tmp_path, rows=ROWS.astype(np.float32)))


def test_a_damaged_tokenizer_is_refused(tmp_path):
    """A tokenizer that does not parse raises EncoderError."""
    (write(tmp_path) / TOKENIZER).write_text("{}", encoding="utf-8")
    with pytest.raises(EncoderError, match="not a tokenizer"):
        StaticEncoder(tmp_path)


def test_table_and_tokenizer_must_be_of_one_size(tmp_path):
    """A tokenizer that knows more tokens than the table has rows is refused."""
    with pytest.raises(EncoderError, match="one run"):
        StaticEncoder(write(tmp_path, words=[*WORDS, "more"]))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(max_size=60), max_size=6))
def test_rows_are_of_unit_length_or_zero_and_stand_alone(packaged, texts):
    """The laws of an encoder: unit or zero rows of float32, each by its own text alone."""
    vectors = packaged.encode_queries(texts)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(texts), packaged.dim)
    lengths = np.linalg.norm(vectors, axis=1)
    assert np.all((lengths == 0) | (np.abs(lengths - 1) < 1e-5))
    for text, vector in zip(texts, vectors, strict=True):
        np.testing.assert_array_equal(packaged.encode_queries([text])[0], vector)


def test_the_packaged_table_has_256_dimensions_and_fits(packaged):
    """256 dimensions, and the folder takes at most 8 MB."""
    assert packaged.dim == 256
    assert sum(path.stat().st_size for path in PACKAGED.iterdir()) <= FOLDER_LIMIT


def test_the_packaged_table_knows_which_tool_serves(packaged):
    """Requests without a word in common with the tool still find it among others."""
    tools = [
        Tool(id="a", name="send_email", text=ToolText("Send a message to a mail address", ("to", "body"))),
        Tool(id="b", name="get_forecast", text=ToolText("Forecast of temperature and rain", ("city",))),
        Tool(id="c", name="create_issue", text=ToolText("Open a ticket in a repository", ("title",))),
    ]
    queries = ["will it be sunny tomorrow in Oslo?", "file a bug about the crash", "mail Anna the minutes"]
    scores = packaged.encode_queries(queries) @ packaged.encode_tools(tools).T
    assert scores.argmax(1).tolist() == [1, 2, 0]


def test_scripts_the_table_cannot_serve_give_a_zero_row(packaged):
    """Chinese and Russian have no token: zero says so, and leaves the search to words."""
    assert not packaged.encode_queries(["查询明天的天气", "какая завтра погода"]).any()


def test_broken_characters_do_no_harm(packaged):
    """A lone surrogate counts as a blank."""
    broken, plain = packaged.encode_queries(["weather \ud800 today", "weather today"])
    np.testing.assert_array_equal(broken, plain)


@pytest.mark.slow
def test_loading_and_encoding_are_fast():
    """Loaded within 60 ms and a query within 1 ms of processor time, the best of ten."""
    loads, encodes = [], []
    for _ in range(10):
        start = time.process_time()
        encoder = StaticEncoder()
        loads.append(time.process_time() - start)
        start = time.process_time()
        encoder.encode_queries(["book a table for two on friday night"])
        encodes.append(time.process_time() - start)
    assert min(loads) < 0.06
    assert min(encodes) < 0.001


def test_a_request_in_another_script_is_not_judged_by_its_few_latin_words():
    """One word of eleven letters among many others says too little; mostly Latin text is read."""
    encoder = StaticEncoder()
    chinese, mixed = encoder.encode_queries(
        ["请把这份报告转换成 pdf 文件并发送给我的同事", "convert the report 报告 to pdf"]
    )
    assert not chinese.any()
    assert mixed.any()


def test_a_table_may_bring_its_floor(tmp_path):
    """In the metadata of its file; without one, or with one that is no number, it has none."""
    write(tmp_path)
    assert StaticEncoder(tmp_path).floor is None
    for text, found in (("0.31", 0.31), ("high", None)):
        save_file({"rows": ROWS, "scale": SCALE}, tmp_path / TABLE, metadata={"floor": text})
        assert StaticEncoder(tmp_path).floor == found
