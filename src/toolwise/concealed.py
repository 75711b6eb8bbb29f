"""Text that an agent reads and a person who looks at the definition does not.

Comments and hidden elements vanish where a description is shown as a page,
encoded text says nothing to the eye, and what stands far below or far to the
right is out of sight.  Invisible characters are :mod:`toolwise.hygiene`'s
business.  Every search takes time linear in the length of the text.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error

Span = tuple[int, int]
"""Start and end of a piece of text, in code points, as in slicing."""

_WORDS = re.compile(r"[^\W\d_]{2,}")
_QUOTED = "`'\"“‘"
_CSS = re.compile(
    r"display\s{0,3}:\s{0,3}none|visibility\s{0,3}:\s{0,3}hidden|opacity\s{0,3}:\s{0,3}0(?![.\d])"
    r"|font-size\s{0,3}:\s{0,3}0(?![.\d])|(?<![\w-])color\s{0,3}:\s{0,3}transparent",
    re.IGNORECASE,
)
_TAG_REACH = 300
_TAG_NAME = re.compile(r"<([a-z][\w-]{0,30})", re.IGNORECASE)
_EMPTY_ELEMENTS = frozenset({"area", "br", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"})
_LINK_COMMENT = re.compile(r"^ {0,3}\[(?://|[\w ]{0,20})\]: {1,3}#{1,2} {0,3}[(\"'].*", re.MULTILINE)
_BLANKS = re.compile(r"\s{10,}")
_WIDE, _TALL = 80, 10
"""Blanks within a line, and empty lines, behind which text is out of sight."""
_LONG = 40
"""Characters from which a word may hold an encoded sentence."""
_ENCODED = re.compile(rf"[A-Za-z0-9+/_-]{{{_LONG},}}={{0,2}}")
_DECODED = 20_000
_LEAST_WORDS = 4
_SPOKEN = re.compile(r"(?<!\S)[A-Za-z][a-z']*[.,:;!?]?(?!\S)")


def concealed_spans(text: str) -> list[Span]:
    """All that this module finds; spans may overlap."""
    return [*markup_spans(text), *distant_spans(text), *(span for span, _ in encoded(text))]


def markup_spans(text: str) -> list[Span]:
    """Comments of three words or more, and elements that a style hides, with what they hold.

    What stands in quotes or backticks is quoted, as descriptions of HTML tools do.
    """
    found: list[Span] = []
    if "<" in text:
        found += *_comments(text), *_styled(text)
    if "]: " in text:
        found += (match.span() for match in _LINK_COMMENT.finditer(text))
    return sorted(found)


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
    """Hidden elements; one that lies in another is not looked at again."""
    if "style" not in text.lower():
        return []
    spans: list[Span] = []
    reached = 0
    for match in _CSS.finditer(text):
        before = text[max(match.start() - _TAG_REACH, reached) : match.start()]
        opened = before.rfind("<")
        inside = opened > before.rfind(">") and "style" in before[opened:].lower()
        start = match.start() - len(before) + opened
        if inside and not (start and text[start - 1] in _QUOTED):
            reached = _element_end(text, start, match.end())
            spans.append((start, reached))
    return spans


def _element_end(text: str, start: int, position: int) -> int:
    """Where the element that opens at ``start`` ends; one that is never closed hides all that follows."""
    found = _TAG_NAME.match(text, start)
    name = found[1].lower() if found else ""
    depth = int(name not in _EMPTY_ELEMENTS)
    tags = re.compile(rf"<(/?){re.escape(name)}(?=[\s/>])", re.IGNORECASE)
    for tag in tags.finditer(text, position) if depth else ():
        depth += -1 if tag[1] else 1
        if not depth:
            position = tag.end()
            break
    close = -1 if depth else text.find(">", position)
    return len(text) if close < 0 else close + 1


def distant_spans(text: str) -> list[Span]:
    """Text that nobody scrolls to: a line behind 80 blanks, and all that is below 10 empty lines."""
    spans: list[Span] = []
    for blanks in _BLANKS.finditer(text):
        start, run = blanks.end(), blanks[0]
        if start == len(text) or blanks.start() == 0:
            continue
        if run.count("\n") > _TALL:
            return [*spans, (start, len(text))]
        if len(run) >= _WIDE and max(map(len, run.split("\n"))) >= _WIDE:
            line = text.find("\n", start)
            spans.append((start, len(text) if line < 0 else line))
    return spans


def encoded(text: str) -> list[tuple[Span, str]]:
    """Base64 or hexadecimal of a sentence of four different words or more, with that sentence."""
    if max(map(len, text.split()), default=0) < _LONG:
        return []
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
