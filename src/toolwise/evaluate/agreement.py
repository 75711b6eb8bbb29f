"""How far several raters agree on an ordinal scale, such as the levels 1 to 5.

Votes are a matrix (N items, R raters) of whole numbers, NaN where a rater said
nothing.  A number that the votes do not determine is None: where there is
nothing to compare, and where everybody always says the same, so that agreement
by chance is perfect already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from toolwise.errors import EvaluationError

_Matrix: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How two raters agree on the items that both rated."""

    n: int
    """Items that both rated."""
    alpha: float | None
    """Krippendorff's alpha, ordinal."""
    exact: float | None
    """Share of items with the same level."""
    within_one: float | None
    """Share of items with levels at most one apart."""
    kappa: float | None
    """Cohen's kappa with quadratic weights."""


def krippendorff_alpha(votes: ArrayLike) -> float | None:
    """Alpha for ordinal data, 1 for full agreement and 0 for what chance would give.

    ``1 - D_o / D_e`` over the coincidences of values within items (Krippendorff,
    *Content Analysis*, 2nd edition, chapter 11): an item with m votes counts
    each ordered pair of them 1 / (m - 1) times, so items with one vote say
    nothing.  The distance of two levels is the squared number of votes between
    them, the two ends counted half.  Raises EvaluationError for votes that are
    no matrix.
    """
    matrix = _matrix(votes)
    matrix = matrix[np.count_nonzero(~np.isnan(matrix), axis=1) >= 2]
    values = np.unique(matrix[~np.isnan(matrix)])
    if len(values) < 2:
        return None
    counts = (matrix[:, :, None] == values).sum(axis=1).astype(np.float64)
    weights = 1 / (counts.sum(axis=1) - 1)
    coincidences = (counts * weights[:, None]).T @ counts
    coincidences[np.diag_indices(len(values))] -= weights @ counts
    totals = coincidences.sum(axis=1)
    distances = _ordinal(totals)
    # 1 - D_o / D_e with D_o = sum(o * d) / n and D_e = sum(n_c * n_k * d) / (n * (n - 1)).
    expected = float(totals @ distances @ totals)
    observed = float((coincidences * distances).sum())
    return 1 - (float(totals.sum()) - 1) * observed / expected


def _ordinal(totals: _Matrix) -> _Matrix:
    """Squared ordinal distances between the values that occur ``totals`` times."""
    middles = np.cumsum(totals) - totals / 2
    distances: _Matrix = (middles[:, None] - middles[None, :]) ** 2
    return distances


def share_within(first: ArrayLike, second: ArrayLike, most: int = 0) -> float | None:
    """The share of items rated by both on which two raters are at most ``most`` apart."""
    a, b = _both(first, second)
    return float(np.mean(np.abs(a - b) <= most)) if len(a) else None


def quadratic_kappa(first: ArrayLike, second: ArrayLike) -> float | None:
    """Cohen's kappa with squared differences as weights (Cohen, 1968).

    One minus the mean squared difference over the one of independent raters
    with the same habits, ``var(a) + var(b) + (mean(a) - mean(b))^2``.
    """
    a, b = _both(first, second)
    if not len(a):
        return None
    chance = float(a.var() + b.var() + (a.mean() - b.mean()) ** 2)
    return 1 - float(np.mean((a - b) ** 2)) / chance if chance > 0 else None


def agreement(first: ArrayLike, second: ArrayLike) -> Agreement:
    """Every number of :class:`Agreement` for two raters' votes (N,), NaN where one said nothing.

    Raises EvaluationError for votes of unequal length.
    """
    a, b = _both(first, second)
    return Agreement(
        n=len(a),
        alpha=krippendorff_alpha(np.stack([a, b], axis=1)),
        exact=share_within(a, b),
        within_one=share_within(a, b, 1),
        kappa=quadratic_kappa(a, b),
    )


def as_votes(
    levels: Mapping[str, Mapping[str, int]], items: Sequence[str] | None = None
) -> tuple[tuple[str, ...], _Matrix]:
    """Raters, and their votes (N, R), out of ``levels[rater][item]``.

    Rows are ``items``, by default all that somebody rated, in order; columns are raters in order of name.
    """
    raters = tuple(sorted(levels))
    rows = sorted(set().union(*levels.values())) if items is None else list(items)
    matrix = np.full((len(rows), len(raters)), np.nan)
    for column, rater in enumerate(raters):
        said = levels[rater]
        matrix[:, column] = [said.get(item, np.nan) for item in rows]
    return raters, matrix


def _matrix(votes: ArrayLike) -> _Matrix:
    matrix = np.asarray(votes, dtype=np.float64)
    if matrix.ndim != 2:
        raise EvaluationError(
            f"votes have the shape {matrix.shape}; expected (items, raters), NaN where a rater said nothing.",
            shape=matrix.shape,
        )
    return matrix


def _both(first: ArrayLike, second: ArrayLike) -> tuple[_Matrix, _Matrix]:
    """The votes of two raters on the items that both rated."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise EvaluationError(
            f"two raters have votes of the shapes {a.shape} and {b.shape}; expected one per item from each, "
            "NaN where one said nothing.",
            shapes=(a.shape, b.shape),
        )
    both = ~(np.isnan(a) | np.isnan(b))
    return a[both], b[both]
