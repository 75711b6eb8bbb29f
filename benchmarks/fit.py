"""When nothing fits: the floors and the share of ``toolwise.retrieve.fit``, on mcp_tasks dev.

    python -m benchmarks.fit

Writes ``fit.json`` and ``fit.md``: for pairs of floors the share of ``none``
requests turned away and of answerable requests wrongly turned away, and what
leaving out candidates below a share of the best score costs in completeness.
"""

from __future__ import annotations

import numpy as np

from toolwise.bench.data import libraries, tasks
from toolwise.bench.provenance import provenance, write
from toolwise.encode.load import load_encoder
from toolwise.retrieve import Bm25Retriever, DenseRetriever, HybridRetriever, build_bm25
from toolwise.retrieve.fit import DENSE_FLOOR, LEXICAL_FLOOR

SHARES = (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
LEXICAL = (1.2, 1.4, 1.6, 1.8, 2.0, 2.4)
DENSE = (0.2, 0.25, 0.3, 0.35, 0.4)

Row = tuple[set[str], list[str], list[float], float, float]
"""Gold, the five best ids and scores of the hybrid, the best BM25 score and the best cosine."""


def measure() -> list[Row]:
    """One row per dev request, answered from its workspace."""
    encoder = load_encoder("static")
    requests = tasks("mcp_tasks", "dev")
    found: list[Row] = []
    for name, library in libraries("mcp_tasks").items():
        here = [task for task in requests if task.library == name]
        if not here:
            continue
        ids = [tool.id for tool in library]
        lexical = Bm25Retriever(build_bm25(library), ids)
        dense = DenseRetriever(encoder, encoder.encode_tools(library), ids)
        hybrid = HybridRetriever(lexical, dense, ids)
        for task in here:
            best = hybrid.retrieve(task.query, 5).candidates
            words = float(lexical.score(task.query.text).max())
            meaning = float(dense.score(task.query.text).max())
            found.append((set(task.gold), [c.id for c in best], [c.score for c in best], words, meaning))
    return found


def floors(found: list[Row]) -> list[dict[str, float]]:
    """For each pair of floors: which requests stay below both."""
    answerable = np.array([bool(row[0]) for row in found])
    words, meaning = (np.array([row[column] for row in found]) for column in (3, 4))
    return [
        {
            "lexical": lexical,
            "dense": dense,
            "none_turned_away": float(np.mean(low[~answerable])),
            "wrongly_turned_away": float(np.mean(low[answerable])),
        }
        for lexical in LEXICAL
        for dense in DENSE
        for low in [(words < lexical) & (meaning < dense)]
    ]


def shares(found: list[Row]) -> list[dict[str, float]]:
    """For each share: completeness, size and precision of what is left of the five best."""
    rows = []
    for share in SHARES:
        kept = [
            (gold, {i for i, score in zip(ids, scores, strict=True) if score >= share * scores[0]})
            for gold, ids, scores, _, _ in found
            if gold
        ]
        rows.append(
            {
                "share": share,
                "comp@5": float(np.mean([gold <= ids for gold, ids in kept])),
                "size": float(np.mean([len(ids) for _, ids in kept])),
                "precision": float(np.mean([len(gold & ids) / max(1, len(ids)) for gold, ids in kept])),
            }
        )
    return rows


def main() -> None:
    found = measure()
    pairs, cuts = floors(found), shares(found)
    lines = [
        "| BM25 floor | cosine floor | none turned away | wrongly turned away |",
        "|---:|---:|---:|---:|",
    ]
    for p in pairs:
        rates = (f"{p['none_turned_away']:.2f}", f"{p['wrongly_turned_away']:.3f}")
        lines.append(f"| {p['lexical']:g} | {p['dense']:g} | {' | '.join(rates)} |")
    lines += ["", "| share | COMP@5 | size | precision |", "|---:|---:|---:|---:|"]
    for c in cuts:
        cells = (f"{100 * c['comp@5']:.1f}", f"{c['size']:.2f}", f"{100 * c['precision']:.1f}")
        lines.append(f"| {c['share']:g} | {' | '.join(cells)} |")
    print("\n".join(lines))
    notes = (
        f"{len(found)} dev requests, {sum(not row[0] for row in found)} of them none. "
        f"Chosen: BM25 floor {LEXICAL_FLOOR:g}, cosine floor {DENSE_FLOOR:g}."
    )
    origin = provenance(("python", "-m", "benchmarks.fit"), load_encoder("static").fingerprint)
    payload = {"provenance": origin, "floors": pairs, "shares": cuts}
    write("results", "fit", payload, "\n".join(lines), notes)


if __name__ == "__main__":
    main()
