"""Spans of a definition made fit to print."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwise.audit.printable import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("  plain text ", "plain text"),
        ("a\u200bb\x1b[0m", "a\\u200bb\\x1b[0m"),
        ("a\nb", "a\\nb"),
        ("   ", "   "),
        ("\U0001f468\u200d\U0001f469", "\U0001f468\\u200d\U0001f469"),
    ],
)
def test_what_is_hidden_is_escaped(text, shown):
    """And what is not printable; blanks around a text go."""
    assert printable(text) == shown


def test_line_breaks_may_stay():
    """For text that is shown on lines."""
    assert printable("a\n\tb\r", lines=True) == "a\n\tb"
    assert printable("a\rb", lines=True) == "a\\rb"


@given(st.text(max_size=300), st.integers(1, 250))
def test_any_text_can_be_printed(text, most):
    """No longer than asked for."""
    assert len(printable(text, most)) <= most
    assert printable(text, most).isprintable()
