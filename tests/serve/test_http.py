"""The gateway over HTTP: tokens, tenants, profiles, health, metrics, clients that leave."""

import socket
from hashlib import sha256
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp_types import ElicitResult

from tests.serve.harness import (
    ERAS,
    MAIL,
    PAGE,
    SEND,
    SHELF,
    WATER,
    call,
    found,
    http_client,
    journal,
    made,
    names,
    office,
    outcomes,
    over_http,
    text,
    tool,
    until,
)
from toolwise.errors import GatewayError
from toolwise.serve.gateway.http import _bound, http_app, is_loopback

pytestmark = pytest.mark.anyio


def token(secret: str, **more: Any) -> dict[str, Any]:
    return {"sha256": sha256(secret.encode()).hexdigest(), **more}


NOTE = tool("write_note", "Write a note to a file.")


@pytest.mark.parametrize("era", ERAS)
async def test_tools_are_found_and_called(tmp_path: Path, era: str):
    """Without tokens everybody on this machine is one caller."""
    gateway = made(tmp_path, {"a": office(tmp_path, "a", [SHELF])})
    async with over_http(gateway) as address, http_client(f"{address}/mcp", era=era) as agent:
        assert await found(agent, "list the shelves of the archive") == ["a__list_shelves"]
        assert not (await call(agent, "a__list_shelves", floor=1)).is_error
        assert [row["who"] for row in gateway.memory.rows("calls")] == ["local"]


@pytest.mark.parametrize("era", ERAS)
async def test_scopes_of_a_token_decide_what_is_there(tmp_path: Path, era: str):
    """What writes is found and called with one token, and does not exist for the other: same bytes."""
    tokens = {"ann": token("a", scopes=["read"]), "bob": token("b")}
    gateway = made(tmp_path, {"a": office(tmp_path, "a", [SHELF, NOTE])}, tokens=tokens, split_calls=True)
    async with over_http(gateway) as address:
        async with http_client(f"{address}/mcp", "a", era) as ann:
            assert await names(ann) == ["find_tools", "call_read_tool"]
            assert "a__write_note" not in await found(ann, "write a note to a file")
            answers = []
            for name in ("a__write_note", "a/write_note", "a__none"):
                result = await call(ann, name, "call_read_tool")
                answers.append(result.model_dump_json().replace(name, "NAME"))
            assert answers[0] == answers[1] == answers[2]
            assert "There is no tool called" in answers[0]
            direct = await ann.call_tool("call_write_tool", {"name": "a__write_note", "arguments": {}})
            assert "There is no tool called 'call_write_tool'" in text(direct)
        async with http_client(f"{address}/mcp", "b", era) as bob:
            assert "a__write_note" in await found(bob, "write a note to a file")
            assert not (await call(bob, "a__write_note", "call_write_tool")).is_error
        assert {row["who"] for row in gateway.memory.rows("calls")} == {"ann", "bob"}


async def test_without_a_known_token_nothing_is_answered(tmp_path: Path):
    """401 for none, an unknown one and the hash itself; health alone is open, and says no names."""
    gateway = made(tmp_path, {"a": office(tmp_path, "a", [SHELF])}, tokens={"ann": token("a")})
    async with over_http(gateway) as address, httpx2.AsyncClient() as http:
        for header in (
            {},
            {"Authorization": "Bearer b"},
            {"Authorization": f"Bearer {sha256(b'a').hexdigest()}"},
        ):
            for path in ("/mcp", "/metrics"):
                assert (await http.post(f"{address}{path}", headers=header)).status_code == 401
        health = await http.get(f"{address}/healthz")
        assert health.json() == {"status": "ok", "servers": 1, "connected": 1}
        metrics = await http.get(f"{address}/metrics", headers={"Authorization": "Bearer a"})
        assert "toolwise_tools 1.0" in metrics.text
        assert 'toolwise_upstreams{state="connected"} 1.0' in metrics.text


async def test_tenants_do_not_share_a_session(tmp_path: Path):
    """Budgets and what was read are counted per token, in the stateless era too."""
    tokens = {"ann": token("a"), "bob": token("b")}
    servers = {"a": office(tmp_path, "a", [SHELF, MAIL, PAGE, SEND])}
    gateway = made(tmp_path, servers, tokens=tokens, max_calls=3, allow_calls=["*"])
    async with over_http(gateway) as address:
        async with http_client(f"{address}/mcp", "a") as ann:
            for name in ("a__read_inbox", "a__fetch_web_page"):
                assert not (await call(ann, name)).is_error
            assert "needs a person's approval" in text(await call(ann, "a__send_email"))
        async with http_client(f"{address}/mcp", "a") as again:
            assert not (await call(again, "a__list_shelves", floor=1)).is_error
            assert "has made its 3 calls" in text(await call(again, "a__list_shelves", floor=1))
        async with http_client(f"{address}/mcp", "b") as bob:
            assert not (await call(bob, "a__send_email")).is_error


async def test_a_session_cannot_be_taken_over(tmp_path: Path):
    """The id of a session is of no use to another token."""
    tokens = {"ann": token("a"), "bob": token("b", scopes=["read"])}
    gateway = made(tmp_path, {"a": office(tmp_path, "a", [NOTE])}, tokens=tokens)
    async with over_http(gateway) as address, httpx2.AsyncClient() as http:
        start = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            },
        }
        headers = {"Accept": "application/json, text/event-stream", "Authorization": "Bearer a"}
        opened = await http.post(f"{address}/mcp", json=start, headers=headers)
        session = opened.headers["mcp-session-id"]
        listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        stolen = headers | {"mcp-session-id": session, "Authorization": "Bearer b"}
        assert (await http.post(f"{address}/mcp", json=listing, headers=stolen)).status_code == 404
        own = headers | {"mcp-session-id": session}
        assert (await http.post(f"{address}/mcp", json=listing, headers=own)).status_code == 200


@pytest.mark.parametrize("era", ERAS)
async def test_profiles_have_addresses_of_their_own(tmp_path: Path, era: str):
    """A token that is for one profile opens nothing else; a policy of the profile counts in it."""
    policy = tmp_path / "only.toml"
    policy.write_text('allow = ["a/list_shelves"]', encoding="utf-8")
    profiles = {"shelves": {"tools": ["a/*"]}, "strict": {"tools": ["a/*"], "policy": str(policy)}}
    tokens = {"ann": token("a"), "bob": token("b", profile="shelves")}
    gateway = made(tmp_path, {"a": office(tmp_path, "a", [SHELF, WATER])}, profiles=profiles, tokens=tokens)
    async with over_http(gateway) as address:
        async with http_client(f"{address}/mcp/shelves", "b", era) as bob:
            assert await names(bob) == ["a__list_shelves", "a__water_plants"]
        async with http_client(f"{address}/mcp/strict", "a", era) as ann:
            assert await names(ann) == ["a__list_shelves"]
            assert (await ann.call_tool("a__water_plants", {})).is_error
        async with httpx2.AsyncClient(headers={"Authorization": "Bearer b"}) as http:
            for path in ("/mcp", "/mcp/strict", "/mcp/none"):
                assert (await http.post(f"{address}{path}", json={})).status_code in (403, 404)


@pytest.mark.parametrize("era", ERAS)
async def test_a_profile_never_widens_what_a_token_may_reach(tmp_path: Path, era: str):
    """The token's own policy has one tool; the profile admits all of them, and shows that one."""
    policy = tmp_path / "only.toml"
    policy.write_text('allow = ["a/list_shelves"]', encoding="utf-8")
    profiles = {"all": {"tools": ["a/*"], "policy": "open"}}
    tokens = {"ann": token("a", policy=str(policy))}
    gateway = made(tmp_path, {"a": office(tmp_path, "a", [SHELF, WATER])}, profiles=profiles, tokens=tokens)
    async with over_http(gateway) as address, http_client(f"{address}/mcp/all", "a", era) as ann:
        assert await names(ann) == ["a__list_shelves"]
        assert (await ann.call_tool("a__water_plants", {})).is_error


@pytest.mark.parametrize("era", ERAS)
async def test_a_person_is_asked_over_http(tmp_path: Path, era: str):
    """In both eras."""
    asked: list[str] = []

    async def yes(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"allow": True})

    gateway = made(tmp_path, {"a": office(tmp_path, "a", [SEND])})
    async with (
        over_http(gateway) as address,
        http_client(f"{address}/mcp", era=era, elicitation_callback=yes) as agent,
    ):
        assert not (await call(agent, "a__send_email")).is_error
        assert len(asked) == 1


async def test_a_client_that_leaves_in_mid_call_cancels_it(tmp_path: Path):
    """The server upstream is told, and others go on."""
    gateway = made(tmp_path, {"a": office(tmp_path, "a", [tool("be_slow"), SHELF])})
    async with over_http(gateway) as address:
        with anyio.move_on_after(1.0):
            async with http_client(f"{address}/mcp") as agent:
                await call(agent, "a__be_slow")
        await until(lambda: ["notifications/cancelled"] in journal(tmp_path, "a"))
        async with http_client(f"{address}/mcp") as agent:
            assert not (await call(agent, "a__list_shelves", floor=1)).is_error
        assert ("a/be_slow", "cancelled") in outcomes(gateway)


async def test_pages_of_other_sites_are_kept_out(tmp_path: Path):
    """A foreign Host or Origin header, as after DNS rebinding, is refused."""
    gateway = made(tmp_path, {})
    async with over_http(gateway) as address, httpx2.AsyncClient() as http:
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        for header in ({"Host": "evil.example"}, {"Origin": "https://evil.example"}):
            answer = await http.post(f"{address}/mcp", json=body, headers=header)
            assert answer.status_code in (403, 421)


async def test_twenty_clients_at_once_are_served(tmp_path: Path):
    """Each finds and calls; every call is remembered once."""
    gateway = made(tmp_path, {"a": office(tmp_path, "a", [SHELF, WATER])})

    async def one(address: str, number: int) -> None:
        async with http_client(f"{address}/mcp") as agent:
            assert await found(agent, f"list the shelves of the archive on floor {number}")
            result = await call(agent, "a__list_shelves", floor=number)
            assert (result.structured_content or {})["got"] == {"floor": number}

    async with over_http(gateway) as address, anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(one, address, number)
    assert len(journal(tmp_path, "a")) >= 20


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("localhost", True), ("[::1]", True), ("0.0.0.0", False), ("example.org", False)],
)
def test_loopback_is_told_from_the_world(host: str, expected: bool):
    """Names other than localhost may lead anywhere."""
    assert is_loopback(host) is expected


def test_the_world_needs_tokens(tmp_path: Path):
    """Without them the gateway binds to this machine alone."""
    gateway = made(tmp_path, {})
    with pytest.raises(GatewayError, match=r"open to everybody who can reach 0\.0\.0\.0"):
        http_app(gateway, "0.0.0.0")
    gateway.memory.close()


def test_small_answers_are_sent_at_once():
    """Asyncio switches the delay of 40 ms off only for sockets whose protocol is named."""
    with _bound("127.0.0.1", 0) as bound:
        assert bound.proto == socket.IPPROTO_TCP
        assert bound.getsockname()[1]
