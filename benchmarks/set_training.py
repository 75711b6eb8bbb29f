"""How long the set scorer takes to learn from 5,000 traces over 5,000 tools, and how much memory.

    python -m benchmarks.set_training

ToolBench's tools and the last of its training requests, through ``toolwise train experience`` and
``toolwise train sets``, each in a process of its own.  Writes ``results/sets/training.{json,md}``.  Needs the
extra ``train``.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from toolwise.bench import data
from toolwise.bench.provenance import provenance, write

TRACES = 5_000
COMMANDS = ("experience", "sets")


def prepared(folder: Path) -> tuple[int, int]:
    """An index and a file of traces in ``folder``; how many tools and traces."""
    tools = data.folder("toolbench") / "tools.jsonl"
    ran("index", str(tools), "--into", str(folder / "index"), "--encoder", "static")
    asked = [task for task in data.tasks("toolbench", "train") if task.gold][-TRACES:]
    rows = [json.dumps({"query": task.query.text, "tools": list(task.gold)}) for task in asked]
    (folder / "traces.jsonl").write_text("\n".join(rows), encoding="utf-8")
    return len(data.tools("toolbench")), len(rows)


def ran(*arguments: str) -> dict[str, Any]:
    """Wall and processor seconds and peak memory of a command, and what it printed."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "toolwise", *arguments], capture_output=True, text=True, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "seconds": time.perf_counter() - start,
        "cpu": after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime,
        "peak": after.ru_maxrss / 1024,
        "said": done.stdout,
    }


def main() -> None:
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    found: dict[str, dict[str, Any]] = {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        tools, traces = prepared(folder)
        for command in COMMANDS:
            given = (str(folder / "index"), "--traces", str(folder / "traces.jsonl"), "--json")
            found[command] = ran("train", command, *given)
            found[command]["reached"] = json.loads(found[command].pop("said"))
    lines = [
        "| command | seconds | CPU s | peak MB | complete before | after |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for command, one in found.items():
        before, after = (100 * one["reached"][kind]["complete"] for kind in ("before", "after"))
        cost = f"{one['seconds']:.0f} | {one['cpu']:.0f} | {one['peak']:,.0f}"
        lines.append(f"| train {command} | {cost} | {before:.1f} | {after:.1f} |")
    notes = (
        f"{traces:,} traces over {tools:,} tools of ToolBench, a fifth of them held out to judge by: "
        "share complete in five. Peak memory of the largest process so far. Static encoder; two shared cores."
    )
    made = {"provenance": provenance(("python", "-m", "benchmarks.set_training"))}
    write("results/sets", "training", {**made, "results": found}, "\n".join(lines), notes)


if __name__ == "__main__":
    main()
