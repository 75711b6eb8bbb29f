"""The gateway as an MCP server, in every era of the protocol; nothing is decided here."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import version
from typing import Any, TypeVar
from weakref import WeakSet

import anyio
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolwise.errors import ToolwiseError
from toolwise.serve.gateway import calling, passing, surface
from toolwise.serve.gateway.gateway import Ask, Gateway, Request
from toolwise.serve.gateway.guard import Kind
from toolwise.serve.gateway.memory import Caller

Context = ServerRequestContext[Any, Any]
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
        return Request(
            Caller(who or "local", session),
            access,
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
            return await self._dispatch(ctx, request, params.name, params.arguments or {})
        except _InputNeeded as question:
            key = secrets.token_urlsafe(24)
            self._gateway.session(request).await_answer(key, _print(params, self._gateway.version))
            form = ElicitRequestFormParams(message=question.message, requested_schema=_YES)
            return InputRequiredResult(
                input_requests={_ANSWER: ElicitRequest(params=form)}, request_state=key
            )
        except ToolwiseError as error:
            return surface.failure(error.message)

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
        capabilities = ctx.session.client_capabilities
        if capabilities is None or capabilities.elicitation is None:
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

    async def _read_resource(self, ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        return await _told(passing.read(self._gateway, await self._request(ctx), str(params.uri)))

    async def _list_prompts(self, ctx: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
        return ListPromptsResult(prompts=await passing.prompts(self._gateway, await self._request(ctx)))

    async def _get_prompt(self, ctx: Context, params: GetPromptRequestParams) -> GetPromptResult:
        request = await self._request(ctx)
        return await _told(passing.prompt(self._gateway, request, params.name, params.arguments or {}))


async def _told(answer: Awaitable[_Result]) -> _Result:
    try:
        return await answer
    except ToolwiseError as error:
        raise MCPError(code=INVALID_PARAMS, message=error.message) from None


def _elicit(ctx: Context) -> Ask:
    async def ask(message: str) -> bool:
        return _allows(await ctx.session.elicit_form(message, _YES, related_request_id=ctx.request_id))

    return ask


def _allows(answer: ElicitResult) -> bool:
    return answer.action == "accept" and (answer.content or {}).get("allow") is True


def _print(params: CallToolRequestParams, version: int) -> str:
    """What an approval is for: this tool as it is now, with these arguments, and nothing else."""
    bare = CallToolRequestParams(name=params.name, arguments=params.arguments)
    text = f"{version}:{bare.model_dump_json(by_alias=True, exclude_none=True)}"
    return sha256(text.encode()).hexdigest()
