"""The wire to an MCP server, tapped: tool listings are kept as they came.

The SDK checks a page of tools as a whole, and one malformed tool would cost
its neighbours.  The tap keeps each page and hands the SDK the same answer
without the tools, so that only the envelope is checked.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from toolwise.records import Json

if TYPE_CHECKING:
    from mcp.client._transport import ReadStream
    from mcp.shared.message import SessionMessage


class Tap:
    """The read stream of a transport; ``pages`` receives the raw result of every ``tools/list``.

    With ``callable`` the SDK still sees the sound tools of a page, without their output schemas: it then
    knows what to send along with a call, and hands results on as they come.  ``ended`` is called when the
    stream has ended.
    """

    def __init__(
        self,
        stream: ReadStream[SessionMessage | Exception],
        pages: list[dict[str, Json]],
        *,
        callable: bool = False,
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        self._stream = stream
        self._ended = ended
        self._pages = pages
        self._seen = _sound if callable else _none

    async def receive(self) -> SessionMessage | Exception:
        """The next message."""
        try:
            return self._keep(await self._stream.receive())
        except Exception:
            self._ended()
            raise

    def __aiter__(self) -> Tap:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return self._keep(await self._stream.__anext__())
        except StopAsyncIteration:
            self._ended()
            raise

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
            rest = {k: v for k, v in result.items() if k != "nextCursor"}
            message.result = rest | {"tools": self._seen(result["tools"])}
        return item


def _none(tools: Json) -> list[Json]:
    return []


def _sound(tools: Json) -> list[Json]:
    """The tools that the SDK can read, each by itself, without output schemas."""
    from mcp_types import Tool
    from pydantic import ValidationError

    kept: list[Json] = []
    for item in tools if isinstance(tools, list) else []:
        if isinstance(item, dict):
            bare = {key: item[key] for key in ("name", "inputSchema") if key in item}
            try:
                Tool.model_validate(bare, by_name=False)
            except (ValidationError, RecursionError):
                continue
            kept.append(bare)
    return kept


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
