"""From an index to verdicts that last: ask annotators, keep what they say, settle it, queue the rest."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolwise.audit.load import HEAD, is_local, load_annotator, local_annotators, local_names
from toolwise.audit.lookalikes import across
from toolwise.audit.votes import Outcome, combine, votes_of
from toolwise.protocols import Annotator, Progress, silent
from toolwise.records import PERSON, UNKNOWN_LEVEL, AuditedTool, Finding, Judgement, Level, Tool, Verdict
from toolwise.store import Index, IndexWriter, Ledger, now

ANSWERS = "answers.sqlite"
"""What language models answered, kept beside the index so that no question is paid for twice."""

_BATCH = 512
_QUESTIONS = 128
"""Tools after which the votes of an annotator with an argument are written down."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What one annotator did in a run."""

    annotator: str
    asked: int
    """Tools it judged now."""
    kept: int
    """Tools it had judged before, and was not asked about."""
    unknown: int
    """Of those asked about, tools whose level it could not tell."""
    tokens: int | None = None
    """Sent and received; None where no language model was asked."""
    cost: float | None = None
    """By the prices of the settings; None where they are not set."""


@dataclass(frozen=True, slots=True)
class Change:
    """A tool whose level in the index is another than before."""

    id: str
    before: Level
    after: Level


@dataclass(frozen=True, slots=True)
class Waiting:
    """A tool that waits for a person, and why."""

    tool: Tool
    level: Level
    """What counts until a person has decided."""
    span: int
    """Highest minus lowest vote."""
    votes: Mapping[str, Level]
    """By annotator, on the present definition."""
    stale: tuple[Judgement, ...]
    """Judgements on older definitions, where no person has acknowledged the present one."""


@dataclass(frozen=True, slots=True)
class Drift:
    """A tool whose definition is another one than the known, and was not acknowledged by a person."""

    new: Tool
    old: Tool | None
    """As a person knew it last, or else as it was first judged; None where that definition was not kept."""
    stale: tuple[Judgement, ...]
    """What was said of older definitions; last the judgement on ``old``."""


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What an audit did and what it leaves to people."""

    folder: Path
    tools: int
    annotators: tuple[Asked, ...]
    changed: tuple[Change, ...]
    queue: tuple[Waiting, ...]


def audit_index(
    folder: str | Path, annotators: Sequence[str] | None = None, *, progress: Progress = silent
) -> AuditReport:
    """Ask ``annotators`` (specifications; see :func:`toolwise.audit.load.load_annotator`) about an index.

    By default the local ones.  These judge every tool again; one that takes an
    argument is asked only about tools that it has not judged as they are now.
    Votes are written to the ledger as they come, so a run that was stopped goes
    on where it was.  Raises BrokenIndex, RegistryError, AnnotatorError, MissingExtra.
    """
    folder = Path(folder)
    names = list(dict.fromkeys(local_names() if annotators is None else annotators))
    loaded = {name: load_annotator(name, answers=folder / ANSWERS) for name in names}
    tools = [audited.tool for audited in tools_of(folder)]
    ledger = Ledger(folder)
    asked = tuple(_ask(name, one, tools, ledger, progress) for name, one in loaded.items())
    changed = settle(folder)
    return AuditReport(folder, len(tools), asked, changed, waiting(folder))


def settle(folder: str | Path, ids: Collection[str] | None = None) -> tuple[Change, ...]:
    """Give tools of an index (all by default) the verdict that the ledger's judgements come to.

    Tools that nobody ever judged stay as they are; of one whose judgements were all taken back the local
    annotators decide.  Where the ledger lacks a local
    annotator's vote on the present definition, it is made now.  Returns whose
    level changed, in order of id.  Raises BrokenIndex, IndexBusy.
    """
    Index.open(folder).close()  # a writer would make the folder of a mistyped name
    with IndexWriter(folder) as writer:
        ledger = Ledger(folder)
        ever = ledger.judged(retracted=True) if ids is None else ids
        known = dict.fromkeys(ever, ()) | ledger.of(None if ids is None else sorted(ids))
        everything = writer.scan() if known else []
        before = {a.tool.id: a for a in everything if a.tool.id in known}
        shared = across([a.tool for a in everything])
        after = _settled([audited.tool for audited in before.values()], known, shared)
        writer.revise({id_: v for id_, v in after.items() if v != before[id_].verdict})
    levels = ((id_, before[id_].level, _level(verdict)) for id_, verdict in after.items())
    return tuple(Change(id_, old, new) for id_, old, new in levels if old != new)


def waiting(folder: str | Path) -> tuple[Waiting, ...]:
    """The tools that wait for a person, highest level first, then widest span.  Raises BrokenIndex."""
    found = [
        Waiting(a.tool, a.level, o.span, o.votes, tuple(o.stale.values()))
        for a, o in outcomes(folder)
        if o.waits
    ]
    return tuple(sorted(found, key=lambda w: (-w.level, -w.span, w.tool.id)))


def drifted(folder: str | Path) -> tuple[Drift, ...]:
    """The tools whose definition changed and that no person has acknowledged since, by id.

    That annotators judged them anew does not end it.  Raises BrokenIndex.
    """
    found = [(a.tool, _known_last(o)) for a, o in outcomes(folder) if o.stale]
    old = Ledger(folder).definitions([stale[-1].content_hash for _, stale in found])
    return tuple(Drift(tool, old.get(stale[-1].content_hash), tuple(stale)) for tool, stale in found)


def _known_last(outcome: Outcome) -> list[Judgement]:
    """What was said of older definitions; last, what was said of the one that counts as known."""
    return sorted(
        outcome.stale.values(), key=lambda j: (j.content_hash == outcome.known, j.annotator == PERSON, j.at)
    )


def unjudged(folder: str | Path) -> tuple[str, ...]:
    """Ids of the tools that the ledger says nothing about.  Raises BrokenIndex."""
    index = Index.open(folder)
    index.close()
    known = Ledger(folder).judged()
    return tuple(id_ for id_ in index.ids if id_ not in known)


def tools_of(folder: str | Path) -> list[AuditedTool]:
    """Every tool of an index, in order of id.  Raises BrokenIndex."""
    index = Index.open(folder)
    try:
        return list(index.scan())
    finally:
        index.close()


def outcomes(folder: str | Path) -> Iterator[tuple[AuditedTool, Outcome]]:
    """The tools of an index that somebody judged, with what the judgements come to.  Raises BrokenIndex."""
    tools = tools_of(folder)
    known = Ledger(folder).of()
    for audited in tools:
        if audited.tool.id in known:
            yield audited, combine(known[audited.tool.id], audited.tool.content_hash)


def _settled(
    tools: Sequence[Tool], known: Mapping[str, Sequence[Judgement]], shared: Mapping[str, Sequence[Finding]]
) -> dict[str, Verdict]:
    """The verdict by id of tools with judgements; local votes that are missing are made.

    ``shared`` are the findings by id that only the whole catalogue shows.
    """
    votes: dict[str, list[Judgement]] = {tool.id: list(known[tool.id]) for tool in tools}
    for annotator in local_annotators():
        lacking = [tool for tool in tools if _current(votes[tool.id], annotator.name, tool) is None]
        for tool, (vote,) in zip(lacking, votes_of(lacking, [annotator]), strict=True):
            votes[tool.id].append(vote)
    outcomes = {tool.id: combine(votes[tool.id], tool.content_hash) for tool in tools}
    return {id_: outcome.among(shared.get(id_, ())) for id_, outcome in outcomes.items()}


def _ask(name: str, annotator: Annotator, tools: Sequence[Tool], ledger: Ledger, progress: Progress) -> Asked:
    """Have one annotator judge what it should, and write down what is new."""
    known = ledger.of()
    local = is_local(name)
    last = {tool.id: _current(known.get(tool.id, ()), annotator.name, tool) for tool in tools}
    todo = [tool for tool in tools if local or last[tool.id] is None]
    unknown, size = 0, _BATCH if local else _QUESTIONS
    for start in range(0, len(todo), size):
        batch = todo[start : start + size]
        votes = [vote for (vote,) in votes_of(batch, [annotator], now())]
        new = [vote for vote in votes if _is_news(vote, last[vote.tool], local)]
        written = {vote.tool for vote in new}
        ledger.add(new, [tool for tool in batch if tool.id in written])
        unknown += sum(vote.verdict.level is None for vote in votes)
        progress(f"audit by {name}", start + len(batch), len(todo))
    usage = getattr(annotator, "usage", None)
    return Asked(
        annotator.name,
        len(todo),
        len(tools) - len(todo),
        unknown,
        None if usage is None else usage.prompt_tokens + usage.completion_tokens,
        getattr(annotator, "cost", None),
    )


def _is_news(vote: Judgement, last: Judgement | None, local: bool) -> bool:
    """Whether a vote is worth a row.  An empty one of a model is no answer: the tool is asked about again."""
    if last is not None:
        return vote.verdict != last.verdict
    return local or vote.verdict != Verdict()


def _current(judgements: Iterable[Judgement], annotator: str, tool: Tool) -> Judgement | None:
    """The last judgement of an annotator on a tool as it is now.

    One of the head that holds no chances is of a former version: it counts for nothing.
    """
    found = None
    for judgement in judgements:
        if judgement.annotator == annotator and judgement.content_hash == tool.content_hash:
            found = judgement
    if found is None or annotator != HEAD or found.verdict.level is None or found.verdict.chances:
        return found
    return None


def _level(verdict: Verdict) -> Level:
    return UNKNOWN_LEVEL if verdict.level is None else verdict.level
