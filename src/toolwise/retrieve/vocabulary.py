"""Index terms: what a lexical retriever counts.

Identifiers are split, Latin words stemmed in English and Cyrillic ones in
Russian (Snowball), runs of Chinese, Japanese, Korean and Thai script become
character bigrams, so that these languages are searchable without a model.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import Stemmer

from toolwise.records import Tool
from toolwise.text import split_identifier

_UNSPACED = "\u0e00-\u0eff\u1100-\u11ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_PIECE = re.compile(rf"[{_UNSPACED}]+|[^\W{_UNSPACED}]+")
_UNSPACED_CHARACTER = re.compile(rf"[{_UNSPACED}]")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_LONGEST = 40
_DESCRIPTION_TERMS, _DETAIL_TERMS = 40, 120

STOP_WORDS = frozenset(
    "a about all also am an and any are as at be been but by can could did do does for from had has have he "
    "her him his how i if in into is it its just let like me my need now of on or our out please she should "
    "so some than that the their them then there these they this to up us want was we were what when where "
    "which who will with would you your".split()
)
"""English function words, which say nothing about a tool."""


@lru_cache(maxsize=2)
def _stemmer(language: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(language, 0)


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    return str(_stemmer("russian" if _CYRILLIC.search(word) else "english").stemWord(word))


def _bigrams(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)]


@lru_cache(maxsize=100_000)
def _word_terms(word: str) -> tuple[str, ...]:
    parts = split_identifier(word)
    return tuple(_stem(part) for part in parts if part not in STOP_WORDS and len(part) <= _LONGEST)


def terms(text: str) -> list[str]:
    """The index terms of a text, in order, repeats kept."""
    found: list[str] = []
    for piece in _PIECE.findall(unicodedata.normalize("NFKC", text)):
        if _UNSPACED_CHARACTER.match(piece):
            found += _bigrams(piece)
        else:
            found += _word_terms(piece)
    return found


_WORD = re.compile(r"\w+")


@lru_cache(maxsize=100_000)
def _terms_of_word(word: str) -> frozenset[str]:
    return frozenset(terms(word))


def words(text: str) -> dict[str, frozenset[str]]:
    """The words of a text that say anything, in lower case and in order, with the terms of each."""
    every = dict.fromkeys(word.lower() for word in _WORD.findall(text))
    return {word: found for word in every if (found := _terms_of_word(word))}


def tool_terms(tool: Tool) -> list[str]:
    """The terms of a tool: its name twice, then title, server, description, parameter names and details.

    The front of a description says what a tool does; what comes after so many
    terms only makes the tool look long.
    """
    name = terms(tool.name)
    return [
        *name,
        *name,
        *(terms(tool.title) if tool.title != tool.name else ()),
        *terms(tool.server),
        *terms(tool.text.description)[:_DESCRIPTION_TERMS],
        *terms(" ".join(tool.text.parameters)),
        *terms(tool.text.details)[:_DETAIL_TERMS],
    ]
