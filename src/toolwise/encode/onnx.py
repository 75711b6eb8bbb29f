"""A transformer in ONNX form, run by onnxruntime: a folder with the model and its ``tokenizer.json``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from toolwise.encode.text import TEMPLATE, query_text, tool_text
from toolwise.encode.vectors import unit_rows
from toolwise.errors import EncoderError, MissingExtra
from toolwise.protocols import Floats, Ints
from toolwise.records import Tool, as_mapping

EXPORT = "export.json"
"""File that says how a model was exported, and perhaps the floor of its cosines."""
_MODELS = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
_MAX_TOKENS = 256
_BATCH = 8
_POOLED = "sentence_embedding"


class OnnxEncoder:
    """Texts to unit vectors by an ONNX model of D dimensions.

    The model's ``sentence_embedding`` output is taken where it has one; else
    its token vectors are averaged (or the first one taken, where the folder's
    ``1_Pooling/config.json`` says so).  At most 256 tokens of a text are read.
    The ``floor`` is that of its ``export.json``, where there is one and none is given.
    A model with dynamically quantised activations may round a text's vector
    differently beside other texts.  Raises MissingExtra without onnxruntime,
    EncoderError for a missing or damaged file and a model of another kind.
    """

    dim: int
    fingerprint: str
    floor: float | None
    """The cosine from which its vectors alone convince; None where nobody has said."""

    def __init__(self, folder: str | Path, floor: float | None = None) -> None:
        if find_spec("onnxruntime") is None:
            raise MissingExtra(
                'The onnx encoder needs onnxruntime. Run: pip install "toolwise[onnx]"', extra="onnx"
            )
        self._folder = Path(folder).expanduser()
        self.floor = _floor(self._folder / EXPORT) if floor is None else floor
        path = self._model_file()
        self._first_token = _first_token(self._folder / "1_Pooling" / "config.json")
        self._tokenizer, self._pad = _tokenizer(self._folder / "tokenizer.json")
        self._session = _session(path)
        self._inputs = {field.name: field.type for field in self._session.get_inputs()}
        names = [field.name for field in self._session.get_outputs()]
        self._output = _POOLED if _POOLED in names else names[0]
        self.dim = self._vectors(["size"]).shape[1]
        pooling = "first" if self._first_token else "mean"
        self.fingerprint = f"onnx:{_digest(path, self._folder / 'tokenizer.json')}:{pooling}:{TEMPLATE}"

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        """Texts of requests -> (Q, D)."""
        return self._encode([query_text(text) for text in texts])

    def encode_tools(self, tools: Sequence[Tool]) -> Floats:
        """Tools, by their searchable text -> (N, D)."""
        return self._encode([tool_text(tool) for tool in tools])

    def _encode(self, texts: Sequence[str]) -> Floats:
        vectors = np.zeros((len(texts), self.dim), np.float32)
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))  # alike lengths need little padding
        for start in range(0, len(order), _BATCH):
            rows = order[start : start + _BATCH]
            vectors[rows] = unit_rows(self._vectors([texts[i] for i in rows]), str(self._folder))
        return vectors

    def _vectors(self, texts: Sequence[str]) -> np.ndarray[Any, Any]:
        """Texts of one batch -> (N, D), as the model gives them."""
        ids, mask = self._padded(texts)  # (N, T)
        try:
            (found,) = self._session.run([self._output], self._feed(ids, mask))
        except Exception as error:  # onnxruntime has no public base class of its errors
            raise self._unfit(f"fails with: {error}") from error
        if found.ndim == 2 and len(found) == len(texts):
            return np.asarray(found)
        if found.shape[:2] != ids.shape:
            raise self._unfit(f"gives {self._output!r} of shape {found.shape} for {ids.shape} tokens")
        if self._first_token:
            return np.asarray(found[:, 0])
        weights = mask[:, :, None].astype(np.float32)  # (N, T, 1)
        return np.asarray((found * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1))

    def _padded(self, texts: Sequence[str]) -> tuple[Ints, Ints]:
        """Token ids and mask (N, T), T the longest of the batch."""
        encodings = self._tokenizer.encode_batch(list(texts))
        longest = max(1, *(len(encoding.ids) for encoding in encodings))
        ids = np.full((len(texts), longest), self._pad, np.int64)
        mask = np.zeros_like(ids)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding.ids)] = encoding.ids
            mask[row, : len(encoding.ids)] = 1
        return ids, mask

    def _feed(self, ids: Ints, mask: Ints) -> dict[str, np.ndarray[Any, Any]]:
        known = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(ids),
            "position_ids": np.broadcast_to(np.arange(ids.shape[1]), ids.shape),
        }
        if unknown := sorted(set(self._inputs) - set(known)):
            raise self._unfit(f"wants the inputs {', '.join(unknown)}")
        types = {"tensor(int32)": np.int32}
        return {
            name: np.ascontiguousarray(known[name], types.get(kind, np.int64))
            for name, kind in self._inputs.items()
        }

    def _unfit(self, what: str) -> EncoderError:
        return EncoderError(
            f"the model in {self._folder} {what}; expected a text encoder that takes input_ids and "
            "attention_mask and gives token or sentence vectors. Export it for feature extraction.",
            folder=self._folder,
        )

    def _model_file(self) -> Path:
        for name in _MODELS:
            if (self._folder / name).is_file():
                return self._folder / name
        raise EncoderError(
            f"{self._folder} holds none of {', '.join(_MODELS)}. Give the folder of an ONNX export.",
            folder=self._folder,
        )


def _session(path: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # waiting threads that spin halve the speed where other work wants the cores
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has no public base class of its errors
        raise EncoderError(f"{path} is not an ONNX model: {error}. Export it again.", path=path) from error


def _tokenizer(path: Path) -> tuple[Any, int]:
    """The tokenizer, cutting but not padding, and the id that pads."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_str(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise EncoderError(
            f"{path} cannot be read ({error.strerror}); expected the model's fast tokenizer there. "
            "Copy it beside the model.",
            path=path,
        ) from error
    except Exception as error:  # tokenizers raises bare Exception for every defect of the file
        raise EncoderError(f"{path} is not a tokenizer: {error}. Export it again.", path=path) from error
    pad = (tokenizer.padding or {}).get("pad_id")
    if pad is None:
        found = (tokenizer.token_to_id(token) for token in ("[PAD]", "<pad>", "<|endoftext|>"))
        pad = next((token for token in found if token is not None), 0)
    tokenizer.no_padding()
    tokenizer.enable_truncation(_MAX_TOKENS)
    return tokenizer, pad


def _floor(path: Path) -> float | None:
    """The floor that an export names; None where there is none."""
    if not path.is_file():
        return None
    try:
        found = as_mapping(json.loads(path.read_text(encoding="utf-8"))).get("floor")
        return None if found is None else float(found)
    except (ValueError, TypeError) as error:
        raise EncoderError(
            f'{path} is not what an export writes: {error}. Expected JSON, its "floor" a number if any.',
            path=path,
        ) from error


def _first_token(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        return as_mapping(json.loads(path.read_text(encoding="utf-8"))).get("pooling_mode_cls_token") is True
    except ValueError as error:
        raise EncoderError(f"{path} is not JSON: {error}. Correct or remove it.", path=path) from error


def _digest(model: Path, tokenizer: Path) -> str:
    """One sha256 over the model, its weights kept beside it, and the tokenizer."""
    parts = [model, tokenizer, model.with_name(model.name + "_data"), model.with_name(model.name + ".data")]
    total = hashlib.sha256()
    for path in parts:
        if path.is_file():
            with path.open("rb") as file:
                total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()
