"""Words out of identifiers and prose, for every room that reads names."""

from __future__ import annotations

import re
from collections.abc import Sequence

_BOUNDARY = re.compile(
    r"(?<=[a-z0-9])(?=[A-Z])"  # fooBar -> foo Bar
    r"|(?<=[A-Z])(?=[A-Z][a-z])"  # HTTPServer -> HTTP Server
    r"|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])"  # v2 -> v 2
)
_VOWELS = tuple("aeiou")
_MOST_COMPARED = 50_000
"""Names beyond which looking for the nearest takes too long."""
_WORD = re.compile(r"[^\W_]+")


def split_identifier(identifier: str) -> list[str]:
    """The lower-case words of an identifier: ``getHTTPUser_v2`` -> get, http, user, v, 2."""
    return [part.lower() for word in _WORD.findall(identifier) for part in _BOUNDARY.split(word)]


def count(number: int, noun: str) -> str:
    """So many of a thing: ``1 tool``, ``2 tools``, ``1,200 queries``."""
    if number == 1:
        return f"1 {noun}"
    plural = f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2:-1] not in _VOWELS else f"{noun}s"
    return f"{number:,} {plural}"


def nearest(name: str, names: Sequence[str]) -> str:
    """The end of a sentence that offers the names spelt most like ``name``; empty where none is."""
    from difflib import get_close_matches

    near = get_close_matches(name, names, n=3, cutoff=0.6) if len(names) <= _MOST_COMPARED else []
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def readable(identifier: str) -> str:
    """An identifier as words with blanks: ``create_pull-request`` -> ``create pull request``."""
    return " ".join(split_identifier(identifier))


def listed(names: Sequence[str]) -> str:
    """Names as in a sentence: ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
