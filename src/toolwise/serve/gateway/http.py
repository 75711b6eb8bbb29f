"""The gateway over streamable HTTP: one address for its own tools, one per profile, health and metrics.

/mcp              find_tools and call_tool
/mcp/PROFILE      the list of a profile
/healthz          whether it serves; counts, no names
/metrics          Prometheus, for holders of a token where there are tokens
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from mcp.server.auth.middleware.auth_context import AuthContextMiddleware, get_access_token
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, request_response
from starlette.types import ASGIApp, Receive, Scope, Send

from toolwise.errors import GatewayError
from toolwise.serve.gateway.gateway import Gateway
from toolwise.serve.gateway.metrics import CONTENT_TYPE, exposition
from toolwise.serve.gateway.protocol import GatewayServer
from toolwise.serve.gateway.settings import GatewaySettings, is_loopback

_LEAVE = 5
"""Seconds open requests get to end when the gateway stops."""
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class _Verifier:
    """Tokens by their hash in the settings."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._settings = settings

    async def verify_token(self, token: str) -> AccessToken | None:
        """Who the token belongs to; None for an unknown one."""
        name = self._settings.caller_of(token)
        if name is None:
            return None
        return AccessToken(token=token, client_id=name, scopes=sorted(self._settings.tokens[name].scopes))


class _Asgi:
    """An ASGI application as an object: routes take functions for something else."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


class _OfProfile:
    """Keeps a token that is for one profile out of every other surface."""

    def __init__(self, app: ASGIApp, settings: GatewaySettings, profile: str) -> None:
        self._app, self._settings, self._profile = app, settings, profile

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        token = get_access_token()
        bound = self._settings.tokens[token.client_id].profile if token else ""
        if bound and bound != self._profile:
            refusal = JSONResponse({"error": "insufficient_scope"}, status_code=403)
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)


def http_app(gateway: Gateway, host: str) -> Starlette:
    """The ASGI application; ``host`` is where it will be bound.

    Raises GatewayError where others could reach it and no token is asked for.
    """
    settings = gateway.settings
    if not is_loopback(host) and not settings.tokens:
        raise GatewayError(
            f"the gateway would be open to everybody who can reach {host}. Add [tokens] to its settings "
            "(`toolwise gateway token` makes one), or bind it to 127.0.0.1.",
            host=host,
        )
    managers: list[StreamableHTTPSessionManager] = []
    routes = [
        Route("/healthz", endpoint=_Asgi(_health(gateway))),
        _guarded("/metrics", _metrics(gateway), settings),
    ]
    for profile in ("", *sorted(settings.profiles)):
        manager = StreamableHTTPSessionManager(
            app=GatewayServer(gateway, profile),
            security_settings=_hosts(settings, host),
            session_idle_timeout=settings.session_idle,
        )
        managers.append(manager)
        endpoint = _OfProfile(StreamableHTTPASGIApp(manager), settings, profile)
        routes.append(_guarded(f"/mcp/{profile}" if profile else "/mcp", endpoint, settings))
    return Starlette(
        routes=routes,
        middleware=[
            Middleware(AuthenticationMiddleware, backend=BearerAuthBackend(_Verifier(settings))),
            Middleware(AuthContextMiddleware),
        ],
        lifespan=lambda app: _running(gateway, managers),
    )


@asynccontextmanager
async def _running(gateway: Gateway, managers: Sequence[StreamableHTTPSessionManager]) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(gateway.running())
        for manager in managers:
            await stack.enter_async_context(manager.run())
        yield


def _guarded(path: str, endpoint: ASGIApp, settings: GatewaySettings) -> Route:
    """A route that asks for a token where the settings name any."""
    inner = RequireAuthMiddleware(endpoint, required_scopes=[]) if settings.tokens else endpoint
    return Route(path, endpoint=_Asgi(inner))


def _hosts(settings: GatewaySettings, host: str) -> TransportSecuritySettings:
    """Which Host and Origin headers are taken, against pages that rebind a name to this machine."""
    names = (*settings.hosts, *(_LOOPBACK if is_loopback(host) else ()))
    if not names:
        return TransportSecuritySettings(enable_dns_rebinding_protection=False)
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[form for name in names for form in (name, f"{name}:*")],
        allowed_origins=[
            f"{scheme}://{name}{port}"
            for scheme in ("http", "https")
            for name in names
            for port in ("", ":*")
        ],
    )


def _health(gateway: Gateway) -> ASGIApp:
    async def answer(request: Request) -> Response:
        states = [upstream.status.connected for upstream in gateway.upstreams.values()]
        return JSONResponse({"status": "ok", "servers": len(states), "connected": sum(states)})

    return request_response(answer)


def _metrics(gateway: Gateway) -> ASGIApp:
    async def answer(request: Request) -> Response:
        return Response(exposition(gateway), media_type=CONTENT_TYPE)

    return request_response(answer)


def serve_http(gateway: Gateway, host: str, port: int, started: Callable[[], None] = lambda: None) -> None:
    """Serve until the process is told to stop; open requests get a few seconds to end.

    ``started`` is called once the port is ours.  Raises GatewayError where it cannot be had, and
    KeyboardInterrupt after SIGINT.
    """
    import uvicorn

    app = http_app(gateway, host)
    gateway.open()
    bound = _bound(host, port)
    signal.signal(signal.SIGTERM, lambda number, frame: None)  # uvicorn raises it again at its end
    config = uvicorn.Config(
        app, log_level="critical", access_log=False, timeout_graceful_shutdown=_LEAVE, lifespan="on"
    )
    with bound:
        started()
        uvicorn.Server(config).run(sockets=[bound])


def _bound(host: str, port: int) -> socket.socket:
    """A listening socket.  Raises GatewayError where the address cannot be had.

    Its protocol is named: asyncio sends small answers at once (TCP_NODELAY) only where it says TCP, and
    otherwise an answer in two parts takes 40 ms.
    """
    bare = host.strip("[]")
    family = socket.AF_INET6 if ":" in bare else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((bare, port))
        made.listen(512)
    except OSError as error:
        made.close()
        raise GatewayError(
            f"{host}:{port} cannot be served: {error.strerror or error}. Choose another with --http.",
            host=host,
            port=port,
        ) from error
    return made
