"""What a gateway remembers, as traces to learn from: the lines that :mod:`toolwise.learn.rewards` reads.

    {"request", "exposed": [id], "called": [{"id", "ok"}], "outcome"}

One trace per answer of ``find_tools``, in order.  A call belongs to the answer
that had shown its tool last in its session, or named it as an alternative: what
was called and not shown is what the next answer should do better.  Calls that say nothing about
their tool are left out: refused, cancelled, or of a server that was away.  The
outcome goes by the last call of each tool that was called: ``success`` where
all of them were ok, ``failure`` where none was, else ``partial``; None where
there is no call, for then nobody knows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from toolwise.records import Json
from toolwise.serve.gateway.memory import Memory
from toolwise.whole_file import replace_file

_TELLING = ("ok", "error", "invalid")
"""Outcomes of calls that say something about the tool."""


def logged_traces(state: Path) -> list[dict[str, Json]]:
    """The traces in the state folder of a gateway.  Raises GatewayError where it holds no log."""
    memory = Memory(state, make=False)
    try:
        return list(_traces(memory))
    finally:
        memory.close()


PRIVATE = 0o600
"""Permissions of a file of traces: requests are private."""


def export_traces(state: Path, into: Path) -> tuple[int, int]:
    """Write them to a JSONL file, replaced as a whole; returns how many, and how many have an outcome.

    Raises as :func:`logged_traces`.
    """
    traces = logged_traces(state)
    replace_file(into, "".join(json.dumps(trace, ensure_ascii=False) + "\n" for trace in traces), PRIVATE)
    return len(traces), sum(trace["outcome"] is not None for trace in traces)


def _traces(memory: Memory) -> Iterator[dict[str, Json]]:
    calls: dict[int, list[dict[str, Json]]] = {}
    for row in memory.rows("calls"):
        if row["exposure"] is not None and row["outcome"] in _TELLING:
            calls.setdefault(row["exposure"], []).append({"id": row["tool"], "ok": row["outcome"] == "ok"})
    for row in memory.rows("exposures"):
        called = calls.get(row["number"], [])
        yield {
            "request": row["request"],
            "exposed": [shown[0] for shown in row["exposed"]],
            "called": called,
            "outcome": outcome(called),
        }


def outcome(called: list[dict[str, Json]]) -> str | None:
    """The outcome of a request by its calls, in order."""
    last = {call["id"]: call["ok"] for call in called}
    if not last:
        return None
    if all(last.values()):
        return "success"
    return "partial" if any(last.values()) else "failure"
