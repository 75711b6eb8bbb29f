"""Speed of indexing and selecting over livemcp and toucan_mcp (13,945 tools).

    OMP_NUM_THREADS=1 python -m benchmarks.select [--into results]

In-process selection is timed per request on one core after a warm-up; the
command line is timed as whole processes.  Requests are those of livemcp and of
mcp_tasks train.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __package__ in (None, ""):  # run by its path: this folder must not hide the standard module `select`
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import argparse
import json
import os
import resource
import subprocess
import tempfile
import time

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TOKENIZERS_PARALLELISM")
for _name in THREADS:
    os.environ.setdefault(_name, "1" if _name != "TOKENIZERS_PARALLELISM" else "false")

import numpy as np

from toolwise import Query, Selector
from toolwise.bench.data import folder, tasks
from toolwise.bench.provenance import provenance, write


def run(*arguments: str) -> dict[str, float]:
    """Wall seconds and peak memory (MB) of one ``toolwise`` process."""
    timed = (
        "import resource, subprocess, sys, time; t = time.perf_counter(); "
        "p = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True); "
        "print(time.perf_counter() - t, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)"
    )
    command = [sys.executable, "-c", timed, sys.executable, "-m", "toolwise", *arguments]
    seconds, peak = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return {"seconds": float(seconds), "peak_mb": float(peak)}


def in_process(index: Path, method: str, *, warm: bool = False) -> dict[str, float]:
    """Milliseconds per selection: p50, p95, mean, and CPU mean."""
    requests = [task.query for task in tasks("livemcp", "test")]
    requests += [task.query for task in tasks("mcp_tasks", "train")[::12]]
    selector = Selector.open(index, method=method)
    if warm:
        selector.warm()
    for query in requests[:20]:
        selector.select(query)
    wall, cpu = [], time.process_time()
    for number, query in enumerate(requests):
        start = time.perf_counter()
        selector.select(Query(str(number), query.text))
        wall.append(1000 * (time.perf_counter() - start))
    spent = 1000 * (time.process_time() - cpu) / len(requests)
    p50, p95 = np.percentile(wall, [50, 95])
    return {
        "requests": len(requests),
        "p50_ms": p50,
        "p95_ms": p95,
        "mean_ms": float(np.mean(wall)),
        "cpu_ms": spent,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", default="results")
    options = parser.parse_args()
    sources = [str(folder(name) / "tools.jsonl") for name in ("livemcp", "toucan_mcp")]
    with tempfile.TemporaryDirectory() as scratch:
        index = Path(scratch) / "index"
        results: dict[str, dict[str, float]] = {
            "index, from nothing": run("index", *sources, "--into", str(index), "--encoder", "static"),
            "index, nothing changed": run("index", *sources, "--into", str(index), "--encoder", "static"),
        }
        colds = [run("select", str(index), "send an invoice to a customer", "--json") for _ in range(7)]
        results["select, cold process (median of 7)"] = sorted(colds, key=lambda row: row["seconds"])[3]
        for method in ("bm25", "dense", "hybrid", "toolwise"):
            results[f"select in process, {method}"] = in_process(index, method)
        results["select in process, toolwise, warmed"] = in_process(index, "toolwise", warm=True)
    results["this process"] = {"peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
    lines = ["| what | seconds | p50 ms | p95 ms | CPU ms | peak MB |", "|---|---:|---:|---:|---:|---:|"]
    for what, row in results.items():
        cells = [row.get(key) for key in ("seconds", "p50_ms", "p95_ms", "cpu_ms", "peak_mb")]
        lines.append(f"| {what} | " + " | ".join("" if c is None else f"{c:.2f}" for c in cells) + " |")
    print("\n".join(lines))
    print(json.dumps(results))
    write(
        options.into,
        "select",
        {"provenance": provenance(("python", "-m", "benchmarks.select")), "results": results},
        "\n".join(lines),
        "13,945 tools, static encoder, 2 shared cores, one BLAS thread.",
    )


if __name__ == "__main__":
    main()
