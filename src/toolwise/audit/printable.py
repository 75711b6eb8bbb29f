"""Spans of a definition made fit to print."""

from __future__ import annotations

from toolwise.hygiene import hidden_spans


def printable(text: str, most: int = 200, *, lines: bool = False) -> str:
    """At most ``most`` characters, everything hidden or unprintable escaped; ``lines`` leaves line breaks."""
    seen = (text.strip() or text)[:most]
    hidden = {i for start, end in hidden_spans(seen) for i in range(start, end)}
    parts = (
        char.encode("unicode_escape").decode("ascii")
        if i in hidden or not (char.isprintable() or (lines and char in "\n\t"))
        else char
        for i, char in enumerate(seen)
    )
    return "".join(parts)[:most]
