"""How much words should count in the hybrid: NDCG@5 over scales, on dev and training splits alone.

    python -m benchmarks.fusion [--encoder NAME] [--folds FOLDER ...]

Writes ``fusion.json`` and ``fusion.md``, of another encoder than the packaged
table ``encoders/fusion-NAME.*``.  ``toolwise.retrieve.hybrid`` ranks by
cosine + (BM25 / scale) ** 2 of the whole request and of its clauses; scale and
coverage are chosen for a small worst loss against the better half over the data
sets the table never learned on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from benchmarks.folds import arguments, place, workspaces
from toolwise.bench.data import Task, available, libraries, sample, tasks
from toolwise.bench.provenance import provenance, write
from toolwise.bench.remembered import RememberingEncoder
from toolwise.encode.load import load_encoder
from toolwise.evaluate.ranking import ndcg
from toolwise.protocols import Encoder, Retriever
from toolwise.records import Tool
from toolwise.retrieve import Bm25Retriever, DenseRetriever, HybridRetriever, build_bm25
from toolwise.retrieve.hybrid import COVERAGE, SCALE

COVERAGES = (0.0, 0.2, 0.3, 0.5, 0.7, 1.0)
SCALES = (4.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0)
SETS = (
    ("mcp_tasks", "dev", "unseen"),
    ("toollens", "train", "unseen"),
    ("toolbench", "train", "unseen"),
    ("sealtools", "dev", "learned on"),
    ("metatool", "multi", "learned on"),
    ("bfcl", "multi_turn", "learned on"),
)


Asked = tuple[Encoder, Sequence[Tool], Sequence[Task]]
"""An encoder, a library and the requests to answer from it."""


def asked(data_set: str, split: str, encoder: Encoder) -> Iterable[Asked]:
    """At most 1,000 requests of a split, by library."""
    found = sample([task for task in tasks(data_set, split) if task.gold], 1000)
    for name, library in libraries(data_set).items():
        here = [task for task in found if task.library == name]
        if here:
            yield encoder, library, here


def curves(asked: Iterable[Asked]) -> tuple[list[float], list[float]]:
    """NDCG@5 of BM25 alone, whole requests at each scale, the cosine alone; then at each coverage."""
    values: list[list[float]] = []
    for encoder, library, here in asked:
        ids = [tool.id for tool in library]
        lexical = Bm25Retriever(build_bm25(library), ids)
        dense = DenseRetriever(encoder, encoder.encode_tools(library), ids)
        systems: list[Retriever] = [
            lexical,
            *(HybridRetriever(lexical, dense, ids, scale, coverage=0.0) for scale in SCALES),
            dense,
            *(HybridRetriever(lexical, dense, ids, SCALE, coverage) for coverage in COVERAGES),
        ]
        for task in here:
            ranked = ([c.id for c in system.retrieve(task.query, 5).candidates] for system in systems)
            values.append([ndcg(ids_, task.gold, 5) for ids_ in ranked])
    means: list[float] = np.mean(values, axis=0).tolist()
    return means[: len(SCALES) + 2], means[len(SCALES) + 2 :]


def main(given: Sequence[str] | None = None) -> None:
    options = arguments(__doc__).parse_args(given)
    encoder = RememberingEncoder(load_encoder(options.encoder))
    results: list[dict[str, Any]] = []
    columns = ("BM25", *(f"{scale:g}" for scale in SCALES), "cosine")
    lines = [f"| data set | table | {' | '.join(columns)} |", "|---|---|" + "---:|" * len(columns)]
    covered = [
        f"| data set | table | {' | '.join(f'{coverage:g}' for coverage in COVERAGES)} |",
        "|---|---|" + "---:|" * len(COVERAGES),
    ]
    sources = [(*names, asked(*names[:2], encoder)) for names in SETS if available(names[0])]
    if options.folds:
        held = (
            (e, t, [r for r in rs if r.gold]) for e, _, t, rs in workspaces(options.encoder, options.folds)
        )
        sources.insert(0, ("mcp_tasks", "train, out of fold", "unseen", held))
    for data_set, split, relation, requests in sources:
        scales, coverages = curves(requests)
        entry = {"data_set": data_set, "split": split, "table": relation}
        results.append({**entry, "scales": scales, "coverages": coverages})
        head = f"| {data_set} {split} | {relation} | "
        lines.append(head + " | ".join(f"{100 * value:.1f}" for value in scales) + " |")
        covered.append(head + " | ".join(f"{100 * value:.1f}" for value in coverages) + " |")
        print(lines[-1], covered[-1], flush=True)
    unseen = [result["scales"] for result in results if result["table"] == "unseen"]
    loss = np.max([[max(v[0], v[-1]) - x for x in v] for v in unseen], axis=0)
    lines.append(
        "| worst loss against the better half | unseen | " + " | ".join(f"{100 * x:.1f}" for x in loss) + " |"
    )
    table = "\n".join(["Whole requests, by scale:\n", *lines, "\nWith clauses, by coverage:\n", *covered])
    notes = f"Chosen: scale {SCALE:g}, coverage {COVERAGE:g}."
    command = ("python", "-m", "benchmarks.fusion", *(sys.argv[1:] if given is None else given))
    origin = provenance(command, encoder.fingerprint)
    write(*place("fusion", options.encoder), {"provenance": origin, "results": results}, table, notes)


if __name__ == "__main__":
    main()
