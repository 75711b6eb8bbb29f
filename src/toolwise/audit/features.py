"""What the learned head reads of a tool beside its vector: hashed n-grams and named facts.

Hash: the CRC-32 (ISO 3309, ``zlib.crc32``) of the UTF-8 bytes of a word or of
a piece of one; word pairs and fields are mixed in by the 32-bit finaliser of
MurmurHash3 (Appleby).  Both are fixed, so weights mean the same everywhere.

MCP hints are no features: they are claims of the server, and a claim may
raise a level but never lower one (:mod:`toolwise.audit.resolve`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log1p
from typing import Final, TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from toolwise.audit import lexicon as lex
from toolwise.audit.reading import VAGUE, Reading, read
from toolwise.audit.rules import DESTROYS, judge, privacy
from toolwise.audit.verbs import NOUNS_TOO, PASSING, TAKING_OUT, Action
from toolwise.protocols import Floats
from toolwise.records import Capability, Permission, Tool, Verdict, as_mapping
from toolwise.text import split_identifier

BUCKETS: Final = 1 << 15
"""Hash buckets; a power of two."""

_NAME, _DESCRIPTION, _PARAMETERS, _SERVER = 200, 600, 40, 80
"""What is read: characters of name and description, parameter names, and characters of the server."""
_WORD = re.compile(r"[^\W_]+")
_LONGEST = 24
"""Characters of a word that are read."""
_PIECES = (3, 4, 5)
"""Lengths of the pieces of a word, its ends marked."""

Hashes: TypeAlias = NDArray[np.uint32]
Rows: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Grams:
    """The n-grams of one kind of N tools, T in all, tool after tool."""

    kind: str
    """``name``, ``name pair``, ``name piece``, ``description``, ..."""
    buckets: Rows
    """(T,): the hash bucket of each."""
    starts: Rows
    """(N + 1,): where each tool's begin."""
    spelt: tuple[str, ...] = ()
    """(T,): the words themselves, of kinds that are words."""

    @property
    def counts(self) -> Rows:
        """(N,): how many each tool has."""
        return np.diff(self.starts)

    @property
    def values(self) -> Floats:
        """(T,): 1 / sqrt(T of the tool), so that long texts weigh no more than short ones."""
        counts = self.counts
        return np.repeat(1 / np.sqrt(np.maximum(counts, 1)), counts).astype(np.float32)


def _text_words(tool: Tool) -> list[str]:
    return [word.lower() for word in _WORD.findall(tool.text.description[:_DESCRIPTION])]


def _parameter_words(tool: Tool) -> list[str]:
    return [word for name in tool.text.parameters[:_PARAMETERS] for word in split_identifier(name[:_NAME])]


_WORDS: Final[Mapping[str, Callable[[Tool], list[str]]]] = {
    "name": lambda tool: split_identifier(tool.name[:_NAME]),
    "description": _text_words,
    "parameter": _parameter_words,
    "server": lambda tool: split_identifier(tool.server[:_SERVER]),
}
_PAIRED: Final = ("name", "description")
_CUT: Final = ("name",)


def ngrams(tools: Sequence[Tool]) -> list[Grams]:
    """The hashed n-grams of each tool by kind: words, pairs of neighbours, and pieces of words."""
    found: list[Grams] = []
    for kind, words_of in _WORDS.items():
        lists = [[word[:_LONGEST] for word in words_of(tool)] for tool in tools]
        starts = np.cumsum([0, *map(len, lists)], dtype=np.int64)
        spelt = tuple(word for words in lists for word in words)
        place = {word: i for i, word in enumerate(dict.fromkeys(spelt))}
        rows = np.array([place[word] for word in spelt], np.int64)
        single = np.array([_hash(word) for word in place], np.uint32)[rows]
        found.append(Grams(kind, _buckets(single, kind), starts, spelt))
        if kind in _PAIRED:
            found.append(_pairs(single, starts, f"{kind} pair"))
        if kind in _CUT:
            found.append(_split(list(place), rows, starts, f"{kind} piece"))
    return found


def _hash(text: str) -> int:
    return crc32(text.encode("utf-8", "replace"))


def _mix(value: Hashes) -> Hashes:
    """MurmurHash3's 32-bit finaliser: spreads a value over all bits."""
    value = (value ^ (value >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    value = (value ^ (value >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return value ^ (value >> np.uint32(16))


def _buckets(hashes: Hashes, kind: str) -> Rows:
    return (_mix(hashes ^ np.uint32(_hash(kind))) & np.uint32(BUCKETS - 1)).astype(np.int64)


def _pairs(single: Hashes, starts: Rows, kind: str) -> Grams:
    """Each word with the one before it, the first with nothing: as many as words."""
    before = np.zeros_like(single)
    before[1:] = single[:-1]
    before[starts[:-1][starts[:-1] < len(single)]] = 0
    return Grams(kind, _buckets(_mix(before) + single, kind), starts)


def _pieces(word: str) -> Hashes:
    marked = f"<{word}>"
    cuts = (marked[i : i + n] for n in _PIECES for i in range(len(marked) - n + 1))
    return np.array([_hash(cut) for cut in cuts], np.uint32)


def _split(words: Sequence[str], rows: Rows, starts: Rows, kind: str) -> Grams:
    pieces = [_pieces(word) for word in words]
    every = np.concatenate([np.zeros(0, np.uint32), *(pieces[row] for row in rows.tolist())])
    ends = np.cumsum([0, *(len(pieces[row]) for row in rows.tolist())], dtype=np.int64)
    return Grams(kind, _buckets(every, kind), ends[starts])


_SETS: Final = {
    name: getattr(lex, name)
    for name in (
        *("SMALL", "CACHE", "MASS", "SECURITY", "FINANCE", "STAKES", "WHOLES", "PEOPLE", "CIRCLES", "LIVE"),
        *("CONTROLS", "SHELLS", "CODE", "SENSITIVE", "STORES", "SECRETS", "MAIL", "UNTRUSTED", "OUTWARD"),
        *("SHAPE", "CHECKS", "COINS", "PLACING", "FORMAL"),
    )
}


def facts(tool: Tool) -> list[float]:
    """The named facts of one tool, in the order of :data:`FACTS`."""
    return [value for _, value in _facts(tool)]


def _facts(tool: Tool) -> Iterator[tuple[str, float]]:
    reading, verdict = read(tool), judge(tool)
    yield from _action(reading)
    yield from _ruled(verdict)
    yield from _nouns(reading)
    yield from _shape(tool, reading)


def _action(reading: Reading) -> Iterator[tuple[str, float]]:
    for action in Action:
        yield f"action {action.name.lower()}", float(reading.action is action)
    yield "action unknown", float(reading.action is None)
    yield "verb from name", float(reading.because.startswith("name"))
    yield "verb passing", float(reading.verb in PASSING)
    yield "verb takes out", float(reading.verb in TAKING_OUT)
    yield "verb vague", float(reading.verb in VAGUE)
    yield "verb or noun", float(reading.verb in NOUNS_TOO)


def _ruled(verdict: Verdict) -> Iterator[tuple[str, float]]:
    for level in range(1, 6):
        yield f"rules level {level}", float(verdict.level == level)
    for permission in Permission:
        yield f"rules {permission}", float(permission in verdict.permissions)
    for capability in Capability:
        yield f"rules {capability}", float(capability in verdict.capabilities)
    yield "rules destroys", float(any(item.claim == DESTROYS for item in verdict.evidence))
    yield "rules claims", float(sum(item.claim.startswith("level") for item in verdict.evidence)) / 2


def _nouns(reading: Reading) -> Iterator[tuple[str, float]]:
    own = max(-4.0, min(4.0, privacy(reading)))
    yield "own data", own / 2
    yield "somebody's data", float(own > 1.25)
    name, lead = set(reading.name), set(reading.lead)
    for kind, members in _SETS.items():
        yield f"{kind.lower()} in name", float(not members.isdisjoint(name))
        yield f"{kind.lower()} in description", float(not members.isdisjoint(lead))
    yield "final", float(any(phrase in reading.text for phrase in lex.FINAL))


_TAKEN: Final = ("id", "url", "path", "queri", "sql", "code", "command", "key", "token", "password", "email")


def _shape(tool: Tool, reading: Reading) -> Iterator[tuple[str, float]]:
    schema = as_mapping(tool.parameters)
    required = schema.get("required")
    yield "parameters", log1p(len(tool.text.parameters)) / 2
    yield "no parameters", float(not tool.text.parameters)
    yield "required", log1p(len(required) if isinstance(required, list) else 0) / 2
    yield "description length", log1p(min(len(tool.text.description), 2_000)) / 8
    yield "no description", float(not tool.text.description)
    for word in _TAKEN:
        yield f"takes {word}", float(bool(reading.takes(word)))
    yield "takes a key", float(any(not lex.KEY_PARAMETERS.isdisjoint(w) for _, w in reading.parameters))


FACTS: Final = tuple(name for name, _ in _facts(Tool(id="", name="")))
"""The names of the facts."""


def table(tools: Sequence[Tool]) -> Floats:
    """The facts of N tools -> (N, F)."""
    return np.array([facts(tool) for tool in tools], np.float32).reshape(len(tools), len(FACTS))
