"""The vocabulary of the static table: MiniLM's WordPiece, less what it cannot serve, plus words of our field.

Unused slots, special tokens, punctuation and scripts of which only single
characters are known go: they become unknown and count nothing.  Words that
many tools use but that WordPiece cuts in pieces come in.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

UNKNOWN = "[UNK]"
MIN_TEXTS = 6
"""Texts that must hold a word before it enters the vocabulary."""
MIN_SOURCES = 4
"""Servers or libraries these texts must come from."""


def _is_served(token: str) -> bool:
    return token.removeprefix("##").isascii() and token.removeprefix("##").isalnum()


def kept_tokens(vocabulary: dict[str, int]) -> list[str]:
    """The tokens of ASCII letters and digits in the vocabulary's order: no specials, no punctuation."""
    return [token for token in sorted(vocabulary, key=vocabulary.__getitem__) if _is_served(token)]


def new_words(texts: Iterable[tuple[str, Sequence[str]]], known: set[str], limit: int) -> list[str]:
    """The ``limit`` most frequent unknown words, by number of texts.

    ``texts`` are (source, words); a word must occur in several sources, so
    that names of one server or author stay out.
    """
    counts: Counter[str] = Counter()
    sources: dict[str, set[str]] = {}
    for source, words in texts:
        for word in set(words) - known:
            counts[word] += 1
            sources.setdefault(word, set()).add(source)
    fit = [(-n, word) for word, n in counts.items() if _fits(word, n, len(sources[word]))]
    return [word for _, word in sorted(fit)[:limit]]


def _fits(word: str, texts: int, sources: int) -> bool:
    plain = word.isascii() and word.isalpha() and 3 <= len(word) <= 20
    return plain and texts >= MIN_TEXTS and sources >= MIN_SOURCES


def slim(tokenizer: dict[str, Any], added: Sequence[str]) -> dict[str, Any]:
    """A ``tokenizer.json`` of the kept tokens and the ``added`` words; id 0 is the unknown token."""
    tokens = [UNKNOWN, *kept_tokens(tokenizer["model"]["vocab"]), *added]
    slimmed: dict[str, Any] = json.loads(json.dumps(tokenizer))
    slimmed["model"]["vocab"] = {token: row for row, token in enumerate(tokens)}
    slimmed["added_tokens"] = []
    return slimmed | {"truncation": None, "padding": None, "post_processor": None}
