"""From the values of all sets to one set: named decoders.

A decoder takes the energy of a pool, the table of its sets, which of them the
rules admit ((S,), None = all) and a cost per tool, and names a row of the table.
The empty set competes like any other; where nothing is admitted it is the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

import numpy as np

from toolwise.protocols import Bools, Floats, Ints, SetEnergy
from toolwise.sets.kernel import Doubles, Subsets, completeness, softmax, values


class Decoder(Protocol):
    """Choose a set.  Laws: the row is admitted, or the empty set; ties go to the earlier row."""

    def __call__(self, energy: SetEnergy, table: Subsets, admitted: Bools | None, cost: float) -> int:
        """A row of ``table``."""


def most_probable(energy: SetEnergy, table: Subsets, admitted: Bools | None = None) -> int:
    """The row of greatest value: HYSET's variable-size set (eq. 14)."""
    found = values(energy, table)
    return int((found if admitted is None else np.where(admitted, found, -np.inf)).argmax())


def greedy_ranking(energy: SetEnergy, k: int) -> Ints:
    """A ranking (k,) of the pool: each place goes to whom the set so far gains most from (HYSET, 2.4).

    Sizes above M use the last matrix; ties go to the earlier candidate.
    """
    pool, last = len(energy.unary), len(energy.pairs) - 1
    scores = energy.unary.astype(np.float64)
    weights = np.exp(scores - scores.max(initial=-np.inf)) if pool else scores
    chosen = np.zeros(pool, dtype=bool)
    ranked: list[int] = []
    for size in range(1, min(k, pool) + 1):
        gain = energy.pairs[min(size, last)][ranked].sum(axis=0, dtype=np.float64)
        if energy.mean:
            total = (weights[ranked] @ scores[ranked] + weights * scores) if ranked else weights * scores
            mass = weights[ranked].sum() + weights
            gain += np.divide(total, mass, out=scores.copy(), where=mass > 0)
        else:
            gain += scores
        gain[chosen] = -np.inf
        best = int(np.argmax(gain))
        chosen[best] = True
        ranked.append(best)
    return np.array(ranked, dtype=np.int64)


def expected_complete(
    probabilities: Doubles | Floats,
    table: Subsets,
    cost: float,
    admitted: Bools | None = None,
    penalty: Doubles | None = None,
) -> int:
    """The row E of greatest P(G subset of E) - penalty(E) - cost * |E| (penalty (S,), 0 unless given)."""
    worth = completeness(probabilities, table)
    return best_worth(worth if penalty is None else worth - penalty, table, cost, admitted)


def best_worth(worth: Doubles, table: Subsets, cost: float, admitted: Bools | None = None) -> int:
    """The admitted row of greatest ``worth - cost * size``; ties: smaller, then earlier candidates.

    Sizes are compared by the cost at which the larger stops paying,
    ``(worth_t - worth_s) / (t - s)``: a rising cost never gives a larger set,
    rounding included.
    """
    rows = best_rows(worth, table, admitted)
    for size in sorted(rows):
        here = worth[rows[size]]
        if all((worth[rows[t]] - here) / (t - size) <= cost for t in rows if t > size):
            return rows[size]
    return 0


def best_rows(worth: Doubles, table: Subsets, admitted: Bools | None = None) -> dict[int, int]:
    """Size -> the admitted row of that size and greatest worth; sizes without one are left out."""
    able = worth if admitted is None else np.where(admitted, worth, -np.inf)
    found = {}
    for size in range(table.m + 1):
        block = able[table.block(size)]
        if len(block) and block[best := int(block.argmax())] > -np.inf:
            found[size] = table.starts[size] + best
    return found


def best_of_size(
    probabilities: Doubles | Floats, table: Subsets, size: int, admitted: Bools | None = None
) -> int:
    """The admitted set of ``size`` tools of greatest P(G subset of E); a smaller one where there is none."""
    rows = best_rows(completeness(probabilities, table), table, admitted)
    return rows[max(able)] if (able := [s for s in rows if s <= size]) else 0


def _most_probable(energy: SetEnergy, table: Subsets, admitted: Bools | None, cost: float) -> int:
    return most_probable(energy, table, admitted)


def _expected_complete(energy: SetEnergy, table: Subsets, admitted: Bools | None, cost: float) -> int:
    return expected_complete(softmax(values(energy, table)), table, cost, admitted)


def _greedy(energy: SetEnergy, table: Subsets, admitted: Bools | None, cost: float) -> int:
    """The best admitted beginning of the greedy ranking, by value."""
    found = values(energy, table)
    ranked = [int(i) for i in greedy_ranking(energy, table.m)]
    rows = [table.row(tuple(ranked[:size])) for size in range(len(ranked) + 1)]
    able = [row for row in rows if admitted is None or admitted[row]]
    return max(able, key=lambda row: found[row], default=0)


def _coverage(energy: SetEnergy, table: Subsets, admitted: Bools | None, cost: float) -> int:
    return best_of_size(softmax(values(energy, table)), table, table.m, admitted)


DECODERS: Mapping[str, Decoder] = MappingProxyType(
    {
        "coverage": _coverage,
        "expected-complete": _expected_complete,
        "greedy": _greedy,
        "most-probable": _most_probable,
    }
)
"""``coverage`` fills the answer up to m tools; ``greedy`` and ``most-probable`` know no cost."""
