"""The weights of the default set scorer: four small perceptrons in one safetensors file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from toolwise.errors import EncoderError
from toolwise.protocols import Floats
from toolwise.sets.features import PAIR, UNARY, WHOLE
from toolwise.sets.gate import Gate
from toolwise.whole_file import replace_file

LARGEST = 5
"""M: the largest set that is valued."""
FILE = "sets.safetensors"
PACKAGED = Path(__file__).parent.parent / "weights" / "sets" / FILE
"""The weights that come with the package."""
FEATURES = 2
"""Version of the features: weights of another version mean nothing."""
LEADERS = 8
"""Best first scores that the size bias sees."""
SIGNS = tuple(
    WHOLE.index(name) for name in ("clauses", "length", "best_cosine", "best_lexical", "best_fused")
)
"""Features of a request that tell other catalogues and other kinds of requests apart."""
_EXTRA = {"base": (2,), "sizes": (LARGEST + 1,), "usual": (2, len(SIGNS))}
_CLIP = np.float32(5.0)
_GATE = "gate."
"""What the names of a gate's tensors begin with."""


@dataclass(frozen=True, slots=True)
class Perceptron:
    """Two layers over standardised features: I inputs, H hidden, O outputs."""

    mean: Floats
    """(I,)"""
    spread: Floats
    """(I,): standard deviations."""
    hidden: Floats
    """(I, H)"""
    hidden_bias: Floats
    """(H,)"""
    out: Floats
    """(H, O)"""
    out_bias: Floats
    """(O,)"""

    def __call__(self, rows: Floats) -> Floats:
        """(R, I) -> (R, O); features beyond five deviations count as five, unknown ones (NaN) as the mean."""
        x = np.clip((rows - self.mean) / self.spread, -_CLIP, _CLIP)
        np.copyto(x, 0, where=np.isnan(x))
        found: Floats = np.maximum(x @ self.hidden + self.hidden_bias, 0) @ self.out + self.out_bias
        return found


@dataclass(frozen=True, slots=True)
class Weights:
    """All that training chooses."""

    first: Perceptron
    """Features of a candidate -> its first score, beside its share of the best retrieval score."""
    unary: Perceptron
    """Features and first score -> its value in a set, beside the first score."""
    pair: Perceptron
    """Features of a pair -> its value in a set of 2 to M."""
    whole: Perceptron
    """Features of the request -> the bias of each size."""
    base: Floats
    """(2,): what the share of the best score counts in the first score, and that in the value."""
    sizes: Floats
    """(M + 1,): biases that do not depend on the request."""
    usual: Floats
    """(2, R): mean and standard deviation, over the requests of the training, of the ``SIGNS``."""
    gate: Gate | None = None
    """Whether any tool serves; None: the values of the sets alone say."""


WIDTHS: Mapping[str, tuple[int, int]] = {
    "first": (len(UNARY), 1),
    "unary": (len(UNARY) + 2, 1),
    "pair": (len(PAIR) + 4, LARGEST - 1),
    "whole": (len(WHOLE) + LEADERS + 1, LARGEST + 1),
}
"""Inputs and outputs of each perceptron."""


def plain() -> Weights:
    """Weights that know nothing: the ranking of the retriever, no size better than another."""
    made = {name: _zero(*width) for name, width in WIDTHS.items()}
    usual = np.array([[0.0], [1e6]], np.float32) * np.ones((1, len(SIGNS)), np.float32)
    sizes = np.zeros(LARGEST + 1, np.float32)
    return Weights(**made, base=np.ones(2, np.float32), sizes=sizes, usual=usual, gate=None)


def _zero(inputs: int, outputs: int) -> Perceptron:
    def none(*shape: int) -> Floats:
        return np.zeros(shape, dtype=np.float32)

    return Perceptron(
        none(inputs), none(inputs) + 1, none(inputs, 1), none(1), none(1, outputs), none(outputs)
    )


def to_tensors(weights: Weights) -> dict[str, Floats]:
    """Name -> tensor, ``first.hidden`` and so on."""
    found = {
        f"{name}.{field.name}": np.ascontiguousarray(
            getattr(getattr(weights, name), field.name), dtype=np.float32
        )
        for name in WIDTHS
        for field in fields(Perceptron)
    }
    found |= {name: getattr(weights, name) for name in _EXTRA}
    if weights.gate is not None:
        found |= {f"{_GATE}{name}": tensor for name, tensor in weights.gate.tensors().items()}
    return found


def save(weights: Weights, path: Path, notes: Mapping[str, str]) -> None:
    """Write ``path``, replacing it atomically; ``notes`` go into its metadata."""
    from safetensors.numpy import save as to_bytes

    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, to_bytes(to_tensors(weights), metadata={**notes, "features": str(FEATURES)}))


def load(path: Path) -> Weights:
    """Read a weights file.  Raises EncoderError for one that is missing, damaged or of other features."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), framework="numpy") as file:
            version = (file.metadata() or {}).get("features")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (no mapping)
        parts = {name.removeprefix(_GATE): tensors.pop(name) for name in [*tensors] if name.startswith(_GATE)}
        gate = Gate.of(parts) if parts else None
    except (OSError, SafetensorError, KeyError, ValueError, AttributeError) as error:
        raise EncoderError(
            f"{path} cannot be read: {error}. Expected weights of a set scorer; make them by "
            "`toolwise train sets`, or delete the file for the packaged ones.",
            path=path,
        ) from error
    if version != str(FEATURES) or not _fit(tensors):
        raise EncoderError(
            f"{path} holds weights for version {version} of the features; expected version {FEATURES}, "
            f"with {WIDTHS['first'][0]}, {WIDTHS['pair'][0]} and {WIDTHS['whole'][0]} inputs. "
            "Make them anew by `toolwise train sets`, or delete the file for the packaged ones.",
            path=path,
        )
    made = {
        name: Perceptron(**{field.name: tensors[f"{name}.{field.name}"] for field in fields(Perceptron)})
        for name in WIDTHS
    }
    base, sizes, usual = (tensors[name] for name in ("base", "sizes", "usual"))
    return Weights(**made, base=base, sizes=sizes, usual=usual, gate=gate)


def _fit(tensors: Mapping[str, Floats]) -> bool:
    wanted = set(to_tensors(plain()))
    if set(tensors) != wanted or any(tensors[name].shape != shape for name, shape in _EXTRA.items()):
        return False
    for name, (inputs, outputs) in WIDTHS.items():
        wide = tensors[f"{name}.hidden_bias"].shape
        shapes = [tensors[f"{name}.{field.name}"].shape for field in fields(Perceptron)]
        if len(wide) != 1 or shapes != [
            (inputs,),
            (inputs,),
            (inputs, *wide),
            wide,
            (*wide, outputs),
            (outputs,),
        ]:
            return False
    return all(np.isfinite(tensor).all() for tensor in tensors.values())
