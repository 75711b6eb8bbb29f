"""Descriptions written to win a search rather than to say what a tool does.

The limits are set on the training servers of mcp_tasks and those of
toucan_mcp that are not reserved: in 11,747 honest tools no word makes up more
than 22 % of a text of 25 words, and no run of a word is longer than two.
"""

from __future__ import annotations

import re
from collections import Counter

from toolwise.audit.verbs import VERBS, stem
from toolwise.concealed import Span

_WORD = re.compile(r"[^\W_]+")
_LEAST_LETTERS = 3
_SAME = re.compile(r"\b([^\W\d_]{3,30})(?:[ ,;|/]{1,3}\1\b){3,}", re.IGNORECASE)
"""A word four times in a row."""
_REPEATS, _SHARE, _LEAST_WORDS = 10, 0.3, 25
"""A word that stands so often, and makes up so much of a text of so many words."""
_LIST = re.compile(
    r"(?<![^\W_])(?:[^\W\d_][^\W_]{0,30}(?: [^\W_]{1,30})?(?:\s{0,2}[,;|/]\s{0,2})){9,}[^\W\d_][^\W_]{0,30}"
)
_VERBS_OF_LIST = 10
"""Different verbs in one list of words: honest lists name things, not what could be done to them."""
_FIELD = 20_000
_TOOLS = r"(?:other|similar|competing|alternative) (?:\w{1,20} )?(?:tools?|functions?|servers?|options?)\b"
_PRAISE = re.compile(
    r"\b(?:prefer|choose|select|use|pick|call) this (?:tool|function|server|one)?[^.!?\n]{0,30}"
    rf"\b(?:over|instead of|rather than) (?:any |all |every |the )*{_TOOLS}"
    rf"|\b(?:better|faster|safer|superior|more \w{{1,20}}) (?:than|to) (?:any |all |every |the )+{_TOOLS}"
    rf"|\b(?:all|any|every) {_TOOLS}[^.!?\n]{{0,20}}\b(?:is|are) "
    r"(?:deprecated|unsafe|broken|unreliable|outdated|insecure|inferior|worse)\b"
    r"|\bthe only (?:reliable|trusted|safe|official|working) (?:tool|function|server)\b",
    re.IGNORECASE,
)


def stuffed_spans(text: str) -> list[Span]:
    """Words said over and over, and lists of verbs that a search might be made with."""
    text = text[:_FIELD]
    words = [(match[0].casefold(), match.span()) for match in _WORD.finditer(text)]
    return sorted({*_runs(text), *_frequent(words), *_lists(text)})


def _runs(text: str) -> list[Span]:
    """Runs of one word, with nothing but blanks and commas between."""
    return [match.span() for match in _SAME.finditer(text)]


def _frequent(words: list[tuple[str, Span]]) -> list[Span]:
    """The stretch from the first to the last place of a word that makes up too much of the text."""
    if len(words) < _LEAST_WORDS:
        return []
    counts = Counter(word for word, _ in words if len(word) >= _LEAST_LETTERS)
    often = [w for w, n in counts.items() if n >= _REPEATS and n >= _SHARE * len(words)]
    places = {word: [span for other, span in words if other == word] for word in often}
    return [(spans[0][0], spans[-1][1]) for spans in places.values()]


def _lists(text: str) -> list[Span]:
    spans: list[Span] = []
    for match in _LIST.finditer(text):
        stems = {stem(word.casefold()) for word in _WORD.findall(match[0])}
        if len(stems & VERBS.keys()) >= _VERBS_OF_LIST:
            spans.append(match.span())
    return spans


def praise_spans(text: str) -> list[Span]:
    """Claims that the agent should take this tool rather than any other."""
    return [match.span() for match in _PRAISE.finditer(text[:_FIELD])]
