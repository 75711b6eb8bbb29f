"""What a gateway's log comes to: answers, tokens saved, calls, refusals, tools that nobody uses, latency.

Tokens saved are counted over the requests that were answered with tools.  What
they are measured against is an agent that is shown the definitions of all tools
within its reach once for such a request; shown are those of the tools in the
answer (the reasons and alternatives beside them are not counted).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from toolwise.records import Json
from toolwise.serve.gateway.definitions import present
from toolwise.serve.gateway.memory import Memory


def statistics(state: Path) -> dict[str, Json]:
    """Everything ``toolwise log stats`` says.  Raises GatewayError where the folder holds no log."""
    memory = Memory(state, make=False)
    try:
        answers, calls = list(memory.rows("exposures")), list(memory.rows("calls"))
    finally:
        memory.close()
    answered = [row for row in answers if row["exposed"]]
    shown = sum(row["tokens"] for row in answered)
    whole = sum(row["catalogue_tokens"] for row in answered)
    tools = sorted(present(state))
    exposed = {tool[0] for row in answers for tool in row["exposed"]}
    called = {row["tool"] for row in calls}
    refused = Counter(
        f"{row['outcome']}: {row['detail']}" for row in calls if row["outcome"] in ("refused", "invalid")
    )
    return {
        "since": min((row["at"] for row in (*answers, *calls)), default=None),
        "answers": len(answers),
        "answered": len(answered),
        "nothing_fits": sum(not row["exposed"] and not row["withheld"] for row in answers),
        "refused": sum(not row["exposed"] and bool(row["withheld"]) for row in answers),
        "tokens_within_reach": whole,
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


def _percentiles(values: Sequence[float]) -> dict[str, float] | None:
    if not values:
        return None
    p50, p95 = np.percentile(values, [50, 95])
    return {"p50": round(float(p50), 1), "p95": round(float(p95), 1)}
