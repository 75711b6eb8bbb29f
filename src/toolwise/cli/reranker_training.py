"""``toolwise train reranker``: heads for an index from its own requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from toolwise.cli.render import words
from toolwise.text import count

if TYPE_CHECKING:
    from toolwise.evaluate import Task
    from toolwise.learn.dual_head import Lesson
    from toolwise.protocols import Encoder
    from toolwise.store import Index


def reranker(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the index that holds the tools.")],
    requests: Annotated[
        Path, typer.Option(metavar="FILE", help='JSONL of {"id", "query", "tools"}: requests with the tools.')
    ],
    form: Annotated[str, typer.Option(help="default, or paper: the heads as published.")] = "default",
    held: Annotated[
        float, typer.Option(min=0.05, max=0.5, help="Share kept out of training to judge by.")
    ] = 0.2,
    seed: Annotated[int, typer.Option(help="Decides every draw.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the measures as JSON on stdout.")] = False,
) -> None:
    """Teach the heads of an index's reranker; heads that rank worse than the encoder are not written."""
    found = _taught(folder, requests, form, held, seed)
    if as_json:
        print(json.dumps(found))
    console = words()
    console.print(
        f"NDCG@5 on {found['held']} held-out requests: {found['before']:.3f} by the encoder, "
        f"{found['after']:.3f} by the relevance head"
    )
    if found["written"]:
        console.print(f"wrote {found['written']}")
    else:
        console.print("the heads are not better on the held-out requests: nothing is written", style="yellow")


def _taught(folder: Path, requests: Path, form: str, held: float, seed: int) -> dict[str, Any]:
    from toolwise.encode.load import check_fingerprint, load_encoder
    from toolwise.evaluate.jsonl import read_tasks
    from toolwise.learn.reranker import teach
    from toolwise.rerank.dual_head import FILE, save_heads
    from toolwise.store import Index

    tasks = read_tasks(requests)
    index = Index.open(folder)
    try:
        encoder = load_encoder(index.meta["encoder"])
        check_fingerprint(encoder, index.meta, folder)
        lesson = _lesson(index, encoder, tasks)
    finally:
        index.close()
    taught = teach(lesson, form, held, seed)
    better = taught.after > taught.before
    if better:
        save_heads(taught.heads, folder / FILE, encoder.fingerprint)
    found = {"before": taught.before, "after": taught.after, "trained": taught.trained, "held": taught.held}
    return {**found, "written": str(folder / FILE) if better else ""}


def _lesson(index: Index, encoder: Encoder, tasks: tuple[Task, ...] | list[Task]) -> Lesson:
    """The requests whose tools the index holds; the others are counted in a word to the user."""
    from toolwise.learn.dual_head import Lesson

    rows = {id_: row for row, id_ in enumerate(index.ids)}
    fit = [task for task in tasks if task.gold and all(id_ in rows for id_ in task.gold)]
    if len(fit) < len(tasks):
        words().print(
            f"{len(tasks) - len(fit)} of {count(len(tasks), 'request')} left out: no tools, or tools that "
            "the index lacks",
            style="yellow",
        )
    return Lesson(
        np.array(index.vectors),
        encoder.encode_queries([task.text for task in fit]),
        [sorted(rows[id_] for id_ in task.gold) for task in fit],
        index.levels,
        np.zeros(len(index), np.int64),
    )
