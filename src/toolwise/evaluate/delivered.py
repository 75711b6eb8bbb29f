"""Metrics of a delivered set: what the agent really gets to see.

Every one takes the set as delivered and, where it matters, a gold set that is
not empty.
"""

from __future__ import annotations

from collections.abc import Collection

from toolwise.evaluate.exposure import Levels, level_of


def precision(delivered: Collection[str], gold: Collection[str]) -> float:
    """Share of the delivered tools that are gold.  0 for an empty set."""
    return len(set(delivered).intersection(gold)) / len(set(delivered)) if delivered else 0.0


def f1(delivered: Collection[str], gold: Collection[str]) -> float:
    """Harmonic mean of precision and recall: 2 |S and G| / (|S| + |G|).  0 where both are empty."""
    size = len(set(delivered)) + len(set(gold))
    return 2 * len(set(delivered).intersection(gold)) / size if size else 0.0


def exact(delivered: Collection[str], gold: Collection[str]) -> float:
    """1 where the delivered set is the gold set, else 0."""
    return float(set(delivered) == set(gold))


def coverage(delivered: Collection[str], gold: Collection[str]) -> float:
    """1 where the whole gold set was delivered, else 0."""
    return float(set(gold).issubset(delivered))


def max_risk(delivered: Collection[str], levels: Levels) -> float:
    """The highest level delivered.  0 for an empty set."""
    return float(max((level_of(tool, levels) for tool in delivered), default=0))


def sum_risk(delivered: Collection[str], levels: Levels) -> float:
    """The sum of the levels delivered.  0 for an empty set."""
    return float(sum(level_of(tool, levels) for tool in delivered))
