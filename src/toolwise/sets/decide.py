"""What the energy of a pool says before any policy: whether a tool is needed at all, and a ranking.

Whether a request needs any tool at all is asked first, and once: a set would
otherwise have to pay its cost against the chance that nothing is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from toolwise.protocols import SetEnergy
from toolwise.sets.decode import best_rows
from toolwise.sets.kernel import Doubles, Subsets, completeness, softmax, subsets, values

STRONG, WEAK = 3.0, 0.8
"""Confidence of the retriever from which a scorer without a gate shows something, and below which little
doubt is enough."""
CERTAIN, LIKELY, SPOKEN = 0.64, 0.34, 0.5
"""What a scorer that has a gate must say to show nothing of few tools, of many, and where words meet, at
least.  Chosen out of fold."""
DOUBTFUL, UNSURE = 0.4, 0.2
"""The same where hardly any tool comes near in words or meaning: confidence below ``BARE`` of few tools, and
below ``WEAK`` of many."""
BARE = 0.5
FEW, MANY = 40, 100
"""Tools up to which they are few, and from which they are many."""
MET = 2.5
"""Confidence from which the words of a request meet a tool's as they rarely do by chance."""
_USUAL, _LITTLE, NEVER = 0.58, 0.1, 2.0
"""What a scorer without a gate must say: usually, and below ``WEAK``; and what no probability reaches."""


def gate_at(confidence: float) -> float:
    """Probability that no tool serves from which none is shown, by the retriever's confidence.

    Both know different things: weak evidence and some doubt say together that nothing fits; where the words
    of a request meet a tool's as they rarely do, the scorer may be wrong.  Chosen out of fold on training
    requests; what it turns away is measured in ``results/sets/folds.md``.
    """
    if confidence >= STRONG:
        return NEVER
    return _LITTLE if confidence < WEAK else _USUAL


def bar(tools: int, confidence: float) -> float:
    """Probability that no tool serves from which a gate lets none of ``tools`` be shown.

    The fewer tools there are, the less it costs to show some that do not serve, and the more it annoys to be
    shown none.  Between few and many it falls with the logarithm of their number.  It is lower where hardly
    any tool comes near, and ``SPOKEN`` at least where words meet that rarely do: more confidence never lowers
    it.
    """
    few = np.clip(np.log(MANY / max(tools, 1)) / np.log(MANY / FEW), 0, 1)
    of_few = DOUBTFUL if confidence < BARE else CERTAIN
    of_many = UNSURE if confidence < WEAK else LIKELY
    found = float(few * of_few + (1 - few) * of_many)
    return max(found, SPOKEN) if confidence >= MET else found


def gate_of(energy: SetEnergy, confidence: float, tools: int) -> float:
    """Probability that no tool serves from which none of ``tools`` is shown, for the energy of one pool."""
    return gate_at(confidence) if energy.unserved is None else bar(tools, confidence)


@dataclass(frozen=True, eq=False, slots=True)
class Outlook:
    """What is believed about a pool; sets as rows of ``table``."""

    table: Subsets
    unserved: float
    """Probability that no tool serves."""
    likely: Doubles
    """(S,): probability of each set, given that some tool serves; 0 for the empty set."""
    complete: Doubles
    """(S,): probability that a set holds all that is needed, given that some tool serves."""


def outlook(energy: SetEnergy) -> Outlook:
    """Probabilities of every set of the pool."""
    table = subsets(len(energy.unary), len(energy.pairs) - 1)
    likely = softmax(values(energy, table))
    unserved = float(likely[0])
    likely[0] = 0.0
    likely /= max(float(likely.sum()), 1e-300)
    return Outlook(table, unserved, likely, completeness(likely, table))


def ranking(energy: SetEnergy, seen: Outlook | None = None) -> list[int]:
    """All candidates: the best set of the largest size, member by member, then the others one by one.

    Of the best set, the first k are what is left when the least missed go, one after the other.
    """
    seen = outlook(energy) if seen is None else seen
    rows = best_rows(seen.complete, seen.table)
    first = _ordered(seen, rows[max(rows)])
    others = np.lexsort((np.arange(seen.table.k), -energy.unary.astype(np.float64)))
    return [*first, *(int(i) for i in others if int(i) not in first)]


def _ordered(seen: Outlook, row: int) -> list[int]:
    """The members of a set, most needed first."""
    left = [int(i) for i in np.flatnonzero(seen.table.members[row])]
    dropped: list[int] = []
    while len(left) > 1:
        without = [seen.complete[seen.table.row(tuple(i for i in left if i != one))] for one in left]
        least = left[max(range(len(left)), key=lambda place: (without[place], place))]
        left.remove(least)
        dropped.append(least)
    return [*left, *reversed(dropped)]
