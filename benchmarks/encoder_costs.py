"""What an encoder costs: time, memory and size, each encoder in a process of its own on one thread.

    python -m benchmarks.encoder_costs ENCODER ...

Requests and tools are those of mcp_tasks dev and livemcp, one request at a time and
all tools at once; the processor's time, not the clock's.  Writes
``encoders/costs.json`` and ``encoders/costs.md``.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from toolwise.bench.data import tasks, tools
from toolwise.bench.provenance import provenance, write
from toolwise.encode.load import load_encoder
from toolwise.encode.static import PACKAGED

REQUESTS = 100
WEIGHTS = ("table.safetensors", "tokenizer.json", "model.onnx")


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(specification: str) -> dict[str, float | str]:
    """Of one encoder, in this process."""
    library = list(tools("livemcp"))
    requests = [task.query.text for task in tasks("mcp_tasks", "dev")][:REQUESTS]
    before = _megabytes()
    start = time.process_time()
    encoder = load_encoder(specification)
    loaded = time.process_time() - start
    encoder.encode_queries(requests[:3])
    spent = []
    for text in requests:
        start = time.process_time()
        encoder.encode_queries([text])
        spent.append(time.process_time() - start)
    start = time.process_time()
    encoder.encode_tools(library)
    tools_s = time.process_time() - start
    return {
        "encoder": specification,
        "load_ms": 1000 * loaded,
        "request_ms": 1000 * sorted(spent)[len(spent) // 2],
        "thousand_tools_s": 1000 * tools_s / len(library),
        "memory_mb": _megabytes() - before,
        "size_mb": sum(p.stat().st_size for p in _files(specification)) / 1e6,
        "dimensions": encoder.dim,
    }


def _files(specification: str) -> list[Path]:
    name, _, argument = specification.partition(":")
    if name == "minilm":
        folder: Path = import_module("toolwise_minilm").FOLDER
    else:
        folder = Path(argument) if argument else PACKAGED
    return [folder / file for file in WEIGHTS if (folder / file).is_file()]


def main(given: Sequence[str] | None = None) -> None:
    arguments = list(sys.argv[1:] if given is None else given)
    if arguments[:1] == ["--one"]:
        print(json.dumps(measure(arguments[1])))
        return
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    rows = []
    for specification in arguments:
        command = [sys.executable, "-m", "benchmarks.encoder_costs", "--one", specification]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        rows.append(json.loads(done.stdout.splitlines()[-1]))
    lines = [
        "| encoder | dimensions | load, ms | one request, ms | 1,000 tools, s | memory, MB | files, MB |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        lines.append(
            f"| {row['encoder']} | {row['dimensions']} | {row['load_ms']:.0f} | {row['request_ms']:.2f} | "
            f"{row['thousand_tools_s']:.2f} | {row['memory_mb']:.0f} | {row['size_mb']:.1f} |"
        )
    print("\n".join(lines))
    notes = (
        f"CPU time of all threads; requests: median of {REQUESTS} of mcp_tasks dev, one at a time; tools: "
        f"the {len(tools('livemcp'))} of livemcp; memory: growth of the process by loading and encoding."
    )
    payload = {
        "provenance": provenance(("python", "-m", "benchmarks.encoder_costs", *arguments)),
        "rows": rows,
    }
    write("results/encoders", "costs", payload, "\n".join(lines), notes)


if __name__ == "__main__":
    main()
