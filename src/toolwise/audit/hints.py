"""What a server's own behaviour hints say: bounds of the level, never the level itself.

Hints (MCP ``ToolAnnotations``) are claims of the server.  One that makes a
tool look more harmful is believed; one that makes it look harmless counts only
where nothing else is known.  An absent hint says nothing, although the MCP
specification gives it a default.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from toolwise.records import Capability, Evidence, Finding, Json, Severity, Tool, Verdict

_NAME = "hints"
_READ_ONLY, _DESTRUCTIVE, _OPEN_WORLD = "readOnlyHint", "destructiveHint", "openWorldHint"
_HINTS: Final = (_READ_ONLY, _DESTRUCTIVE, "idempotentHint", _OPEN_WORLD)
_SHOWN = 200

ADDITIVE: Final = "effect:additive"
"""The claim of a hint that a change takes nothing away."""


def _bounds(hints: Mapping[str, bool]) -> Iterator[tuple[str, str]]:
    """Claims on the level and their reasons."""
    reads, destroys = hints.get(_READ_ONLY), hints.get(_DESTRUCTIVE)
    if reads:
        yield "level<=2", f"{_READ_ONLY} is true"
    elif destroys:
        yield "level>=3", f"{_DESTRUCTIVE} is true"
    elif reads is False:
        yield "level>=2", f"{_READ_ONLY} is false"


def _effect(hints: Mapping[str, bool]) -> Iterator[tuple[str, str]]:
    if hints.get(_DESTRUCTIVE) is False and not hints.get(_READ_ONLY):
        yield ADDITIVE, f"{_DESTRUCTIVE} is false"


def _reach(hints: Mapping[str, bool]) -> Iterator[Capability]:
    """An open world brings text in where a tool reads, and lets it out where it writes."""
    if hints.get(_OPEN_WORLD) and _READ_ONLY in hints:
        yield Capability.UNTRUSTED if hints[_READ_ONLY] else Capability.EXTERNAL


def _malformed(annotations: Json) -> Iterator[Finding]:
    if annotations is not None and not isinstance(annotations, dict):
        text = f"expected an object, found {type(annotations).__name__}"
        yield Finding("malformed-hint", Severity.LOW, "annotations", text)
    for key in _HINTS if isinstance(annotations, dict) else ():
        value = annotations.get(key)
        if value is not None and not isinstance(value, bool):
            yield Finding("malformed-hint", Severity.LOW, f"/annotations/{key}", _shown(value))


def _shown(value: Json) -> str:
    if isinstance(value, str):
        return ascii(value[:_SHOWN])[:_SHOWN]
    return f"expected true or false, found {type(value).__name__}"


def judge(tool: Tool) -> Verdict:
    """The verdict of the hints on one tool; its level is always None."""
    given = tool.annotations if isinstance(tool.annotations, dict) else {}
    hints = {key: given[key] for key in _HINTS if isinstance(given.get(key), bool)}
    reach = frozenset(_reach(hints))
    return Verdict(
        capabilities=reach,
        evidence=(
            *(Evidence(claim, _NAME, why) for claim, why in (*_bounds(hints), *_effect(hints))),
            *(Evidence(f"capability:{key}", _NAME, f"{_OPEN_WORLD} is true") for key in sorted(reach)),
        ),
        findings=tuple(_malformed(tool.annotations)),
    )


class HintAnnotator:
    """Reads MCP behaviour hints as bounds; :func:`toolwise.audit.resolve.resolve` applies them."""

    name = _NAME

    def annotate(self, tools: Sequence[Tool]) -> list[Verdict]:
        """One verdict per tool, in order."""
        return [judge(tool) for tool in tools]
