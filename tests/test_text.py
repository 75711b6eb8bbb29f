"""Words out of identifiers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwise.text import count, readable, split_identifier


@pytest.mark.parametrize(
    ("identifier", "words"),
    [
        ("getHTTPUser_v2", ["get", "http", "user", "v", "2"]),
        ("create_pull-request", ["create", "pull", "request"]),
        ("fooBar", ["foo", "bar"]),
        ("HTTPServer", ["http", "server"]),
        ("sha256sum", ["sha", "256", "sum"]),
        ("ABC", ["abc"]),
        ("__init__", ["init"]),
        ("server/list.files", ["server", "list", "files"]),
        ("Пауза", ["пауза"]),
        ("größe2", ["größe", "2"]),
        ("", []),
        ("-_/ ", []),
        ("🙂", []),
    ],
)
def test_identifiers_split_at_case_digits_and_punctuation(identifier, words):
    """Every part is lower case and none is empty."""
    assert split_identifier(identifier) == words


def test_a_count_agrees_with_its_noun():
    """One is singular, all else plural, large numbers are grouped."""
    assert [count(n, "tool") for n in (0, 1, 2, 1200)] == ["0 tools", "1 tool", "2 tools", "1,200 tools"]
    assert [count(2, noun) for noun in ("query", "day", "changed definition")] == [
        "2 queries",
        "2 days",
        "2 changed definitions",
    ]


def test_readable_joins_the_words_with_blanks():
    """A name becomes a phrase."""
    assert readable("create_pull-request") == "create pull request"
    assert readable("") == ""


@given(st.text(alphabet=st.characters(codec="ascii")))
def test_splitting_loses_no_letter_or_digit(text):
    """Only punctuation and case go."""
    assert "".join(split_identifier(text)) == "".join(c for c in text.lower() if c.isalnum())


@given(st.text(max_size=30))
def test_parts_are_never_empty(text):
    """Whatever the text, no empty word comes out, and joining and splitting again changes nothing."""
    parts = split_identifier(text)
    assert all(parts)
    assert all("_" not in part and " " not in part for part in parts)
