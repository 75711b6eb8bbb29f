"""The gateway as an MCP server, in every era of the protocol; nothing is decided here."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from typing import Any, TypeAlias, TypeVar, cast
from weakref import WeakSet

import anyio
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    CreateMessageRequest,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequest,
    InputRequiredResult,
    InputResponse,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListRootsResult,
    ListToolsResult,
    PaginatedRequestParams,
    PromptsCapability,
    ReadResourceRequestParams,
    ReadResourceResult,
    ResourcesCapability,
    ServerCapabilities,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolwise.errors import GatewayError, ToolwiseError
from toolwise.serve.gateway import calling, passing, questions, surface
from toolwise.serve.gateway.conversation import MARK, Conversation, Parked, Questions
from toolwise.serve.gateway.gateway import Ask, Gateway, Reply, Request
from toolwise.serve.gateway.guard import Kind
from toolwise.serve.gateway.memory import Caller

Context = ServerRequestContext[Any, Any]
_Params: TypeAlias = CallToolRequestParams | ReadResourceRequestParams | GetPromptRequestParams
_Result = TypeVar("_Result")
_YES = {
    "type": "object",
    "properties": {"allow": {"type": "boolean", "title": "Allow this call"}},
    "required": ["allow"],
}
_ANSWER = "approval"
_TELL = 5.0
"""Seconds a client may take to hear of a change."""
_VIA: Mapping[str, Kind | None] = {surface.CALL: None, **{name: kind for kind, name in surface.SPLIT.items()}}


class _InputNeeded(Exception):
    """No error: the question that a modern client has to answer before its call is made."""

    def __init__(self, message: str) -> None:
        self.message = message


class GatewayServer(Server[Any]):
    """The low-level server of one surface: the gateway's own tools, or the list of one profile."""

    def __init__(self, gateway: Gateway, profile: str = "") -> None:
        self._gateway, self._profile = gateway, profile
        self._bus = InMemorySubscriptionBus()
        self._parked: Parked[Any] = Parked()
        self._legacy: WeakSet[Connection] = WeakSet()
        super().__init__(
            "toolwise",
            version=version("toolwise"),
            title="toolwise gateway",
            instructions=None if profile else f"Start with {surface.FIND}: it finds the tools for a task.",
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_subscriptions_listen=ListenHandler(self._bus),
        )
        gateway.on_change.append(self._tell)

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """As the SDK makes them, and that changes of the tool list are told."""
        chosen = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(chosen, experimental_capabilities, extensions)

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> ServerCapabilities:
        """As the SDK makes them, without changes of resources and prompts: of these nobody is told."""
        found = super().get_capabilities(
            notification_options, experimental_capabilities, extensions, protocol_version=protocol_version
        )
        quiet = {
            "prompts": PromptsCapability(list_changed=False),
            "resources": ResourcesCapability(subscribe=False, list_changed=False),
        }
        return found.model_copy(update=quiet)

    async def _tell(self) -> None:
        async def one(connection: Connection) -> None:
            with anyio.move_on_after(_TELL):  # one that does not listen holds nobody up
                await connection.send_tool_list_changed()

        await self._bus.publish(ToolsListChanged())
        async with anyio.create_task_group() as group:
            for connection in list(self._legacy):
                group.start_soon(one, connection)

    async def _request(self, ctx: Context) -> Request:
        await self._gateway.settled.wait()
        token = get_access_token()
        who = token.client_id if token else None
        access = self._gateway.access(who)
        if self._profile:
            access = self._gateway.in_profile(access, self._profile)
        legacy = ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS
        session = getattr(ctx.request, "headers", {}).get("mcp-session-id", "") if legacy else ""
        # Over HTTP without a session, nothing says that two requests are of one client.
        alone = ctx.request is None or session
        return Request(
            Caller(who or "local", session),
            access,
            reply=_reply(ctx) if legacy else None,
            capabilities=ctx.session.client_capabilities,
            client=(id(self), session) if alone else object(),
            progress=ctx.session.report_progress,
            legacy=legacy,
            profile=self._profile,
        )

    async def _list_tools(self, ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        request = await self._request(ctx)
        connection = getattr(ctx.session, "_connection", None)
        if request.legacy and connection is not None:
            self._legacy.add(connection)
        return ListToolsResult(tools=await self._gateway.tools(request))

    async def _call_tool(
        self, ctx: Context, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        request = await self._request(ctx)
        request = replace(request, ask=self._asking(ctx, params, request))
        try:
            return await self._held(
                ctx, params, request, lambda r: self._dispatch(ctx, r, params.name, params.arguments or {})
            )
        except _InputNeeded as question:
            key = secrets.token_urlsafe(24)
            self._gateway.session(request).await_answer(key, _print(params, self._gateway.version))
            form = ElicitRequestFormParams(message=question.message, requested_schema=_YES)
            return InputRequiredResult(
                input_requests={_ANSWER: ElicitRequest(params=form)}, request_state=key
            )
        except ToolwiseError as error:
            return surface.failure(error.message)

    async def _held(
        self,
        ctx: Context,
        params: _Params,
        request: Request,
        work: Callable[[Request], Awaitable[_Result]],
    ) -> _Result | InputRequiredResult:
        """The result of some work, or what a server that takes part in it asks.

        A client of 2026-07-28 is asked by ending its request, and answers with the next one.
        """
        if request.legacy or not _can_be_asked(request):
            return await work(request)
        purpose, key = _print(params, 0), params.request_state or ""
        conversation = self._parked.resumed(key, request.caller.who, purpose)
        if conversation is not None:
            conversation.hear(params.input_responses or {})
        elif key.startswith(MARK):
            raise GatewayError("this question is not open any more. Call again, without an answer.")
        else:
            conversation = Conversation(request.caller.who, purpose)
            own = replace(request, reply=conversation.reply, progress=conversation.progress)
            self._gateway.start(partial(conversation.run, partial(work, own)))
        conversation.tell = ctx.session.report_progress
        step = await conversation.step()
        if isinstance(step, Questions):
            return self._parked.park(conversation, step)
        return cast(_Result, step)

    async def _dispatch(
        self, ctx: Context, request: Request, name: str, arguments: Mapping[str, Any]
    ) -> CallToolResult:
        gateway = self._gateway
        if request.profile:
            only = frozenset(await gateway.profile_ids(request.access, request.profile))
            return await calling.call(gateway, request, name, arguments, only=only)
        own = {tool.name: tool for tool in gateway.own_tools(request.access)}
        if name not in own:
            listed = frozenset(gateway.listed_ids(request))
            return await calling.call(gateway, request, name, arguments, only=listed)
        wrong = gateway.arguments.fault(name, own[name].input_schema, arguments)
        if wrong:
            return surface.failure(f"The arguments of {name} are wrong: {wrong.message}")
        if name == surface.FIND:
            return await self._find(ctx, request, arguments)
        return await calling.call(
            gateway, request, arguments["name"], arguments.get("arguments") or {}, via=_VIA[name]
        )

    async def _find(self, ctx: Context, request: Request, arguments: Mapping[str, Any]) -> CallToolResult:
        gateway = self._gateway
        limits = {key: arguments[key] for key in ("max_tools", "max_level") if key in arguments}
        before = gateway.listed_ids(request)
        result = await gateway.find(request, arguments["task"], limits)
        if before != gateway.listed_ids(request):
            await ctx.session.send_tool_list_changed()
        return result

    def _asking(self, ctx: Context, params: CallToolRequestParams, request: Request) -> Ask | None:
        """How a person is asked over this connection; None where the client cannot."""
        if not questions.fills_in_forms(request.capabilities):
            return None
        if request.legacy:
            return _elicit(ctx)
        pending = self._gateway.session(request).pending
        asked = pending.pop(params.request_state, None) if params.request_state else None
        answer = (params.input_responses or {}).get(_ANSWER)

        async def ask(message: str) -> bool:
            if asked != _print(params, self._gateway.version) or not isinstance(answer, ElicitResult):
                raise _InputNeeded(message)
            return _allows(answer)

        return ask

    async def _list_resources(
        self, ctx: Context, params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        request = await self._request(ctx)
        return ListResourcesResult(resources=await passing.resources(self._gateway, request))

    async def _list_templates(
        self, ctx: Context, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        found = await passing.templates(self._gateway, await self._request(ctx))
        return ListResourceTemplatesResult(resource_templates=found)

    async def _read_resource(
        self, ctx: Context, params: ReadResourceRequestParams
    ) -> ReadResourceResult | InputRequiredResult:
        def work(request: Request) -> Awaitable[ReadResourceResult]:
            return passing.read(self._gateway, request, str(params.uri))

        return await _told(self._held(ctx, params, await self._request(ctx), work))

    async def _list_prompts(self, ctx: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
        return ListPromptsResult(prompts=await passing.prompts(self._gateway, await self._request(ctx)))

    async def _get_prompt(
        self, ctx: Context, params: GetPromptRequestParams
    ) -> GetPromptResult | InputRequiredResult:
        def work(request: Request) -> Awaitable[GetPromptResult]:
            return passing.prompt(self._gateway, request, params.name, params.arguments or {})

        return await _told(self._held(ctx, params, await self._request(ctx), work))


async def _told(answer: Awaitable[_Result]) -> _Result:
    try:
        return await answer
    except ToolwiseError as error:
        raise MCPError(code=INVALID_PARAMS, message=error.message) from None


def _elicit(ctx: Context) -> Ask:
    async def ask(message: str) -> bool:
        return _allows(await ctx.session.elicit_form(message, _YES, related_request_id=ctx.request_id))

    return ask


def _reply(ctx: Context) -> Reply:
    """Puts a question to a client with a handshake, on the stream of the request that it is about."""
    related = ServerMessageMetadata(related_request_id=ctx.request_id)

    async def reply(question: InputRequest) -> InputResponse:
        match question:
            case ElicitRequest():
                return await ctx.session.send_request(question, ElicitResult, metadata=related)
            case CreateMessageRequest():
                return await ctx.session.send_request(question, CreateMessageResult, metadata=related)
            case _:
                return await ctx.session.send_request(question, ListRootsResult, metadata=related)

    return reply


def _can_be_asked(request: Request) -> bool:
    can = request.capabilities
    return can is not None and any(what is not None for what in (can.elicitation, can.sampling, can.roots))


def _allows(answer: ElicitResult) -> bool:
    return answer.action == "accept" and (answer.content or {}).get("allow") is True


def _print(params: _Params, version: int) -> str:
    """What an answer is for: this tool (prompt, resource) as it is now, with these arguments, no other."""
    bare = params.model_dump_json(
        by_alias=True, exclude_none=True, exclude={"meta", "input_responses", "request_state"}
    )
    return sha256(f"{version}:{type(params).__name__}:{bare}".encode()).hexdigest()
