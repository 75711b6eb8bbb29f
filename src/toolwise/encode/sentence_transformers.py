"""A model of the sentence-transformers library, by folder or by name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from toolwise.encode.text import TEMPLATE, query_text, tool_text
from toolwise.encode.vectors import unit_rows
from toolwise.errors import EncoderError, MissingExtra
from toolwise.protocols import Floats
from toolwise.records import Tool

_PATH_STARTS = ("/", "./", "../", "~", "\\")


class SentenceTransformersEncoder:
    """Texts to unit vectors by a sentence-transformers model of D dimensions.

    ``spec`` is a folder, which is read without touching the network, or the
    name of a model, which the library may fetch.  Code that comes with a model
    is never run.  Requests and tools get the model's own prompts, where it has
    some.  Raises MissingExtra without the library, EncoderError for a model
    that cannot be loaded.
    """

    dim: int
    fingerprint: str

    def __init__(self, spec: str | Path) -> None:
        if find_spec("sentence_transformers") is None:
            raise MissingExtra(
                "The sentence-transformers encoder needs the library of that name. "
                'Run: pip install "toolwise[sentence-transformers]"',
                extra="sentence-transformers",
            )
        self._spec = str(spec)
        self._model = _load(self._spec)
        self.dim = self.encode_queries(["size"]).shape[1]
        self.fingerprint = f"sentence-transformers:{_digest(self._model)}:{TEMPLATE}"

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        """Texts of requests -> (Q, D)."""
        return self._encode(getattr(self._model, "encode_query", self._model.encode), map(query_text, texts))

    def encode_tools(self, tools: Sequence[Tool]) -> Floats:
        """Tools, by their searchable text -> (N, D)."""
        return self._encode(
            getattr(self._model, "encode_document", self._model.encode), map(tool_text, tools)
        )

    def _encode(self, encode: Callable[..., Any], texts: Any) -> Floats:
        wanted = list(texts)
        if not wanted:
            return np.zeros((0, self.dim), np.float32)
        try:
            found = encode(wanted, convert_to_numpy=True, show_progress_bar=False)
        except Exception as error:  # whatever the model's own code raises
            raise EncoderError(
                f"the model {self._spec} fails with: {error}. Try it on one text, or use another model.",
                model=self._spec,
            ) from error
        return unit_rows(np.asarray(found), self._spec)


def _load(spec: str) -> Any:
    from sentence_transformers import SentenceTransformer

    local = Path(spec).expanduser()
    is_folder = local.is_dir()
    if not is_folder and spec.startswith(_PATH_STARTS):
        raise EncoderError(
            f"{spec} is no folder; expected one with a sentence-transformers model, or a model's name.",
            model=spec,
        )
    try:
        return SentenceTransformer(
            str(local) if is_folder else spec, trust_remote_code=False, local_files_only=is_folder
        )
    except Exception as error:  # the library raises errors of a dozen others
        raise EncoderError(
            f"the model {spec} cannot be loaded: {error}. Give a folder with a sentence-transformers model.",
            model=spec,
        ) from error


def _digest(model: Any) -> str:
    """sha256 of all that decides a vector: the layers and their settings, the prompts, the weights."""
    total = hashlib.sha256(repr(model).encode())
    total.update(json.dumps(getattr(model, "prompts", None), sort_keys=True).encode())
    for name, tensor in sorted(model.state_dict().items()):
        total.update(name.encode())
        total.update(np.ascontiguousarray(tensor.detach().cpu().float().numpy()).tobytes())
    return total.hexdigest()
