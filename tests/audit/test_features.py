"""What the head reads: hashed n-grams that mean the same everywhere, and named facts."""

from __future__ import annotations

from zlib import crc32

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.test_rules import TOOLS
from tests.audit.tools import tool
from toolwise.audit.features import BUCKETS, FACTS, facts, ngrams, table


def _fact(some, name):
    return facts(some)[FACTS.index(name)]


def test_the_hash_is_fixed():
    """CRC-32 of the word, salted by its kind, through MurmurHash3's finaliser, lowest 15 bits."""
    value = crc32(b"delete") ^ crc32(b"name")
    value = ((value ^ value >> 16) * 0x85EBCA6B) & 0xFFFFFFFF
    value = ((value ^ value >> 13) * 0xC2B2AE35) & 0xFFFFFFFF
    grams = {some.kind: some for some in ngrams([tool("delete")])}
    assert grams["name"].buckets.tolist() == [(value ^ value >> 16) & (BUCKETS - 1)]


def test_each_kind_counts_what_it_names():
    """Two words of a name: two words, two pairs, and the pieces of 3 to 5 characters of <get> and <mail>."""
    grams = {some.kind: some for some in ngrams([tool("get_mail", "Read it now.", "user_id")])}
    assert {kind: len(some.buckets) for kind, some in grams.items()} == {
        "name": 2,
        "name pair": 2,
        "name piece": (3 + 2 + 1) + (4 + 3 + 2),
        "description": 3,
        "description pair": 3,
        "parameter": 2,
        "server": 1,
    }
    assert grams["description"].spelt == ("read", "it", "now")
    assert np.allclose(grams["description"].values, 3**-0.5)


def test_word_order_shows_in_pairs_alone():
    """A to B is not B to A."""
    one, two = (ngrams([tool(name)]) for name in ("copy_mail", "mail_copy"))
    for a, b in zip(one, two, strict=True):
        same = sorted(a.buckets.tolist()) == sorted(b.buckets.tolist())
        assert same != (a.kind == "name pair")


def test_a_word_means_another_thing_in_another_field():
    """Its bucket differs by the kind."""
    grams = {some.kind: some for some in ngrams([tool("mail", "mail", "mail")])}
    assert len({grams[kind].buckets[0] for kind in ("name", "description", "parameter")}) == 3


def test_facts_say_what_they_are_called():
    """By hand, for a deletion by id."""
    some = tool("delete_user", "Permanently delete a user.", "user_id")
    assert _fact(some, "action delete") == 1
    assert _fact(some, "action read") == 0
    assert _fact(some, "people in name") == 1
    assert _fact(some, "final") == 1
    assert _fact(some, "takes id") == 1
    assert _fact(some, "takes url") == 0
    assert _fact(some, "no parameters") == 0
    assert _fact(tool("x"), "no parameters") == 1


def test_hints_are_not_read():
    """A server cannot talk the head into a lower level by its own hints."""
    bare, hinted = (tool("delete_user", annotations=a) for a in (None, {"readOnlyHint": True}))
    assert facts(bare) == facts(hinted)


def test_nothing_gives_empty_arrays():
    """No tools, and a tool of no words."""
    assert table([]).shape == (0, len(FACTS))
    assert [some.starts.tolist() for some in ngrams([])] == [[0]] * 7
    assert [some.starts.tolist() for some in ngrams([tool("__")])][:6] == [[0, 0]] * 6


@given(st.lists(TOOLS, max_size=4))
def test_a_tool_is_read_alike_in_any_company(some):
    """Buckets of a tool among others are those of the tool alone, and all facts are finite numbers."""
    alone = [ngrams([one]) for one in some]
    for kind, grams in enumerate(ngrams(some)):
        for row in range(len(some)):
            part = grams.buckets[grams.starts[row] : grams.starts[row + 1]]
            assert part.tolist() == alone[row][kind].buckets.tolist()
    assert np.isfinite(table(some)).all()
