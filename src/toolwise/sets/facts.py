"""What a set scorer needs to know of a tool, read once from its definition.

Words become 32-bit hashes of their stems, so that overlaps are array
operations; nothing depends on which other tools there are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from zlib import crc32

import numpy as np

from toolwise.audit.verbs import NOUNS_TOO, VERBS, Action, stem
from toolwise.protocols import Ints
from toolwise.records import Json, Tool, as_mapping
from toolwise.retrieve import terms
from toolwise.schema import walk
from toolwise.text import split_identifier

NO_ACTION = len(Action)
"""The action of a tool whose name has no known verb."""
DESCRIPTION_TERMS = 40
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+")
_ID_WORDS = frozenset("id ids key keys uuid guid sha slug uri handle ref number no token name".split())
_SURE_IDS = frozenset("id ids uuid guid sha slug".split())


FIELDS: Final = ("name", "nouns", "brand", "parameters", "gives", "words", "needs", "wants")
"""Kinds of words that are kept of a tool:

``name``: those of its name; ``nouns``: those that are not its verb; ``brand``: those of
the server's name that the tool's own lacks; ``parameters``: whole parameter names;
``gives``: the nouns and what it returns, where the source says so; ``words``: all that it
can be found by; ``needs``: nouns of required ids, ``order`` where ``order_id`` must be
given; ``wants``: the words of all parameters that must be given.
"""


@dataclass(frozen=True, slots=True)
class Facts:
    """One tool."""

    server: int
    """Hash of the server's name; 0 where the tool names none."""
    action: int
    """What it does, as :class:`toolwise.audit.verbs.Action`, or ``NO_ACTION``."""
    required: int
    """Parameters that must be given."""
    label: int
    """Hash of the name's words in their order."""
    mentions: frozenset[int]
    """Hashes of the identifiers that its texts speak of: ``use list_teams to find the id``."""
    hashes: Ints
    """The distinct hashes of stems of each of the ``FIELDS``, one field after the other."""
    counts: Ints
    """(F,): how many of each."""

    def field(self, name: str) -> frozenset[int]:
        """The hashes of one field."""
        place = FIELDS.index(name)
        start = int(self.counts[:place].sum())
        return frozenset(self.hashes[start : start + int(self.counts[place])].tolist())


@lru_cache(maxsize=100_000)
def word_hash(word: str) -> int:
    """The hash that stands for a stem; never 0."""
    return crc32(word.encode("utf-8", "replace")) or 1


def hashes(stems: Iterable[str]) -> Ints:
    """Sorted distinct hashes of stems."""
    return np.array(sorted({word_hash(one) for one in stems}), dtype=np.int64)


def action_of(words: list[str]) -> tuple[int, int]:
    """The action that a name's words speak of, and the position of its verb; (NO_ACTION, -1) for none.

    A word that is as often a noun counts at the front only.
    """
    for place, word in enumerate(words):
        one = stem(word)
        if one in VERBS and (place == 0 or one not in NOUNS_TOO):
            return int(VERBS[one]), place
    return NO_ACTION, -1


def _required(parameters: Json) -> list[str]:
    names = as_mapping(parameters).get("required")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _needs(required: list[str], nouns: list[str]) -> list[str]:
    """Stems of the nouns before an id mark: ``order`` of ``orderId``; of a bare ``id`` the name's nouns."""
    found: list[str] = []
    for name in required:
        words = split_identifier(name)
        if len(words) > 1 and words[-1] in _ID_WORDS:
            found += map(stem, words[:-1])
        elif len(words) == 1 and words[0] in _SURE_IDS:
            found += nouns
    return found


def facts_of(tool: Tool) -> Facts:
    """Read a tool.  Depends on that tool alone; never fails for its content."""
    words = split_identifier(tool.name)
    action, verb = action_of(words)
    nouns = [stem(word) for place, word in enumerate(words) if place != verb and not word.isdigit()]
    name = terms(tool.name)
    required = _required(tool.parameters)
    text = [
        *name,
        *terms(tool.title),
        *terms(tool.text.description)[:DESCRIPTION_TERMS],
        *terms(" ".join(tool.text.parameters)),
    ]
    fields = {
        "name": name,
        "nouns": nouns,
        "brand": set(terms(tool.server)) - set(name),
        "parameters": [" ".join(split_identifier(one)) for one in tool.text.parameters],
        "gives": [*nouns, *(stem(w) for node in walk(tool.returns) for w in split_identifier(node.name))],
        "words": text,
        "needs": _needs(required, nouns),
        "wants": [stem(word) for one in required for word in split_identifier(one)],
    }
    found = [hashes(fields[one]) for one in FIELDS]
    return Facts(
        server=word_hash(tool.server) if tool.server else 0,
        action=action,
        required=len(required),
        label=word_hash(" ".join(words)),
        mentions=_mentions(tool),
        hashes=np.concatenate(found),
        counts=np.array([len(one) for one in found], dtype=np.int64),
    )


def _mentions(tool: Tool) -> frozenset[int]:
    texts = f"{tool.text.description} {tool.text.details}"
    return frozenset(word_hash(" ".join(split_identifier(one))) for one in _IDENTIFIER.findall(texts))
