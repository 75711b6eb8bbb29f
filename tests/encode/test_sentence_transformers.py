"""The sentence-transformers adapter, over a stand-in for the library and, where installed, the library."""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest

from toolwise.encode import sentence_transformers as adapter
from toolwise.encode.sentence_transformers import SentenceTransformersEncoder
from toolwise.errors import EncoderError, MissingExtra
from toolwise.records import Tool, ToolText


class Tensor:
    """As much of a torch tensor as is asked for."""

    def __init__(self, values: list[float]) -> None:
        self.values = values

    def detach(self) -> "Tensor":
        """Itself."""
        return self

    cpu = float = detach

    def numpy(self) -> np.ndarray:
        """Its values."""
        return np.array(self.values, np.float32)


class Model:
    """A stand-in: every text becomes (3, 4) times its length."""

    loaded: ClassVar[list[tuple[str, dict[str, Any]]]] = []
    weights: ClassVar[list[float]] = [1.0, 2.0]
    prompts: ClassVar[dict[str, str]] = {"query": "", "document": ""}

    def __init__(self, name: str, **options: Any) -> None:
        if name == "broken":
            raise OSError("no such model")
        self.loaded.append((name, options))

    def __repr__(self) -> str:
        return "Model()"

    def state_dict(self) -> dict[str, Tensor]:
        """One weight."""
        return {"w": Tensor(self.weights)}

    def encode(self, texts: list[str], **options: Any) -> np.ndarray:
        """(N, 2)."""
        assert options == {"convert_to_numpy": True, "show_progress_bar": False}
        if "crash" in texts:
            raise RuntimeError("out of memory")
        return np.array([[3.0 * len(text), 4.0 * len(text)] for text in texts])


class Prompted(Model):
    """A stand-in with a side for requests and a side for tools."""

    def encode_query(self, texts: list[str], **options: Any) -> np.ndarray:
        """(N, 2)."""
        return np.array([[2.0, 0.0]] * len(texts))

    def encode_document(self, texts: list[str], **options: Any) -> np.ndarray:
        """(N, 2)."""
        return np.array([[0.0, 2.0]] * len(texts))


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("sentence_transformers")
    module.SentenceTransformer = Model  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    monkeypatch.setattr(adapter, "find_spec", lambda name: module)
    monkeypatch.setattr(Model, "loaded", [])
    return module


def test_vectors_are_float32_of_unit_length(library: ModuleType):
    """(3, 4) times anything is (0.6, 0.8), and an empty text is zero."""
    encoder = SentenceTransformersEncoder("some/model")
    found = encoder.encode_queries(["abc", ""])
    assert (encoder.dim, found.dtype) == (2, np.float32)
    np.testing.assert_allclose(found, [[0.6, 0.8], [0, 0]], rtol=1e-6)
    assert encoder.encode_tools([]).shape == (0, 2)


def test_requests_and_tools_get_their_own_side_of_the_model(library: ModuleType):
    """Where the model tells requests from documents, so does the adapter."""
    library.SentenceTransformer = Prompted  # type: ignore[attr-defined]
    encoder = SentenceTransformersEncoder("some/model")
    np.testing.assert_allclose(encoder.encode_queries(["a"]), [[1, 0]])
    np.testing.assert_allclose(encoder.encode_tools([Tool(id="t", name="t", text=ToolText("d"))]), [[0, 1]])


def test_a_folder_is_read_without_the_network_and_no_code_is_run(library: ModuleType, tmp_path: Path):
    """A folder is local files only, a name may be fetched, code of a model is never trusted."""
    SentenceTransformersEncoder(tmp_path)
    SentenceTransformersEncoder("some/model")
    assert Model.loaded == [
        (str(tmp_path), {"trust_remote_code": False, "local_files_only": True}),
        ("some/model", {"trust_remote_code": False, "local_files_only": False}),
    ]


def test_a_path_that_leads_nowhere_is_not_taken_for_a_name(library: ModuleType, tmp_path: Path):
    """A missing folder is an error, not a download."""
    with pytest.raises(EncoderError, match="is no folder"):
        SentenceTransformersEncoder(str(tmp_path / "gone"))
    assert Model.loaded == []


def test_the_fingerprint_follows_weights_and_prompts(library: ModuleType, monkeypatch: pytest.MonkeyPatch):
    """The same model has one fingerprint; other weights or prompts have another."""
    first = SentenceTransformersEncoder("a").fingerprint
    assert first == SentenceTransformersEncoder("b").fingerprint
    monkeypatch.setattr(Model, "prompts", {"query": "find: "})
    second = SentenceTransformersEncoder("a").fingerprint
    monkeypatch.setattr(Model, "weights", [1.0, 2.5])
    third = SentenceTransformersEncoder("a").fingerprint
    assert len({first, second, third}) == 3


def test_failures_of_the_library_are_encoder_errors(library: ModuleType):
    """A model that cannot be loaded, or fails on a text, is named with the reason."""
    with pytest.raises(EncoderError, match="broken cannot be loaded: no such model"):
        SentenceTransformersEncoder("broken")
    with pytest.raises(EncoderError, match="some/model fails with: out of memory"):
        SentenceTransformersEncoder("some/model").encode_queries(["crash"])


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    """Without the library the error holds the line that installs it."""
    monkeypatch.setattr(adapter, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r'pip install "toolwise\[sentence-transformers\]"'):
        SentenceTransformersEncoder("some/model")


@pytest.mark.slow
@pytest.mark.skipif(
    find_spec("sentence_transformers") is None, reason="the [sentence-transformers] extra is not installed"
)
def test_the_library_itself_loads_a_folder(tmp_path: Path):
    """A tiny word-average model, made here and saved, is loaded and encodes."""
    from sentence_transformers import SentenceTransformer
    from tokenizers import Tokenizer, models, pre_tokenizers

    try:
        modules = import_module("sentence_transformers.sentence_transformer.modules")
    except ModuleNotFoundError:  # its place before version 6
        modules = import_module("sentence_transformers.models")
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "red": 1, "blue": 2}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    table = np.array([[0, 0], [3, 0], [0, 4]], np.float32)
    words = modules.StaticEmbedding(tokenizer, embedding_weights=table)
    SentenceTransformer(modules=[words], device="cpu").save(str(tmp_path))
    encoder = SentenceTransformersEncoder(tmp_path)
    np.testing.assert_allclose(encoder.encode_queries(["red blue"]), [[0.6, 0.8]], atol=1e-6)
    assert encoder.fingerprint == SentenceTransformersEncoder(tmp_path).fingerprint
