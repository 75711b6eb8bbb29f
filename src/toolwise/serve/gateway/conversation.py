"""A call of a client of 2026-07-28, which cannot be asked in between: it stops for a question and goes on.

The call itself runs in a task of its own and waits for the answer.  The client
gets the question as the result, with a key, and asks again with the answer and
that key.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import anyio
import anyio.lowlevel
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, InputRequest, InputRequiredResult, InputResponse

MOST_PARKED = 32
"""Calls of one caller that may wait for an answer."""
MARK = "call."
"""How the keys of waiting calls begin."""

_Result = TypeVar("_Result")


class Questions(dict[str, InputRequest]):
    """Questions of servers by the key of each."""


@dataclass
class _Open:
    """A question that waits for its answer."""

    question: InputRequest
    handed_out: bool = False
    answered: anyio.Event = field(default_factory=anyio.Event)
    answer: InputResponse | None = None


class Conversation(Generic[_Result]):
    """One call, over all the requests that it takes."""

    def __init__(self, who: str, purpose: str) -> None:
        """``purpose`` is a print of the call: an answer to another one is none."""
        self.who, self.purpose = who, purpose
        self.tell: ProgressFnT | None = None
        """Reports progress to the request that waits at the moment."""
        self._open: dict[str, _Open] = {}
        self._count = 0
        self._news = anyio.Event()
        self._scope = anyio.CancelScope()
        self._ended = False
        self._results: list[_Result] = []
        self._error: Exception | None = None

    async def run(self, work: Callable[[], Awaitable[_Result]]) -> None:
        """Do the work, in a task of its own."""
        try:
            with self._scope:
                self._results.append(await work())
        except Exception as error:  # for whoever waits for the result
            self._error = error
        finally:
            self._ended = True
            self._news.set()

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Report progress to whoever waits."""
        if self.tell is not None:
            await self.tell(progress, total, message)

    def give_up(self) -> None:
        """Cancel the work."""
        self._scope.cancel()

    async def reply(self, question: InputRequest) -> InputResponse:
        """The client's answer.  Raises MCPError where it comes again without one."""
        self._count += 1
        key, waiting = f"question-{self._count}", _Open(question)
        self._open[key] = waiting
        self._news.set()
        try:
            await waiting.answered.wait()
        finally:
            self._open.pop(key, None)
        if waiting.answer is None:
            raise MCPError(INVALID_PARAMS, "no answer was given")
        return waiting.answer

    def hear(self, answers: Mapping[str, InputResponse]) -> None:
        """Take the answers of a client; a question that it was handed and does not answer has none."""
        for key, waiting in list(self._open.items()):
            if waiting.handed_out:
                waiting.answer = answers.get(key)
                waiting.answered.set()
                del self._open[key]

    async def step(self) -> _Result | Questions:
        """Wait for the result, or for questions.  Raises as the work does; cancelled, gives up the work."""
        try:
            while not self._ended and not self._open:
                self._news = anyio.Event()
                await self._news.wait()
            await anyio.lowlevel.checkpoint()  # questions that come together are handed out together
        except anyio.get_cancelled_exc_class():
            self.give_up()
            raise
        if self._ended:
            return self._result()
        for waiting in self._open.values():
            waiting.handed_out = True
        return Questions({key: waiting.question for key, waiting in self._open.items()})

    def _result(self) -> _Result:
        if self._error is not None:
            raise self._error
        if not self._results:
            raise MCPError(INVALID_PARAMS, "the call was given up; call again")
        return self._results[0]


class Parked(Generic[_Result]):
    """Calls that wait for a client to come back with an answer."""

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, Conversation[_Result]] = OrderedDict()

    def park(self, conversation: Conversation[_Result], questions: Questions) -> InputRequiredResult:
        """What the client is answered; the oldest of too many calls that wait is given up."""
        key = MARK + secrets.token_urlsafe(24)
        self._waiting[key] = conversation
        own = [k for k, waiting in self._waiting.items() if waiting.who == conversation.who]
        for old in own[:-MOST_PARKED]:
            self._waiting.pop(old).give_up()
        return InputRequiredResult(input_requests=dict(questions), request_state=key)

    def resumed(self, key: str, who: str, purpose: str) -> Conversation[_Result] | None:
        """The call that waits under ``key``; None where there is none, or it is another one's or another."""
        found = self._waiting.get(key)
        if found is None or (found.who, found.purpose) != (who, purpose):
            return None
        return self._waiting.pop(key)
