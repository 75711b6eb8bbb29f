"""When nothing fits: an encoder's floor and the share of ``toolwise.retrieve.fit``, on requests of mcp_tasks.

    python -m benchmarks.fit [--encoder NAME] [--folds FOLDER ...]

Writes ``fit.json`` and ``fit.md``, of another encoder than the packaged table
``encoders/fit-NAME.*``: for pairs of floors the share of ``none``
requests turned away and of answerable requests wrongly turned away, and what
leaving out candidates below a share of the best score costs in completeness.
With ``--folds`` on training workspaces that the encoder of each folder never
saw, else on the dev split.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.folds import arguments, place, workspaces
from toolwise.bench.provenance import provenance, write
from toolwise.encode.load import load_encoder
from toolwise.retrieve import Bm25Retriever, DenseRetriever, HybridRetriever, build_bm25
from toolwise.retrieve.fit import LEXICAL_FLOOR, floor_of

SHARES = (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
LEXICAL = (1.2, 1.4, 1.6, 1.8, 2.0, 2.4)
DENSE = (0.2, 0.22, 0.24, 0.26, 0.28, 0.3, 0.32, 0.34, 0.36, 0.38, 0.4, 0.42, 0.44, 0.46, 0.5)
MOST_WRONG = 0.05
"""Share of the answerable requests that may be turned away."""

Row = tuple[set[str], list[str], list[float], float, float]
"""Gold, the five best ids and scores of the hybrid, the best BM25 score and the best cosine."""


def measure(encoder: str, folds: Sequence[Path]) -> list[Row]:
    """One row per request, answered from its workspace."""
    found: list[Row] = []
    for model, _, library, here in workspaces(encoder, folds):
        ids = [tool.id for tool in library]
        lexical = Bm25Retriever(build_bm25(library), ids)
        dense = DenseRetriever(model, model.encode_tools(library), ids)
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


def best(pairs: list[dict[str, float]]) -> dict[str, float]:
    """The pair with the packaged BM25 floor that turns most ``none`` requests away within the limit."""
    own = [p for p in pairs if p["lexical"] == LEXICAL_FLOOR]
    fair = [p for p in own if p["wrongly_turned_away"] <= MOST_WRONG]
    return max(fair, key=lambda p: p["none_turned_away"]) if fair else min(own, key=lambda p: p["dense"])


def main(given: Sequence[str] | None = None) -> None:
    options = arguments(__doc__).parse_args(given)
    found = measure(options.encoder, options.folds)
    pairs, cuts = floors(found), shares(found)
    lines = [
        "| BM25 floor | cosine floor | none turned away | wrongly turned away |",
        "|---:|---:|---:|---:|",
    ]
    for p in pairs:
        rates = (f"{p['none_turned_away']:.3f}", f"{p['wrongly_turned_away']:.3f}")
        lines.append(f"| {p['lexical']:g} | {p['dense']:g} | {' | '.join(rates)} |")
    lines += ["", "| share | COMP@5 | size | precision |", "|---:|---:|---:|---:|"]
    for c in cuts:
        cells = (f"{100 * c['comp@5']:.1f}", f"{c['size']:.2f}", f"{100 * c['precision']:.1f}")
        lines.append(f"| {c['share']:g} | {' | '.join(cells)} |")
    print("\n".join(lines))
    model, chosen = load_encoder(options.encoder), best(pairs)
    where = f"{len(options.folds)} folds of the train split, out of fold" if options.folds else "dev split"
    notes = (
        f"mcp_tasks, {where}: {len(found)} requests, {sum(not row[0] for row in found)} of them none. "
        f"Best cosine floor at BM25 floor {LEXICAL_FLOOR:g}, at most {MOST_WRONG:.0%} wrongly turned away: "
        f"{chosen['dense']:g}. In use: {floor_of(model):g}."
    )
    print(notes)
    command = ("python", "-m", "benchmarks.fit", *(sys.argv[1:] if given is None else given))
    payload = {"provenance": provenance(command, model.fingerprint), "floors": pairs, "shares": cuts}
    write(*place("fit", options.encoder), payload, "\n".join(lines), notes)


if __name__ == "__main__":
    main()
