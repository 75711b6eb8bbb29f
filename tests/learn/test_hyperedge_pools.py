"""Candidate pools by count, source and size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwise.learn.hyperedge_pools import Counts, Example, Pools, nearest

TOOLS = 6_000


def table() -> np.ndarray:
    """Unit rows: tools 10 i to 10 i + 9 point almost the same way, every ten another way."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(TOOLS // 10, 64))
    rows = np.repeat(centres, 10, axis=0) + 0.01 * rng.normal(size=(TOOLS, 64))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def batch() -> list[Example]:
    """64 requests with disjoint gold sets of three tools."""
    return [Example(i, (30 * i, 30 * i + 10, 30 * i + 20), 0) for i in range(64)]


def pools(pool: int = 64, library: int = TOOLS) -> Pools:
    """Pools over one library, neighbours looked up."""
    found = Pools([np.arange(library)], 5, pool, neighbours=9)
    found.refresh(table()[:library], [e for e in batch() if max(e.gold) < library])
    return found


def test_63_negatives_are_31_uniform_19_of_the_batch_and_13_hard_ones():
    """Half, three tenths and a fifth of 63 by largest remainders."""
    assert Counts.of(64) == Counts(31, 19, 13)


@given(st.integers(1, 200))
def test_the_counts_make_up_the_pool(pool: int):
    """Together with gold they are as many as asked for, each within one of its share."""
    counts = Counts.of(pool)
    given_ = (counts.uniform, counts.batch, counts.hard)
    assert sum(given_) == pool - 1
    assert all(abs(n - share * (pool - 1)) < 1 for n, share in zip(given_, (0.5, 0.3, 0.2), strict=True))


def test_a_pool_holds_the_published_proportions():
    """19 gold sets of others, 13 that keep a gold tool or swap all for near ones, 31 others, gold first."""
    examples = batch()
    sets = pools().sets(examples[5], examples, np.random.default_rng(0))
    others = {e.gold for e in examples if e is not examples[5]}
    near = {row // 10 for row in examples[5].gold}
    hard = [s for s in sets[1:] if {row // 10 for row in s} == near]
    assert sets[0] == examples[5].gold
    assert len(sets) == len(set(sets)) == 64
    assert sum(s in others for s in sets) == 19
    assert len(hard) == 13
    assert {len(set(s) & set(examples[5].gold)) for s in hard} == {1, 2}
    assert all(len(set(s)) == 3 and list(s) == sorted(s) for s in sets)


def test_uniform_sets_stand_in_where_a_source_runs_dry():
    """Alone in its batch, a request still gets 63 negatives."""
    example = batch()[0]
    sets = pools().sets(example, [example], np.random.default_rng(0))
    assert len(set(sets)) == 64


def test_a_small_library_gives_a_short_pool_padded_with_empty_sets():
    """Four tools make four sets of one; the other sixty rows are empty."""
    example = Example(0, (2,), 0)
    drawn = pools(library=4).draw([example], np.random.default_rng(0))
    assert drawn.shape == (1, 64, 5)
    assert drawn[0, 0].tolist() == [2, -1, -1, -1, -1]
    assert sorted(drawn[0, :4, 0].tolist()) == [0, 1, 2, 3]
    assert (drawn[0, 4:] == -1).all()


def test_gold_sets_of_other_libraries_are_no_negatives():
    """A set of tools that the library lacks would be an easy one."""
    libraries = [np.arange(100), np.arange(100, 200)]
    found = Pools(libraries, 5, 64)
    examples = [Example(i, (i, i + 50), 0) for i in range(20)]
    examples += [Example(20 + i, (100 + i, 150 + i), 1) for i in range(20)]
    found.refresh(table()[:200], examples)
    for members in found.sets(examples[0], examples, np.random.default_rng(0)):
        assert max(members) < 100


def test_tools_left_out_of_a_library_are_in_no_negative():
    """The strict protocol: a held-out tool is neither drawn nor swapped in."""
    kept = np.array([row for row in range(200) if row % 10 != 7])
    found = Pools([kept], 5, 64)
    examples = [Example(i, (10 * i, 10 * i + 5), 0) for i in range(20)]
    found.refresh(table()[:200], examples)
    drawn = found.draw(examples, np.random.default_rng(0))
    assert not ((drawn >= 0) & (drawn % 10 == 7)).any()


def test_the_same_generator_gives_the_same_pools():
    """Draws come from the generator alone."""
    first, second = (pools().draw(batch()[:3], np.random.default_rng(4)) for _ in range(2))
    assert (first == second).all()


@pytest.mark.parametrize("count", [1, 9])
def test_neighbours_are_the_nearest_without_the_tool_itself(count: int):
    """Tools of the same ten are nearest."""
    near = nearest(table()[:500], np.array([30, 41]), np.arange(500), count)
    assert [row // 10 for row in near[30]] == [3] * count
    assert 30 not in near[30]
    assert [row // 10 for row in near[41]] == [4] * count
