"""From data to a folder that the static encoder reads."""

import json

import numpy as np
import pytest

from tests.encode.test_static import WORDS, tokenizer_json
from toolwise.encode.static import StaticEncoder
from toolwise.errors import EncoderError
from toolwise.learn.data import Library, Request
from toolwise.learn.static_table import Sources, held_out, mean_table, quantise, save, slim_tokenizer
from toolwise.learn.teacher import verify
from toolwise.records import Tool, ToolText
from toolwise.retrieve.elsewhere import operations


def test_quantised_rows_are_within_half_a_step():
    """A row of largest value 1.27 has steps of 0.01; no entry is off by more than half of one."""
    vectors = np.array([[9, 9], [1.27, -0.333], [0, 0]], np.float32)
    rows, scale = quantise(vectors, np.ones(3, np.float32))
    assert rows.dtype == np.int8
    assert scale.dtype == np.float16
    assert not rows[0].any()
    assert not rows[2].any()
    np.testing.assert_allclose(rows[1] * scale[1].astype(np.float32), vectors[1], atol=0.006)


def test_weights_go_into_the_scale():
    """Twice the weight is twice the scale, the same row."""
    vectors = np.array([[0, 0], [1, 2], [1, 2]], np.float32)
    rows, scale = quantise(vectors, np.array([1, 1, 2], np.float32))
    np.testing.assert_array_equal(rows[1], rows[2])
    np.testing.assert_allclose(scale[2] / scale[1], 2, rtol=2e-3)


def test_what_is_saved_can_be_encoded_with(tmp_path):
    """The written folder gives the vectors of the table: read = (3, 4) / 5."""
    vectors = np.array([[0, 0], [3, 4], [1, 0], [0, 1]], np.float32)
    save(tmp_path, tokenizer_json(WORDS), vectors, np.ones(4, np.float32))
    np.testing.assert_allclose(StaticEncoder(tmp_path).encode_queries(["read"]), [[0.6, 0.8]], atol=0.005)


def test_a_table_over_the_size_limit_is_not_written(tmp_path):
    """40,000 rows of 256 bytes are more than a package should carry."""
    with pytest.raises(ValueError, match="at most"):
        save(tmp_path, tokenizer_json(), np.ones((40_000, 256), np.float32), np.ones(40_000, np.float32))
    assert not list(tmp_path.iterdir())


def test_another_teacher_is_refused(tmp_path):
    """Weights whose hash is not the pinned one are not trained from."""
    (tmp_path / "model.safetensors").write_bytes(b"something else")
    with pytest.raises(EncoderError, match="expected 53aa5117"):
        verify(tmp_path)


def test_a_missing_teacher_is_named(tmp_path):
    """The error names the file that is not there."""
    with pytest.raises(EncoderError, match="does not exist"):
        verify(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"tuned")
    with pytest.raises(EncoderError, match=r"tokenizer\.json does not exist"):
        verify(tmp_path, ["tokenizer.json"])


def test_texts_are_distinct_and_in_a_fixed_order():
    """Tools of the corpus first, then each library's tools and requests, every text once."""
    tool = Tool(id="s/ping", name="ping", server="s", text=ToolText("Ping a host"))
    other = Tool(id="pong", name="pong")
    sources = Sources((tool,), (Library("set", (tool, other), (Request("is it up?", (0,)),)),))
    assert sources.texts() == {"s: ping. Ping a host": "s", "pong.": "set", "is it up?": "set"}


def test_the_slim_tokenizer_learns_words_of_the_field():
    """A word that many sources use enters the vocabulary and is no longer cut."""
    texts = {f"reads number {chr(97 + i)}": f"server{i}" for i in range(8)}
    slimmed = slim_tokenizer(json.loads(json.dumps(tokenizer_json([*WORDS, "number", "!"]))), texts)
    assert "reads" in slimmed["model"]["vocab"]
    assert "!" not in slimmed["model"]["vocab"]


def test_the_mean_of_tables_is_that_of_vectors_and_of_log_weights():
    """(1, 3) and (3, 1) give (2, 2); weights 1 and 4 give 2, their geometric mean."""
    one = (np.array([[1, 3]], np.float32), np.array([1], np.float32))
    other = (np.array([[3, 1]], np.float32), np.array([4], np.float32))
    vectors, weights = mean_table([one, other])
    np.testing.assert_allclose(vectors, [[2, 2]])
    np.testing.assert_allclose(weights, [2], rtol=1e-6)
    assert vectors.dtype == weights.dtype == np.float32


def test_a_table_is_saved_with_its_floor(tmp_path):
    """The encoder finds the number it was given, or none."""
    for floor in (None, 0.325):
        save(tmp_path, tokenizer_json(WORDS), np.eye(4, 2, dtype=np.float32), np.ones(4, np.float32), floor)
        assert StaticEncoder(tmp_path).floor == floor


def test_a_fold_leaves_out_workspaces_and_their_servers():
    """Three workspaces in three folds: each is out once, and no text of its server stays."""
    tools = [Tool(id=f"s{i}/go", name="go", server=f"s{i}") for i in range(3)]
    spaces = [Library(f"mcp_tasks/w{i}", (tool,), ()) for i, tool in enumerate(tools)]
    other = Library("bfcl", (Tool(id="x", name="x"),), ())
    sources = Sources(tuple(tools), (*spaces, other))
    names = set()
    for part in range(3):
        kept, out = held_out(sources, part, 3)
        (name,) = out
        names.add(name)
        assert [library.name for library in kept.libraries] == [
            *(space.name for space in spaces if space.name != name),
            "bfcl",
        ]
        assert {tool.server for tool in kept.corpus} == {"s0", "s1", "s2"} - {f"s{name[-1]}"}
    assert names == {"mcp_tasks/w0", "mcp_tasks/w1", "mcp_tasks/w2"}


def test_a_fold_leaves_out_small_libraries_but_not_what_their_servers_are_called():
    """Districts go with the texts of their services; a small library's server may be anybody's."""
    mail, crane = operations()[0], operations()[-1]
    spaces = [
        Library(f"mcp_tasks/w{i}", (Tool(id=f"s{i}/go", name="go", server=f"s{i}"),), ()) for i in range(3)
    ]
    tool = Tool(id="gmail/x", name="x", server=mail.server)
    small = [Library(f"small/{name}", (tool,), ()) for name in "aeh"]  # of folds 0, 1 and 2
    made = [Library("elsewhere/0/00", (mail,), ()), Library("elsewhere/2/00", (crane,), ())]
    made.append(Library("elsewhere/1/00", (Tool(id="other/go", name="go", server="other"),), ()))
    sources = Sources((mail, crane), (*spaces, *small, *made))
    gone = set()
    for part in range(3):
        kept, out = held_out(sources, part, 3)
        assert sorted(name.partition("/")[0] for name in out) == ["elsewhere", "mcp_tasks", "small"]
        assert {library.name for library in kept.libraries}.isdisjoint(out)
        assert (mail in kept.corpus) == ("elsewhere/0/00" not in out)
        assert (crane in kept.corpus) == ("elsewhere/2/00" not in out)
        gone |= set(out)
    assert len(gone) == 9
