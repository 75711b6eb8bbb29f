"""Text in a definition that is not there to describe the tool.

Looks at the definition as it came, not at the searchable text, from which
hidden characters and instructions are already gone.  Codes:

- ``hidden-unicode``: characters nobody sees (high; level 4 at least);
- ``agent-instruction``: text that gives the agent orders (high; level 4 at least);
- ``secret-parameter``: a parameter whose purpose is to carry the user's secrets,
  the conversation or the agent's own instructions out (high; level 4 at least);
- ``missing-description``: nothing, or a placeholder, where the description belongs (low).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Final

from toolwise.hygiene import Span, hidden_spans, instruction_spans
from toolwise.records import Evidence, Finding, Json, Level, Severity, Tool, Verdict
from toolwise.schema import escape, walk

_NAME = "poisoning"
_SHOWN = 200
_FINDINGS = 20
_FIELD = 200_000
_PLACES = 2_000
_VALUES = 200

_DETECTORS: Final[dict[str, Callable[[str], list[Span]]]] = {
    "hidden-unicode": hidden_spans,
    "agent-instruction": instruction_spans,
}
_BECAUSE: Final = {
    "hidden-unicode": "the definition holds hidden characters",
    "agent-instruction": "the definition gives the agent orders",
    "secret-parameter": "a parameter asks for what the agent should keep to itself",
}
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
    r"(?:system prompt|(?:chat|conversation) history)"
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


def _shown(text: str) -> str:
    """``text`` with everything but plain characters escaped, at most 200 characters."""
    seen = (text.strip() or text)[:_SHOWN]
    hidden = {i for start, end in hidden_spans(seen) for i in range(start, end)}
    parts = (
        char.encode("unicode_escape").decode("ascii") if i in hidden or not char.isprintable() else char
        for i, char in enumerate(seen)
    )
    return "".join(parts)[:_SHOWN]


def _suspicions(tool: Tool) -> Iterator[Finding]:
    for field, whole in _texts(tool):
        text = whole[:_FIELD]
        for code, detect in _DETECTORS.items():
            spans = detect(text)
            if spans:
                start, end = spans[0]
                yield Finding(code, Severity.HIGH, field, _shown(text[start:end]))
        if field.endswith("/description") and (match := _SECRET_PARAMETER.search(text)):
            yield Finding("secret-parameter", Severity.HIGH, field, _shown(match[0]))


def judge(tool: Tool) -> Verdict:
    """The verdict on one tool: level 4 where something is suspicious, else None."""
    found = tuple(dict.fromkeys(islice(_suspicions(tool), _FINDINGS)))
    codes = sorted({finding.code for finding in found})
    if _PLACEHOLDER.fullmatch(tool.description[:_SHOWN].strip()):
        found += (Finding("missing-description", Severity.LOW, "description", _shown(tool.description)),)
    return Verdict(
        level=Level.HIGH if codes else None,
        evidence=tuple(Evidence("level>=4", _NAME, _BECAUSE[code]) for code in codes),
        findings=found,
    )


class PoisoningAnnotator:
    """Finds hidden characters, orders to the agent and other signs of a poisoned definition."""

    name = _NAME

    def annotate(self, tools: Sequence[Tool]) -> list[Verdict]:
        """One verdict per tool, in order."""
        return [judge(tool) for tool in tools]
