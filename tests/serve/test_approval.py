"""Calls that a person has to approve: asked in both eras, declined, replayed, changed, in toxic flows."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.server.context import ServerRequestContext
from mcp_types import ElicitResult, InputRequiredResult

from tests.serve.harness import (
    ERAS,
    MAIL,
    PAGE,
    SEND,
    SHELF,
    call,
    client,
    journal,
    office,
    outcomes,
    running,
    text,
)

pytestmark = pytest.mark.anyio


class Person:
    """Answers what the gateway asks."""

    def __init__(self, action: str = "accept", content: dict[str, Any] | None = None) -> None:
        self.asked: list[str] = []
        self.answer = ElicitResult.model_validate({"action": action, "content": content})

    async def __call__(self, context: ServerRequestContext, params: Any) -> ElicitResult:
        """Answer, and note the question."""
        self.asked.append(params.message)
        return self.answer


YES = {"allow": True}


def asking(gateway: Any, era: str, person: Person) -> Client:
    return client(gateway, era, elicitation_callback=person)


@pytest.mark.parametrize("era", ERAS)
async def test_a_person_who_says_yes_lets_the_call_through(tmp_path: Path, era: str):
    """Asked once, with the tool, the reason and the arguments."""
    person = Person(content=YES)
    async with (
        running(tmp_path, {"a": office(tmp_path, "a", [SEND])}) as gateway,
        asking(gateway, era, person) as agent,
    ):
        assert not (await call(agent, "a__send_email", to="joe")).is_error
        assert person.asked == [
            'Allow the agent to call a/send_email? It is of risk level 4. Arguments: {"to": "joe"}'
        ]
        assert outcomes(gateway) == [("a/send_email", "ok")]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("action", "content"),
    [("decline", None), ("cancel", None), ("accept", {"allow": False})],
)
async def test_anything_but_yes_is_no(tmp_path: Path, era: str, action: str, content: dict[str, Any] | None):
    """Declined, dismissed, or accepted with the box not ticked: the server hears nothing."""
    person = Person(action, content)
    async with (
        running(tmp_path, {"a": office(tmp_path, "a", [SEND])}) as gateway,
        asking(gateway, era, person) as agent,
    ):
        result = await call(agent, "a__send_email")
        assert "a person has declined the call of a/send_email" in text(result)
        assert len(person.asked) == 1
        assert outcomes(gateway) == [("a/send_email", "refused")]
        assert not [entry for entry in journal(tmp_path, "a") if entry[0] == "call"]


@pytest.mark.parametrize("era", ERAS)
async def test_where_nobody_can_be_asked_the_call_is_refused(tmp_path: Path, era: str):
    """The message says how an operator may allow it."""
    servers = {"a": office(tmp_path, "a", [SEND])}
    async with running(tmp_path, servers) as gateway, client(gateway, era) as agent:
        result = await call(agent, "a__send_email")
        assert result.is_error
        assert 'allow_calls = ["a/send_email"]' in text(result)


@pytest.mark.parametrize("era", ERAS)
async def test_a_named_tool_needs_no_approval_for_its_level(tmp_path: Path, era: str):
    """``allow_calls`` is the operator's word."""
    servers = {"a": office(tmp_path, "a", [SEND])}
    async with running(tmp_path, servers, allow_calls=["a/send*"]) as gateway, client(gateway, era) as agent:
        assert not (await call(agent, "a__send_email")).is_error


async def test_a_person_who_does_not_answer_has_not_approved(tmp_path: Path):
    """After the time of the settings the call is refused."""

    class Silent(Person):
        async def __call__(self, context: ServerRequestContext, params: Any) -> ElicitResult:
            await anyio.sleep_forever()
            raise AssertionError

    servers = {"a": office(tmp_path, "a", [SEND])}
    async with (
        running(tmp_path, servers, approval_timeout=0.3) as gateway,
        asking(gateway, "legacy", Silent()) as agent,
    ):
        assert "nobody has approved a/send_email within 0.3 s" in text(await call(agent, "a__send_email"))


async def question(agent: Client, **arguments: Any) -> InputRequiredResult:
    """What a client of the newest era is answered where a person has to be asked."""
    asked = await agent.session.call_tool(
        "call_tool", {"name": "a__send_email", "arguments": arguments}, allow_input_required=True
    )
    assert isinstance(asked, InputRequiredResult)
    return asked


async def replied(agent: Client, state: str | None, **arguments: Any) -> Any:
    """The call again, with a yes and ``state``."""
    return await agent.session.call_tool(
        "call_tool",
        {"name": "a__send_email", "arguments": arguments},
        allow_input_required=True,
        request_state=state,
        input_responses={"approval": ElicitResult(action="accept", content=YES)},
    )


async def test_an_approval_holds_once_and_for_what_was_asked(tmp_path: Path):
    """Replayed, given for other arguments, or made up, it only leads to the question again."""
    async with (
        running(tmp_path, {"a": office(tmp_path, "a", [SEND])}) as gateway,
        asking(gateway, "auto", Person()) as agent,
    ):
        state = (await question(agent, to="joe")).request_state
        assert not (await replied(agent, state, to="joe")).is_error
        assert isinstance(await replied(agent, state, to="joe"), InputRequiredResult)
        other = (await question(agent, to="joe")).request_state
        assert isinstance(await replied(agent, other, to="eve"), InputRequiredResult)
        assert isinstance(await replied(agent, other, to="joe"), InputRequiredResult)
        assert isinstance(await replied(agent, None, to="joe"), InputRequiredResult)
        heard = [entry[2] for entry in journal(tmp_path, "a") if entry[0] == "call"]
        assert heard == [{"to": "joe"}]


@pytest.mark.parametrize("era", ERAS)
async def test_sending_out_after_private_and_untrusted_reading_is_asked(tmp_path: Path, era: str):
    """Before both were read it is not; ``allow_calls`` speaks for levels alone; declining holds it back."""
    person = Person("decline")
    servers = {"a": office(tmp_path, "a", [PAGE, SEND, SHELF]), "b": office(tmp_path, "b", [MAIL])}
    async with (
        running(tmp_path, servers, allow_calls=["*"]) as gateway,
        asking(gateway, era, person) as agent,
    ):
        await call(agent, "a__fetch_web_page")
        await call(agent, "a__list_shelves", floor=1)
        assert not (await call(agent, "a__send_email")).is_error
        assert person.asked == []
        await call(agent, "b__read_inbox")
        assert (await call(agent, "a__send_email")).is_error
        assert "this session has read private data and untrusted content" in person.asked[0]
        assert not (await call(agent, "a__list_shelves", floor=1)).is_error


async def test_the_flow_guard_can_be_switched_off(tmp_path: Path):
    """Then nobody is asked."""
    servers = {"a": office(tmp_path, "a", [PAGE, MAIL, SEND])}
    async with (
        running(tmp_path, servers, allow_calls=["*"], flow_guard=False) as gateway,
        client(gateway) as agent,
    ):
        for name in ("a__fetch_web_page", "a__read_inbox", "a__send_email"):
            assert not (await call(agent, name)).is_error
