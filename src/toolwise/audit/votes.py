"""Several votes on one tool become one verdict, or a question for a person.

The procedure of *Risk-aware reranking* ("Annotation procedure"): the span of the
votes is the highest minus the lowest level.  Span 0 gives that level, span 1
the median (the higher one of two, so that risk is never rounded down), and
span 2 or more asks a person; until one has answered, the highest vote counts.
Below span 2, the rules and the learned head, which reads them, count as one.

What a person says of the present definition settles everything.  Said of an
older one it is stale: the tool waits for a person again, and meanwhile is not
thought less harmful than that person thought it.  A definition nobody looked at
is trusted when it is first judged, and waits for a person when it has changed
since: annotators that judge again settle its level, not whether it is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from toolwise.audit.load import HEAD, RULES
from toolwise.audit.lookalikes import weighed
from toolwise.audit.resolve import bounds, resolve
from toolwise.protocols import Annotator
from toolwise.records import (
    PERSON,
    Capability,
    Evidence,
    Finding,
    Judgement,
    Level,
    Permission,
    Tool,
    Verdict,
)

WIDE = 2
"""The span from which on a person has to decide."""
NO_PERMISSION, NO_CAPABILITY = "permission:none", "capability:none"
"""Claims by which a person says that a tool has none."""

_VOTES = "votes"
_SHOWN = 200
_Flag = TypeVar("_Flag", Permission, Capability)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the votes on one tool come to."""

    verdict: Verdict
    votes: Mapping[str, Level]
    """The level by annotator, of those that gave one on the present definition."""
    stale: Mapping[str, Judgement]
    """What was said of older definitions by annotator, where no person has acknowledged the present one: of
    the definition that counts as known where the annotator judged that one, else the last."""
    decided: bool
    """Whether a person has judged the present definition."""
    known: str
    """The hash of the definition that counts as known; see :func:`known_hash`."""

    @property
    def span(self) -> int:
        """The highest minus the lowest vote; 0 where there are fewer than two."""
        levels = [level for annotator, level in self.votes.items() if annotator != PERSON]
        return max(levels) - min(levels) if levels else 0

    @property
    def waits(self) -> bool:
        """Whether a person is asked: votes too far apart, or a definition that nobody acknowledged."""
        return not self.decided and (self.span >= WIDE or bool(self.stale))

    def among(self, findings: Sequence[Finding]) -> Verdict:
        """The verdict with ``findings`` that only the whole catalogue shows.

        They weigh on what annotators said; what a person decided they leave, and stay visible.
        """
        if not self.decided:
            return weighed(self.verdict, findings)
        return replace(self.verdict, findings=tuple(dict.fromkeys([*self.verdict.findings, *findings])))


def level_of(votes: Sequence[Level]) -> Level | None:
    """The level that votes of annotators come to; None where there is none."""
    if not votes:
        return None
    ordered = sorted(votes)
    return ordered[-1] if ordered[-1] - ordered[0] >= WIDE else ordered[len(ordered) // 2]


def combine(judgements: Iterable[Judgement], content_hash: str) -> Outcome:
    """The outcome of all judgements on a tool whose definition has ``content_hash`` now.

    They stand in the order they were made, and the last of an annotator on the
    present definition is its vote.  The order among annotators does not matter.
    A person who gives no level decides nothing, but acknowledges the definition.
    """
    told = list(judgements)
    seen = known_hash(told, content_hash)
    judged = [j for j in told if j.content_hash == content_hash]
    older = [] if seen == content_hash else [j for j in told if j.content_hash != content_hash]
    current = _last(j for j in judged if j.annotator != PERSON or j.verdict.level is not None)
    stale = _last([*older, *(j for j in older if j.content_hash == seen)])
    votes = {a: j.verdict.level for a, j in current.items() if j.verdict.level is not None}
    decided = PERSON in votes
    verdict = _decided(current) if decided else _voted(current, stale.get(PERSON))
    return Outcome(verdict, votes, stale, decided, seen)


def known_hash(judgements: Sequence[Judgement], content_hash: str) -> str:
    """The hash of the definition that counts as known, ``content_hash`` being that of the present one.

    It is the present one where a person acknowledged that, else the last that a person judged (or only
    acknowledged, where none gave a level), and where no person did, the first that anybody judged.
    """
    persons = [j for j in judgements if j.annotator == PERSON]
    deciding = [j for j in persons if j.verdict.level is not None] or persons
    if not judgements or any(j.content_hash == content_hash for j in deciding):
        return content_hash
    return (deciding[-1] if deciding else judgements[0]).content_hash


def _last(judgements: Iterable[Judgement]) -> dict[str, Judgement]:
    """The last judgement by annotator, in the order in which evidence is told."""
    last = {judgement.annotator: judgement for judgement in judgements}
    return {annotator: last[annotator] for annotator in sorted(last, key=_turn)}


def votes_of(tools: Sequence[Tool], annotators: Sequence[Annotator], at: str = "") -> list[list[Judgement]]:
    """For each tool what ``annotators`` say of it now, as judgements made ``at``."""
    views = [annotator.annotate(tools) for annotator in annotators]
    return [
        [
            Judgement(tool.id, annotator.name, tool.content_hash, view[i], at)
            for annotator, view in zip(annotators, views, strict=True)
        ]
        for i, tool in enumerate(tools)
    ]


def _turn(annotator: str) -> tuple[bool, bool, str]:
    """Whose evidence comes first: a person's, then the rules' (they name words), then by name."""
    return annotator != PERSON, annotator != RULES, annotator


def _decided(current: Mapping[str, Judgement]) -> Verdict:
    """A person's verdict; the findings and the other evidence stay visible."""
    person = current[PERSON]
    others = _local_as_one({annotator: j for annotator, j in current.items() if annotator != PERSON})
    said = person.verdict
    claims = {item.claim for item in said.evidence}
    return Verdict(
        said.level,
        said.permissions if said.permissions or NO_PERMISSION in claims else _permissions(others),
        said.capabilities if said.capabilities or NO_CAPABILITY in claims else _capabilities(others),
        _told([*_word_of(person), *(e for v in (said, *others) for e in v.evidence)], said.level),
        tuple(dict.fromkeys(f for v in (said, *others) for f in v.findings)),
        () if said.capabilities or NO_CAPABILITY in claims else _chances(others),
    )


def _voted(current: Mapping[str, Judgement], before: Judgement | None) -> Verdict:
    """The verdict of annotators; ``before`` is what a person said of an older definition."""
    verdicts = _local_as_one(current)
    votes = [j.verdict.level for j in current.values() if j.verdict.level is not None]
    wide = bool(votes) and max(votes) - min(votes) >= WIDE
    level = level_of(votes if wide else [v.level for v in verdicts if v.level is not None])
    told = _disagreement(current, level)
    if before is not None and before.verdict.level is not None and before.verdict.level > (level or 0):
        level = before.verdict.level
        who = before.who or "a person"
        because = f"{who} judged level {int(level)} before the definition changed; a person has to look again"
        told = (Evidence(f"level>={int(level)}", _VOTES, because), *told)
    if len(verdicts) == 1 and not told:
        return verdicts[0]
    evidence = sorted((e for v in verdicts for e in v.evidence), key=_weight, reverse=True)
    return Verdict(
        level,
        _permissions(verdicts),
        _capabilities(verdicts),
        _told([*told, *evidence], level),
        tuple(dict.fromkeys(f for v in verdicts for f in v.findings)),
        _chances(verdicts),
    )


def _local_as_one(current: Mapping[str, Judgement]) -> list[Verdict]:
    """The verdicts, those of the rules and of the head as :func:`resolve` puts them together.

    Both were made for each other: together they agree better with the labels than the higher of them
    (``results/heads.md``).  They stay two votes where they are asked how far apart they are.
    """
    local = [current[name].verdict for name in (RULES, HEAD) if name in current]
    others = [judgement.verdict for name, judgement in current.items() if name not in (RULES, HEAD)]
    return [resolve(local), *others] if len(local) > 1 else [*local, *others]


def _disagreement(current: Mapping[str, Judgement], level: Level | None) -> tuple[Evidence, ...]:
    levels = {a: int(j.verdict.level) for a, j in current.items() if j.verdict.level is not None}
    if level is None or max(levels.values()) - min(levels.values()) < WIDE:
        return ()
    votes = ", ".join(f"{annotator} {vote}" for annotator, vote in levels.items())
    because = f"the votes differ ({votes}): the highest counts until a person decides"
    return (Evidence(f"level>={int(level)}", _VOTES, because),)


def _word_of(person: Judgement) -> tuple[Evidence, ...]:
    """A person's judgement as evidence, unless that person gave evidence for the level already."""
    if any(item.claim.startswith("level") for item in person.verdict.evidence):
        return ()
    reason = f": {person.reason}" if person.reason else ""
    day = f" on {person.at[:10]}" if person.at else ""
    because = f"{person.who or 'a person'} judged it so{day}{reason}"[:_SHOWN]
    return (Evidence(f"level>={int(person.verdict.level or 0)}", PERSON, because),)


def _told(evidence: Iterable[Evidence], level: Level | None) -> tuple[Evidence, ...]:
    """The evidence, each item once; a claim of a higher level than was settled on is marked as overruled."""
    return tuple(
        replace(item, claim=f"overruled:{item.claim}") if level and _weight(item) > level else item
        for item in dict.fromkeys(evidence)
    )


def _weight(item: Evidence) -> int:
    return bounds([item])[0] or 0


def _permissions(verdicts: Sequence[Verdict]) -> frozenset[Permission]:
    speaking = [v.permissions for v in verdicts if v.level is not None or v.permissions]
    return _majority(speaking)


def _capabilities(verdicts: Sequence[Verdict]) -> frozenset[Capability]:
    speaking = [v.capabilities for v in verdicts if v.level is not None or v.capabilities]
    return _majority(speaking)


def _chances(verdicts: Sequence[Verdict]) -> tuple[float, ...]:
    """The mean of how likely each one holds a capability to be; nothing where none guesses."""
    speaking = [v for v in verdicts if v.level is not None or v.capabilities]
    if not any(v.chances for v in speaking):
        return ()
    each = zip(*(v.likely for v in speaking), strict=True)
    return tuple(round(sum(one) / len(speaking), 2) for one in each)


def _majority(votes: Sequence[frozenset[_Flag]]) -> frozenset[_Flag]:
    """The flags that at least half of the votes name."""
    named = frozenset[_Flag]().union(*votes)
    return frozenset(flag for flag in named if 2 * sum(flag in vote for vote in votes) >= len(votes))
