"""Which candidates a set search looks at: the best, a harmless twin of each risky one, and what is forbidden.

The pool is small, so that all of its sets can be compared; a tool that is not
in it cannot be chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from toolwise.protocols import Bools, Floats, Ints, SetEnergy, SetScorer
from toolwise.records import UNKNOWN_LEVEL, Candidate, Query

SIZE = 16
"""Candidates of a pool: 6,885 sets of up to five."""
DEPTH = 40
"""Candidates of the retriever among which they are found."""
TWINS = 2
"""Places for tools that may do with less risk what a risky one of the best does."""
FORBIDDEN = 2
"""Places for tools that the policy forbids: what they would have brought can then be said."""
AMONG = 8
"""Ranks from which forbidden tools are taken."""
ALIKE = 0.5
"""Cosine from which a tool may stand in for another."""


def compose(
    scorer: SetScorer,
    query: Query,
    eligible: Sequence[Candidate],
    found: Sequence[Candidate],
    levels: Ints,
    vectors: Floats,
    admitted: Bools,
) -> list[Candidate]:
    """At most ``SIZE`` candidates, the best of ``eligible`` first, then twins, then forbidden ones.

    ``eligible`` are the candidates that the policy admits, ``found`` all of them, both best first;
    ``levels`` (N,), unit ``vectors`` (N, D) and ``admitted`` (N,) are of the whole index.
    """
    forbidden = [c for c in found[:AMONG] if not admitted[c.row]][:FORBIDDEN]
    room = SIZE - len(forbidden)
    best = scorer.narrow(query, eligible[:DEPTH], room)
    taken = {c.row for c in best}
    rest = [c for c in eligible[:DEPTH] if c.row not in taken]
    twins = _twins(best[: room - TWINS], rest, levels, vectors)
    return [*best[: room - len(twins)], *twins, *forbidden]


def energy_of(
    scorer: SetScorer, query: Query, pool: Sequence[Candidate], unbound: Sequence[Candidate]
) -> SetEnergy:
    """The values of the pool's sets; whether any tool serves is judged by the pool of no policy.

    ``unbound`` is that pool, empty where it is ``pool`` itself.
    """
    energy = scorer.energy(query, pool)
    return replace(energy, unserved=scorer.energy(query, unbound).unserved) if unbound else energy


def _twins(
    best: Sequence[Candidate], rest: Sequence[Candidate], levels: Ints, vectors: Floats
) -> list[Candidate]:
    """For risky tools of ``best``, best first: the nearest tool of ``rest`` that is of a lower level."""
    chosen: dict[int, Candidate] = {}
    if not rest:
        return []
    rows = np.array([c.row for c in rest], dtype=np.int64)
    others = np.asarray(vectors[rows])
    for risky in best:
        if len(chosen) == TWINS or levels[risky.row] < UNKNOWN_LEVEL:
            continue
        near = others @ np.asarray(vectors[risky.row])
        near[levels[rows] >= levels[risky.row]] = -1
        place = int(near.argmax())
        if near[place] >= ALIKE:
            chosen[place] = rest[place]
    return [chosen[place] for place in sorted(chosen)]
