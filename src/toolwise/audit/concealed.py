"""Text that the agent reads and a person who looks at the definition does not.

Comments and hidden elements vanish where a description is shown as a page,
encoded text says nothing to the eye, and what stands far below or far to the
right is out of sight.  Invisible characters are :mod:`toolwise.hygiene`'s
business.  Every search takes time linear in the length of the text.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error

from toolwise.hygiene import Span, instruction_spans

_WORDS = re.compile(r"[^\W\d_]{2,}")
_QUOTED = "`'\"“‘"
_CSS = re.compile(
    r"display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}hidden|opacity\s{0,3}:\s{0,3}0(?![.\d])"
    r"|font-size\s{0,3}:\s{0,3}0(?![.\d])|(?<![\w-])color\s{0,3}:\s{0,3}transparent",
    re.IGNORECASE,
)
_TAG_REACH = 300
_LINK_COMMENT = re.compile(r"^ {0,3}\[(?://|[\w ]{0,20})\]: {1,3}#{1,2} {0,3}[(\"'].*", re.MULTILINE)
_BLANKS = re.compile(r"\s{10,}")
_WIDE, _TALL = 80, 10
"""Blanks within a line, and empty lines, behind which text is out of sight."""
_ENCODED = re.compile(r"[A-Za-z0-9+/_-]{40,}={0,2}")
_DECODED = 20_000
_LEAST_WORDS = 4
_SPOKEN = re.compile(r"(?<!\S)[A-Za-z][a-z']*[.,:;!?]?(?!\S)")
_SHOWN = 200


def markup_spans(text: str) -> list[Span]:
    """Comments of three words or more, and elements that a style hides.

    What stands in quotes or backticks is quoted, as descriptions of HTML tools do.
    """
    return sorted([*_comments(text), *_styled(text), *(m.span() for m in _LINK_COMMENT.finditer(text))])


def _comments(text: str) -> list[Span]:
    spans: list[Span] = []
    start = text.find("<!--")
    while start >= 0:
        end = text.find("-->", start + 4)
        stop = len(text) if end < 0 else end + 3
        inner = text[start + 4 : stop]
        quoted = start > 0 and text[start - 1] in _QUOTED
        if not quoted and not inner.lstrip().startswith(("wp:", "/wp:")) and len(_WORDS.findall(inner)) >= 3:
            spans.append((start, stop))
        start = text.find("<!--", stop)
    return spans


def _styled(text: str) -> list[Span]:
    spans: list[Span] = []
    for match in _CSS.finditer(text):
        before = text[max(match.start() - _TAG_REACH, 0) : match.start()]
        opened = before.rfind("<")
        inside = opened > before.rfind(">") and "style" in before[opened:].lower()
        if inside and not (opened and before[opened - 1] in _QUOTED):
            start = match.start() - len(before) + opened
            spans.append((start, min(start + _SHOWN, len(text))))
    return spans


def distant_spans(text: str) -> list[Span]:
    """Text behind 80 blanks of a line or 10 empty lines, where nobody scrolls."""
    spans: list[Span] = []
    for blanks in _BLANKS.finditer(text):
        start, run = blanks.end(), blanks[0]
        widest = max(map(len, run.split("\n")))
        if start < len(text) and blanks.start() > 0 and (widest >= _WIDE or run.count("\n") > _TALL):
            line = text.find("\n", start)
            spans.append((start, len(text) if line < 0 else line))
    return spans


def encoded_spans(text: str) -> list[Span]:
    """Base64 or hexadecimal of a sentence of four different words or more that gives no orders."""
    return [span for span, sentence in _encoded(text) if not instruction_spans(sentence)]


def encoded_orders(text: str) -> list[Span]:
    """Base64 or hexadecimal of a sentence that gives the agent orders."""
    return [span for span, sentence in _encoded(text) if instruction_spans(sentence)]


def _encoded(text: str) -> list[tuple[Span, str]]:
    blobs = ((match.span(), decoded(match[0])) for match in _ENCODED.finditer(text))
    return [(span, sentence) for span, sentence in blobs if sentence]


def decoded(blob: str) -> str:
    """The sentence that a blob encodes; "" where it encodes none."""
    blob = blob.rstrip("=")[:_DECODED]
    found = _sentence(_hexadecimal(blob))
    return found or _sentence(_base64(blob.replace("-", "+").replace("_", "/")))


def _hexadecimal(blob: str) -> bytes:
    try:
        return bytes.fromhex(blob)
    except ValueError:
        return b""


def _base64(blob: str) -> bytes:
    whole = blob[: len(blob) - len(blob) % 4] if len(blob) % 4 == 1 else blob + "=" * (-len(blob) % 4)
    try:
        return b64decode(whole, validate=True)
    except (Error, ValueError):
        return b""


def _sentence(raw: bytes) -> str:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    plain = all(char.isprintable() or char in "\t\r\n" for char in text)
    return text if plain and len(set(_SPOKEN.findall(text.lower()))) >= _LEAST_WORDS else ""
