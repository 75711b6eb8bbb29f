"""How well estimated levels and flags agree with labels, and the cuts that decide them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from toolwise.protocols import Bools, Floats, Ints

LEVELS = 5
_STEPS = 61


def kappa(truth: Ints, said: Ints) -> float:
    """Cohen's kappa with quadratic weights (Cohen, 1968) of levels 1 to 5 (N,); 1 where nothing varies."""
    seen = np.bincount((truth - 1) * LEVELS + said - 1, minlength=LEVELS**2).reshape(LEVELS, LEVELS)
    places = np.arange(LEVELS)
    weights = (places[:, None] - places[None]) ** 2
    chance = np.outer(seen.sum(1), seen.sum(0)) / max(len(truth), 1)
    expected = float((weights * chance).sum())
    return 1 - float((weights * seen).sum()) / expected if expected else 1.0


def auc(truth: Bools, scores: Floats) -> float:
    """The chance that a positive scores above a negative, ties half (Mann-Whitney); nan without both."""
    positive = int(truth.sum())
    negative = len(truth) - positive
    if not positive or not negative:
        return float("nan")
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return float((ranks[truth].sum() - positive * (positive + 1) / 2) / (positive * negative))


def f1(truth: Bools, said: Bools) -> float:
    """F1 of a yes-or-no label (N,); 0 where there is neither a label nor a hit."""
    return float(2 * (truth & said).sum() / max(int(truth.sum() + said.sum()), 1))


def spread_cuts(truth: Ints, expected: Floats) -> Floats:
    """The four cuts of the expected level (N,) that give levels the spread of ``truth`` -> (4,).

    A mean of probabilities shrinks towards the middle; these cuts stretch it
    again.  Quadratic kappa comes out as good as with cuts chosen for it alone,
    which rate too many tools 5.  The last cut is not stretched below the middle
    between its levels: policies keep level 5 out unless it is named, and of two
    tools stretched to it one is a plain deletion.
    """
    shares = np.cumsum(np.bincount(truth, minlength=LEVELS + 1)[1:LEVELS]) / len(truth)
    cuts = np.quantile(expected.astype(np.float64), shares)
    cuts[-1] = max(cuts[-1], LEVELS - 0.5)
    return cuts.astype(np.float32)


def decide(expected: Floats, cuts: Floats) -> Ints:
    """The levels of expected levels (N,) under cuts (4,) -> (N,)."""
    return 1 + np.searchsorted(cuts, expected, side="right").astype(np.int64)


def best_flag_cut(truth: Bools, chance: Floats) -> float:
    """The probability from which on a flag is set so that F1 is best; of equally good ones the middle."""
    tried = np.linspace(0.1, 0.7, _STEPS)
    return _middle(tried, [f1(truth, chance >= value) for value in tried])


def _middle(tried: Any, gains: Sequence[float]) -> float:
    """The middle of the values whose gain, smoothed over three neighbours, is the highest."""
    smooth = np.convolve(np.pad(np.asarray(gains), 1, mode="edge"), np.ones(3) / 3, mode="valid")
    best = np.flatnonzero(smooth >= smooth.max() - 1e-12)
    return float(tried[best[len(best) // 2]])


def platt(truth: Floats, logits: Floats, rounds: int = 30) -> tuple[float, float]:
    """Slope and offset that calibrate logits (N,) to shares of votes (N,): Platt (1999), Newton's steps."""
    slope, offset = 1.0, 0.0
    given = np.stack([logits.astype(np.float64), np.ones(len(logits))], axis=1)  # (N, 2)
    for _ in range(rounds):
        chance = 1 / (1 + np.exp(-np.clip(given @ [slope, offset], -30, 30)))
        gradient = given.T @ (chance - truth) + [1e-3 * (slope - 1), 0]
        curvature = (given * (chance * (1 - chance))[:, None]).T @ given + 1e-3 * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        slope, offset = slope - float(step[0]), offset - float(step[1])
        if np.abs(step).max() < 1e-8:
            break
    return slope, offset


def calibration(truth: Bools, chance: Floats, bins: int = 10) -> list[tuple[float, float, int]]:
    """By bins of equal width: mean probability, share of positives, and count; empty bins are left out."""
    place = np.minimum((chance * bins).astype(int), bins - 1)
    rows = [place == i for i in range(bins)]
    return [(float(chance[r].mean()), float(truth[r].mean()), int(r.sum())) for r in rows if r.any()]
