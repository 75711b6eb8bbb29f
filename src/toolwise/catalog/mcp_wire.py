"""The wire to an MCP server, tapped: tool listings are kept as they came.

The SDK checks a page of tools as a whole, and one malformed tool would cost
its neighbours.  The tap keeps each page and hands the SDK the same answer
without the tools, so that only the envelope is checked.
"""

from __future__ import annotations

import json
from types import TracebackType
from typing import TYPE_CHECKING, Any

from toolwise.records import Json

if TYPE_CHECKING:
    from mcp.client._transport import ReadStream
    from mcp.shared.message import SessionMessage


class Tap:
    """The read stream of a transport; ``pages`` receives the raw result of every ``tools/list``."""

    def __init__(self, stream: ReadStream[SessionMessage | Exception], pages: list[dict[str, Json]]) -> None:
        self._stream = stream
        self._pages = pages

    async def receive(self) -> SessionMessage | Exception:
        """The next message."""
        return self._keep(await self._stream.receive())

    def __aiter__(self) -> Tap:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return self._keep(await self._stream.__anext__())

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    async def __aenter__(self) -> Tap:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stream.__aexit__(kind, error, trace)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)  # the SDK looks for the sender's context on some streams

    def _keep(self, item: SessionMessage | Exception) -> SessionMessage | Exception:
        item = _reread(item) if isinstance(item, Exception) else item
        message = getattr(item, "message", None)
        result = getattr(message, "result", None)
        if message is not None and isinstance(result, dict) and "tools" in result:
            self._pages.append(result)
            message.result = {k: v for k, v in result.items() if k != "nextCursor"} | {"tools": []}
        return item


def _reread(error: Exception) -> SessionMessage | Exception:
    """The answer in a line that the SDK's JSON parser refused (too deeply nested, half a surrogate pair)."""
    from mcp.shared.message import SessionMessage
    from mcp_types import JSONRPCResponse
    from pydantic import ValidationError

    if not isinstance(error, ValidationError):
        return error
    first = error.errors()[0]
    if first["type"] != "json_invalid":
        return error
    try:
        answer = json.loads(first["input"])
        # Half a surrogate pair cannot be written as UTF-8 later on: it becomes a question mark here.
        answer = json.loads(json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace"))
        return SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=answer["id"], result=answer["result"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        return error
