"""The line protocol that every adapter speaks: one JSON object a line, in on stdin, out on stdout.

``{"op": "build", "tools": [{id, name, description, parameters, server}, ...]}``
is answered by ``{"ok": true, "cpu_s", "wall_s", "peak_mb"}``; ``{"op":
"search", "query": "...", "k": 10}`` by ``{"ids": [...], "cpu_s", "peak_mb"}``;
whatever goes wrong by ``{"error": "..."}``.  Seconds of CPU are those of the
whole process, all threads; megabytes are the peak of its resident memory.

A rival may print: file descriptor 1 is pointed at stderr before any of its
code is loaded, and the protocol keeps a private copy.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol, TextIO, TypeAlias

Row: TypeAlias = dict[str, Any]
"""A tool as it comes over the wire: id, name, description, parameters, server."""


class Adapter(Protocol):
    """What an adapter offers; its constructor loads the rival's library and is in no measured time."""

    def build(self, tools: list[Row]) -> None:
        """Index the tools."""

    def search(self, query: str, k: int) -> Sequence[str]:
        """Ids of at most ``k`` tools, best first."""


def serve(make: Callable[[], Adapter]) -> None:
    """Answer requests until stdin ends."""
    requests, answers = _private_streams()
    adapter: Adapter | None = None
    for line in requests:
        try:
            adapter = adapter or make()
            answer = _answer(adapter, json.loads(line))
        except Exception as error:  # whatever a rival raises is an answer too
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def unique_names(tools: Sequence[Row]) -> dict[str, str]:
    """Name -> id, in the order of the tools, for rivals that know a tool by its name.

    A name that is taken gets a number, a tool without one its id.
    """
    found: dict[str, str] = {}
    for tool in tools:
        name = base = tool["name"] or tool["id"]
        number = 1
        while name in found:
            number += 1
            name = f"{base}_{number}"
        found[name] = tool["id"]
    return found


def _private_streams() -> tuple[TextIO, TextIO]:
    """Copies of stdin and stdout for the protocol; the rival is left with an empty stdin, and stderr."""
    requests = os.fdopen(os.dup(0), encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return requests, answers


def _answer(adapter: Adapter, request: Row) -> Row:
    if request["op"] == "build":
        wall, cpu = time.perf_counter(), time.process_time()
        adapter.build(request["tools"])
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        return {"ok": True, "cpu_s": cpu, "wall_s": wall, "peak_mb": _peak_mb()}
    if request["op"] == "search":
        cpu = time.process_time()
        found = adapter.search(request["query"], request["k"])
        cpu = time.process_time() - cpu
        ids = list(dict.fromkeys(found))[: request["k"]]
        return {"ids": ids, "cpu_s": cpu, "peak_mb": _peak_mb()}
    raise ValueError(f"op {request['op']!r} is unknown; expected 'build' or 'search'")


def _peak_mb() -> float:
    """Peak resident memory.

    Linux keeps in ``ru_maxrss`` the peak of the process that forked this one, so the
    kernel's own account of this memory map comes first.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    unit = 1024 * 1024 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
