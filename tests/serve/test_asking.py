"""Whose question it is: one client with calls open is asked, several or none are not."""

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, ErrorData, ListRootsRequest

from toolwise.serve.gateway.asking import MOST, Asker, Askers

pytestmark = pytest.mark.anyio
QUESTION = ListRootsRequest()


class Clock:
    """Time that passes when told."""

    now = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now


async def put(server: str, question: Any) -> ElicitResult:
    """An answer to everything."""
    return ElicitResult(action="accept", content={"by": server})


@pytest.fixture
async def outside() -> AsyncIterator[Any]:
    """Runs something as the SDK runs callbacks of a transport that says nothing: in no call's context."""
    send, receive = anyio.create_memory_object_stream[Any](1)
    back, forth = anyio.create_memory_object_stream[Any](1)

    async def loop() -> None:
        async for work in receive:
            await back.send(work())

    async def run(work: Any) -> Any:
        await send.send(work)
        return await forth.receive()

    async with anyio.create_task_group() as group, send, receive, back, forth:
        group.start_soon(loop)
        yield run
        group.cancel_scope.cancel()


async def test_within_its_call_a_question_is_certain(outside: Any):
    """However many others are open; once the call has ended it is nobody's."""
    askers, ann, bob = Askers("shop", 1), Asker("ann", put), Asker("bob", put)
    later: list[Any] = []

    async def late(ended: anyio.Event) -> None:
        await ended.wait()
        later.append(askers.whose())

    ended = anyio.Event()
    async with anyio.create_task_group() as group:
        with askers.during(ann), askers.during(bob):
            group.start_soon(late, ended)
            assert askers.whose() is bob
            assert await outside(askers.whose) is None
        ended.set()
    assert later == [None]
    assert askers.whose() is None


async def test_without_a_context_the_one_client_with_calls_open_is_meant(outside: Any):
    """Also with several calls; one that cannot be asked is not chosen over one that can."""
    askers = Askers("shop", 1)
    first, second, bob = Asker("ann", put), Asker("ann", None), Asker("bob", put)
    assert await outside(askers.whose) is None
    with askers.during(first):
        assert await outside(askers.whose) is first
        with askers.during(second):
            assert await outside(askers.whose) is first
            with askers.during(bob):
                assert await outside(askers.whose) is None
        assert await outside(askers.whose) is first


async def test_a_call_given_up_counts_for_a_while(outside: Any):
    """For its own client it changes nothing."""
    clock = Clock()
    askers = Askers("shop", 60, clock)
    with anyio.CancelScope() as scope:
        with askers.during(Asker("ann", put)):
            scope.cancel()
            await anyio.sleep(1)
    ann, bob = Asker("ann", put), Asker("bob", put)
    with askers.during(ann):
        assert await outside(askers.whose) is ann
    with askers.during(bob):
        assert await outside(askers.whose) is None
        clock.now = 59.9
        assert await outside(askers.whose) is None
        clock.now = 60.0
        assert await outside(askers.whose) is bob


async def test_calls_given_up_are_forgotten_though_nothing_is_asked():
    """A server that never asks costs no memory."""
    clock = Clock()
    askers = Askers("shop", 60, clock)
    for _ in range(50):
        with anyio.CancelScope() as scope:
            with askers.during(Asker(put=put)):
                scope.cancel()
                await anyio.sleep(1)
        clock.now += 30.0
    assert len(askers._given_up) <= 2


async def test_nameless_clients_are_never_the_same(outside: Any):
    """Two requests without a session are of two clients."""
    askers = Askers("shop", 1)
    with askers.during(Asker(put=put)), askers.during(Asker(put=put)):
        assert await outside(askers.whose) is None


async def test_a_call_may_ask_only_so_often():
    """Then the server is refused, and nobody is asked."""
    asker = Asker("ann", put)
    for _ in range(MOST):
        assert isinstance(await asker.answer("shop", QUESTION), ElicitResult)
    refused = await asker.answer("shop", QUESTION)
    assert isinstance(refused, ErrorData)
    assert f"may ask {MOST} times" in refused.message == asker.refused


async def test_the_clock_of_a_call_stands_still_while_questions_are_open():
    """Two at a time count once."""
    thinking = anyio.Event()

    async def slow(server: str, question: Any) -> ElicitResult:
        await thinking.wait()
        return ElicitResult(action="decline")

    with anyio.move_on_after(10) as scope:
        asker = Asker("ann", slow, scope)
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(asker.answer, "shop", QUESTION)
            await anyio.sleep(0.05)
            assert scope.deadline == float("inf")
            thinking.set()
        assert 9 < scope.deadline - anyio.current_time() <= 10


async def test_a_callback_gives_the_answer_of_its_kind(outside: Any):
    """Another kind of answer is an error; so is a question of nobody's."""
    askers = Askers("shop", 1)
    form = ElicitRequestFormParams(message="?", requested_schema={})
    context: Any = None
    with askers.during(Asker("ann", put)):
        answer = await askers.elicited(context, form)
        assert isinstance(answer, ElicitResult)
        assert answer.content == {"by": "shop"}
        assert isinstance(await askers.rooted(context), ErrorData)
    refused = await askers.elicited(context, form)
    assert isinstance(refused, ErrorData)
    assert "not certain" in refused.message
    assert ElicitRequest(params=form).method == "elicitation/create"
