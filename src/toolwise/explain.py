"""The sentences of an answer: why a tool is in it, and why it is as it is."""

from __future__ import annotations

import re
from collections.abc import Sequence

from toolwise.records import AuditedTool, ExposedTool, Query, Withheld
from toolwise.retrieve import terms, tool_terms

_WORD = re.compile(r"\w+")
_SHOWN_WORDS = 4


def choice_reason(query: Query, audited: AuditedTool, *, pinned: bool) -> str:
    """Why a tool is in the answer, and why it has its level."""
    shared = _shared_words(query.text, audited)
    if pinned:
        match = "pinned"
    elif shared:
        match = f"matches {', '.join(shared)}"
    else:
        match = "close in meaning"
    return f"{match}; level {int(audited.level)}: {_level_reason(audited)}"


def _shared_words(text: str, audited: AuditedTool) -> list[str]:
    """Words of the request that the tool's text shares, in order of the request."""
    held = set(tool_terms(audited.tool))
    words = dict.fromkeys(word.lower() for word in _WORD.findall(text))
    return [word for word in words if (found := terms(word)) and held.issuperset(found)][:_SHOWN_WORDS]


def _level_reason(audited: AuditedTool) -> str:
    level = int(audited.level)
    decisive = (f"level>={level}", f"level<={level}", "level")
    reasons = [e.because for claim in decisive for e in audited.verdict.evidence if e.claim.startswith(claim)]
    return reasons[0] if reasons else "nothing tells, so it counts as medium"


def summary(tools: Sequence[ExposedTool], withheld: Sequence[Withheld], policy: str) -> str:
    """One sentence on an answer that holds tools."""
    count = f"{len(tools)} {'tool' if len(tools) == 1 else 'tools'} under policy {policy!r}"
    if not withheld:
        return count
    return f"{count}; {len(withheld)} withheld by {', '.join(dict.fromkeys(w.rule for w in withheld))}"


def abstention(query: Query, withheld: Sequence[Withheld], policy: str) -> str:
    """One sentence on an empty answer."""
    if not query.text.strip():
        return "the request is empty"
    if withheld:
        return f"every tool that fits is withheld under policy {policy!r}"
    return "no tool fits the request well enough"
