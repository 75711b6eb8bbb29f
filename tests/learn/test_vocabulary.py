"""The slim vocabulary."""

from toolwise.learn.vocabulary import MIN_SOURCES, MIN_TEXTS, kept_tokens, new_words, slim

VOCABULARY = {
    "[PAD]": 0,
    "[unused1]": 1,
    "[UNK]": 2,
    "!": 3,
    "a": 4,
    "日": 5,
    "the": 6,
    "##s": 7,
    "é": 8,
    "##я": 9,
    "42": 10,
    "##!": 11,
}


def test_only_ascii_letters_and_digits_are_kept():
    """Specials, unused slots, punctuation and other scripts go; the order stays."""
    assert kept_tokens(VOCABULARY) == ["a", "the", "##s", "42"]


def test_a_slim_tokenizer_has_the_unknown_token_first():
    """Rows are numbered from the unknown token on, added words last, and nothing is added around a text."""
    original = {"model": {"vocab": VOCABULARY}, "added_tokens": [1], "post_processor": {}, "padding": {}}
    found = slim(original, ["webhook"])
    assert found["model"]["vocab"] == {"[UNK]": 0, "a": 1, "the": 2, "##s": 3, "42": 4, "webhook": 5}
    assert found["post_processor"] is None
    assert found["added_tokens"] == []
    assert len(original["model"]["vocab"]) == len(VOCABULARY)


def test_new_words_come_from_several_sources():
    """A word of one server alone, or of few texts, or known already, does not enter."""
    everywhere = [(f"s{i}", ["webhook", "the", "webhook"]) for i in range(MIN_TEXTS)]
    one_server = [("s1", ["acmecorp"])] * (MIN_TEXTS * 3)
    few = [(f"s{i}", ["rarely"]) for i in range(min(MIN_SOURCES, MIN_TEXTS - 1))]
    assert new_words([*everywhere, *one_server, *few], {"the"}, 10) == ["webhook"]


def test_new_words_are_ordered_by_texts_then_name():
    """The most frequent come first, equal ones by name, up to the limit."""
    texts = [(f"s{i}", ["bbb", "aaa"]) for i in range(MIN_TEXTS)] + [("s0", ["ccc"])]
    texts += [(f"t{i}", ["ccc"]) for i in range(MIN_TEXTS)]
    assert new_words(texts, set(), 2) == ["ccc", "aaa"]
