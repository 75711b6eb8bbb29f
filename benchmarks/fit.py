"""When nothing fits: the floors and shares of ``toolwise.retrieve.fit``, on mcp_tasks dev.

    python -m benchmarks.fit

Writes ``fit.json`` and ``fit.md``.  The floor is the score that 5 % of the
answerable dev requests stay below; the table says how many of the ``none``
requests it turns away, and what leaving out candidates below a share of the
best score costs in completeness.
"""

from __future__ import annotations

import numpy as np

from benchmarks.data import libraries, tasks
from benchmarks.provenance import provenance, write
from benchmarks.retrieval import SYSTEMS, retrievers
from toolwise.encode.load import load_encoder

SHARES = (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


def main() -> None:
    encoder = load_encoder("static")
    rows: dict[str, list[tuple[set[str], list[str], list[float]]]] = {system: [] for system in SYSTEMS}
    requests = tasks("mcp_tasks", "dev")
    for name, library in libraries("mcp_tasks").items():
        here = [task for task in requests if task.library == name]
        systems = retrievers(library, encoder) if here else {}
        for task in here:
            for system, retriever in systems.items():
                found = retriever.retrieve(task.query, 5).candidates
                rows[system].append((set(task.gold), [c.id for c in found], [c.score for c in found]))
    lines = [
        "| system | floor | none turned away | share | COMP@5 | size | precision |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    results = []
    for system, found in rows.items():
        best = np.array([scores[0] if scores else 0.0 for _, _, scores in found])
        answerable = np.array([bool(gold) for gold, _, _ in found])
        floor = float(np.quantile(best[answerable], 0.05))
        turned = float(np.mean(best[~answerable] < floor))
        for share in SHARES:
            kept = [
                (gold, {i for i, score in zip(ids, scores, strict=True) if score >= share * scores[0]})
                for gold, ids, scores in found
                if gold
            ]
            values = {
                "comp@5": float(np.mean([gold <= ids for gold, ids in kept])),
                "size": float(np.mean([len(ids) for _, ids in kept])),
                "precision": float(np.mean([len(gold & ids) / max(1, len(ids)) for gold, ids in kept])),
            }
            results.append(
                {"system": system, "floor": floor, "none_turned_away": turned, "share": share, **values}
            )
            lines.append(
                f"| {system} | {floor:.3f} | {turned:.2f} | {share:g} | {100 * values['comp@5']:.1f} "
                f"| {values['size']:.2f} | {100 * values['precision']:.1f} |"
            )
    print("\n".join(lines))
    write(
        "results",
        "fit",
        provenance(encoder.fingerprint),
        results,
        "\n".join(lines),
        "239 dev requests, 26 of them none.",
    )


if __name__ == "__main__":
    main()
