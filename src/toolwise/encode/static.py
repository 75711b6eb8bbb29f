"""The table that comes with toolwise: token vectors, averaged.  numpy and tokenizers, no network, no GPU.

A text's vector is the unit-length sum of its tokens' rows; how much a token
counts is part of its row's scale.  Rows stay in int8 and are widened only when
a text needs them, so loading costs no more than reading the file.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from toolwise.encode.text import TEMPLATE, query_text, tool_text
from toolwise.errors import EncoderError
from toolwise.protocols import Floats
from toolwise.records import Tool

TABLE = "table.safetensors"
TOKENIZER = "tokenizer.json"
PACKAGED = Path(__file__).parent.parent / "weights" / "static"
"""The folder of the table that comes with the package."""

_BATCH = 256
_FEW = 8
"""Texts up to which one by one is faster than a batch."""
_LETTER = re.compile(r"[^\W\d_]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_LEAST_LATIN = 0.25
"""Share of Latin letters from which a request is read; chosen out of fold on training requests."""


class StaticEncoder:
    """Texts to unit vectors by a static table of V tokens and D dimensions.

    ``folder`` holds ``table.safetensors`` (``rows`` int8 (V, D), ``scale``
    float16 (V,), and perhaps the ``floor`` in its metadata) and
    ``tokenizer.json``; None is the packaged table.  A text of which the table
    knows no token (Chinese, say) has a zero vector.  Raises EncoderError for a
    missing, damaged or mismatched file.
    """

    dim: int
    fingerprint: str
    floor: float | None
    """The cosine from which its vectors alone convince; None where the table names none."""

    def __init__(self, folder: Path | None = None) -> None:
        folder = PACKAGED if folder is None else Path(folder)
        table, tokenizer = _read(folder / TABLE), _read(folder / TOKENIZER)
        self._rows, self._scale = _table(table, folder / TABLE)
        self.floor = _floor(table)
        self._tokenizer = _tokenizer(tokenizer, folder / TOKENIZER, len(self._rows))
        self.dim = int(self._rows.shape[1])
        digest = hashlib.sha256(hashlib.sha256(table).digest() + hashlib.sha256(tokenizer).digest())
        self.fingerprint = f"static:{digest.hexdigest()}:{TEMPLATE}"

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        """Texts of requests -> (Q, D); zero where no token is known, or hardly any letter is Latin.

        The few Latin words of a request in another script say next to nothing
        of its meaning, and a unit vector would give them the full say.
        """
        return self._encode([query_text(text) if _legible(text) else "" for text in texts])

    def encode_tools(self, tools: Sequence[Tool]) -> Floats:
        """Tools, by their searchable text -> (N, D); zero where no token is known."""
        return self._encode([tool_text(tool) for tool in tools])

    def _encode(self, texts: Sequence[str]) -> Floats:
        vectors = np.zeros((len(texts), self.dim), np.float32)
        for start in range(0, len(texts), _BATCH):
            for line, encoding in enumerate(self._encodings(texts[start : start + _BATCH]), start):
                self._pool(encoding.ids, vectors[line])
        return vectors

    def _encodings(self, texts: Sequence[str]) -> Iterable[Any]:
        if len(texts) <= _FEW:  # a batch costs a hand-over to the tokenizer's threads
            return [self._tokenizer.encode(text, add_special_tokens=False) for text in texts]
        found: Iterable[Any] = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return found

    def _pool(self, ids: list[int], into: Floats) -> None:
        """Write the unit-length weighted sum of the rows of ``ids`` (T,) to ``into`` (D,)."""
        if not ids:
            return
        total = self._scale[ids] @ self._rows[ids].astype(np.float32)
        length = float(np.sqrt(total @ total))
        if length > 0:
            np.divide(total, length, out=into)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise EncoderError(
            f"{path} cannot be read ({error.strerror}); expected a folder with {TABLE} and {TOKENIZER}. "
            "Give such a folder, or none for the packaged table.",
            path=path,
        ) from error


def _table(content: bytes, path: Path) -> tuple[np.ndarray[Any, Any], Floats]:
    """Rows (V, D) int8 and scales (V,) of a table file."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        tensors = load(content)
    except SafetensorError as error:
        raise EncoderError(f"{path} is no safetensors file: {error}. Write it again.", path=path) from error
    rows, scale = tensors.get("rows"), tensors.get("scale")
    if rows is None or scale is None or not _fit(rows, scale):
        shapes = {name: (str(tensor.dtype), tensor.shape) for name, tensor in sorted(tensors.items())}
        raise EncoderError(
            f"{path} holds {shapes}; expected rows (V, D) of int8 and scale (V,). Write it with "
            "toolwise.learn.static_table.",
            path=path,
        )
    return rows, scale.astype(np.float32)


def _fit(rows: np.ndarray[Any, Any], scale: np.ndarray[Any, Any]) -> bool:
    return bool(rows.dtype == np.int8 and rows.ndim == 2 and scale.shape == rows.shape[:1])


def _floor(content: bytes) -> float | None:
    """The floor in the metadata of a safetensors file, which :func:`_table` has read without complaint."""
    head = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    try:
        return float(head["__metadata__"]["floor"])
    except (KeyError, TypeError, ValueError):
        return None


def _tokenizer(content: bytes, path: Path, size: int) -> Any:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_str(content.decode("utf-8"))
    except Exception as error:  # tokenizers raises bare Exception for every defect of the file
        raise EncoderError(f"{path} is not a tokenizer: {error}. Write it again.", path=path) from error
    if tokenizer.get_vocab_size() != size:
        raise EncoderError(
            f"{path} knows {tokenizer.get_vocab_size()} tokens, the table has {size} rows; "
            "the two files must come from one run.",
            path=path,
        )
    return tokenizer


def _legible(text: str) -> bool:
    letters = len(_LETTER.findall(text))
    return letters == 0 or len(_LATIN.findall(text)) >= _LEAST_LATIN * letters
