"""Exact McNemar for 0/1 metrics, and Holm's correction for many comparisons."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction


def mcnemar(first: Mapping[str, float], second: Mapping[str, float]) -> float:
    """Two-sided exact p that two runs of 0/1 values by query id differ (McNemar, 1947, by the binomial).

    Only queries where one run has 1 and the other 0 tell anything: with b of
    one kind and c of the other, p = 2 P(X <= min(b, c)), X ~ Binomial(b + c,
    1/2), at most 1.  Queries that one run lacks are left out.
    """
    both = first.keys() & second.keys()
    gained = sum(second[query] > first[query] for query in both)
    lost = sum(second[query] < first[query] for query in both)
    total, fewer = gained + lost, min(gained, lost)
    term, tail = 1, 1
    for i in range(fewer):
        term = term * (total - i) // (i + 1)
        tail += term
    return float(min(Fraction(1), Fraction(2 * tail, 2**total)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction (1979), in the order given.  NaN stays NaN and counts for nothing."""
    told = sorted((p, i) for i, p in enumerate(p_values) if not math.isnan(p))
    corrected = [math.nan] * len(p_values)
    highest = 0.0
    for rank, (p, i) in enumerate(told):
        highest = max(highest, min(1.0, p * (len(told) - rank)))
        corrected[i] = highest
    return corrected
