"""The searching agent over a scripted model on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.audit.endpoint import Endpoint, endpoint, says
from tests.builders import exposure, tool
from tests.learn.script import World, calls, finishes, gives_up, play, raw_call
from toolwise.audit import chat
from toolwise.config import Settings
from toolwise.errors import AnnotatorError, QuestionRefused, UpstreamUnavailable
from toolwise.expose.formats import to_openai
from toolwise.learn.agent import FINISH, GIVE_UP, Call, DfsdtAgent, Finish, GiveUp, action
from toolwise.learn.decision_tree import Bounds
from toolwise.learn.spending import Budget, Line, Meter
from toolwise.records import Observation, Transcript

pytest.importorskip("httpx2", reason="the [openai] extra is not installed")

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = exposure(
    tool("weather/now", "The weather now.", parameters=CITY),
    tool("maps/find", "Find a place.", parameters=CITY),
)


@pytest.fixture
def there() -> Iterator[Endpoint]:
    with endpoint() as found:
        yield found


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat.Chat, "_pause", lambda self, seconds: None)


def agent(there: Endpoint, budget: Budget | None = None, **bounds: int) -> DfsdtAgent:
    configured = Settings(openai_base_url=there.url)
    return DfsdtAgent(Line("tiny", Meter(budget, configured), configured), Bounds(**bounds))


def world() -> World:
    return World(
        weather__now=lambda city: f"rain in {city}",
        maps__find=lambda city: Observation("no such place", ok=False),
    )


def roles(request: dict[str, Any]) -> list[str]:
    return [message["role"] for message in request["messages"]]


def test_a_wrong_tool_a_way_back_and_success(there):
    """Maps fails, the model gives up, is told so at the root, asks the weather and answers."""
    play(
        there,
        [calls("maps__find", city="Oslo"), gives_up(), calls("weather__now", city="Oslo"), finishes("Rain.")],
        [],
    )
    place = world()
    run = agent(there).run(TOOLS, place)
    assert (run.answer, run.ended, run.nodes, run.tokens) == ("Rain.", "answered", 4, 440)
    assert [(s.tool, s.observation.ok, s.kept) for s in run.steps] == [
        ("maps/find", False, False),
        ("weather/now", True, True),
    ]
    assert place.called == [("maps/find", {"city": "Oslo"}), ("weather/now", {"city": "Oslo"})]
    assert [roles(request)[2:] for request in there.requests] == [
        *([], ["assistant", "tool"], ["user"], ["assistant", "tool"]),
    ]
    assert "maps__find" in there.requests[2]["messages"][-1]["content"]


def test_tools_are_offered_as_a_host_would_see_them(there):
    """The payload of the exporter, and the two ends; the request is the user's message."""
    play(there, [finishes("Done.")], [])
    agent(there).run(TOOLS, world())
    (asked,) = there.requests
    assert asked["tools"][:2] == to_openai(TOOLS).payload
    assert [t["function"]["name"] for t in asked["tools"][2:]] == [FINISH, GIVE_UP]
    assert asked["messages"][1] == {"role": "user", "content": "a request"}
    assert "response_format" not in asked


def test_plain_words_are_an_answer(there):
    """A model that calls nothing has finished."""
    play(there, [says("It is raining.")], [])
    run = agent(there).run(TOOLS, world())
    assert (run.answer, run.steps) == ("It is raining.", ())


def test_tools_that_are_not_offered_are_not_called(there):
    """The model is told which there are, and goes on; so with arguments that are no object."""
    script = [calls("shell__run", command="ls"), raw_call("weather__now", "{city:"), finishes("I cannot.")]
    play(there, script, [])
    place = world()
    run = agent(there).run(TOOLS, place)
    assert place.called == []
    assert [(s.tool, s.observation.ok) for s in run.steps] == [("", False), ("weather/now", False)]
    assert "maps__find, weather__now" in run.steps[0].observation.text
    repeated = there.requests[2]["messages"][-2]["tool_calls"][0]["function"]["arguments"]
    assert repeated == "{}"  # servers refuse a conversation whose calls are no JSON


@pytest.mark.parametrize(
    "error", [UpstreamUnavailable("the server is away"), OSError("broken pipe"), TimeoutError("too long")]
)
def test_a_failing_environment_is_an_observation(there, error):
    """A server that is gone, a pipe, a time-out: the run goes on, and the call says nothing of the tool."""

    def fail(city: str) -> None:
        raise error

    play(there, [calls("weather__now", city="Oslo"), finishes("It is away.")], [])
    run = agent(there).run(TOOLS, World(weather__now=fail))
    assert run.answer == "It is away."
    assert (run.steps[0].observation.ok, run.steps[0].observation.telling) == (False, False)
    assert str(error) in there.requests[1]["messages"][-1]["content"]


def test_a_callback_may_be_a_coroutine(there):
    """Awaited from ordinary code and from within a running loop."""

    async def slow(tool: str, arguments: Any) -> Observation:
        await asyncio.sleep(0)
        return Observation(f"{tool} {arguments}")

    def run() -> Transcript:
        play(there, [calls("weather__now", city="Oslo"), finishes("ok")], [])
        return agent(there).run(TOOLS, slow)

    async def within() -> Transcript:
        return run()

    for found in (run(), asyncio.run(within())):
        assert found.steps[0].observation.text == "weather/now {'city': 'Oslo'}"


def test_the_bounds_hold(there):
    """Nodes: three questions and no more.  Tokens: 110 each, so two.  Neither has an answer."""
    script = [calls("weather__now", city=str(i)) for i in range(9)]
    play(there, script, [])
    run = agent(there, nodes=3).run(TOOLS, world())
    assert (run.ended, run.answer, run.nodes) == ("nodes", None, 3)
    play(there, script, [])
    assert (agent(there, tokens=200).run(TOOLS, world())).nodes == 2


def test_at_the_greatest_depth_only_an_end_is_offered(there):
    """Depth 1: after one call, finish and give up; a call all the same leads back, and is not made."""
    play(there, [calls("weather__now", city="A"), calls("weather__now", city="B"), finishes("ok")], [])
    place = world()
    run = agent(there, depth=1).run(TOOLS, place)
    assert [t["function"]["name"] for t in there.requests[1]["tools"]] == [FINISH, GIVE_UP]
    assert len(place.called) == 1
    assert (run.answer, run.steps[0].kept) == ("ok", False)


def test_the_same_call_again_is_not_made(there):
    """Back at a node, a repeated call counts as giving up: at the root that ends the run."""
    again = calls("maps__find", city="Oslo")
    play(there, [again, gives_up(), again], [])
    place = world()
    run = agent(there).run(TOOLS, place)
    assert (run.ended, run.answer, len(place.called)) == ("gave up", None, 1)


def test_the_budget_ends_a_run(there):
    """After two answers of the endpoint nothing is asked any more, in this run and the next."""
    play(there, [calls("weather__now", city=str(i)) for i in range(9)], [])
    some = agent(there, Budget(calls=2))
    assert (some.run(TOOLS, world()).ended, some.run(TOOLS, world()).nodes) == ("budget", 0)
    assert len(there.requests) == 2


def test_a_request_that_is_not_taken_is_told_apart(there):
    """Refused at the root: an error of that request; later, a way that is closed."""
    there.reply((400, {"error": "content filter"}))
    with pytest.raises(QuestionRefused, match="content filter"):
        agent(there).run(TOOLS, world())
    play(there, [calls("maps__find", city="A"), (400, {"error": "too long"}), finishes("ok")], [])
    run = agent(there).run(TOOLS, world())
    assert (run.answer, run.steps[0].kept) == ("ok", False)


def test_a_dead_endpoint_is_an_error(there):
    """It says what to check."""
    there.reply((401, {"error": "no key"}))
    with pytest.raises(AnnotatorError, match="Check openai_base_url"):
        agent(there).run(TOOLS, world())


def test_the_name_tells_models_and_bounds_apart(there):
    """Equal for equal ones."""
    assert agent(there).name == agent(there).name
    assert agent(there).name != agent(there, nodes=3).name
    assert agent(there).name.startswith("dfsdt:tiny:")


@pytest.mark.parametrize("arguments", ['{"city": "\\ud83d"}', '{"city": NaN}', "[" * 5000, '["Oslo"]'])
def test_arguments_that_cannot_be_sent_on_are_told_back(there, arguments):
    """Half characters, numbers that are none, endless nesting, a list: no call, and the run goes on."""
    play(there, [raw_call("weather__now", arguments), finishes("ok \ud83d")], [])
    place = world()
    run = agent(there).run(TOOLS, place)
    assert (place.called, run.answer) == ([], "ok \\ud83d")
    assert run.steps[0].observation.text == "the arguments are no JSON object"


def test_half_characters_of_results_are_escaped(there):
    """The endpoint takes no text that is not Unicode."""
    play(there, [calls("weather__now", city="Oslo"), finishes("ok")], [])
    run = agent(there).run(TOOLS, World(weather__now=lambda city: "sun \ud83d"))
    assert run.answer == "ok"
    assert there.requests[1]["messages"][-1]["content"] == "sun \\ud83d"


@pytest.mark.parametrize(
    ("message", "meant"),
    [
        ({}, GiveUp()),
        ({"content": "  "}, GiveUp()),
        ({"content": 3}, GiveUp()),
        ({"content": " yes "}, Finish("yes")),
        ({"tool_calls": "x"}, GiveUp()),
        ({"tool_calls": [3]}, GiveUp()),
        ({"tool_calls": [{"function": {"name": FINISH, "arguments": '{"answer": "a"}'}}]}, Finish("a")),
        ({"tool_calls": [{"function": {"name": FINISH, "arguments": {"answer": "a"}}}]}, Finish("a")),
        ({"tool_calls": [{"function": {"name": FINISH, "arguments": "{}"}}]}, GiveUp()),
        ({"tool_calls": [{"function": {"name": GIVE_UP, "arguments": '{"calls": 3}'}}]}, GiveUp(3)),
        ({"tool_calls": [{"function": {"name": GIVE_UP, "arguments": '{"calls": -3}'}}]}, GiveUp(1)),
        ({"tool_calls": [{"function": {"name": GIVE_UP, "arguments": "["}}]}, GiveUp(1)),
    ],
)
def test_messages_are_read_for_what_they_are(message, meant):
    """Whatever an endpoint sends means something, and nothing raises."""
    assert action(message) == meant


def test_of_several_calls_the_first_counts():
    """And the conversation goes on as if there were no other."""
    both = [{"id": str(i), "function": {"name": f"f{i}", "arguments": "{}"}} for i in range(2)]
    found = action({"content": "thinking", "tool_calls": both})
    assert isinstance(found, Call)
    assert (found.function, found.arguments) == ("f0", {})
    assert found.message["content"] == "thinking"
    assert [call["id"] for call in found.message["tool_calls"]] == ["0"]


def test_half_a_character_in_a_request_is_escaped(there):
    """No endpoint takes it, and no answer that is kept may hold it."""
    play(there, [finishes("Done.")], [])
    run = agent(there).run(replace(TOOLS, query="rain \ud83c today"), world())
    assert (run.ended, run.request) == ("answered", "rain \\ud83c today")
    assert there.requests[0]["messages"][1]["content"] == "rain \\ud83c today"
