"""Several verdicts on one tool become one.

Order of trust: what annotators judge for themselves, the highest level of
them; then the bounds that hints claim.  A lower bound raises; an upper bound
counts only where nobody else could tell, for a hint never lowers a verdict.

One exception: where the learned head judges too, it decides between its level
and the rules', because it has read the rules' verdict among other things and
agrees better with labels.  A level of 4 or more that the rules give stands all
the same, unless the head holds it to be improbable (its claim ``level<=n``).
Likewise it decides on capabilities and on the network; the other permissions
that the rules name stand, for they see the parameter or the word that gives
them.  Figures: ``results/heads.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

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

_RULES, _HEAD, _HINTS = "rules", "head", "hints"
_KINDS = ("permission", "capability")
_SEEN = frozenset(Permission) - {Permission.NETWORK}
"""What the rules name and the head does not deny them."""
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


def _said_by(evidence: Iterable[Evidence], *sources: str) -> list[Evidence]:
    return [item for item in evidence if item.source in sources]


def _judged(verdicts: Sequence[Verdict]) -> Level | None:
    """The highest level annotators give; where the head judges, the rules' only as far as it stands."""
    learned = [v for v in verdicts if v.level is not None and _said_by(v.evidence, _HEAD)]
    if not learned:
        return max((v.level for v in verdicts if v.level is not None), default=None)
    free = [v.level for v in verdicts if v.level is not None and not _said_by(v.evidence, _RULES, _HEAD)]
    others = [e for v in verdicts for e in v.evidence if e.source not in (_RULES, _HEAD)]
    floor, _ = bounds(others)
    found = [*(v.level for v in learned if v.level is not None), *free, *([floor] if floor else [])]
    return max([*found, *_standing([e for v in verdicts for e in v.evidence])])


def _standing(evidence: Sequence[Evidence]) -> Iterator[Level]:
    """The level the rules give, as far as the head does not deny it, where it is high."""
    ruled, _ = bounds(_said_by(evidence, _RULES))
    _, ceiling = bounds(_said_by(evidence, _HEAD))
    if ruled is not None and (stands := min(ruled, ceiling or ruled)) >= Level.HIGH:
        yield stands


def _settled(verdicts: Sequence[Verdict], level: Level | None, flags: frozenset[str]) -> Iterator[Evidence]:
    """All evidence, with the claims of the rules that did not stand marked as such."""
    for item in dict.fromkeys(item for verdict in verdicts for item in verdict.evidence):
        kind, _, flag = item.claim.partition(":")
        lost = _weight(item) > (level or 0) or (kind in _KINDS and flag not in flags)
        overruled = item.source == _RULES and lost
        yield replace(item, claim=f"overruled:{item.claim}") if overruled else item


def _flags(verdicts: Sequence[Verdict]) -> frozenset[Permission | Capability]:
    """Every flag that is named, but for those of the rules that the head decides on and does not name."""
    learned = any(_said_by(verdict.evidence, _HEAD) for verdict in verdicts)
    return frozenset[Permission | Capability]().union(*(_heeded(verdict, learned) for verdict in verdicts))


def _heeded(verdict: Verdict, learned: bool) -> frozenset[Permission | Capability]:
    """The flags of one verdict that count; ``learned``: the head judges too."""
    if not learned or not _said_by(verdict.evidence, _RULES):
        return verdict.permissions | verdict.capabilities
    told = {item.claim.partition(":")[2] for item in verdict.evidence if item.source != _RULES}
    return frozenset(f for f in verdict.permissions | verdict.capabilities if f in _SEEN or f in told)


def _chances(verdicts: Sequence[Verdict]) -> tuple[float, ...]:
    """How likely each capability is: as guessed, or certain where somebody who counts names it."""
    guesses = [verdict.chances for verdict in verdicts if verdict.chances]
    if not guesses:
        return ()
    named = frozenset[Permission | Capability]().union(
        *(_heeded(verdict, True) for verdict in verdicts if not verdict.chances)
    )
    return tuple(
        1.0 if one in named else max(guess)
        for one, guess in zip(Capability, zip(*guesses, strict=True), strict=True)
    )


def _contradictions(
    level: Level | None, permissions: frozenset[Permission], evidence: Sequence[Evidence]
) -> Iterator[Finding]:
    """Hints that say the opposite of the rest: harmless where it changes things, or the other way round."""
    hints = [item for item in _said_by(evidence, _HINTS) if _CLAIM.fullmatch(item.claim)]
    others = [item for item in evidence if item.source not in (_HINTS, _HEAD)]
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

    Its evidence has the reasons for the highest level first; a claim of the
    rules that the head overruled stays, as ``overruled:level>=n``.
    """
    flags = _flags(verdicts)
    judged = _judged(verdicts)
    claims = [item for verdict in verdicts for item in verdict.evidence]
    learned = judged is not None and bool(_said_by(claims, _HEAD))
    level = judged if learned else _level(judged, *bounds(claims))
    settled = _settled(verdicts, level, frozenset(flags)) if learned else dict.fromkeys(claims)
    evidence = tuple(sorted(settled, key=_weight, reverse=True))
    permissions = frozenset(flag for flag in flags if isinstance(flag, Permission))
    return Verdict(
        level=level,
        permissions=permissions,
        capabilities=frozenset(flag for flag in flags if isinstance(flag, Capability)),
        evidence=evidence,
        findings=tuple(
            dict.fromkeys(
                [
                    *(finding for verdict in verdicts for finding in verdict.findings),
                    *_contradictions(level, permissions, evidence),
                ]
            )
        ),
        chances=_chances(verdicts),
    )
