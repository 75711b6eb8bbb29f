"""A call that stops for questions and goes on with a later request."""

from typing import Any

import anyio
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequest

from toolwise.serve.gateway.conversation import MARK, MOST_PARKED, Conversation, Parked, Questions

pytestmark = pytest.mark.anyio


def form(message: str) -> InputRequest:
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema={}))


YES = ElicitResult(action="accept")


async def test_questions_that_come_together_are_handed_out_together():
    """One that comes later waits for the next request, and is not taken for unanswered."""
    talk: Conversation[str] = Conversation("ann", "p")
    later = anyio.Event()

    async def work() -> str:
        actions: list[str] = []

        async def one(message: str) -> None:
            actions.append((await talk.reply(form(message))).action)  # type: ignore[union-attr]

        async def third() -> None:
            await later.wait()
            await one("c")

        async with anyio.create_task_group() as group:
            group.start_soon(one, "a")
            group.start_soon(one, "b")
            group.start_soon(third)
        return " ".join(actions)

    async with anyio.create_task_group() as group:
        group.start_soon(talk.run, work)
        first = await talk.step()
        assert isinstance(first, Questions)
        assert sorted(question.params.message for question in first.values()) == ["a", "b"]  # type: ignore[union-attr]
        later.set()
        await anyio.sleep(0.01)
        talk.hear(dict.fromkeys(first, YES))
        second = await talk.step()
        assert isinstance(second, Questions)
        assert list(second) == ["question-3"]
        talk.hear({"question-3": ElicitResult(action="decline"), "question-9": YES})
        assert await talk.step() == "accept accept decline"


async def test_what_goes_wrong_is_told_to_whoever_waits():
    """An error of the work, a question without an answer, work that was given up."""
    talk: Conversation[str] = Conversation("ann", "p")

    async def work() -> str:
        await talk.reply(form("a"))
        return "never"

    async with anyio.create_task_group() as group:
        group.start_soon(talk.run, work)
        assert isinstance(await talk.step(), Questions)
        talk.hear({})
        with pytest.raises(MCPError, match="no answer was given"):
            await talk.step()
        given_up: Conversation[str] = Conversation("ann", "p")
        group.start_soon(given_up.run, anyio.sleep_forever)
        with anyio.move_on_after(0.02):
            await given_up.step()
        with pytest.raises(MCPError, match="was given up"):
            await given_up.step()


async def test_progress_goes_to_the_request_that_waits():
    """To nobody where none does."""
    talk: Conversation[str] = Conversation("ann", "p")
    told: list[Any] = []

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    await talk.progress(1, 2, "a")
    talk.tell = tell
    await talk.progress(2, 2, "b")
    assert told == [(2, 2, "b")]


async def test_a_parked_call_is_for_its_caller_and_its_purpose_once():
    """And of too many of one caller the oldest is given up."""
    parked: Parked[str] = Parked()
    talks = [Conversation[str]("ann", "p") for _ in range(MOST_PARKED + 1)]
    other = Conversation[str]("bob", "p")
    async with anyio.create_task_group() as group:
        for talk in talks:
            group.start_soon(talk.run, anyio.sleep_forever)
        await anyio.sleep(0)
        keys = [parked.park(talk, Questions(a=form("a"))).request_state or "" for talk in [other, *talks]]
        assert all(key.startswith(MARK) for key in keys)
        assert len(set(keys)) == len(keys)
        assert parked.resumed(keys[0], "ann", "p") is None
        assert parked.resumed(keys[0], "bob", "q") is None
        assert parked.resumed(keys[0], "bob", "p") is other
        assert parked.resumed(keys[0], "bob", "p") is None
        assert parked.resumed(keys[1], "ann", "p") is None
        with pytest.raises(MCPError, match="was given up"):
            await talks[0].step()
        assert parked.resumed(keys[2], "ann", "p") is talks[1]
        group.cancel_scope.cancel()
