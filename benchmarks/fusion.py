"""How much words should count in the hybrid: NDCG@5 over scales, on dev and training splits alone.

    python -m benchmarks.fusion

Writes ``fusion.json`` and ``fusion.md``.  ``toolwise.retrieve.hybrid`` ranks by
cosine + (BM25 / scale) ** 2 of the whole request and of its clauses; scale and
coverage are chosen for a small worst loss against the better half over the data
sets the table never learned on.
"""

from __future__ import annotations

import numpy as np

from toolwise.bench.data import available, libraries, sample, tasks
from toolwise.bench.provenance import provenance, write
from toolwise.encode.load import load_encoder
from toolwise.evaluate.ranking import ndcg
from toolwise.protocols import Encoder, Retriever
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


def curves(data_set: str, split: str, encoder: Encoder) -> tuple[list[float], list[float]]:
    """NDCG@5 of BM25 alone, whole requests at each scale, the cosine alone; then at each coverage."""
    found = sample([task for task in tasks(data_set, split) if task.gold], 1000)
    values: list[list[float]] = []
    for name, library in libraries(data_set).items():
        here = [task for task in found if task.library == name]
        if not here:
            continue
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


def main() -> None:
    encoder = load_encoder("static")
    results = []
    columns = ("BM25", *(f"{scale:g}" for scale in SCALES), "cosine")
    lines = [f"| data set | table | {' | '.join(columns)} |", "|---|---|" + "---:|" * len(columns)]
    covered = [
        f"| data set | table | {' | '.join(f'{coverage:g}' for coverage in COVERAGES)} |",
        "|---|---|" + "---:|" * len(COVERAGES),
    ]
    for data_set, split, relation in SETS:
        if not available(data_set):
            continue
        scales, coverages = curves(data_set, split, encoder)
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
    origin = provenance(("python", "-m", "benchmarks.fusion"), encoder.fingerprint)
    write("results", "fusion", {"provenance": origin, "results": results}, table, notes)


if __name__ == "__main__":
    main()
