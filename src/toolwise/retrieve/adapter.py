"""What past requests of a library teach of reading new ones: a linear map of their vectors.

``q' = unit(q + q P)`` is compared with the tools instead of ``q``.  Tools keep
their vectors, so nothing is indexed anew, and a tool added a moment ago is
found as any other.  P is fitted by :mod:`toolwise.learn.adapter`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from toolwise.protocols import Floats


@dataclass(frozen=True, eq=False, slots=True)
class Adapter:
    """A map of request vectors, and what words count beside them."""

    residual: Floats
    """P (D, D)."""
    lexical: float
    """What a BM25 score counts, squared, against its usual weight beside a cosine."""

    def __call__(self, vectors: Floats) -> Floats:
        """Unit vectors of requests (Q, D) -> unit vectors (Q, D); one of zeros stays."""
        moved = vectors + vectors @ self.residual
        lengths = np.linalg.norm(moved, axis=1, keepdims=True)
        found: Floats = np.divide(moved, lengths, out=np.zeros_like(moved), where=lengths > 0)
        return found
