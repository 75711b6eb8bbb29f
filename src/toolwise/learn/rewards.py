"""Logged traces of real use as training sets with rewards: the paper's execution feedback without a judge.

A trace is a JSON line of what one request was shown and what came of it::

    {"request": "refund order 17", "exposed": ["shop/find", "shop/refund", "shop/mail"],
     "called": ["shop/find", {"id": "shop/refund", "ok": true}], "outcome": "success"}

``called`` holds ids, or objects with ``id`` and ``ok``; a call with ``ok`` false
served nobody.  ``outcome`` is a number from 0 to 1, a truth value or a word:
``success``, ``solved``, ``ok`` 1; ``partial`` 0.5; ``failure``, ``error``,
``abandoned`` 0.  A trace without an outcome says nothing and is left out.
``workspace`` names the library where there are several.

The set of a trace is its served calls, its reward the outcome.  Traces of one
request (same text and workspace) are put together: the set is that of the
greatest reward, then the smallest, then the first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from toolwise.errors import InvalidRequest, SourceNotFound
from toolwise.records import Json

OUTCOMES: Mapping[str, float] = {
    "success": 1.0,
    "solved": 1.0,
    "ok": 1.0,
    "partial": 0.5,
    "failure": 0.0,
    "error": 0.0,
    "abandoned": 0.0,
}
"""Reward by word."""


@dataclass(frozen=True, slots=True)
class LoggedTrace:
    """One request as it went."""

    text: str
    exposed: frozenset[str]
    gold: frozenset[str]
    """Tools that were called and did not fail."""
    reward: float
    workspace: str | None = None


@dataclass(frozen=True, slots=True)
class TraceLog:
    """Traces in the order of the file, and what was wrong with the other lines."""

    traces: tuple[LoggedTrace, ...]
    problems: tuple[str, ...] = ()
    undecided: int = 0
    """Traces without an outcome."""


def read_traces(path: Path) -> TraceLog:
    """Read a file of traces; a line that is none becomes a problem and loses no other.

    Raises SourceNotFound where there is no such file.
    """
    try:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise SourceNotFound(
            f"{path} cannot be read: {error.strerror or error}. Expected a file of traces, one JSON object "
            "a line.",
            path=path,
        ) from error
    return parse_traces(text.split("\n"))  # JSON may hold other ends of lines as they are: U+2028, U+0085


def parse_traces(lines: Iterable[str]) -> TraceLog:
    """The traces among ``lines``; blank ones are passed over."""
    traces: list[LoggedTrace] = []
    problems: list[str] = []
    undecided = 0
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            found = _trace(json.loads(line))
        except (ValueError, RecursionError) as error:
            problems.append(f"line {number}: {error}")
        except InvalidRequest as error:
            problems.append(f"line {number}: {error.message}")
        else:
            undecided += found is None
            traces += [] if found is None else [found]
    return TraceLog(tuple(traces), tuple(problems), undecided)


def _trace(row: Json) -> LoggedTrace | None:
    """One trace; None without an outcome.  Raises InvalidRequest for a field that is missing or wrong."""
    if not isinstance(row, dict) or not isinstance(row.get("request"), str) or not row["request"].strip():
        raise InvalidRequest('a trace is an object with a text under "request".')
    exposed, called = row.get("exposed"), row.get("called")
    if not isinstance(exposed, list) or not all(isinstance(id_, str) for id_ in exposed):
        raise InvalidRequest('"exposed" is the list of the ids that were shown.')
    if not isinstance(called, list):
        raise InvalidRequest('"called" is the list of the calls that were made.')
    reward = outcome_reward(row.get("outcome"))
    if reward is None:
        return None
    workspace = row.get("workspace")
    if workspace is not None and not isinstance(workspace, str):
        raise InvalidRequest('"workspace" is a text where it is given.')
    served = frozenset(id_ for id_, ok in map(_call, called) if ok)
    return LoggedTrace(row["request"], frozenset(exposed), served, reward, workspace)


def _call(given: Json) -> tuple[str, bool]:
    if isinstance(given, str):
        return given, True
    if isinstance(given, dict) and isinstance(given.get("id"), str):
        return given["id"], given.get("ok") is not False
    raise InvalidRequest('a call is the id of a tool, or an object with its "id".')


def outcome_reward(outcome: Json) -> float | None:
    """The reward an outcome stands for; None for none.  Raises InvalidRequest for another value."""
    if outcome is None:
        return None
    if isinstance(outcome, int | float) and 0 <= outcome <= 1:
        return float(outcome)
    if isinstance(outcome, str) and outcome.strip().lower() in OUTCOMES:
        return OUTCOMES[outcome.strip().lower()]
    raise InvalidRequest(
        f"the outcome {outcome!r} is none of {', '.join(OUTCOMES)}, no truth value, no number from 0 to 1.",
        outcome=outcome,
    )


def training_traces(traces: Iterable[LoggedTrace], least: float = 0.5) -> tuple[LoggedTrace, ...]:
    """One trace per request, to learn its set from, in order of first appearance.

    Requests whose best reward is below ``least`` have no set that is known to
    serve; they are left out.  An empty set is kept: nothing was needed.
    """
    best: dict[tuple[str, str | None], LoggedTrace] = {}
    for trace in traces:
        key = (trace.text, trace.workspace)
        if key not in best or _rank(trace) > _rank(best[key]):
            best[key] = trace
    return tuple(trace for trace in best.values() if trace.reward >= least)


def _rank(trace: LoggedTrace) -> tuple[float, int]:
    return trace.reward, -len(trace.gold)


@dataclass(slots=True)
class TraceRewards:
    """Rewards of any set for logged requests; usable as the reward callback of training.

    The reward of E is the greatest reward of a trace of the request whose
    served calls all lie in E: with those tools at hand it went at least so
    well.  0 where there is none.
    """

    texts: Sequence[str]
    """The request of each row of the training examples."""
    ids: Sequence[str]
    """The tool of each row of the table."""
    traces: Iterable[LoggedTrace] = field(repr=False)
    _by_text: dict[str, list[LoggedTrace]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._by_text = {}
        for trace in self.traces:
            self._by_text.setdefault(trace.text, []).append(trace)

    def __call__(self, request: int, members: tuple[int, ...]) -> float:
        """The reward of the tools at rows ``members`` for the request at row ``request``."""
        return self.of(self.texts[request], frozenset(self.ids[row] for row in members))

    def of(self, text: str, tools: frozenset[str]) -> float:
        """The same by text and ids."""
        known = self._by_text.get(text, [])
        return max((trace.reward for trace in known if trace.gold <= tools), default=0.0)
