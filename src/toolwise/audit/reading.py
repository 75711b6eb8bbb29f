"""The words of one tool, and the action they speak of."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolwise.audit import lexicon as lex
from toolwise.audit.verbs import FOREIGN, NOUNS_TOO, VERBS, Action, stem, stems
from toolwise.hygiene import clean
from toolwise.records import Tool
from toolwise.text import split_identifier

_BODY = 1_200
"""Characters of the description that are read."""
_LEAD = 250
"""Characters that its first sentence has at most."""
_PARAMETERS = 120
"""Parameter names that are read."""
_WORD = re.compile(r"[^\W\d_]+")
_SENTENCE = re.compile(r"(?:[.!?:;](?=\s)|\n)")


@dataclass(frozen=True, slots=True)
class Reading:
    """The words of one tool, stemmed, and the action they speak of."""

    name: tuple[str, ...]
    lead: tuple[str, ...]
    """The first sentence of the description."""
    body: frozenset[str]
    """The description's first ``_BODY`` characters."""
    parameters: tuple[tuple[str, tuple[str, ...]], ...]
    """Each parameter name and its words, in schema order."""
    spelt: Mapping[str, str]
    """The words of name and lead by their stems."""
    text: str
    """The description, case folded."""
    action: Action | None
    """None where nothing says."""
    verb: str
    because: str
    """Where the action comes from, as a clause."""

    def says(self, words: frozenset[str]) -> str:
        """The first word of name or lead whose stem is in ``words``, as it is spelt; "" where none is."""
        found = next((word for word in (*self.name, *self.lead) if word in words), "")
        return self.spelt.get(found, found)

    def named(self, words: frozenset[str]) -> str:
        """The first word of the name whose stem is in ``words``, as it is spelt; "" where none is."""
        found = next((word for word in self.name if word in words), "")
        return self.spelt.get(found, found)

    def takes(self, *words: str) -> str:
        """The first parameter with one of these stems among its words, as it is spelt; "" where none has."""
        for spelt, stems_of_it in self.parameters:
            if any(word in stems_of_it for word in words):
                return spelt
        return ""


# "[Mail operations] List emails": the label says nothing of the action.
_LABEL = re.compile(r"^\s*(?:[\[(][^\])]{0,80}[\])]\s*)+")
_ARITHMETIC = stems("add scale increase combine")
VAGUE = stems("manage use process handle perform call run execute make manager proxy")
"""Verbs that leave open what is done: the description's verbs count beside them."""


_NOMINAL = ("tion", "tions", "ment", "ments", "ance", "al", "als")
_JOINED = frozenset({"and", "or", "then"})


def _strong(words: Sequence[str], spelt: Mapping[str, str]) -> list[str]:
    """The words that are verbs and nothing else, as they are spelt here."""
    verbs = [word for word in words if word in VERBS and word not in NOUNS_TOO]
    return [verb for verb in verbs if not spelt[verb].endswith(_NOMINAL)]


def _verb(name: Sequence[str], lead: Sequence[str], spelt: Mapping[str, str]) -> tuple[str, str]:
    """The word that says what a tool does, and where it stands; ("", "") where none does.

    Verbs that may be nouns ("order", "post", "deployment") count less: at the
    front of the name they give way to a description that opens with another verb.
    """
    if verbs := _strong(name, spelt):
        both = not _JOINED.isdisjoint(name)
        return (max(verbs, key=VERBS.__getitem__) if both else verbs[0]), "name"
    opening = lead[0] if lead and lead[0] in VERBS else ""
    if name and name[0] in VERBS:
        if opening and (opening not in NOUNS_TOO or opening in name):
            return opening, "description"
        return name[0], "name"
    if verb := opening or next(iter(_strong(lead[:8], spelt)), ""):
        return verb, "description"
    verb = next((word for word in reversed(name) if word in VERBS), "")
    return verb, "name" if verb else ""


def _numeric(name: Sequence[str], lead: Sequence[str], spelt: Mapping[str, str]) -> bool:
    """Whether numbers, matrices and the like are what is added: several, for "a number" may be a phone's."""
    if not lex.NUMERIC.isdisjoint(name):
        return True
    return len(name) == 1 and any(word in lex.NUMERIC and spelt[word].endswith("s") for word in lead[:4])


def _action(
    name: Sequence[str], lead: Sequence[str], text: str, spelt: Mapping[str, str]
) -> tuple[Action | None, str, str]:
    """The action of a tool, its verb and the clause that says why."""
    verb, where = _verb(name, lead, spelt)
    if not verb:
        word = next((word for word in FOREIGN if word in text[:60]), "")
        return (FOREIGN[word], word, f'description says "{word}"') if word else (None, "", "")
    action = VERBS[verb]
    if verb in VAGUE:
        told = (VERBS[w] for w in lead if w in VERBS and w not in NOUNS_TOO and w not in VAGUE)
        action = max([action, *told])
    elif verb in _ARITHMETIC and _numeric(name, lead, spelt):
        action = Action.COMPUTE
    return action, verb, f'{where} says "{spelt.get(verb, verb)}"'


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def read(tool: Tool) -> Reading:
    """The words of ``tool``."""
    text = tool.text.description[:_BODY] or clean(tool.description[: 2 * _BODY])[:_BODY]
    label = _LABEL.match(text)
    start = label.end() if label else 0
    cut = _SENTENCE.search(text, start + 12, start + _LEAD)
    end = cut.start() if cut else start + _LEAD
    front = split_identifier(tool.name[:200])
    opening = _words(f"{text[start:end]} {tool.title[:100]}")
    spelt = {stem(word): word for word in reversed([*front, *opening])}
    name, lead = tuple(map(stem, front)), tuple(map(stem, opening))
    action, verb, because = _action(name, lead, text, spelt)
    return Reading(
        name=name,
        lead=lead,
        body=frozenset(lead).union(map(stem, _words(f"{text[end:]} {text[:start]}"))),
        parameters=tuple(
            (parameter[:100], tuple(map(stem, split_identifier(parameter[:100]))))
            for parameter in tool.text.parameters[:_PARAMETERS]
        ),
        spelt=spelt,
        text=text.casefold(),
        action=action,
        verb=verb,
        because=because,
    )
