"""Suites that are no rankings of requests: speed over library sizes, and strange definitions."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from toolwise.bench import data
from toolwise.bench.shapes import GOOD, SHAPES
from toolwise.bench.system import Selecting, System
from toolwise.bench.systems import make
from toolwise.catalog import from_definitions
from toolwise.errors import ToolwiseError
from toolwise.protocols import Progress
from toolwise.records import Json, Query, Tool

SIZES = (100, 500, 1_000, 4_076, 13_700)
_ROUNDS = 3
_REQUESTS = 60


@dataclass(frozen=True)
class Special:
    """A suite with a procedure of its own."""

    systems: tuple[str, ...]
    run: Callable[[Sequence[str], int, Progress], tuple[dict[str, Json], str]]
    data_sets: tuple[str, ...] = ()
    """What it cannot run without."""


def latency(systems: Sequence[str], limit: int, progress: Progress) -> tuple[dict[str, Json], str]:
    """CPU time per request and per index over libraries of growing size.

    Tools are those of toucan_mcp, requests those of livemcp; systems take
    turns, so that a busy moment of the machine strikes all.
    """
    pool = sorted(data.tools("toucan_mcp"), key=lambda tool: tool.content_hash)
    queries = [task.query for task in data.tasks("livemcp", "test")][: limit or _REQUESTS]
    rows: list[dict[str, Json]] = []
    for number, size in enumerate(SIZES):
        progress("latency", number, len(SIZES))
        library = sorted(pool[:size], key=lambda tool: tool.id)
        rows += _timed(systems, library, queries)
    progress("latency", len(SIZES), len(SIZES))
    lines = [
        "| system | " + " | ".join(f"{size:,} tools" for size in SIZES) + " |",
        "|---|" + "---:|" * len(SIZES),
    ]
    for name in systems:
        cells = [_latency_cell(row) for row in rows if row["system"] == name]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    text = "CPU ms per request (median), and CPU s to index.\n\n" + "\n".join(lines)
    return {"suite": "latency", "requests": len(queries), "rows": rows}, text


def _timed(
    systems: Sequence[str], library: Sequence[Tool], queries: Sequence[Query]
) -> list[dict[str, Json]]:
    rows = {name: {"system": name, "tools": len(library)} for name in systems}
    ready: dict[str, System] = {}
    for name in systems:
        try:
            system = make(name, 0, {})
            start = time.process_time()
            system.fit(library, ())
            rows[name]["index_s"] = getattr(system, "index_cpu_s", time.process_time() - start)
            rows[name]["peak_mb"] = getattr(system, "peak_mb", None)
            ready[name] = system
        except ToolwiseError as error:
            rows[name]["error"] = error.message.splitlines()[0]
    spent: dict[str, list[float]] = {name: [] for name in ready}
    for turn in range(_ROUNDS):
        for query in queries[turn::_ROUNDS]:
            for name, system in ready.items():
                spent[name].append(1000 * _cpu(system, query))
    for name, system in ready.items():
        rows[name]["cpu_ms"] = statistics.median(spent[name])
        close = getattr(system, "close", None)
        if close is not None:
            close()
    return list(rows.values())


def _cpu(system: System, query: Query) -> float:
    """CPU seconds of one answer, in whichever process it is computed."""
    before = getattr(system, "request_cpu_s", None)
    start = time.process_time()
    if isinstance(system, Selecting):
        system.select(query)
    else:
        system.rank(query, 10)
    if before is None:
        return time.process_time() - start
    return float(getattr(system, "request_cpu_s", before)) - float(before)


def _latency_cell(row: dict[str, Json]) -> str:
    return str(row["error"]) if "error" in row else f"{row['cpu_ms']:.2f} ({row['index_s']:.1f} s)"


def robust(systems: Sequence[str], limit: int, progress: Progress) -> tuple[dict[str, Json], str]:
    """Twenty ordinary tools and one strange definition: is it found first, and is nothing lost?"""
    names = sorted(SHAPES)[: limit or None]
    cells: dict[str, dict[str, str]] = {}
    for number, name in enumerate(names):
        progress("robust", number, len(names))
        cells[name] = {system: _verdict(system, name) for system in systems}
    progress("robust", len(names), len(names))
    lines = ["| shape | " + " | ".join(systems) + " |", "|---|" + "---|" * len(systems)]
    lines += [f"| {name} | " + " | ".join(row[s] for s in systems) + " |" for name, row in cells.items()]
    held = [sum(row[s] in ("ok", "abstains") for row in cells.values()) for s in systems]
    lines.append("| **held** | " + " | ".join(f"{n} of {len(names)}" for n in held) + " |")
    return {"suite": "robust", "cells": cells}, "\n".join(lines)


def _verdict(name: str, shape_name: str) -> str:
    shape = SHAPES[shape_name]
    raw = [*GOOD, *shape.definitions]
    tools = _as_given(raw) if name in _foreign() else from_definitions(raw, server="shop").tools
    system = make(name, 0, {})
    try:
        system.fit(sorted(tools, key=lambda tool: tool.id), ())
        query = Query("q", shape.query)
        ids = system.select(query) if isinstance(system, Selecting) else [i for i, _ in system.rank(query, 5)]
    except ToolwiseError as error:
        return "crash: " + " ".join(error.message.split())[:60].replace("|", "/")
    finally:
        close = getattr(system, "close", None)
        if close is not None:
            close()
    found = [id_.partition("/")[2].partition("#")[0] for id_ in ids]
    if shape.expected is None:
        return "abstains" if not found else f"returns {len(found)}"
    if shape.expected in found:
        place = found.index(shape.expected) + 1
        return "ok" if place == 1 else f"rank {place}"
    return "not found"


def _foreign() -> frozenset[str]:
    from toolwise.bench.peers import RIVALS

    return frozenset(RIVALS)


def _as_given(definitions: Sequence[dict[str, Json]]) -> list[Tool]:
    """Definitions as a rival would get them: nothing of ours repaired, ids unique."""
    read = from_definitions(definitions, server="shop").tools
    return [
        replace(
            tool,
            description=given.get("description"),  # type: ignore[arg-type]
            parameters=tool.parameters if _cyclic(given) else given.get("inputSchema"),
        )
        for tool, given in zip(read, definitions, strict=True)
    ]


def _cyclic(definition: dict[str, Json]) -> bool:
    """Whether the definition exists only as Python objects: a pipe cannot carry a cycle."""
    import json

    try:
        json.dumps(definition)
    except (ValueError, RecursionError):
        return True
    return False


def risk_examples(systems: Sequence[str], limit: int, progress: Progress) -> tuple[dict[str, Json], str]:
    """See :func:`toolwise.bench.risk_examples.examples`."""
    from toolwise.bench.risk_examples import examples

    return examples(systems, limit, progress)


SPECIAL: dict[str, Special] = {
    "latency": Special(
        ("bm25", "dense", "hybrid", "toolwise", "clause-bm25"), latency, ("toucan_mcp", "livemcp")
    ),
    "robust": Special(("bm25", "hybrid", "toolwise"), robust),
    "risk-examples": Special(
        ("encoder@untuned", "paper@untuned", "default@untuned", "default+graph+rule@untuned"),
        risk_examples,
        ("ultratool",),
    ),
}
"""By name."""
