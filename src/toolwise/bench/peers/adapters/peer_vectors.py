"""The encoder that every rival in need of one is given: the static table of toolwise, read without toolwise.

A text's vector is the unit-length sum of its tokens' rows, each times its
scale.  All rivals share it, so that what is compared is how they use vectors,
not which weights they come with.
"""

# mypy: disable-error-code="import-not-found, import-untyped"
from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parents[3] / "weights" / "static"
"""``table.safetensors`` (rows (V, D) int8, scale (V,)) and ``tokenizer.json``."""
NAMED = "--table="
"""The argument of an adapter that names another folder."""


class StaticTable:
    """Texts to unit vectors of ``dim`` numbers; a text without a known token has a zero vector."""

    def __init__(self, folder: Path | None = None) -> None:
        """``folder``, else the one that the command line names, else the packaged one."""
        folder = folder or next((Path(a[len(NAMED) :]) for a in sys.argv if a.startswith(NAMED)), FOLDER)
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        table = load_file(folder / "table.safetensors")
        self._rows, self._scale = table["rows"], table["scale"].astype(np.float32)
        self._tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.dim = int(self._rows.shape[1])

    def encode(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Texts (N) -> vectors (N, dim)."""
        vectors = np.zeros((len(texts), self.dim), np.float32)
        for line, text in enumerate(texts):
            ids = self._tokenizer.encode(text, add_special_tokens=False).ids
            if ids:
                total = self._scale[ids] @ self._rows[ids].astype(np.float32)
                vectors[line] = total / max(float(np.linalg.norm(total)), 1e-12)
        return vectors

    def lists(self, texts: Sequence[str]) -> list[list[float]]:
        """The same as lists of numbers, which is what most interfaces ask for."""
        found: list[list[float]] = self.encode(texts).tolist()
        return found
