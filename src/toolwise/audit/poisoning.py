"""Text in a definition that is not there to describe the tool.

Looks at the definition as it came, not at the searchable text, from which
hidden characters and instructions are already gone.  What only the whole
catalogue shows is in :mod:`toolwise.audit.lookalikes`.  Codes of high severity
make a tool level 4 at least:

- ``hidden-unicode``: characters nobody sees;
- ``agent-instruction``: text that gives the agent orders;
- ``encoded-instruction``: the same in base64 or hexadecimal;
- ``tool-shadowing``: a sentence that changes what another tool is called with, or whom it reaches;
- ``secret-parameter``: a parameter whose purpose is to carry the user's secrets,
  the conversation or the agent's own instructions out;
- ``mixed-script-name``: a name with letters of several alphabets in one word.

Codes of medium severity ask for a look, and raise no level:

- ``hidden-markup``: a comment, or an element that a style hides;
- ``distant-text``: text far below or far to the right of the rest;
- ``encoded-text``: a sentence in base64 or hexadecimal;
- ``keyword-stuffing``, ``self-promotion``: text written to be chosen;
- ``confusable-name``: a name in another alphabet that reads as ASCII;
- ``context-parameter``: a parameter named after what the agent knows of the conversation.

Of low severity is ``missing-description``: nothing, or a placeholder, where the description belongs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final

from toolwise.audit.names import mixes_alphabets, poses_as_ascii
from toolwise.audit.shadowing import redirections
from toolwise.audit.stuffing import praise_spans, stuffed_spans
from toolwise.concealed import Span, distant_spans, markup_spans
from toolwise.hygiene import encoded_orders, encoded_spans, escaped, hidden_spans, instruction_spans
from toolwise.records import Evidence, Finding, Json, Level, Severity, Tool, Verdict
from toolwise.schema import escape, walk
from toolwise.text import split_identifier

_NAME = "poisoning"
_SHOWN = 200
_FINDINGS = 20
_FIELD = 200_000
_PLACES = 2_000
_VALUES = 200


@dataclass(frozen=True, slots=True)
class _Detector:
    code: str
    severity: Severity
    detect: Callable[[str], list[Span]]
    only: str = ""
    """The one field that it reads; "" for all."""


_DETECTORS: Final = (
    _Detector("hidden-unicode", Severity.HIGH, hidden_spans),
    _Detector("agent-instruction", Severity.HIGH, instruction_spans),
    _Detector("encoded-instruction", Severity.HIGH, encoded_orders),
    _Detector("hidden-markup", Severity.MEDIUM, markup_spans),
    _Detector("distant-text", Severity.MEDIUM, distant_spans),
    _Detector("encoded-text", Severity.MEDIUM, encoded_spans),
    _Detector("keyword-stuffing", Severity.MEDIUM, stuffed_spans, "description"),
    _Detector("self-promotion", Severity.MEDIUM, praise_spans, "description"),
)
_EVERYWHERE: Final = _DETECTORS[:2]
_TELLING: Final = 15
"""Characters below which a text can hold hidden characters and orders, and nothing else."""
_BECAUSE: Final = {
    "hidden-unicode": "the definition holds hidden characters",
    "agent-instruction": "the definition gives the agent orders",
    "encoded-instruction": "the definition holds encoded orders to the agent",
    "tool-shadowing": "the definition changes how another tool is used",
    "secret-parameter": "a parameter asks for what the agent should keep to itself",
    "mixed-script-name": "the name mixes alphabets to look like another",
}
_CONTEXT: Final = frozenset(
    tuple(words.split())
    for words in (
        "conversation history, chat history, message history, full conversation, entire conversation, "
        "chain of thought, tool call history, tools list, available tools, full context"
    ).split(", ")
)
_PLACEHOLDER = re.compile(
    r"(?:(?:tool )?(?:description|documentation) (?:is )?(?:not |un)(?:available|accessible)\b.*"
    r"|no (?:tool )?description(?: (?:available|provided|given))?"
    r"|n/?a|none|null|undefined|todo|tbd|tba)?\W*",
    re.IGNORECASE,
)
_SECRET_PARAMETER = re.compile(
    r"\b(?:contents?|text) of (?:the )?(?:user'?s )?"
    r"(?:~?/?\.ssh|~?/?\.aws|id_rsa|\.env|private keys?|mcp\.json)"
    r"|\b(?:full|entire|complete|whole|verbatim) (?:copy of (?:the )?)?"
    r"(?:system prompt|(?:chat|conversation|message) history|(?:chat|conversation) (?:so far|with the user))"
    r"|\b(?:all|every) (?:previous|prior|earlier) (?:messages?|turns?) (?:of|in|from) (?:the|this) "
    r"(?:chat|conversation|session)"
    r"|\b(?:everything|all that) the user (?:has )?(?:said|typed|written|told you)"
    r"|\b(?:your|the agent'?s|the assistant'?s|the model'?s) (?:own )?(?:system prompt|hidden instructions)",
    re.IGNORECASE,
)


def _texts(tool: Tool) -> Iterator[tuple[str, str]]:
    """Every text of the definition that reaches an agent, with its field."""
    yield "name", tool.name
    yield "title", tool.title
    yield "description", tool.description
    if isinstance(tool.annotations, dict) and isinstance(tool.annotations.get("title"), str):
        yield "/annotations/title", tool.annotations["title"]
    for schema in (tool.parameters, tool.returns):
        yield from _schema_texts(schema)


def _schema_texts(schema: Json) -> Iterator[tuple[str, str]]:
    if isinstance(schema, dict):
        yield from _own_texts("", schema)
        for node in walk(schema, limit=_PLACES):
            yield node.pointer, node.name
            yield from _own_texts(node.pointer, node.schema)


def _own_texts(pointer: str, schema: dict[str, Json]) -> Iterator[tuple[str, str]]:
    for key in ("title", "description", "default", "const"):
        if isinstance(schema.get(key), str):
            yield f"{pointer}/{key}", schema[key]
    for key in ("enum", "examples"):
        listed = schema.get(key)
        for i, value in enumerate(islice(listed, _VALUES) if isinstance(listed, list) else ()):
            if isinstance(value, str):
                yield f"{pointer}/{escape(key)}/{i}", value


def _suspicions(tool: Tool) -> Iterator[Finding]:
    yield from _of_name(tool.name)
    for field, whole in _texts(tool):
        text = whole[:_FIELD]
        for one in _DETECTORS if len(text) >= _TELLING else _EVERYWHERE:
            if one.only in ("", field) and (spans := one.detect(text)):
                yield _finding(one.code, one.severity, field, text, spans[0])
        if field.endswith("description") and (spans := redirections(text, tool.name)):
            yield _finding("tool-shadowing", Severity.HIGH, field, text, spans[0])
        if field.endswith("/description") and (match := _SECRET_PARAMETER.search(text)):
            yield _finding("secret-parameter", Severity.HIGH, field, text, match.span())


def _of_name(name: str) -> Iterator[Finding]:
    """What is wrong with the letters of a name."""
    if word := mixes_alphabets(name):
        yield Finding("mixed-script-name", Severity.HIGH, "name", ascii(word)[1:-1][:_SHOWN])
    elif poses_as_ascii(name):
        yield Finding("confusable-name", Severity.MEDIUM, "name", ascii(name)[1:-1][:_SHOWN])


def _of_parameters(schema: Json) -> Iterator[Finding]:
    """Parameters named after the conversation itself."""
    for node in walk(schema, limit=_PLACES) if isinstance(schema, dict) else ():
        if tuple(split_identifier(node.name[:_SHOWN])) in _CONTEXT:
            yield Finding("context-parameter", Severity.MEDIUM, node.pointer, escaped(node.name, _SHOWN))


def _finding(code: str, severity: Severity, field: str, text: str, span: Span) -> Finding:
    piece = text[slice(*span)]
    return Finding(code, severity, field, escaped(piece.strip() or piece, _SHOWN))


def judge(tool: Tool) -> Verdict:
    """The verdict on one tool: level 4 where something is suspicious, else None."""
    suspicions = chain(_suspicions(tool), _of_parameters(tool.parameters))
    found = tuple(dict.fromkeys(islice(suspicions, _FINDINGS)))
    grave = sorted({finding.code for finding in found if finding.severity is Severity.HIGH})
    if _PLACEHOLDER.fullmatch(tool.description[:_SHOWN].strip()):
        found += (
            Finding(
                "missing-description", Severity.LOW, "description", escaped(tool.description.strip(), _SHOWN)
            ),
        )
    return Verdict(
        level=Level.HIGH if grave else None,
        evidence=tuple(Evidence("level>=4", _NAME, _BECAUSE[code]) for code in grave),
        findings=found,
    )


class PoisoningAnnotator:
    """Finds hidden text, orders to the agent, shadowing and other signs of a poisoned definition."""

    name = _NAME

    def annotate(self, tools: Sequence[Tool]) -> list[Verdict]:
        """One verdict per tool, in order."""
        return [judge(tool) for tool in tools]
