"""What all adapters do with the vectors a model gives them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from toolwise.errors import EncoderError
from toolwise.protocols import Floats


def unit_rows(vectors: NDArray[np.floating], model: str) -> Floats:
    """``vectors`` (N, D) as float32 rows of unit length; all-zero rows stay zero.

    Raises EncoderError where ``model`` gave a value that is not finite.
    """
    if not np.isfinite(vectors).all():
        row = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
        raise EncoderError(
            f"{model} gave a vector with infinite or undefined values (text {row} of its batch); "
            "expected finite numbers. Use another model or another precision of it.",
            model=model,
        )
    wide = vectors.astype(np.float64)  # the square of a large float32 or float16 overflows
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)  # (N, 1)
    rows: Floats = np.divide(wide, lengths, out=np.zeros_like(wide), where=lengths > 0).astype(np.float32)
    return rows
