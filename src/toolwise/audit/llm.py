"""Levels, permissions and capabilities as a language model sees them.

Any OpenAI-compatible chat endpoint will do.  Tools are asked about in batches,
and a batch holds tools of one server only, so that a poisoned definition can
try to sway the verdicts on its own server and no others.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from pydantic import ValidationError

from toolwise.audit.answers import Answers
from toolwise.audit.chat import Chat, Usage
from toolwise.audit.rubric import (
    INSTRUCTION,
    PROMPT_VERSION,
    SCHEMA,
    Judged,
    question,
    readings,
    shown,
    verdict,
)
from toolwise.config import Settings, settings
from toolwise.errors import AnnotatorError, QuestionRefused
from toolwise.protocols import Progress, silent
from toolwise.records import Tool, Verdict

if TYPE_CHECKING:
    import httpx2

BATCH = 8
"""Tools of one question."""
CHARACTERS = 16_000
"""Characters of tools in one question; a longer tool is asked about alone."""
WORKERS = 4
"""Questions that are under way at once."""
ROUNDS = 3
"""Times that a tool is asked about before it stays without a verdict; the last time alone."""
_HOPELESS = 3
"""Refused tools after which, with not one answer, the endpoint is taken to refuse everything."""


@dataclass(slots=True)
class Tally:
    """What became of the tools of all runs of one annotator."""

    kept: int = 0
    """Verdicts taken from kept answers, at no cost."""
    new: int = 0
    """Verdicts from answers the endpoint gave."""
    unread: int = 0
    """Tools without a verdict: no answer about them was well-formed."""
    refused: int = 0
    """Tools without a verdict: the endpoint did not take the question."""


class LlmAnnotator:
    """The verdicts of ``model``; address, key and prices come from the settings (see :mod:`toolwise.config`).

    ``answers`` is a file in which answers are kept by what is shown of a tool,
    the model and the question: an interrupted run goes on where it stopped, and
    a second one asks nothing.  A tool whose answer stays malformed, or that the
    endpoint refuses, has a verdict without a level.  With ``batch`` 1 a verdict
    depends on that tool alone in every case; in a larger batch a model may
    compare.  Raises MissingExtra without httpx2, AnnotatorError where the
    endpoint refuses everything or stays silent.
    """

    def __init__(
        self,
        model: str,
        answers: Path | None = None,
        *,
        batch: int = BATCH,
        workers: int = WORKERS,
        configured: Settings | None = None,
        progress: Progress = silent,
    ) -> None:
        if not model:
            raise AnnotatorError("the llm annotator has no model; write llm:MODEL.", model=model)
        configured = configured or settings()
        self.name = f"llm:{model}"
        self.tally = Tally()
        self._chat = Chat(model, configured)
        self._answers = Answers(answers)
        self._lock = Lock()
        self._batch, self._workers, self._progress = batch, workers, progress
        self._prices = configured.llm_price_in, configured.llm_price_out

    @property
    def usage(self) -> Usage:
        """Calls and tokens so far."""
        return self._chat.usage

    @property
    def cost(self) -> float | None:
        """What the tokens so far cost by the prices of the settings; None where those are not set."""
        return self.usage.cost(*self._prices)

    def annotate(self, tools: Sequence[Tool]) -> list[Verdict]:
        """One verdict per tool, in order; ``level`` None where there is no well-formed answer."""
        lines = [shown(tool) for tool in tools]
        keys = [self._key(line) for line in lines]
        kept = self._kept(keys)
        todo = {key: i for i, key in reversed(list(enumerate(keys))) if key not in kept}
        self.tally.kept += len(tools) - len(todo)
        rows = sorted(todo.values(), key=lambda i: (tools[i].server, i))
        fresh = self._asked([(tools[i].server, keys[i], lines[i]) for i in rows])
        found = kept | fresh
        return [verdict(found[key], self.name) if key in found else Verdict() for key in keys]

    def _key(self, line: str) -> str:
        return sha256(json.dumps([self.name, PROMPT_VERSION, line]).encode()).hexdigest()

    def _kept(self, keys: Sequence[str]) -> dict[str, Judged]:
        found: dict[str, Judged] = {}
        for key, text in self._answers.get(keys).items():
            try:
                found[key] = Judged.model_validate_json(text)
            except ValidationError:
                continue  # asked for again, and overwritten
        return found

    def _asked(self, tools: Sequence[tuple[str, str, str]]) -> dict[str, Judged]:
        """Verdicts by key on tools given as (server, key, line), sorted by server."""
        found: dict[str, Judged] = {}
        done = 0
        if not tools:
            return found
        self._progress(self.name, 0, len(tools))
        with self._chat.connected() as client, ThreadPoolExecutor(self._workers) as pool:
            batches = {pool.submit(self._judge, client, b): len(b) for b in self._batches(tools)}
            try:
                for future in as_completed(batches):
                    found |= future.result()
                    done += batches[future]
                    self._progress(self.name, done, len(tools))
            except BaseException:
                self._chat.stop()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return found

    def _batches(self, tools: Sequence[tuple[str, str, str]]) -> Iterator[list[tuple[str, str]]]:
        batch: list[tuple[str, str]] = []
        of, size = "", 0
        for server, key, line in tools:
            if batch and (server != of or len(batch) == self._batch or size + len(line) > CHARACTERS):
                yield batch
                batch, size = [], 0
            of = server
            batch.append((key, line))
            size += len(line)
        if batch:
            yield batch

    def _judge(self, client: httpx2.Client, batch: Sequence[tuple[str, str]]) -> dict[str, Judged]:
        """Verdicts on one batch, each kept as soon as it is there; what is missing is asked for again."""
        found: dict[str, Judged] = {}
        left, alone = list(batch), False
        refused: set[str] = set()
        for turn in range(1, ROUNDS + 1):
            alone = alone or turn == ROUNDS
            for group in [[one] for one in left] if alone else [left]:
                try:
                    found |= self._ask(client, group)
                except QuestionRefused as error:
                    alone = True
                    if len(group) == 1:
                        refused.add(group[0][0])
                        self._refuse(error)
            left = [one for one in left if one[0] not in found and one[0] not in refused]
            if not left:
                break
        with self._lock:
            self.tally.unread += len(left)
        return found

    def _ask(self, client: httpx2.Client, group: Sequence[tuple[str, str]]) -> dict[str, Judged]:
        answer = self._chat.ask(client, INSTRUCTION, question([line for _, line in group]), SCHEMA)
        found = {group[place][0]: judged for place, judged in readings(answer, len(group)).items()}
        self._answers.put({key: judged.model_dump_json() for key, judged in found.items()})
        with self._lock:
            self.tally.new += len(found)
        return found

    def _refuse(self, error: QuestionRefused) -> None:
        """Count a tool that the endpoint does not take; give up where it takes none."""
        with self._lock:
            self.tally.refused += 1
            hopeless = self.tally.refused >= _HOPELESS and not self.usage.calls
        if hopeless:
            raise AnnotatorError(
                f"the endpoint refuses every question: {error.message}. Check openai_base_url and the model "
                f"({self.name}).",
                model=self.name,
            ) from error
