"""The gateway under load: many clients over HTTP, its memory, and what it adds to a call.

    python -m benchmarks.gateway_load [--clients 50] [--seconds 60] [--pause 2] [--into results]

The servers behind it are scripted and hold the tools of the demo catalogue.  Each client of the newest
protocol revision finds tools, calls one, and pauses, over and over.  Times are those of the clients, which
share the machine with the gateway; the load average of the machine stands beside them.  What the gateway
adds to a call is measured without load: the same call over stdio straight to the server and through the
gateway, by turns.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from socket import create_server
from typing import Any

import anyio
import httpx2
import numpy as np
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from toolwise.bench.provenance import provenance, write

ROOT = Path(__file__).resolve().parent.parent
OFFICE = ROOT / "tests" / "serve" / "office.py"
DEMO = ROOT / "examples" / "demo"
WARM = 5.0
"""Seconds at the start that do not count."""
CALLS = 300
"""Calls each way to tell what the gateway adds."""


@dataclass
class Seen:
    """What the clients saw, in milliseconds."""

    find: list[float] = field(default_factory=list)
    call: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def servers(folder: Path) -> dict[str, Any]:
    """One scripted server for each of the demo catalogue, its tools safe to call."""
    by_server: dict[str, list[dict[str, Any]]] = {}
    for line in (DEMO / "tools.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        by_server.setdefault(row.get("server") or row.get("group") or row["id"].partition("/")[0], []).append(
            {
                "name": row["name"],
                "description": row["description"],
                "inputSchema": {**(row.get("parameters") or {}), "type": "object"},
                **({"annotations": row["annotations"]} if row.get("annotations") else {}),
            }
        )
    echo = {"name": "echo_text", "description": "Echo a text.", "inputSchema": {"type": "object"}}
    by_server["echo"] = [{**echo, "annotations": {"readOnlyHint": True}}]
    entries = {}
    for name, tools in by_server.items():
        (folder / f"{name}.json").write_text(json.dumps(tools), encoding="utf-8")
        entries[name] = {"command": sys.executable, "args": ["-S", str(OFFICE), str(folder / f"{name}.json")]}
    return entries


def requests() -> list[str]:
    """Requests over the catalogue: what its tools say they do."""
    rows = [json.loads(line) for line in (DEMO / "tools.jsonl").read_text(encoding="utf-8").splitlines()]
    return [row["description"].partition(".")[0][:200] for row in rows]


@asynccontextmanager
async def gateway(config: Path, state: Path, port: int) -> AsyncIterator[subprocess.Popen[bytes]]:
    """A gateway over HTTP in a process of its own, all servers connected."""
    command = [sys.executable, "-m", "toolwise", "gateway", "--config", str(config), "--state", str(state)]
    with subprocess.Popen([*command, "--http", f"127.0.0.1:{port}"], stdin=subprocess.DEVNULL) as process:
        try:
            async with httpx2.AsyncClient() as http:
                with anyio.fail_after(120):
                    while True:
                        try:
                            health = (await http.get(f"http://127.0.0.1:{port}/healthz")).json()
                            if health["connected"] == health["servers"]:
                                break
                        except httpx2.TransportError:
                            pass
                        await anyio.sleep(0.2)
            yield process
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def memory_mb(pid: int) -> float:
    """Resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def cpu_seconds(pid: int) -> float:
    """Processor time a process has used: other jobs on the machine do not lengthen it."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def one(url: str, number: int, until: float, warm: float, pause: float, seen: Seen) -> None:
    """One client: find, call, pause."""
    rng = random.Random(number)
    tasks = requests()
    await anyio.sleep(rng.uniform(0, pause))
    async with (
        httpx2.AsyncClient(timeout=60) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        while anyio.current_time() < until:
            for name, arguments, into in (
                ("find_tools", {"task": rng.choice(tasks)}, seen.find),
                ("call_tool", {"name": "echo__echo_text", "arguments": {"text": "x"}}, seen.call),
            ):
                start = time.perf_counter()
                result = await client.call_tool(name, arguments)
                if result.is_error:
                    seen.errors.append(str(result.content)[:200])
                elif anyio.current_time() > warm:
                    into.append(1000 * (time.perf_counter() - start))
            await anyio.sleep(rng.uniform(0.5, 1.5) * pause)


async def load(config: Path, folder: Path, clients: int, seconds: float, pause: float) -> dict[str, Any]:
    """Times and errors of all clients, memory of the gateway after the warm-up and at the end."""
    with create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    seen, before, spent = Seen(), 0.0, 0.0
    async with gateway(config, folder / "state", port) as process:
        begin = anyio.current_time()
        warm, until = begin + WARM, begin + WARM + seconds
        async with anyio.create_task_group() as group:
            for number in range(clients):
                group.start_soon(one, f"http://127.0.0.1:{port}/mcp", number, until, warm, pause, seen)
            await anyio.sleep_until(warm)
            before, spent = memory_mb(process.pid), cpu_seconds(process.pid)
        after, spent = memory_mb(process.pid), cpu_seconds(process.pid) - spent
    return {
        "clients": clients,
        "seconds": seconds,
        "pause_s": pause,
        "find": spread(seen.find),
        "call": spread(seen.call),
        "inside": inside(folder / "state"),
        "errors": len(seen.errors),
        "first_errors": seen.errors[:3],
        "cpu_ms_per_round": round(1000 * spent / max(1, len(seen.find)), 1),
        "memory_mb": {"start": round(before, 1), "end": round(after, 1)},
        "load_average": round(os.getloadavg()[0], 1),
    }


def inside(state: Path) -> dict[str, Any]:
    """The same finds as the gateway timed them itself: without transport and protocol."""
    from toolwise.serve.gateway.statistics import statistics

    found = statistics(state)
    return {"answers": found["answers"], **(found["answer_ms"] or {})}


def spread(values: list[float]) -> dict[str, float]:
    """Number, median and 95th percentile."""
    p50, p95 = np.percentile(values, [50, 95])
    return {"n": len(values), "p50_ms": round(float(p50), 1), "p95_ms": round(float(p95), 1)}


async def added(config: Path, folder: Path, entry: dict[str, Any]) -> dict[str, Any]:
    """What the gateway adds to a call over stdio, calls by turns."""
    straight = StdioServerParameters(command=entry["command"], args=entry["args"])
    through = StdioServerParameters(
        command=sys.executable,
        args=["-m", "toolwise", "gateway", "--config", str(config), "--state", str(folder / "state2")],
    )
    times: dict[str, list[float]] = {"direct": [], "gateway": []}
    async with Client(straight) as direct, Client(through) as between:
        await direct.list_tools()
        await between.call_tool("find_tools", {"task": "echo a text"})
        for number in range(CALLS + 20):
            for name, client, tool, arguments in (
                ("direct", direct, "echo_text", {"text": "x"}),
                ("gateway", between, "call_tool", {"name": "echo__echo_text", "arguments": {"text": "x"}}),
            ):
                start = time.perf_counter()
                await client.call_tool(tool, arguments)
                if number >= 20:
                    times[name].append(1000 * (time.perf_counter() - start))
    found: dict[str, Any] = {name: spread(values) for name, values in times.items()}
    return found | {"added_p50_ms": round(found["gateway"]["p50_ms"] - found["direct"]["p50_ms"], 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--pause", type=float, default=2)
    parser.add_argument("--into", default="results")
    options = parser.parse_args()
    os.environ["TOOLWISE_ENCODER"] = "static"  # whatever is installed
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        entries = servers(folder)
        config = folder / "mcp.json"
        config.write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")
        tools = sum(
            len(json.loads(path.read_text(encoding="utf-8")))
            for path in folder.glob("*.json")
            if path != config
        )
        call = anyio.run(added, config, folder, entries["echo"])
        loaded = anyio.run(load, config, folder, options.clients, options.seconds, options.pause)
    found = {"tools": tools, "servers": len(entries), "load": loaded, "call": call}
    command = ["python", "-m", "benchmarks.gateway_load", *sys.argv[1:]]
    write(
        options.into,
        "gateway",
        {"provenance": provenance(command), "results": found},
        table(found),
        notes(found),
    )
    print(json.dumps(found, indent=1))


def table(found: dict[str, Any]) -> str:
    """The numbers for people."""
    rows = ["| what | n | p50 ms | p95 ms |", "|---|---:|---:|---:|"]
    load, call = found["load"], found["call"]
    label = f"{load['clients']} clients over HTTP"
    for name, row in (
        (f"`find_tools`, {label}", load["find"]),
        (f"`call_tool`, {label}", load["call"]),
        ("call over stdio, straight to the server", call["direct"]),
        ("call over stdio, through the gateway", call["gateway"]),
    ):
        rows.append(f"| {name} | {row['n']:,} | {row['p50_ms']} | {row['p95_ms']} |")
    inside = load["inside"]
    rows.append(
        f"| the work of `find_tools` alone | {inside['answers']:,} | {inside['p50']} | {inside['p95']} |"
    )
    return "\n".join(rows)


def notes(found: dict[str, Any]) -> str:
    """What has to be known to read the table."""
    load = found["load"]
    memory = load["memory_mb"]
    return (
        f"{found['tools']} tools of {found['servers']} scripted servers; {load['clients']} clients for "
        f"{load['seconds']:g} s, a pause of {load['pause_s']:g} s between rounds of one find and one call; "
        f"{load['errors']} errors. Resident memory {memory['start']} MB after the first {WARM:g} s, "
        f"{memory['end']} MB at the end. A find and a call cost the gateway {load['cpu_ms_per_round']} ms "
        f"of processor time. It adds {found['call']['added_p50_ms']} ms to a call over stdio (p50). "
        f"Static encoder, two shared cores, clients on this machine, load average {load['load_average']}."
    )


if __name__ == "__main__":
    main()
