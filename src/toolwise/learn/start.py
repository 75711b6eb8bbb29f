"""The table before any training: what the teacher thinks of each token, in fewer dimensions.

A token's vector is the mean of its hidden states over the permitted texts.
A token seen rarely leans on its state when encoded alone, which a ridge
regression maps to where states in context lie.  The principal axes, part
whitened, make the D dimensions: without whitening a few large axes drown the
rest, which costs about three points of NDCG@5 before training.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from toolwise.learn.teacher import Taught
from toolwise.protocols import Floats

DIM = 256
PRIOR = 1.0
"""Sightings that the mapped state alone counts for."""
WHITENING = 0.7
"""Exponent of the axes' standard deviation that is divided out: 0 plain principal axes, 1 white."""
_SEEN = 20
_RIDGE = 0.1


def _mapped(alone: Any, context: Any, seen: Any) -> Any:
    """States alone -> states in context, by ridge regression on tokens seen often (all (V, H))."""
    known = seen >= min(_SEEN, float(seen.max()))
    trust = np.sqrt(np.minimum(seen[known], 500))[:, None]
    centre, target = alone[known].mean(0), context[known].mean(0)
    x, y = (alone[known] - centre) * trust, (context[known] - target) * trust
    gram = x.T @ x
    width = len(gram)
    ridge = (_RIDGE * np.trace(gram) / width + 1e-9) * np.eye(width)
    return (alone - centre) @ np.linalg.solve(gram + ridge, x.T @ y) + target


def starting_table(taught: Taught, alone: Floats, shares: Floats, weights: Floats, dim: int = DIM) -> Floats:
    """(V, dim) token vectors of mean square length 1.

    ``alone`` (V, H) are the tokens' states alone, ``shares`` (V,) how common
    each token is, ``weights`` (V,) how much it counts.  Row 0, the unknown
    token, is zero.
    """
    seen = taught.seen[:, None].astype(np.float64)
    prior = _mapped(alone.astype(np.float64), taught.states / np.maximum(seen, 1), taught.seen)
    vectors = (taught.states + PRIOR * prior) / (seen + PRIOR)
    common = shares / shares.sum()
    vectors = vectors - common @ vectors
    use = (weights * np.sqrt(common + 1e-6))[:, None]
    variance, axes = np.linalg.eigh((vectors * use).T @ (vectors * use))
    order = np.argsort(-variance, kind="stable")[:dim]
    shrink = (np.maximum(variance[order], 1e-12) / variance[order[0]]) ** (-WHITENING / 2)
    table = vectors @ (axes[:, order] * shrink)
    table[0] = 0
    return np.asarray(table / np.sqrt((table[1:] ** 2).sum(1).mean()), np.float32)
