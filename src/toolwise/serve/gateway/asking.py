"""Whose question it is: a server that asks something while calls are open, and the one client it may reach.

A question comes in one of three ways.  In the newest revision it is part of
the answer to a call, and over streamable HTTP it comes on the stream of the
call: there the SDK runs our callback in the context of that call.  Over stdio
nothing on the wire says which call a question belongs to; then it counts as
that of the one client that has calls open, and where there are several, or
none, nobody is asked.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import anyio
from mcp_types import (
    INVALID_REQUEST,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestParams,
    ElicitResult,
    ErrorData,
    InputRequest,
    InputResponse,
    ListRootsRequest,
    ListRootsResult,
)

if TYPE_CHECKING:
    from mcp.client.session import ClientRequestContext

Put: TypeAlias = Callable[[str, InputRequest], Awaitable[InputResponse | ErrorData]]
"""Puts a question of the named server to a client; never raises."""

MOST = 10
"""Questions of a server within one call."""

_Reply = TypeVar("_Reply", ElicitResult, CreateMessageResult, ListRootsResult)
_log = logging.getLogger(__name__)
_current: ContextVar[Asker | None] = ContextVar("asker", default=None)


@dataclass(eq=False)
class Asker:
    """A client whose call is open at a server, and how it is asked; for one call."""

    client: Hashable = field(default_factory=object)
    """Equal for calls of the same client and for no others."""
    put: Put | None = None
    """None where this client cannot be asked anything."""
    clock: anyio.CancelScope | None = None
    """Ends the call when its time is up."""
    asked: int = 0
    """Questions so far."""
    refused: str = ""
    """Why the last question was not put to the client."""
    _waits: int = 0
    _left: float = 0.0

    @contextmanager
    def _clock_stopped(self) -> Iterator[None]:
        """The time a person takes is not the server's."""
        if self.clock is None:
            yield
            return
        if not self._waits:
            self._left, self.clock.deadline = self.clock.deadline - anyio.current_time(), float("inf")
        self._waits += 1
        try:
            yield
        finally:
            self._waits -= 1
            if not self._waits:
                self.clock.deadline = anyio.current_time() + self._left

    async def answer(self, server: str, question: InputRequest) -> InputResponse | ErrorData:
        """What the client answers, or the error for the server."""
        if self.put is None:
            return self.refuse("the client whose call this is cannot be asked")
        self.asked += 1
        if self.asked > MOST:
            return self.refuse(f"a call may ask {MOST} times, and this one has")
        with self._clock_stopped():
            answer = await self.put(server, question)
        self.refused = answer.message if isinstance(answer, ErrorData) else ""
        return answer

    def refuse(self, why: str) -> ErrorData:
        """The error for the server; noted."""
        self.refused = why
        return ErrorData(code=INVALID_REQUEST, message=why)


class Askers:
    """The calls that are open over one connection to a server, and what it asks meanwhile."""

    def __init__(self, server: str, linger: float, clock: Callable[[], float] = anyio.current_time) -> None:
        """A call that was given up counts as open for ``linger`` seconds more: it may still be running."""
        self._server, self._linger, self._clock = server, linger, clock
        self._open: list[Asker] = []
        self._given_up: list[tuple[float, Hashable]] = []

    @contextmanager
    def during(self, asker: Asker) -> Iterator[None]:
        """While a call of ``asker`` is open; what it starts runs in its context."""
        token = _current.set(asker)
        self._open.append(asker)
        try:
            yield
        except anyio.get_cancelled_exc_class():
            self._forget()
            self._given_up.append((self._clock() + self._linger, asker.client))
            raise
        finally:
            self._open.remove(asker)
            _current.reset(token)

    def whose(self) -> Asker | None:
        """Whom a question that has just come may reach; None where that is not certain."""
        asker = _current.get()
        if asker is not None:
            return asker if asker in self._open else None
        self._forget()
        clients = {asker.client for asker in self._open} | {client for _, client in self._given_up}
        if len(clients) != 1 or not self._open:
            return None
        return next((asker for asker in reversed(self._open) if asker.put), self._open[-1])

    def _forget(self) -> None:
        now = self._clock()
        self._given_up = [(until, client) for until, client in self._given_up if until > now]

    async def elicited(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult | ErrorData:
        """What the person says to an ``elicitation/create`` of the server."""
        return await self._put(ElicitRequest(params=params), ElicitResult)

    async def sampled(
        self, context: ClientRequestContext, params: CreateMessageRequestParams
    ) -> CreateMessageResult | ErrorData:
        """What the client's model says to a ``sampling/createMessage`` of the server."""
        return await self._put(CreateMessageRequest(params=params), CreateMessageResult)

    async def rooted(self, context: ClientRequestContext) -> ListRootsResult | ErrorData:
        """What the client says to a ``roots/list`` of the server."""
        return await self._put(ListRootsRequest(), ListRootsResult)

    async def _put(self, question: InputRequest, kind: type[_Reply]) -> _Reply | ErrorData:
        asker = self.whose()
        if asker is None:
            _log.info("%s: %s is refused: it is not certain whose it is", self._server, question.method)
            return Asker().refuse("nobody is asked: it is not certain which client's call this is about")
        answer = await asker.answer(self._server, question)
        return answer if isinstance(answer, kind | ErrorData) else asker.refuse("this is another answer")
