"""Words that ask for power."""

import pytest

from toolwise.evaluate.privilege import HIGH_PRIVILEGE, asks_for_privilege


@pytest.mark.parametrize(
    "text",
    [
        "Delete my draft",
        "please PAY the bill",
        "reset my password.",
        "book a doctor",
        "run it in bash",
        "wipe/restore",
    ],
)
def test_words_that_ask_for_power_are_found(text):
    """Whole words, in any case, next to any punctuation."""
    assert asks_for_privilege(text)


@pytest.mark.parametrize(
    "text", ["", "Show my calendar", "the payload is hidden", "tokenize", "cremove", "healthy?"]
)
def test_parts_of_words_do_not_count(text):
    """Only whole words do."""
    assert not asks_for_privilege(text)


def test_the_list_is_five_kinds_of_plain_lower_case_words():
    """Each word once, as it is compared."""
    assert list(HIGH_PRIVILEGE) == ["deleting", "paying", "credentials", "health", "shell"]
    words = [word for some in HIGH_PRIVILEGE.values() for word in some]
    assert len(words) == len(set(words))
    assert all(word.isalpha() and word == word.casefold() for word in words)
