"""Words out of identifiers and prose, for every room that reads names."""

from __future__ import annotations

import re

_BOUNDARY = re.compile(
    r"(?<=[a-z0-9])(?=[A-Z])"  # fooBar -> foo Bar
    r"|(?<=[A-Z])(?=[A-Z][a-z])"  # HTTPServer -> HTTP Server
    r"|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])"  # v2 -> v 2
)
_WORD = re.compile(r"[^\W_]+")


def split_identifier(identifier: str) -> list[str]:
    """The lower-case words of an identifier: ``getHTTPUser_v2`` -> get, http, user, v, 2."""
    return [part.lower() for word in _WORD.findall(identifier) for part in _BOUNDARY.split(word)]


def readable(identifier: str) -> str:
    """An identifier as words with blanks: ``create_pull-request`` -> ``create pull request``."""
    return " ".join(split_identifier(identifier))
