"""The gateway over standard input and output, ended in order by a signal as well as by its client."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import closing, suppress
from typing import Any, cast

import anyio
from mcp.server.stdio import stdio_server

from toolwise.serve.gateway.gateway import Gateway
from toolwise.serve.gateway.protocol import GatewayServer

_CHUNK = 65_536


class _Lines:
    """The lines of a descriptor, read in a thread that nothing has to wait for.

    A blocked read of ``sys.stdin`` can be neither cancelled nor left behind.
    """

    def __init__(self, descriptor: int) -> None:
        self._send, self._lines = anyio.create_memory_object_stream[str](math.inf)
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, args=(descriptor,), daemon=True).start()

    def _read(self, descriptor: int) -> None:
        parts: list[bytes] = []
        with suppress(RuntimeError, OSError):  # the loop, or the descriptor, is closed
            while chunk := os.read(descriptor, _CHUNK):
                parts.append(chunk)
                if b"\n" in chunk:
                    *lines, rest = b"".join(parts).split(b"\n")
                    parts = [rest]
                    self._loop.call_soon_threadsafe(self._hand_over, lines)
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._send.close)

    def _hand_over(self, lines: list[bytes]) -> None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # nobody reads any more
            for line in lines:
                self._send.send_nowait(line.decode("utf-8", "replace"))

    def close(self) -> None:
        """Read no more."""
        self._send.close()
        self._lines.close()

    def __aiter__(self) -> AsyncIterator[str]:
        return self._lines.__aiter__()


async def serve_stdio(gateway: Gateway, profile: str = "") -> None:
    """Serve one client until it leaves; a SIGTERM or SIGINT ends the servers behind it, too.

    Raises KeyboardInterrupt after SIGINT.
    """
    received: list[int] = []

    async def on_signal(scope: anyio.CancelScope) -> None:
        with (
            suppress(NotImplementedError),  # Windows
            anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals,
        ):
            async for number in signals:
                received.append(number)
                scope.cancel()
                return

    async with anyio.create_task_group() as group:
        group.start_soon(on_signal, group.cancel_scope)
        async with gateway.running():
            server = GatewayServer(gateway, profile)
            with closing(_Lines(os.dup(sys.stdin.fileno()))) as lines:
                async with stdio_server(stdin=cast(Any, lines)) as (read, write):
                    await server.run(read, write, server.create_initialization_options())
        group.cancel_scope.cancel()
    if signal.SIGINT in received:
        raise KeyboardInterrupt
