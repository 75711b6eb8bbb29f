"""Which candidates a set search looks at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toolwise.protocols import SetEnergy
from toolwise.records import Candidate, Query
from toolwise.sets.pool import FORBIDDEN, SIZE, compose

QUERY = Query("q", "delete the file")


class Ranked:
    """Keeps the order it is given."""

    def narrow(self, query: Query, candidates: Sequence[Candidate], k: int) -> Sequence[Candidate]:
        """The first ``k``."""
        return candidates[:k]

    def energy(self, query: Query, pool: Sequence[Candidate]) -> SetEnergy:
        """Not asked for here."""
        raise NotImplementedError


def candidates(*rows: int) -> list[Candidate]:
    """Candidates in this order, scores falling."""
    return [Candidate(row, f"t{row:02d}", 1 - place / 100) for place, row in enumerate(rows)]


def far_apart(size: int) -> np.ndarray:
    """Vectors that have nothing in common."""
    return np.eye(size, dtype=np.float32)


def test_harmless_tools_alone_make_the_pool_of_the_best():
    """Nothing risky, nothing forbidden: the best sixteen."""
    found = candidates(*range(30))
    pool = compose(Ranked(), QUERY, found, found, np.ones(30, int), far_apart(30), np.ones(30, bool))
    assert [c.row for c in pool] == list(range(SIZE))


def test_the_harmless_twin_of_a_risky_tool_joins_from_further_down():
    """Tool 25 reads what tool 0 deletes: it takes the place of the sixteenth."""
    found = candidates(*range(30))
    levels = np.ones(30, int)
    levels[0] = 4
    vectors = far_apart(30)
    vectors[25] = vectors[0] * 0.8 + vectors[25] * 0.6
    pool = compose(Ranked(), QUERY, found, found, levels, vectors, np.ones(30, bool))
    assert [c.row for c in pool] == [*range(SIZE - 1), 25]


def test_a_twin_of_the_same_level_helps_nobody():
    """It is as near, and as risky."""
    found = candidates(*range(30))
    levels = np.ones(30, int)
    levels[[0, 25]] = 4
    vectors = far_apart(30)
    vectors[25] = vectors[0] * 0.8 + vectors[25] * 0.6
    pool = compose(Ranked(), QUERY, found, found, levels, vectors, np.ones(30, bool))
    assert 25 not in [c.row for c in pool]


def test_forbidden_tools_of_high_rank_are_in_the_pool_to_be_named():
    """The two best of them, behind those that may be chosen."""
    found = candidates(*range(30))
    admitted = np.ones(30, bool)
    admitted[[1, 3, 5, 20]] = False
    eligible = [c for c in found if admitted[c.row]]
    pool = compose(Ranked(), QUERY, eligible, found, np.ones(30, int), far_apart(30), admitted)
    assert [c.row for c in pool[-FORBIDDEN:]] == [1, 3]
    assert len(pool) == SIZE
    assert not {5, 20} & {c.row for c in pool}


def test_a_small_catalogue_is_its_own_pool():
    """Fewer tools than places."""
    found = candidates(2, 0, 1)
    pool = compose(Ranked(), QUERY, found, found, np.array([5, 1, 1]), far_apart(3), np.ones(3, bool))
    assert [c.row for c in pool] == [2, 0, 1]
