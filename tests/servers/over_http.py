"""MCP servers over HTTP, made with the SDK: ``over_http.py PORT`` serves /mcp (streamable) and /sse."""

import sys

import uvicorn
from mcp.server import Server
from mcp.server.sse import SseServerTransport
from mcp_types import ListToolsResult, Tool

BELL = Tool(name="ring_bell", description="Ring.", input_schema={"type": "object"})


async def list_long(context: object, params: object) -> ListToolsResult:
    """A page with a tool whose description is longer than the SDK's limit of 1 MiB."""
    del context, params
    long = Tool(name="long_story", description="word " * 250_000, input_schema={"type": "object"})
    return ListToolsResult(tools=[long, BELL])


async def list_short(context: object, params: object) -> ListToolsResult:
    """A page with one small tool."""
    del context, params
    return ListToolsResult(tools=[BELL])


class OnlyWithKey:
    """Both servers, refusing every request without the right key."""

    def __init__(self) -> None:
        self.streamable = Server("s", on_list_tools=list_long).streamable_http_app(
            streamable_http_path="/mcp"
        )
        self.events = Server("e", on_list_tools=list_short)
        self.sse = SseServerTransport("/messages/")

    async def __call__(self, scope, receive, send) -> None:
        """Answer 401, or pass a request on to its server."""
        path = scope.get("path", "")
        if scope["type"] == "http" and dict(scope["headers"]).get(b"x-key") != b"open sesame":
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"who are you?"})
        elif path == "/sse":
            async with self.sse.connect_sse(scope, receive, send) as (read, write):
                await self.events.run(read, write, self.events.create_initialization_options())
        elif path.startswith("/messages/"):
            await self.sse.handle_post_message(scope, receive, send)
        else:
            await self.streamable(scope, receive, send)


if __name__ == "__main__":
    uvicorn.run(OnlyWithKey(), host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
