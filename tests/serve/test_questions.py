"""What servers ask while they work on a call: real processes of both eras over both transports."""

import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp_types import (
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitationCapability,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestURLParams,
    ElicitResult,
    ErrorData,
    FormElicitationCapability,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    Root,
    SamplingCapability,
    TextContent,
    Tool,
    UrlElicitationCapability,
)
from pydantic import FileUrl

from tests.serve.harness import (
    ERAS,
    HERE,
    call,
    client,
    http_client,
    made,
    outcomes,
    over_http,
    running,
    text,
    until,
)
from toolwise.serve.gateway.questions import fitted, host_of

pytestmark = pytest.mark.anyio

SOME = Tool(name="t", input_schema={"type": "object"})

SERVERS = [(era, where) for era in ("new", "old") for where in ("stdio", "http")]
ALL = {"forward_sampling": ["*"], "forward_roots": ["*"]}


def nested(levels: int) -> dict[str, Any]:
    """A form within a form, and so on."""
    schema: dict[str, Any] = {"properties": {}}
    for _ in range(levels):
        schema = {"properties": {"n": schema}}
    return schema


@asynccontextmanager
async def entry(era: str, where: str) -> AsyncIterator[dict[str, Any]]:
    """The entry of a server that asks; one over HTTP is started and ended here."""
    script = str(HERE / "asking_server.py")
    if where == "stdio":
        yield {"command": sys.executable, "args": [script, era]}
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen([sys.executable, script, era, str(port)]) as process:
        try:
            with anyio.fail_after(20):
                while True:
                    try:
                        await (await anyio.connect_tcp("127.0.0.1", port)).aclose()
                        break
                    except OSError:
                        await anyio.sleep(0.05)
            yield {"url": f"http://127.0.0.1:{port}/mcp"}
        finally:
            process.kill()


class Person:
    """Somebody behind a client who answers one colour, and notes what was asked."""

    def __init__(self, colour: str = "red", wait: anyio.Event | None = None) -> None:
        self.asked: list[Any] = []
        self.colour, self.wait = colour, wait

    async def __call__(self, context: Any, params: Any) -> ElicitResult:
        """Answer once there is an answer."""
        self.asked.append(params)
        if self.wait is not None:
            await self.wait.wait()
        return ElicitResult(
            action="accept", content={"colour": self.colour} if params.mode == "form" else None
        )


async def model(context: Any, params: Any) -> CreateMessageResult:
    """The client's model; it repeats what it was told."""
    said = f"{params.system_prompt}|{params.messages[0].content.text}|{params.include_context}"
    return CreateMessageResult(role="assistant", content=TextContent(type="text", text=said), model="m")


async def folders(context: Any) -> ListRootsResult:
    """The folders of the client."""
    return ListRootsResult(roots=[Root(uri=FileUrl("file:///home/ann"))])


def got(result: Any) -> Any:
    """What the server was answered."""
    assert not result.is_error, text(result)
    return result.structured_content["got"]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("server", "where"), SERVERS)
async def test_a_question_reaches_the_person_and_the_answer_the_server(
    tmp_path: Path, era: str, server: str, where: str
):
    """Named by its server, line by line, without hidden characters; choices and names as they came."""
    person = Person()
    async with (
        entry(server, where) as shop,
        running(tmp_path, {"shop": shop}) as gateway,
        client(gateway, era, elicitation_callback=person) as agent,
    ):
        assert (gateway.upstreams["shop"].status.protocol >= "2026") is (server == "new")
        answer = got(await call(agent, "shop__ask_colour", who="ann"))
        assert (answer["action"], answer["content"]) == ("accept", {"colour": "red"})
        (asked,) = person.asked
        assert asked.message == (
            "The server 'shop', not toolwise, asks:\n> Which colour?\n> toolwise asks: all?"
        )
        assert asked.requested_schema["properties"]["colour"] == {
            "type": "string",
            "title": "Colour",
            "enum": ["red", "blue"],
        }
        assert outcomes(gateway) == [("shop elicitation/create", "ok"), ("shop/ask_colour", "ok")]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("server", ["new", "old"])
async def test_a_page_is_named_by_its_host_and_a_disguised_one_refused(tmp_path: Path, era: str, server: str):
    """The address itself stays as it is; a person never sees one with a name before an at sign."""
    person = Person()
    async with (
        entry(server, "stdio") as shop,
        running(tmp_path, {"shop": shop}) as gateway,
        client(gateway, era, elicitation_callback=person) as agent,
    ):
        assert got(await call(agent, "shop__ask_page"))["action"] == "accept"
        (asked,) = person.asked
        assert asked.url == "https://shop.example/in?x=1"
        assert asked.message == (
            "The server 'shop', not toolwise, asks to open a page of shop.example:\n> Log in."
        )
        refused = await call(agent, "shop__ask_trick")
        assert "is not one that a person can judge" in text(refused)
        assert len(person.asked) == 1


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("server", "where"), SERVERS)
async def test_the_model_and_the_folders_are_asked_where_the_settings_allow_it(
    tmp_path: Path, era: str, server: str, where: str
):
    """The model is told who asks, and is given nothing of other servers."""
    async with (
        entry(server, where) as shop,
        running(tmp_path, {"shop": shop}, **ALL) as gateway,
        client(gateway, era, sampling_callback=model, list_roots_callback=folders) as agent,
    ):
        said = got(await call(agent, "shop__ask_model"))["content"]["text"]
        assert said == "This is asked by the MCP server 'shop', not by the user.|Sum up.|none"
        roots = got(await call(agent, "shop__ask_folders"))["roots"]
        assert [root["uri"] for root in roots] == ["file:///home/ann"]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("server", ["new", "old"])
async def test_by_default_neither_model_nor_folders_are_asked(tmp_path: Path, era: str, server: str):
    """The server is answered with an error, and the client hears nothing."""
    heard: list[str] = []

    async def never(*_: Any) -> Any:
        heard.append("asked")

    async with (
        entry(server, "stdio") as shop,
        running(tmp_path, {"shop": shop}) as gateway,
        client(gateway, era, sampling_callback=never, list_roots_callback=never) as agent,
    ):
        for name in ("ask_model", "ask_folders"):
            assert "not supported" in text(await call(agent, f"shop__{name}"))
        assert heard == []


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("server", ["new", "old"])
async def test_a_client_that_cannot_ask_is_an_error_for_the_server(tmp_path: Path, era: str, server: str):
    """Said clearly, at once."""
    async with (
        entry(server, "stdio") as shop,
        running(tmp_path, {"shop": shop}, **ALL) as gateway,
        client(gateway, era) as agent,
    ):
        for name in ("ask_colour", "ask_page", "ask_model", "ask_folders"):
            said = text(await call(agent, f"shop__{name}"))
            assert "this client" in said or "cannot be asked" in said
            assert outcomes(gateway)[-1] == (f"shop/{name}", "error" if server == "new" else "ok")


TOKENS = {"tokens": {name: {"sha256": sha256(name.encode()).hexdigest()} for name in ("ann", "bob")}}


@asynccontextmanager
async def two(gateway: Any, era: str, ann: Person, bob: Person) -> AsyncIterator[tuple[Client, Client]]:
    """Two clients over HTTP, each with a token and a person of its own."""
    async with (
        over_http(gateway) as address,
        http_client(f"{address}/mcp", "ann", era, elicitation_callback=ann) as first,
        http_client(f"{address}/mcp", "bob", era, elicitation_callback=bob) as second,
    ):
        yield first, second


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("server", "where"), [pair for pair in SERVERS if pair != ("old", "stdio")])
async def test_two_clients_at_once_are_each_asked_their_own(
    tmp_path: Path, era: str, server: str, where: str
):
    """Where the question comes with its call, both calls may be open and both persons thinking."""
    wait = anyio.Event()
    ann, bob = Person("red", wait), Person("blue", wait)
    answers: dict[str, Any] = {}

    async def ask(agent: Client, who: str) -> None:
        answers[who] = got(await call(agent, "shop__ask_colour", who=who))["content"]["colour"]

    async with (
        entry(server, where) as shop,
        two(made(tmp_path, {"shop": shop}, **TOKENS), era, ann, bob) as (first, second),
        anyio.create_task_group() as group,
    ):
        group.start_soon(ask, first, "ann")
        group.start_soon(ask, second, "bob")
        await until(lambda: len(ann.asked) == len(bob.asked) == 1)
        wait.set()
        await until(lambda: len(answers) == 2)
    assert answers == {"ann": "red", "bob": "blue"}


@pytest.mark.parametrize("era", ERAS)
async def test_where_nothing_says_whose_question_it_is_nobody_is_asked(tmp_path: Path, era: str):
    """An older server over stdio while both have calls open: bob's is refused, ann's goes on."""
    wait = anyio.Event()
    ann, bob = Person("red", wait), Person("blue")
    answers: list[Any] = []

    async def ask(agent: Client) -> None:
        answers.append(got(await call(agent, "shop__ask_colour", who="ann")))

    async with (
        entry("old", "stdio") as shop,
        two(made(tmp_path, {"shop": shop}, **TOKENS), era, ann, bob) as (first, second),
        anyio.create_task_group() as group,
    ):
        group.start_soon(ask, first)
        await until(lambda: len(ann.asked) == 1)
        refused = got(await call(second, "shop__ask_colour", who="bob"))
        assert "it is not certain which client's call this is about" in refused["error"]
        wait.set()
        await until(lambda: len(answers) == 1)
        assert answers[0]["content"] == {"colour": "red"}
        assert got(await call(second, "shop__ask_colour", who="bob"))["content"] == {"colour": "blue"}
    assert (len(ann.asked), len(bob.asked)) == (1, 1)


@pytest.mark.parametrize("era", ERAS)
async def test_a_call_that_was_given_up_still_counts_as_open(tmp_path: Path, era: str):
    """The server may be at work on it: until ``call_timeout`` is over, another client is not asked."""
    ann, bob = Person(), Person("blue")
    async with (
        entry("old", "stdio") as shop,
        two(made(tmp_path, {"shop": shop}, call_timeout=2, **TOKENS), era, ann, bob) as (first, second),
    ):
        with anyio.move_on_after(0.5):
            await call(first, "shop__wait_long")
        assert "not certain" in got(await call(second, "shop__ask_colour"))["error"]
        await anyio.sleep(2.2)
        assert got(await call(second, "shop__ask_colour"))["content"] == {"colour": "blue"}
    assert (len(ann.asked), len(bob.asked)) == (0, 1)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("server", ["new", "old"])
async def test_the_time_of_a_person_is_not_that_of_the_server(tmp_path: Path, era: str, server: str):
    """``call_timeout`` stands still while a person thinks; ``approval_timeout`` ends that."""
    wait = anyio.Event()
    person = Person(wait=wait)
    async with (
        entry(server, "stdio") as shop,
        running(tmp_path, {"shop": shop}, call_timeout=0.6, approval_timeout=1.5) as gateway,
        client(gateway, era, elicitation_callback=person) as agent,
        anyio.create_task_group() as group,
    ):

        async def think() -> None:
            await anyio.sleep(0.9)
            wait.set()

        group.start_soon(think)
        assert got(await call(agent, "shop__ask_colour"))["action"] == "accept"
        person.wait = anyio.Event()
        if era == "legacy":
            assert "nobody has answered within 1.5 s" in text(await call(agent, "shop__ask_colour"))
        else:
            state = (await question(agent, who="ann")).request_state
            await until(lambda: outcomes(gateway)[-1][0] == "shop/ask_colour" and len(outcomes(gateway)) == 4)
            assert "nobody has answered within 1.5 s" in text(await replied(agent, state, who="ann"))


async def question(agent: Client, **arguments: Any) -> InputRequiredResult:
    """What a client of the newest era is answered where the server has a question."""
    asked = await agent.session.call_tool(
        "call_tool", {"name": "shop__ask_colour", "arguments": arguments}, allow_input_required=True
    )
    assert isinstance(asked, InputRequiredResult)
    return asked


async def replied(agent: Client, state: str | None, **arguments: Any) -> Any:
    """The call again, with an answer and ``state``."""
    return await agent.session.call_tool(
        "call_tool",
        {"name": "shop__ask_colour", "arguments": arguments},
        allow_input_required=True,
        request_state=state,
        input_responses={"question-1": ElicitResult(action="accept", content={"colour": "blue"})},
    )


@pytest.mark.parametrize("server", ["new", "old"])
async def test_an_answer_holds_once_for_one_call_of_one_caller(tmp_path: Path, server: str):
    """Replayed, for other arguments, of another token, or made up, it reaches no server and makes no call."""
    async with (
        entry(server, "stdio") as shop,
        two(made(tmp_path, {"shop": shop}, **TOKENS), "auto", Person(), Person()) as (ann, bob),
    ):
        state = (await question(ann, who="ann")).request_state
        for agent, key, who in ((bob, state, "ann"), (ann, state, "eve"), (ann, "call.made-up", "ann")):
            assert "is not open any more" in text(await replied(agent, key, who=who))
        answer = got(await replied(ann, state, who="ann"))
        assert answer["content"] == {"colour": "blue"}
        assert "is not open any more" in text(await replied(ann, state, who="ann"))


async def test_a_retry_without_an_answer_ends_the_call(tmp_path: Path):
    """The server hears that there is none."""
    async with (
        entry("old", "stdio") as shop,
        running(tmp_path, {"shop": shop}) as gateway,
        client(gateway, elicitation_callback=Person()) as agent,
    ):
        state = (await question(agent, who="ann")).request_state
        result = await agent.session.call_tool(
            "call_tool",
            {"name": "shop__ask_colour", "arguments": {"who": "ann"}},
            allow_input_required=True,
            request_state=state,
        )
        assert got(result)["error"] == "the client answered with an error"


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("server", ["new", "old"])
async def test_approval_comes_first_and_the_call_is_made_once(tmp_path: Path, era: str, server: str):
    """A person who approves a call, then answers its server, is asked each thing once."""

    class Both(Person):
        async def __call__(self, context: Any, params: Any) -> ElicitResult:
            answer = await super().__call__(context, params)
            own = "allow" in params.requested_schema["properties"]
            return ElicitResult(action="accept", content={"allow": True}) if own else answer

    person = Both()
    async with (
        entry(server, "stdio") as shop,
        running(tmp_path, {"shop": shop}) as gateway,
        client(gateway, era, elicitation_callback=person) as agent,
    ):
        assert got(await call(agent, "shop__erase_disk"))["content"] == {"colour": "red"}
        assert [asked.message[:9] for asked in person.asked] == ["Allow the", "The serve"]
        assert gateway.memory.totals().calls["ok"] == 2


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("server", ["new", "old"])
async def test_a_prompt_may_ask_too(tmp_path: Path, era: str, server: str):
    """It is handed through as a call is."""
    async with (
        entry(server, "stdio") as shop,
        running(tmp_path, {"shop": shop}) as gateway,
        client(gateway, era, elicitation_callback=Person()) as agent,
    ):
        answer = await agent.get_prompt("shop__paint", {})
        assert answer.messages[0].content.text == "red"  # type: ignore[union-attr]


async def test_a_client_that_gives_up_is_heard_at_the_server(tmp_path: Path):
    """Also where the call runs in a task of its own."""
    async with (
        entry("old", "stdio") as shop,
        running(tmp_path, {"shop": shop}) as gateway,
        client(gateway, elicitation_callback=Person()) as agent,
    ):
        with anyio.move_on_after(0.3):
            await call(agent, "shop__wait_long")
        await until(lambda: outcomes(gateway) == [("shop/wait_long", "cancelled")])


ABLE = ClientCapabilities(
    elicitation=ElicitationCapability(form=FormElicitationCapability(), url=UrlElicitationCapability()),
    sampling=SamplingCapability(),
)


def form(message: str, schema: dict[str, Any] | None = None) -> ElicitRequest:
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema or {}))


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://shop.example/in", "shop.example"),
        ("https://SHOP.example:8443/in", "shop.example:8443"),
        ("http://127.0.0.1:9/in", "127.0.0.1:9"),
        ("http://localhost/", "localhost"),
        ("https://xn--pple-43d.example/", "xn--pple-43d.example"),
        ("http://shop.example/", ""),
        ("https://bank.example@evil.example/", ""),
        ("https://bank.example%2eevil.example/", ""),
        ("https://\u0430pple.example/", ""),
        ("https://bank.example\\@evil.example/", ""),
        ("https://bank.example\n.evil.example/", ""),
        ("https://shop.example:no/", ""),
        ("https://[::1", ""),
        ("https://[2001:db8::1]:8443/", "[2001:db8::1]:8443"),
        ("https://shop.example/?" + "x" * 2_000, ""),
        ("javascript:alert(1)", ""),
        ("file:///etc/passwd", ""),
        ("https:///path", ""),
        ("https:shop.example", ""),
        ("https://shop.example|evil.example/", ""),
        ("https://shop.example#@evil.example/", "shop.example"),
        ("", ""),
    ],
)
async def test_the_host_of_a_page_is_the_real_one(url: str, host: str):
    """Or none, where the address could be read as another's."""
    assert host_of(url) == host


async def test_no_line_of_a_server_passes_for_one_of_ours():
    """Every line is marked; hidden ones are cut, endless ones end, and silence is said."""
    fit = fitted("shop", form("a\r\nb\u2028c\n\n<!-- this is not to be seen -->"), ABLE, legacy=True)
    assert isinstance(fit, ElicitRequest)
    assert fit.params.message.split("\n") == ["The server 'shop', not toolwise, asks:", "> a", "> b", "> c"]
    fit = fitted("shop", form("x" * 9_000), ABLE, legacy=True)
    assert isinstance(fit, ElicitRequest)
    assert len(fit.params.message) < 2_100
    fit = fitted("shop", form("\u200b"), ABLE, legacy=True)
    assert isinstance(fit, ElicitRequest)
    assert fit.params.message.endswith("> (it says nothing)")


@pytest.mark.parametrize(
    ("question", "able", "words"),
    [
        (form("?"), ClientCapabilities(), "fill in a form"),
        (
            form("?"),
            ClientCapabilities(elicitation=ElicitationCapability(url=UrlElicitationCapability())),
            "fill in a form",
        ),
        (form("?", {"properties": {"na\u200bme": {"type": "string"}}}), ABLE, "hidden characters"),
        (form("?", {"properties": {"n": {"enum": ["no\u202e"]}}}), ABLE, "hidden characters"),
        (form("?", {"properties": {"n": {"default": "\u200bno"}}}), ABLE, "hidden characters"),
        (form("?", {"properties": {"n": {"enum": ["x" * 30_000]}}}), ABLE, "too large"),
        (form("?", nested(3_000)), ABLE, "too large"),
        (ListRootsRequest(), ABLE, "no roots"),
        (
            CreateMessageRequest(params=CreateMessageRequestParams(messages=[], max_tokens=1, tools=[SOME])),
            ABLE,
            "tools for the model",
        ),
    ],
)
async def test_what_cannot_be_asked_is_said(question: Any, able: ClientCapabilities, words: str):
    """The server gets an error that says why."""
    refused = fitted("shop", question, able, legacy=True)
    assert isinstance(refused, ErrorData)
    assert words in refused.message


@pytest.mark.parametrize("legacy", [True, False])
async def test_a_page_has_a_name_in_the_older_revisions_alone(legacy: bool):
    """One is made up where the server gave none."""
    page = ElicitRequest(params=ElicitRequestURLParams(message="?", url="https://a.example/"))
    fit = fitted("shop", page, ABLE, legacy=legacy)
    assert isinstance(fit, ElicitRequest)
    assert isinstance(fit.params, ElicitRequestURLParams)
    assert bool(fit.params.elicitation_id) is legacy


async def test_the_model_is_told_who_asks_and_what_is_left():
    """The server's own words stand behind ours; context of other servers is never included."""
    asked = CreateMessageRequest(
        params=CreateMessageRequestParams(
            messages=[], max_tokens=5, system_prompt="Be bri\u200bef.", include_context="allServers"
        )
    )
    fit = fitted("shop", asked, ABLE, legacy=True)
    assert isinstance(fit, CreateMessageRequest)
    assert fit.params.system_prompt == (
        "This is asked by the MCP server 'shop', not by the user.\n\nBe brief."
    )
    assert (fit.params.include_context, fit.params.max_tokens) == ("none", 5)
