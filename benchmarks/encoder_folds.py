"""Encoders on training workspaces that they never saw: folds of mcp_tasks, by kind of request.

    python -m benchmarks.encoder_folds NAME=FOLDER[,FOLDER...] ...

Each folder is a fold of one system (``benchmarks.folds``); a specification without
folders, as in ``untuned=onnx:FOLDER``, is one encoder that no workspace was held
out of because it learned from none.  Compared are the workspaces that
all systems answer.  Writes ``encoders/folds.json`` and ``encoders/folds.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.folds import fold_encoder, held_out
from toolwise.bench.data import Task, libraries, tasks
from toolwise.bench.provenance import provenance, write
from toolwise.bench.remembered import RememberingEncoder
from toolwise.encode.load import load_encoder
from toolwise.evaluate.ranking import completeness, ndcg
from toolwise.protocols import Encoder, Retriever
from toolwise.records import Tool
from toolwise.retrieve import Bm25Retriever, DenseRetriever, HybridRetriever, build_bm25

KINDS = ("single", "chain", "cross", "broad")
METHODS = ("dense", "hybrid")

Scores = dict[str, tuple[float, float]]
"""NDCG@5 and COMP@5 by id of the request."""


class System:
    """An encoder for each workspace, loaded when it is asked for, and the fold it is of."""

    def __init__(self, given: str) -> None:
        self.name, _, argument = given.partition("=")
        self._whole = argument if ":" in argument else ""
        self._folders = [] if self._whole else [Path(folder) for folder in argument.split(",")]
        self._loaded: dict[int, Encoder] = {}
        self.fold: dict[str, int] = {}
        for place, folder in enumerate(self._folders):
            self.fold = dict.fromkeys(held_out(folder), place) | self.fold

    def answers(self, workspace: str) -> bool:
        """Whether it never saw the workspace."""
        return bool(self._whole) or workspace in self.fold

    def encoder(self, workspace: str) -> Encoder:
        """The one that never saw the workspace."""
        place = self.fold.get(workspace, 0)
        if place not in self._loaded:
            found = load_encoder(self._whole) if self._whole else fold_encoder(self._folders[place])
            self._loaded[place] = RememberingEncoder(found)
        return self._loaded[place]


def judged(retriever: Retriever, requests: Sequence[Task]) -> Scores:
    """NDCG@5 and COMP@5 of each request."""
    found: Scores = {}
    for task in requests:
        ranked = [c.id for c in retriever.retrieve(task.query, 5).candidates]
        found[task.query.id] = (ndcg(ranked, task.gold, 5), completeness(ranked, task.gold, 5))
    return found


def retrievers(encoder: Encoder, library: Sequence[Tool]) -> Iterator[tuple[str, Retriever]]:
    """The encoder alone and with BM25."""
    ids = [tool.id for tool in library]
    dense = DenseRetriever(encoder, encoder.encode_tools(library), ids)
    yield "dense", dense
    yield "hybrid", HybridRetriever(Bm25Retriever(build_bm25(library), ids), dense, ids)


def measure(systems: Sequence[System]) -> tuple[dict[str, Scores], dict[str, list[Task]]]:
    """Scores by ``NAME METHOD``, and the answerable requests by workspace."""
    found: dict[str, Scores] = {f"{s.name} {method}": {} for s in systems for method in METHODS}
    found["BM25"] = {}
    requests: dict[str, list[Task]] = {}
    for task in tasks("mcp_tasks", "train"):
        if task.gold and all(system.answers(task.library) for system in systems):
            requests.setdefault(task.library, []).append(task)
    known = libraries("mcp_tasks")
    for name, here in requests.items():
        lexical = Bm25Retriever(build_bm25(known[name]), [tool.id for tool in known[name]])
        found["BM25"] |= judged(lexical, here)
    for system in systems:
        for name, here in requests.items():
            for method, retriever in retrievers(system.encoder(name), known[name]):
                found[f"{system.name} {method}"] |= judged(retriever, here)
        print(system.name, "done", file=sys.stderr, flush=True)
    return found, requests


def cell(scores: Scores, ids: Sequence[str]) -> str:
    """Means over some requests, in per cent."""
    first, second = np.mean([scores[id_] for id_ in ids], axis=0) * 100
    return f"{first:.1f} / {second:.1f}"


def main(given: Sequence[str] | None = None) -> None:
    arguments = list(sys.argv[1:] if given is None else given)
    systems = [System(argument) for argument in arguments]
    scores, requests = measure(systems)
    everything = [task for here in requests.values() for task in here]
    columns = {"all": [task.query.id for task in everything]}
    columns |= {k: [t.query.id for t in everything if t.row["kind"] == k] for k in KINDS}
    leading = next((s for s in systems if s.fold), None)
    for place in sorted(set(leading.fold.values())) if leading else ():
        names = [w for w in requests if leading and leading.fold[w] == place]
        if names:
            columns[f"fold {place}"] = [t.query.id for w in names for t in requests[w]]
    columns = {name: ids for name, ids in columns.items() if ids}
    lines = [f"| system | {' | '.join(columns)} |", "|---|" + "---:|" * len(columns)]
    lines += [
        f"| {name} | {' | '.join(cell(found, ids) for ids in columns.values())} |"
        for name, found in scores.items()
    ]
    lines.append(f"| requests | {' | '.join(str(len(ids)) for ids in columns.values())} |")
    print("\n".join(lines))
    results: dict[str, Any] = {
        name: {part: np.mean([found[i] for i in ids], axis=0).tolist() for part, ids in columns.items()}
        for name, found in scores.items()
    }
    notes = (
        f"NDCG@5 / COMP@5 in per cent, mcp_tasks train, {len(requests)} workspaces that the encoder which "
        "answers was not trained on; each fold has its own seed. Library: the workspace. The folds named "
        f"are those of {leading.name if leading else 'none'}."
    )
    payload = {"provenance": provenance(("python", "-m", "benchmarks.encoder_folds", *arguments)), **results}
    write("results/encoders", "folds", payload, "\n".join(lines), notes)


if __name__ == "__main__":
    main()
