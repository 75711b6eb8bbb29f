"""Quality of bm25, dense and hybrid on every data set at hand.

    python -m benchmarks.retrieval [--encoder static] [--limit N] [--into results]

Writes ``retrieval.json`` (with provenance and per-set numbers) and
``retrieval.md``.  Requests with an empty gold set are left out here; they count
for abstention (``benchmarks/fit.py``).
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from benchmarks.data import Task, available, libraries, tasks
from benchmarks.provenance import provenance, write

from toolwise.encode.load import load_encoder
from toolwise.evaluate.ranking import completeness, ndcg, recall
from toolwise.protocols import Encoder, Retriever
from toolwise.records import Tool
from toolwise.retrieve import Bm25Retriever, DenseRetriever, HybridRetriever, build_bm25

SYSTEMS = ("bm25", "dense", "hybrid")


@dataclass(frozen=True)
class Suite:
    """A split of a data set, and how the default table and the settings relate to it."""

    data_set: str
    split: str
    role: str
    """``test``: in no way used before; ``dev``: settings were chosen on it; ``train``: the table learned on it."""


SUITES = (
    Suite("ultratool", "test", "test"),
    Suite("sealtools", "test_in", "test"),
    Suite("sealtools", "test_out", "test"),
    Suite("toollens", "test", "test"),
    Suite("livemcp", "test", "test"),
    Suite("mcp_tasks", "test", "test"),
    Suite("mcp_tasks", "dev", "dev"),
    Suite("sealtools", "dev", "train"),
    Suite("toollens", "train", "dev"),
    Suite("toolbench", "train", "dev"),
)


def retrievers(tools: tuple[Tool, ...], encoder: Encoder) -> dict[str, Retriever]:
    """The three systems over one library."""
    ids = [tool.id for tool in tools]
    lexical = Bm25Retriever(build_bm25(tools), ids)
    dense = DenseRetriever(encoder, encoder.encode_tools(tools), ids)
    return {"bm25": lexical, "dense": dense, "hybrid": HybridRetriever(lexical, dense, ids)}


def sample(found: list[Task], limit: int, seed: int = 0) -> list[Task]:
    """At most ``limit`` tasks, drawn with ``seed``, in their order."""
    if limit <= 0 or len(found) <= limit:
        return found
    rows = np.random.default_rng(seed).choice(len(found), limit, replace=False)
    return [found[row] for row in sorted(rows)]


def measure(suite: Suite, encoder: Encoder, limit: int) -> dict[str, object]:
    """NDCG@5, Recall@5, COMP@5 and COMP@10 of each system on one split."""
    found = sample([task for task in tasks(suite.data_set, suite.split) if task.gold], limit)
    values: dict[str, list[tuple[float, ...]]] = {system: [] for system in SYSTEMS}
    for name, library in libraries(suite.data_set).items():
        here = [task for task in found if task.library == name]
        if not here:
            continue
        systems = retrievers(library, encoder)
        for task in here:
            for system, retriever in systems.items():
                ranked = [c.id for c in retriever.retrieve(task.query, 10).candidates]
                scores = (ndcg(ranked, task.gold, 5), recall(ranked, task.gold, 5))
                values[system].append((*scores, *(completeness(ranked, task.gold, k) for k in (5, 10))))
    means = {system: np.mean(rows, axis=0).tolist() for system, rows in values.items()}
    library_sizes = [len(tools) for tools in libraries(suite.data_set).values()]
    return {
        "data_set": suite.data_set,
        "split": suite.split,
        "role": suite.role,
        "requests": len(found),
        "library": int(np.median(library_sizes)),
        "systems": {
            system: dict(zip(("ndcg@5", "recall@5", "comp@5", "comp@10"), row, strict=True))
            for system, row in means.items()
        },
    }


def table(results: list[dict[str, object]]) -> str:
    """The numbers as Markdown, in per cent."""
    lines = [
        "| data set | split | role | requests | tools | system | NDCG@5 | Recall@5 | COMP@5 | COMP@10 |",
        "|---|---|---|---:|---:|---|---:|---:|---:|---:|",
    ]
    for result in results:
        for system, row in result["systems"].items():  # type: ignore[attr-defined]
            cells = " | ".join(f"{100 * value:.1f}" for value in row.values())
            head = " | ".join(
                str(result[key]) for key in ("data_set", "split", "role", "requests", "library")
            )
            lines.append(f"| {head} | {system} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", default="static")
    parser.add_argument("--limit", type=int, default=0, help="at most so many requests per split (0: all)")
    parser.add_argument("--into", default="results")
    options = parser.parse_args()
    encoder = load_encoder(options.encoder)
    results = []
    for suite in SUITES:
        if not available(suite.data_set):
            print(f"{suite.data_set} is not here, skipped")
            continue
        limit = options.limit or (1000 if suite.role != "test" and suite.data_set != "mcp_tasks" else 0)
        results.append(measure(suite, encoder, limit))
        print(table(results[-1:]).splitlines()[-1], flush=True)
    notes = (
        "mcp_tasks: the library of a request is its workspace (tools: median size). Role `test`: used for no choice; "
        "`dev`: settings were chosen on it; `train`: the default table learned on its requests, so dense and hybrid "
        "are not zero-shot there. dev and train sets over 1,000 requests are sampled (seed 0). "
        "ultratool: name and description only."
    )
    write(options.into, "retrieval", provenance(encoder.fingerprint), results, table(results), notes)


if __name__ == "__main__":
    main()
