"""Rewards of tool sets by execution: an agent runs with them, a judge says how it went (HYSET, section 2.4).

    feedback = Feedback(agent, judge, execute, answers)
    for outcome in feedback.over(exposures): trace(outcome)
    reward = SetRewards(feedback, texts, ids, tools)    # the callback of training

Runs and votes are kept in ``answers`` as soon as they are there, by request,
tools as they are defined, model, instruction and bounds: what was interrupted
goes on where it was, and a second time costs nothing.

The agent calls tools for real.  A set with a tool above ``max_level`` is never
run; choose the sets by a policy besides.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256

from pydantic import TypeAdapter, ValidationError

from toolwise.audit.answers import Answers
from toolwise.errors import AnnotatorError, QuestionRefused
from toolwise.expose import export_name
from toolwise.learn.judge import Judge, Ruling
from toolwise.protocols import Agent, Execute, Progress, silent
from toolwise.records import AuditedTool, ExposedTool, Exposure, Json, Level, Transcript

STAGE = "requests"
_HOPELESS = 3
"""Requests that were not taken after which, with no other outcome, the endpoint is taken to take none."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one request went with one tool set."""

    exposure: Exposure
    reward: float | None
    """0 to 1; None where nobody can tell: see ``undecided``."""
    transcript: Transcript | None = None
    ruling: Ruling | None = None
    undecided: str = ""
    """``level``: a tool above the highest level, so nothing was run; ``budget``: spent before the end;
    ``server``: it failed while a server was away; ``refused``: the endpoint does not take the request;
    ``votes``: no vote was well-formed."""
    kept: bool = False
    """Whether the run was known, and no tool was called now."""


def offer(text: str, tools: Iterable[AuditedTool]) -> Exposure:
    """A request with these tools at hand, in order of id: an exposure that no policy has chosen."""
    offered = sorted(tools, key=lambda audited: audited.tool.id)
    shown = tuple(
        ExposedTool(a.tool.id, export_name(a.tool.id), a.tool.server, 0.0, int(a.level), "", a.tool)
        for a in offered
    )
    return Exposure("", text, not shown, "", shown, (), sum(a.tokens for a in offered))


class Feedback:
    """Runs ``agent`` in the environment behind ``execute`` and has ``judge`` rule, or knows the outcome."""

    def __init__(
        self,
        agent: Agent,
        judge: Judge,
        execute: Execute,
        answers: Answers,
        *,
        max_level: int = Level.LOW,
    ) -> None:
        self._agent, self._judge, self._execute = agent, judge, execute
        self._answers, self._max_level = answers, max_level
        self._refused = self._decided = 0

    def over(self, exposures: Sequence[Exposure], progress: Progress = silent) -> Iterator[Outcome]:
        """One outcome per exposure, in order; once the budget is spent, those that are known and no others.

        Raises AnnotatorError where the endpoint stays silent or takes no request.
        """
        progress(STAGE, 0, len(exposures))
        for done, exposure in enumerate(exposures, 1):
            yield self.of(exposure)
            progress(STAGE, done, len(exposures))

    def of(self, exposure: Exposure) -> Outcome:
        """The outcome of one request with the tools of ``exposure``, whatever their order."""
        exposure = replace(exposure, tools=tuple(sorted(exposure.tools, key=lambda tool: tool.id)))
        if any(tool.level > self._max_level for tool in exposure.tools):
            return Outcome(exposure, None, undecided="level")
        key = self._key(exposure)
        known = self._known(key)
        try:
            transcript = known or self._agent.run(exposure, self._execute)
        except QuestionRefused as error:
            return self._not_taken(exposure, error)
        if transcript.ended == "budget":
            return Outcome(exposure, None, transcript, undecided="budget")
        return self._judged(key, Outcome(exposure, None, transcript, kept=known is not None))

    def _judged(self, key: str, run: Outcome) -> Outcome:
        transcript = run.transcript
        if transcript is None:
            return run
        telling = all(step.observation.telling for step in transcript.steps)
        if telling and not run.kept:
            self._keep(key, transcript)
        ruling = self._judge.rule(transcript)
        run = replace(run, ruling=ruling)
        if not ruling.whole:
            return replace(run, undecided="budget")
        if ruling.reward is None:
            return replace(run, undecided="votes")
        if not telling and ruling.reward < 1:
            return replace(run, undecided="server")
        if not telling and not run.kept:
            self._keep(key, transcript)
        self._decided += 1
        return replace(run, reward=ruling.reward)

    def _not_taken(self, exposure: Exposure, error: QuestionRefused) -> Outcome:
        self._refused += 1
        if self._refused >= _HOPELESS and not self._decided:
            raise AnnotatorError(
                f"the endpoint takes no request of the agent: {error.message}. Check openai_base_url and "
                f"whether the model calls functions ({self._agent.name}).",
                model=self._agent.name,
            ) from error
        return Outcome(exposure, None, undecided="refused")

    def _key(self, exposure: Exposure) -> str:
        tools = [[tool.id, tool.tool.content_hash] for tool in exposure.tools]
        parts = ["run", self._agent.name, exposure.query, tools]
        return sha256(json.dumps(parts).encode()).hexdigest()

    def _known(self, key: str) -> Transcript | None:
        text = self._answers.get([key]).get(key)
        try:
            return None if text is None else _shape().validate_json(text)
        except ValidationError:
            return None  # of another version: run again, and overwritten

    def _keep(self, key: str, transcript: Transcript) -> None:
        self._answers.put({key: _shape().dump_json(transcript).decode()})


@cache
def _shape() -> TypeAdapter[Transcript]:
    return TypeAdapter(Transcript)


def trace(outcome: Outcome) -> dict[str, Json]:
    """An outcome as the line that :mod:`toolwise.learn.rewards` reads.

    A call on a way that the agent gave up served nobody, whatever it returned;
    one that its server did not hear is left out.
    """
    steps = outcome.transcript.steps if outcome.transcript is not None else ()
    return {
        "request": outcome.exposure.query,
        "exposed": [tool.id for tool in outcome.exposure.tools],
        "called": [
            {"id": step.tool, "ok": step.observation.ok and step.kept}
            for step in steps
            if step.tool and step.observation.telling
        ],
        "outcome": None if outcome.reward is None else round(outcome.reward, 4),
    }


@dataclass(slots=True)
class SetRewards:
    """The reward callback of training: row of a request and rows of a set -> reward by execution.

    Nobody knows how an undecided run went; it counts 0, as a set that was never run.
    """

    feedback: Feedback
    texts: Sequence[str]
    """The request of each row of the training examples."""
    ids: Sequence[str]
    """The tool of each row of the table."""
    tools: Mapping[str, AuditedTool] = field(repr=False)
    """By id; with definition and level."""
    undecided: int = 0
    """Sets so far whose reward nobody knows."""

    def __call__(self, request: int, members: tuple[int, ...]) -> float:
        """The reward of the tools at rows ``members`` for the request at row ``request``."""
        chosen = [self.tools[self.ids[row]] for row in members]
        reward = self.feedback.of(offer(self.texts[request], chosen)).reward
        self.undecided += reward is None
        return 0.0 if reward is None else reward
