"""Descriptions that try to steer how another tool is used.

A note on the order of calls ("call list_projects first to get the id") is
honest, and so is "must be called before get_docs" among tools of one server.
What is not: to change what another tool is called with, which one tool alone
shows (:func:`redirections`), and to put oneself before a tool of another
server or speak ill of it, which only the whole catalogue shows
(:func:`interference`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from toolwise.concealed import Span

IDENTIFIER: Final = re.compile(
    r"(?<![\w/.-])(?:[A-Za-z][A-Za-z0-9]*(?:[_-]{1,2}[A-Za-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]*)+)(?![\w-])"
)
"""A name as tools have it: of several parts, so that it is no word of prose."""

_SENTENCE = re.compile(r"[^.!?\n。！？]*(?:[.!?](?!\s)[^.!?\n。！？]*)*[.!?。！？]?")
_REACH = 600
_FIELD = 20_000
_SENTENCES = 400

_MARK = "\x00"
_USING = r"(?:use|uses|using|call|calls|calling|invoke|invokes|invoking|run|running|execute|executing)"
_OTHER = rf"(?:the |any |our |mcp_)*[`'\"]?{_MARK}[`'\"]?(?: tool| function)?"
_DIVERTS = (
    r"(?:bcc|cc|forward|redirect|reroute|route|replace|(?:set|change|swap|substitute)\b[^.!?\n]{0,30}"
    r"\b(?:recipient|address|account|destination|url|to|amount)"
    r"|(?:send|copy|upload|post)\b[^.!?\n]{0,40}\b(?:copy|also|to (?:https?:|[\w.+-]{1,40}@)))\b"
)
_REDIRECTION = re.compile(
    rf"\b(?:when(?:ever)?|if|while|(?:every|each|any) ?time)\b[^.!?\n]{{0,30}}\b{_USING} {_OTHER}"
    rf"[^.!?\n]{{0,60}}?\b{_DIVERTS}"
    rf"|{_OTHER} (?:is|are|gets?) (?:used|called|invoked|run)[^.!?\n]{{0,60}}?\b{_DIVERTS}"
    rf"|{_OTHER} (?:must|should|has to|have to|needs to|shall)(?: now| always| only| first| also)* "
    r"(?:be )?(?:sen[dt]|forward(?:ed)?|redirect(?:ed)?|rout(?:ed?)|bcc(?:ed)?|cop(?:y|ied)|deliver(?:ed)?"
    r"|upload(?:ed)?|pay|paid|transfer(?:red)?)\b",
    re.IGNORECASE,
)
_OBLIGES = re.compile(
    r"\b(?:must|always|required|mandatory|need(?:s|ed)? to|have to|has to|make sure|call (?:me|this)"
    r"|use (?:me|this)|run (?:me|this)|invoke (?:me|this)|this (?:tool|function) first)\b",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    rf"\b(?:before|prior to|in place of|instead of|rather than) (?:{_USING} )?{_OTHER}", re.IGNORECASE
)
_DISMISSES = re.compile(
    rf"\b(?:do not|don'?t|don’t|never|must not|stop|avoid) (?:ever )?(?:{_USING}|trust|trusting) {_OTHER}"
    rf"(?![^.!?\n]{{0,20}}\b(?:unless|until|if|without|before|twice|again|directly)\b)"
    rf"|{_OTHER} (?:is|are) (?:now )?(?:deprecated|broken|unsafe|insecure|disabled|compromised|obsolete)\b",
    re.IGNORECASE,
)


def redirections(text: str, own: str) -> list[Span]:
    """Sentences that change what a tool other than ``own`` is called with, or whom it reaches."""
    return [
        span for span, sentence in _naming(text, lambda name: name != own) if _REDIRECTION.search(sentence)
    ]


def interference(text: str, foreign: Callable[[str], bool]) -> list[Span]:
    """Sentences that put this tool before one whose name is ``foreign``, or advise against that one."""
    return [
        span
        for span, sentence in _naming(text, foreign)
        if _DISMISSES.search(sentence)
        or _REDIRECTION.search(sentence)
        or (_BEFORE.search(sentence) and _OBLIGES.search(sentence))
    ]


def _naming(text: str, wanted: Callable[[str], bool]) -> Iterator[tuple[Span, str]]:
    """Sentences with a name that is wanted, each such name replaced by one mark."""
    text = text[:_FIELD]
    if not IDENTIFIER.search(text):
        return
    for sentence in _SENTENCE.finditer(text):
        found = [m for m in IDENTIFIER.finditer(sentence[0]) if wanted(m[0])]
        if found:
            start = min(max(found[0].start() - _REACH // 2, 0), len(sentence[0]))
            kept = sentence[0][start : start + _REACH]
            marked = IDENTIFIER.sub(lambda m: _MARK if wanted(m[0]) else m[0], kept)
            yield (sentence.start() + start, sentence.start() + start + len(kept)), marked
