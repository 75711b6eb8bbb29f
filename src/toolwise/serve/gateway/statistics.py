"""What a gateway's log comes to: answers, tokens saved, calls, refusals, tools that nobody uses, latency."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from toolwise.errors import IndexNotFound
from toolwise.records import Json
from toolwise.serve.gateway.library import INDEX
from toolwise.serve.gateway.memory import Memory
from toolwise.store import Index


def statistics(state: Path) -> dict[str, Json]:
    """Everything ``toolwise log stats`` says.  Raises GatewayError where the folder holds no log."""
    memory = Memory(state, make=False)
    try:
        answers, calls = list(memory.rows("exposures")), list(memory.rows("calls"))
    finally:
        memory.close()
    shown = sum(row["tokens"] for row in answers)
    whole = sum(row["catalogue_tokens"] for row in answers)
    tools = _tools(state)
    exposed = {tool[0] for row in answers for tool in row["exposed"]}
    called = {row["tool"] for row in calls}
    refused = Counter(
        f"{row['outcome']}: {row['detail']}" for row in calls if row["outcome"] in ("refused", "invalid")
    )
    return {
        "answers": len(answers),
        "empty_answers": sum(not row["exposed"] for row in answers),
        "tokens_shown": shown,
        "tokens_saved": whole - shown,
        "answer_ms": _percentiles([row["milliseconds"] for row in answers]),
        "calls": dict(sorted(Counter(row["outcome"] for row in calls).items())),
        "call_ms": _percentiles([row["milliseconds"] for row in calls if row["outcome"] in ("ok", "error")]),
        "refusals": dict(sorted(refused.items(), key=lambda pair: (-pair[1], pair[0]))),
        "tools": len(tools),
        "never_shown": [id_ for id_ in tools if id_ not in exposed],
        "never_called": [id_ for id_ in tools if id_ not in called],
    }


def _tools(state: Path) -> tuple[str, ...]:
    try:
        index = Index.open(state / INDEX)
    except IndexNotFound:
        return ()
    try:
        return index.ids
    finally:
        index.close()


def _percentiles(values: Sequence[float]) -> dict[str, float] | None:
    if not values:
        return None
    p50, p95 = np.percentile(values, [50, 95])
    return {"p50": round(float(p50), 1), "p95": round(float(p95), 1)}
