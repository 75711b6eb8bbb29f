"""The sentences of an answer: why a tool is in it, and why it is as it is."""

from __future__ import annotations

from collections.abc import Sequence

from toolwise.audit.load import HEAD
from toolwise.records import AuditedTool, Capability, ExposedTool, Query, Tool, Verdict, Withheld
from toolwise.retrieve import tool_terms, words
from toolwise.text import count

_SHOWN_WORDS = 4


SERIOUS = 0.1
"""Completeness from which an answer says that it cannot serve the request without a tool that is kept out."""


def predicted(verdict: Verdict) -> frozenset[Capability]:
    """The capabilities that only the learned head or a language model says a tool has: worth a review."""
    sources: dict[str, set[bool]] = {}
    for item in verdict.evidence:
        sources.setdefault(item.claim, set()).add(item.source == HEAD or ":" in item.source)
    return frozenset(c for c in verdict.capabilities if sources.get(f"capability:{c}") == {True})


def choice_reason(
    query: Query, audited: AuditedTool, *, pinned: bool, gain: float | None = None, known: bool = False
) -> str:
    """Why a tool is in the answer, what it adds to completeness, and why it has its level.

    ``known``: it served a request like this one before.
    """
    shared = _shared_words(query.text, audited)
    if pinned:
        match = "pinned"
    elif shared:
        match = f"matches {', '.join(shared)}"
    else:
        match = "close in meaning"
    if known and not pinned:
        match += ", served such a request before"
    adds = "" if gain is None else f"; completeness {gain:+.2f}"
    return f"{match}{adds}; level {int(audited.level)}: {_level_reason(audited)}"


def _shared_words(text: str, audited: AuditedTool) -> list[str]:
    """Words of the request that the tool's text shares, in order of the request."""
    held = set(tool_terms(audited.tool))
    return [word for word, found in words(text).items() if held.issuperset(found)][:_SHOWN_WORDS]


def _level_reason(audited: AuditedTool) -> str:
    level = int(audited.level)
    decisive = (f"level>={level}", f"level<={level}", "level")
    reasons = [e.because for claim in decisive for e in audited.verdict.evidence if e.claim.startswith(claim)]
    return reasons[0] if reasons else "nothing tells, so it counts as medium"


def summary(
    tools: Sequence[ExposedTool], withheld: Sequence[Withheld], policy: str, completeness: float | None = None
) -> str:
    """One sentence on an answer that holds tools, with the chance that it holds all it needs."""
    found = f"{count(len(tools), 'tool')} under policy {policy!r}"
    missed = [w for w in withheld if w.gain >= SERIOUS]
    if missed and completeness is not None:
        best = max(w.gain for w in missed)
        wanted = ", ".join(f"{w.id} (level {w.level}, {w.rule})" for w in missed)
        return (
            f"{found}; the request may not be fully served so: the chance is {completeness:.2f}, and "
            f"{completeness + best:.2f} if an approver allowed {wanted}"
        )
    if not withheld:
        return found
    return f"{found}; {len(withheld)} withheld by {', '.join(dict.fromkeys(w.rule for w in withheld))}"


EMPTY = "the index holds no tools"


def abstention(
    query: Query,
    withheld: Sequence[Withheld],
    policy: str,
    elsewhere: Tool | None = None,
    *,
    refused: bool = False,
) -> str:
    """One sentence on an empty answer.

    ``elsewhere`` is an operation that is nearer to the request than any tool; ``refused``: experience knows
    that nothing served such a request.
    """
    if not query.text.strip():
        return "the request is empty"
    if withheld:
        return f"every tool that fits is withheld under policy {policy!r}"
    if refused:
        return (
            "nothing served such a request before, as `toolwise train experience` was told; give it other "
            "traces where a tool should serve it now"
        )
    if elsewhere is not None:
        about = elsewhere.text.description.rstrip(".")
        like = f"{elsewhere.server}: {about[:1].lower()}{about[1:]}"
        return (
            f"no tool fits the request well enough; it is nearer to what others do, such as {like}; "
            "if a tool here should serve it, say it in the words of that tool"
        )
    return "no tool fits the request well enough"
