"""Several verdicts on one tool become one.

Order of trust: what annotators judge for themselves, the highest level of
them; then the bounds that hints claim.  A lower bound raises; an upper bound
counts only where nobody else could tell, for a hint never lowers a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from toolwise.audit.hints import ADDITIVE
from toolwise.audit.rules import DESTROYS, HARMLESS
from toolwise.records import (
    UNKNOWN_LEVEL,
    Capability,
    Evidence,
    Finding,
    Level,
    Permission,
    Severity,
    Verdict,
)

_CLAIM = re.compile(r"level(<=|>=)([1-5])")


def bounds(evidence: Iterable[Evidence]) -> tuple[Level | None, Level | None]:
    """The highest ``level>=n`` and the lowest ``level<=n`` that the evidence claims; None where none does."""
    found: dict[str, list[Level]] = {">=": [], "<=": []}
    for item in evidence:
        if claim := _CLAIM.fullmatch(item.claim):
            found[claim[1]].append(Level(int(claim[2])))
    return max(found[">="], default=None), min(found["<="], default=None)


def _level(judged: Level | None, floor: Level | None, ceiling: Level | None) -> Level | None:
    if judged is not None:
        return max(judged, floor or judged)
    if floor is not None:
        # An unknown tool counts as medium already: a lower bound below that tells nothing.
        return floor if floor >= UNKNOWN_LEVEL else None
    return ceiling


def _contradictions(
    level: Level | None, permissions: frozenset[Permission], evidence: Sequence[Evidence]
) -> Iterator[Finding]:
    """Hints that say the opposite of the rest: harmless where it changes things, or the other way round."""
    hints = [item for item in evidence if item.source == "hints" and _CLAIM.fullmatch(item.claim)]
    others = [item for item in evidence if item.source != "hints"]
    harmless = [item for item in others if item.claim == HARMLESS]
    changes = [item for item in others if item.claim == f"permission:{Permission.WRITE}"]
    copies = (
        any(item.claim == f"capability:{Capability.PRIVATE}" for item in others) and level == Level.MEDIUM
    )
    floor, ceiling = bounds(hints)
    if ceiling is not None and changes and not (harmless or copies) and level is not None and level > ceiling:
        severity = Severity.HIGH if level >= Level.HIGH else Severity.MEDIUM
        yield _contradiction(severity, hints[0], changes[0])
    elif floor is not None and harmless:
        yield _contradiction(Severity.LOW, hints[0], harmless[0])
    additive = [item for item in evidence if item.claim == ADDITIVE]
    destroys = [item for item in others if item.claim == DESTROYS]
    if additive and destroys:
        yield _contradiction(Severity.HIGH, additive[0], destroys[0])


def _contradiction(severity: Severity, hint: Evidence, other: Evidence) -> Finding:
    return Finding(
        "hint-contradiction", severity, "annotations", f"{hint.because}, yet {other.because}"[:200]
    )


def _weight(item: Evidence) -> int:
    """How high a level the evidence asks for; 0 where it asks for none."""
    claim = _CLAIM.fullmatch(item.claim)
    return int(claim[2]) if claim and claim[1] == ">=" else 0


def resolve(verdicts: Sequence[Verdict]) -> Verdict:
    """One verdict out of several on the same tool; ``level`` None where none of them can tell.

    Its evidence has the reasons for the highest level first.
    """
    given = dict.fromkeys(item for verdict in verdicts for item in verdict.evidence)
    evidence = tuple(sorted(given, key=_weight, reverse=True))
    permissions = frozenset[Permission]().union(*(verdict.permissions for verdict in verdicts))
    judged = max((v.level for v in verdicts if v.level is not None), default=None)
    level = _level(judged, *bounds(evidence))
    return Verdict(
        level=level,
        permissions=permissions,
        capabilities=frozenset(flag for verdict in verdicts for flag in verdict.capabilities),
        evidence=evidence,
        findings=tuple(
            dict.fromkeys(
                [
                    *(finding for verdict in verdicts for finding in verdict.findings),
                    *_contradictions(level, permissions, evidence),
                ]
            )
        ),
    )
