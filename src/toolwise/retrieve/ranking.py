"""From scores to a shortlist, ties in order of id."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toolwise.protocols import Bools, Floats, Ints
from toolwise.records import Candidate, Query, Shortlist


def best_rows(scores: Floats, k: int, within: Bools | None = None) -> Ints:
    """Rows of the ``k`` greatest of ``scores`` (N,), best first, equal scores by row.

    ``within`` (N,) marks the rows that may be returned.  Rows stand in order of
    id, so ties break by id.
    """
    rows = np.arange(len(scores)) if within is None else np.flatnonzero(within)
    values = scores[rows]
    if k <= 0:
        return np.zeros(0, dtype=np.int64)
    if k < len(rows):
        kth = np.partition(values, len(rows) - k)[len(rows) - k]
        above = np.flatnonzero(values > kth)
        ties = np.flatnonzero(values == kth)[: k - len(above)]
        keep = np.sort(np.concatenate([above, ties]))
        rows, values = rows[keep], values[keep]
    return rows[np.argsort(-values, kind="stable")].astype(np.int64)


def greatest(scores: Floats, within: Bools | None = None) -> float:
    """The greatest of ``scores`` (N,) among the rows that may be returned; 0 where there are none."""
    values = scores if within is None else scores[within]
    return float(values.max()) if len(values) else 0.0


def shortlist(query: Query, ids: Sequence[str], scores: Floats, rows: Ints, confidence: float) -> Shortlist:
    """The candidates at ``rows`` (K,), with their ``scores`` (N,)."""
    picked = zip(rows.tolist(), scores[rows].tolist(), strict=True)
    return Shortlist(query.id, tuple(Candidate(row, ids[row], score) for row, score in picked), confidence)
