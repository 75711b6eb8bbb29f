"""The parameters of HYSET on disk: one safetensors file, written by training and read at inference."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np

from toolwise.errors import EncoderError
from toolwise.protocols import Floats
from toolwise.whole_file import replace_file

Interaction: TypeAlias = Literal["sized", "shared", "identity", "none"]
"""One matrix per size (published); the last one for all; the identity for all; no F_set."""
Pooling: TypeAlias = Literal["attention", "uniform"]
"""Softmax-weighted mean (published), or plain mean."""

FORMAT = "toolwise-hyperedge-1"


@dataclass(frozen=True, eq=False, slots=True)
class HyperedgeWeights:
    """Everything HYSET learns, and what it was learned on.  Raises ValueError for shapes that do not fit."""

    ids: tuple[str, ...]
    """Tool ids in order of the rows of ``Z``."""
    Z: Floats
    """(N, d): tool embeddings, rows of unit length."""
    P: Floats
    """(D, d): from tool embeddings to the space of requests."""
    M: Floats
    """(M + 1, d, d): symmetric, ``M[m]`` for sets of m tools; the first two are zero and never used."""
    interaction: Interaction = "sized"
    pooling: Pooling = "attention"
    encoder: str = ""
    """Fingerprint of the encoder of the requests; empty where it does not matter."""

    def __post_init__(self) -> None:
        d = self.Z.shape[-1]
        fits = self.Z.shape == (len(self.ids), d) and self.P.ndim == 2 and self.P.shape[1] == d
        if not fits or self.M.ndim != 3 or len(self.M) < 2 or self.M.shape[1:] != (d, d):
            raise ValueError(
                f"Z {self.Z.shape}, P {self.P.shape} and M {self.M.shape} do not fit {len(self.ids)} ids; "
                "expected (N, d), (D, d) and (M + 1, d, d)"
            )
        if self.interaction not in get_args(Interaction) or self.pooling not in get_args(Pooling):
            raise ValueError(f"there is no interaction {self.interaction!r} or no pooling {self.pooling!r}")

    @property
    def largest(self) -> int:
        """M, the largest size of a set."""
        return len(self.M) - 1


def save_weights(weights: HyperedgeWeights, path: Path) -> None:
    """Write ``path`` (safetensors, float32; ids and switches in its metadata), replacing it atomically."""
    from safetensors.numpy import save

    tensors = {name: np.ascontiguousarray(getattr(weights, name), dtype=np.float32) for name in "ZPM"}
    about = {
        "format": FORMAT,
        "ids": json.dumps(weights.ids, ensure_ascii=False),
        "interaction": weights.interaction,
        "pooling": weights.pooling,
        "encoder": weights.encoder,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, save(tensors, about))


def load_weights(path: Path) -> HyperedgeWeights:
    """Read what :func:`save_weights` wrote.  Raises EncoderError for a missing, damaged or foreign file."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), framework="numpy") as file:
            about = file.metadata() or {}
            if about.get("format") != FORMAT:
                raise ValueError(f"its format is {about.get('format', 'not named')!r}, not {FORMAT!r}")
            tensors = {name: file.get_tensor(name) for name in "ZPM"}
        ids = tuple(json.loads(about["ids"]))
        return HyperedgeWeights(
            ids,
            **tensors,
            interaction=about["interaction"],
            pooling=about["pooling"],
            encoder=about["encoder"],
        )
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise EncoderError(
            f"{path} cannot be used as weights of a set scorer: {error}. Train them again.", path=path
        ) from error
