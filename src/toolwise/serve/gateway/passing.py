"""Resources and prompts of the upstreams, handed through under names of the gateway.

A server shows them only to callers who can reach one of its tools, or where
it has none; in a profile, where one of its tools is on the list.  What is
read counts as private and as untrusted: nobody has audited it.
"""

from __future__ import annotations

import logging
import re
import time
import unicodedata
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar
from urllib.parse import quote, unquote

import anyio
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import GetPromptResult, Prompt, ReadResourceResult, Resource, ResourceTemplate

from toolwise.errors import GatewayError, UpstreamUnavailable
from toolwise.expose import export_name
from toolwise.records import Capability, Level, to_bits
from toolwise.serve.gateway import questions
from toolwise.serve.gateway.asking import Asker
from toolwise.serve.gateway.gateway import Gateway, Request
from toolwise.serve.gateway.memory import Call

SCHEME = "toolwise"
_ADDRESS = re.compile(
    SCHEME + r"://(?P<server>[^][/?#\s\x00-\x1f\x7f-\x9f]+)/(?P<rest>.+)", re.DOTALL | re.IGNORECASE
)
_UNSEEN = ("Cc", "Cf", "Zl", "Zp")
"""Unicode categories of control and format characters and of line ends: nobody sees them."""
_MOST_PAGES = 100
_TIMEOUT = 10.0
_READ = to_bits((Capability.PRIVATE, Capability.UNTRUSTED), Capability)

_Item = TypeVar("_Item")
_Shown = TypeVar("_Shown")
_log = logging.getLogger(__name__)


def own_uri(server: str, uri: str) -> str:
    """The gateway's address of a resource of ``server``, or of many: the server's own behind its name.

    It is not quoted once more: what a client fills into a template is quoted once, and nobody could tell
    the two apart.  Only what nobody sees, and no address may hold as it is, gets quoted.
    """
    seen = "".join(quote(c) if unicodedata.category(c) in _UNSEEN else c for c in uri)
    return f"{SCHEME}://{quote(server, safe='')}/{seen}"


def split_uri(uri: str) -> tuple[str, str]:
    """Server and the server's own address.  Raises GatewayError for an address that is not the gateway's."""
    found = _ADDRESS.fullmatch(uri)
    if found is None:
        raise _nothing("resource", uri)
    return unquote(found["server"]), found["rest"]


def _nothing(what: str, name: str) -> GatewayError:
    return GatewayError(f"there is no {what} called {name[:200]!r}; list the {what}s.", name=name)


async def _visible(gateway: Gateway, request: Request) -> list[str]:
    """The servers whose resources and prompts the caller may see."""
    if "read" not in request.access.scopes:
        return []
    view, reach = gateway.view, gateway.reach(request.access)
    if request.profile:
        ids = await gateway.profile_ids(request.access, request.profile)
        return sorted({view.own_names[id_][0] for id_ in ids} & gateway.upstreams.keys())
    with_tools = {server for server, _ in view.own_names.values()}
    reached = {view.own_names[id_][0] for id_ in reach.ids}
    return sorted(name for name in gateway.upstreams if name in reached or name not in with_tools)


async def _from_all(
    gateway: Gateway, request: Request, question: Callable[[str, Client], Awaitable[list[_Item]]]
) -> list[_Item]:
    """What all visible servers answer, in order of their names; one that fails or is slow adds nothing."""
    found: dict[str, list[_Item]] = {}
    visible = await _visible(gateway, request)

    async def one(name: str) -> None:
        try:
            with anyio.fail_after(_TIMEOUT):
                asker = Asker(request.client)
                found[name] = await gateway.upstreams[name].ask(lambda client: question(name, client), asker)
        except (UpstreamUnavailable, MCPError, TimeoutError, ValueError) as error:
            _log.info("%s has no answer for this list: %s", name, error)

    async with anyio.create_task_group() as group:
        for name in visible:
            group.start_soon(one, name)
    return [item for name in sorted(found) for item in found[name]]


async def _pages(fetch: Callable[[str | None], Awaitable[tuple[Sequence[_Item], str | None]]]) -> list[_Item]:
    items: list[_Item] = []
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(_MOST_PAGES):
        page, cursor = await fetch(cursor)
        items += page
        if not cursor or cursor in seen:
            break
        seen.add(cursor)
    return items


async def _resources_of(client: Client, cursor: str | None) -> tuple[Sequence[Resource], str | None]:
    page = await client.list_resources(cursor=cursor, cache_mode="bypass")
    return page.resources, page.next_cursor


async def _templates_of(client: Client, cursor: str | None) -> tuple[Sequence[ResourceTemplate], str | None]:
    page = await client.list_resource_templates(cursor=cursor, cache_mode="bypass")
    return page.resource_templates, page.next_cursor


async def _prompts_of(client: Client, cursor: str | None) -> tuple[Sequence[Prompt], str | None]:
    page = await client.list_prompts(cursor=cursor, cache_mode="bypass")
    return page.prompts, page.next_cursor


async def _every(
    gateway: Gateway,
    request: Request,
    capability: str,
    page: Callable[[Client, str | None], Awaitable[tuple[Sequence[_Item], str | None]]],
    shown: Callable[[str, _Item], _Shown],
) -> list[_Shown]:
    """All items of servers with ``capability`` that the caller may see, each as ``shown``."""

    async def ask(server: str, client: Client) -> list[_Shown]:
        if getattr(client.server_capabilities, capability) is None:
            return []
        return [shown(server, item) for item in await _pages(lambda cursor: page(client, cursor))]

    return await _from_all(gateway, request, ask)


async def resources(gateway: Gateway, request: Request) -> list[Resource]:
    """All resources the caller may see, with the gateway's addresses."""

    def shown(server: str, item: Resource) -> Resource:
        return item.model_copy(update={"uri": own_uri(server, str(item.uri))})

    return await _every(gateway, request, "resources", _resources_of, shown)


async def templates(gateway: Gateway, request: Request) -> list[ResourceTemplate]:
    """All resource templates the caller may see, with the gateway's addresses."""

    def shown(server: str, item: ResourceTemplate) -> ResourceTemplate:
        return item.model_copy(update={"uri_template": own_uri(server, item.uri_template)})

    return await _every(gateway, request, "resources", _templates_of, shown)


async def prompts(gateway: Gateway, request: Request) -> list[Prompt]:
    """All prompts the caller may see, under the gateway's names."""

    def shown(server: str, item: Prompt) -> Prompt:
        name = export_name(f"{server}/{item.name}")
        return item.model_copy(update={"name": name, "title": item.title or item.name})

    return await _every(gateway, request, "prompts", _prompts_of, shown)


async def read(gateway: Gateway, request: Request, uri: str) -> ReadResourceResult:
    """A resource by the gateway's address.  Raises GatewayError for one that cannot be seen."""
    server, own = split_uri(uri)
    if server not in await _visible(gateway, request):
        raise _nothing("resource", uri)
    result = await _taken(
        gateway, request, server, "resources/read", lambda client: client.read_resource(own)
    )
    contents = [item.model_copy(update={"uri": own_uri(server, str(item.uri))}) for item in result.contents]
    return result.model_copy(update={"contents": contents})


async def _taken(
    gateway: Gateway,
    request: Request,
    server: str,
    what: str,
    question: Callable[[Client], Awaitable[_Item]],
) -> _Item:
    """What a server answers; it counts as a call, and as private and untrusted content that was read."""
    session, start, outcome = gateway.session(request), time.perf_counter(), "error"
    gateway.guard.check_budget(session, Level.SAFE)
    gateway.guard.charge(session, Level.SAFE, _READ)
    try:
        answer = await gateway.upstreams[server].ask(question, questions.asker(gateway, request))
        outcome = "ok"
    except UpstreamUnavailable:
        outcome = "unavailable"
        raise
    finally:
        spent = 1000 * (time.perf_counter() - start)
        gateway.memory.called(request.caller, Call(f"{server} {what}", None, {}, outcome, "", spent), None)
    return answer


async def prompt(
    gateway: Gateway, request: Request, name: str, arguments: Mapping[str, str]
) -> GetPromptResult:
    """A prompt by the gateway's name.  Raises GatewayError for one that cannot be seen."""

    def shown(server: str, item: Prompt) -> tuple[str, str]:
        return server, item.name

    own = await _every(gateway, request, "prompts", _prompts_of, shown)
    found = next((pair for pair in own if export_name("/".join(pair)) == name), None)
    if found is None:
        raise _nothing("prompt", name)
    server, theirs = found
    return await _taken(
        gateway, request, server, "prompts/get", lambda client: client.get_prompt(theirs, dict(arguments))
    )
