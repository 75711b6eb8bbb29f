"""The weights of a learned head on disk: safetensors, checked on loading.

A head is an ensemble of E perceptrons over a tool's vector and its named facts
(:mod:`toolwise.audit.features`), and a linear layer over its hashed n-grams;
K = 12 outputs: four for "level 2, 3, 4, 5 or more", three capabilities and
five permissions.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import numpy as np

from toolwise.audit.features import BUCKETS, FACTS
from toolwise.errors import AnnotatorError
from toolwise.protocols import Floats
from toolwise.records import Capability, Permission

FORMAT: Final = "1"
THRESHOLDS: Final = 4
"""The first outputs: level 2 or more, ..., level 5."""
FLAGS: Final = (*Capability, *Permission)
"""The outputs after them."""
OUTPUTS: Final = THRESHOLDS + len(FLAGS)
VECTOR_SCALE: Final = 8.0
"""What unit vectors are multiplied by, so that they weigh as much as the facts."""
ENCODERS: Final = ("static", "minilm")
"""The encoders there are packaged weights for; ``static`` is the default."""
PACKAGED: Final = Path(__file__).parent.parent / "weights" / "heads"
"""The folder of the heads that come with the package, one ``ENCODER.safetensors`` each."""


def facts_hash() -> str:
    """A hash of the names of the facts and of the number of buckets: other features need other weights."""
    return hashlib.sha256("\n".join([*FACTS, str(BUCKETS)]).encode("ascii")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class HeadWeights:
    """Everything a head computes with; D dimensions, F facts, H hidden units, K outputs."""

    hidden: Floats
    """(E, D + F, H) with ``hidden_bias`` (E, H): the vector times :data:`VECTOR_SCALE`, then the facts."""
    hidden_bias: Floats
    output: Floats
    """(E, H, K) with ``output_bias`` (E, K)."""
    output_bias: Floats
    grams: np.ndarray[Any, np.dtype[np.int8]]
    """(BUCKETS, K) times ``gram_scale`` (K,): the linear layer over n-grams."""
    gram_scale: Floats
    slope: Floats
    """(K,): the calibrated logit is slope x logit + offset (Platt, 1999)."""
    offset: Floats
    cuts: Floats
    """(4,): the expected levels from which on a tool is of level 2, 3, 4, 5."""
    flag_cuts: Floats
    """(8,): the probabilities from which on a flag is set."""
    improbable: Floats
    """(4,): level 2, 3, 4 or 5 and above is denied where its probability is below this."""
    fingerprint: str = ""
    """Of the encoder whose vectors it reads; empty: any."""

    def tensors(self) -> dict[str, np.ndarray[Any, Any]]:
        """The arrays by name as they are stored: layers in float16, n-grams in int8, the rest in float32."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        named.pop("fingerprint")
        return {name: np.ascontiguousarray(value, _kind(name)) for name, value in named.items()}

    def metadata(self) -> dict[str, str]:
        """What :func:`load` checks."""
        return {"format": FORMAT, "facts": facts_hash(), "fingerprint": self.fingerprint}


def _kind(name: str) -> type[np.generic]:
    if name == "grams":
        return np.int8
    return np.float16 if name in ("hidden", "output") else np.float32


def load(path: Path) -> HeadWeights:
    """The weights in a file.  Raises AnnotatorError: missing, damaged or made for other features."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as opened:
            told = opened.metadata() or {}
            tensors = {name: opened.get_tensor(name) for name in sorted(opened.keys())}
    except (OSError, SafetensorError) as error:
        raise AnnotatorError(
            f"{path} cannot be read as weights of a head ({error}). Install toolwise again.", path=path
        ) from error
    _check(told, tensors, path)
    wide = {k: v if v.dtype == np.int8 else v.astype(np.float32) for k, v in tensors.items()}
    return HeadWeights(**wide, fingerprint=told["fingerprint"])


def _check(told: dict[str, str], tensors: dict[str, Any], path: Path) -> None:
    expected = {"format": FORMAT, "facts": facts_hash()}
    found = {key: told.get(key, "") for key in expected}
    names = {field.name for field in fields(HeadWeights)} - {"fingerprint"}
    if found != expected or "fingerprint" not in told or names != tensors.keys():
        raise AnnotatorError(
            f"{path} was made for other features ({found}, {len(tensors)} tensors); expected {expected} and "
            f"{', '.join(sorted(names))}. Train it again: python -m toolwise.learn.risk_head.",
            path=path,
            found=found,
            expected=expected,
        )
    if not _fit(tensors):
        shapes = {name: tensor.shape for name, tensor in sorted(tensors.items())}
        raise AnnotatorError(
            f"{path} holds tensors that do not fit together: {shapes}. Train it again: "
            "python -m toolwise.learn.risk_head.",
            path=path,
        )


def _fit(tensors: dict[str, Any]) -> bool:
    """Whether shapes agree with one another and every number is finite."""
    hidden = tensors["hidden"]
    if hidden.ndim != 3 or hidden.shape[1] <= len(FACTS) or tensors["grams"].dtype != np.int8:
        return False
    members, _, units = hidden.shape
    shapes = {
        "hidden_bias": (members, units),
        "output": (members, units, OUTPUTS),
        "output_bias": (members, OUTPUTS),
        "grams": (BUCKETS, OUTPUTS),
        "gram_scale": (OUTPUTS,),
        "slope": (OUTPUTS,),
        "offset": (OUTPUTS,),
        "cuts": (THRESHOLDS,),
        "flag_cuts": (len(FLAGS),),
        "improbable": (THRESHOLDS,),
    }
    return all(tensors[name].shape == shape for name, shape in shapes.items()) and all(
        np.isfinite(tensor).all() for tensor in tensors.values()
    )
