"""BM25 by hand and by another implementation."""

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import audited, tool, write

from toolwise.records import Query
from toolwise.retrieve import bm25
from toolwise.retrieve.bm25 import K1, LEAST_TOOLS, B, Bm25Retriever
from toolwise.retrieve.vocabulary import terms, tool_terms
from toolwise.store import Index


def retriever(*tools) -> Bm25Retriever:
    """Over tools in order of id."""
    return Bm25Retriever(bm25.build(tools), [t.id for t in tools])


def plainly(tools, text) -> list[float]:
    """Lucene's BM25 in a few lines, rarity measured among at least a hundred tools."""
    documents = [Counter(tool_terms(t) or [""]) for t in tools]
    average = sum(d.total() for d in documents) / len(documents)
    idf = {}
    for word in set(terms(text)):
        holders = sum(word in d for d in documents)
        among = max(len(documents), LEAST_TOOLS)
        idf[word] = math.log(1 + (among - holders + 0.5) / (holders + 0.5))
    scores = []
    for document in documents:
        norm = K1 * (1 - B + B * document.total() / average)
        scores.append(sum(weight * document[word] / (document[word] + norm) for word, weight in idf.items()))
    return scores


TOOLS = (tool("alpha", "red blue"), tool("beta", "red red green"), tool("gamma", "yellow"))
# terms: alpha alpha red blue (4) | beta beta red red green (5) | gamma gamma yellow (3); average 4


def test_a_score_by_hand():
    """One word that two of three tools hold."""
    idf = math.log(1 + 98.5 / 2.5)  # as if two of a hundred
    first = idf * 1 / (1 + K1 * (1 - B + B * 4 / 4))
    second = idf * 2 / (2 + K1 * (1 - B + B * 5 / 4))
    assert retriever(*TOOLS).score("red") == pytest.approx([first, second, 0.0], rel=1e-5)


def test_two_words_by_hand():
    """Terms add up, and the rarer one weighs more."""
    red, green = math.log(1 + 98.5 / 2.5), math.log(1 + 99.5 / 1.5)
    norm = K1 * (1 - B + B * 5 / 4)
    second = red * 2 / (2 + norm) + green * 1 / (1 + norm)
    assert retriever(*TOOLS).score("green red")[1] == pytest.approx(second, rel=1e-5)


def test_unknown_words_change_nothing():
    """A word no tool holds tells no tool from another."""
    found = retriever(*TOOLS)
    assert found.score("red zebra").tolist() == found.score("red").tolist()


def test_saying_it_twice_changes_nothing():
    """Nor do function words."""
    found = retriever(*TOOLS)
    assert found.score("red red the red").tolist() == found.score("red").tolist()


@pytest.mark.parametrize("text", ["", "the of", "zebra", "🙂", "天气"])
def test_nothing_known_scores_nothing(text):
    """All zero, and no candidates."""
    found = retriever(*TOOLS)
    assert found.score(text).tolist() == [0, 0, 0]
    assert found.retrieve(Query("", text), 5).candidates == ()


def test_only_tools_that_share_a_term_are_returned():
    """A score of 0 is no match, however large k."""
    found = retriever(*TOOLS).retrieve(Query("q", "red"), 99)
    assert [c.id for c in found.candidates] == ["beta", "alpha"]
    assert found.query_id == "q"


def test_tools_without_words_are_no_obstacle():
    """A tool of which nothing is left to search by scores 0."""
    tools = (tool("🙂", ""), tool("a", "red"), tool("🙃", ""))
    assert retriever(*tools).score("red").tolist()[::2] == [0, 0]
    assert retriever(tool("🙂", "")).score("red").tolist() == [0]


def test_an_index_without_tools_can_be_searched(tmp_path):
    """No tools, no candidates, no warning; also after a round trip through the disk."""
    write(tmp_path, [], lexical=True)
    found = Bm25Retriever.open(Index.open(tmp_path))
    assert found.score("red").shape == (0,)
    assert found.retrieve(Query("", "red"), 5).candidates == ()


def test_chinese_is_found():
    """By pairs of characters."""
    found = retriever(tool("a", "发送邮件"), tool("b", "查询天气预报"))
    assert [c.id for c in found.retrieve(Query("", "今天天气怎么样"), 5).candidates] == ["b"]


def test_what_is_stored_scores_the_same(tmp_path):
    """From memory or from memory-mapped arrays."""
    write(tmp_path, [audited("alpha", "red blue"), audited("beta", "red red green")], lexical=True)
    stored = Bm25Retriever.open(Index.open(tmp_path))
    assert stored.score("red green").tolist() == retriever(*TOOLS[:2]).score("red green").tolist()


WORDS = st.lists(st.sampled_from("red green blue cyan pink grey black".split()), max_size=8).map(" ".join)


@settings(deadline=None, max_examples=40)
@given(st.lists(WORDS, min_size=1, max_size=6), WORDS)
def test_it_agrees_with_the_formula(descriptions, text):
    """For any small catalogue and request, to float32; no score is negative."""
    tools = [tool(f"t{i}", description) for i, description in enumerate(descriptions)]
    scores = retriever(*tools).score(text)
    assert scores == pytest.approx(plainly(tools, text), rel=1e-4, abs=1e-6)
    assert (scores >= 0).all()


def test_a_word_said_often_gains_little():
    """A tool that says nothing but the word asked for stays below its idf."""
    loud = tool("red", "red " * 500)
    scores = retriever(loud, *TOOLS).score("red")
    assert scores.max() <= math.log(1 + 97.5 / 3.5) + 1e-5


@pytest.mark.parametrize("size", [99, 100, 101, 130])
def test_rarity_is_counted_from_a_hundred_tools_on(size):
    """Below, a catalogue is scored as if it were larger; at the boundary nothing jumps."""
    tools = [tool(f"t{i:03}", "red" if i % 10 == 0 else "blue green") for i in range(size)]
    assert retriever(*tools).score("red blue") == pytest.approx(plainly(tools, "red blue"), rel=1e-4)
