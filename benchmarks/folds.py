"""Requests of mcp_tasks for choosing by: the dev split, or training workspaces that an encoder never saw.

An encoder has learned from the training split, so its vectors of those
workspaces say little.  A fold is a folder with an encoder that was trained
without some workspaces and ``held_out.json``, the list of their names
(``mcp_tasks/w01``, ...): each fold answers for its own.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path

from toolwise.bench.data import Task, libraries, tasks
from toolwise.bench.remembered import RememberingEncoder
from toolwise.encode.load import load_encoder
from toolwise.encode.static import TABLE
from toolwise.errors import EvaluationError
from toolwise.protocols import Encoder
from toolwise.records import Tool

HELD_OUT = "held_out.json"
WORKSPACES = "mcp_tasks/"


def arguments(description: str | None) -> ArgumentParser:
    """The options of a benchmark that takes an encoder and its folds."""
    parser = ArgumentParser(description=description)
    parser.add_argument("--encoder", default="static", help="the encoder (static)")
    parser.add_argument(
        "--folds", nargs="*", type=Path, default=[], help="folders of it trained without some workspaces"
    )
    return parser


def place(name: str, encoder: str) -> tuple[str, str]:
    """Folder and name of the results: those of the packaged table stand first."""
    return (
        ("results", name)
        if encoder == "static"
        else ("results/encoders", f"{name}-{encoder.partition(':')[0]}")
    )


def held_out(folder: Path) -> list[str]:
    """The workspaces that a fold was trained without, in its order.

    Raises EvaluationError for a folder without its list.
    """
    if not (folder / HELD_OUT).is_file():
        raise EvaluationError(
            f"{folder} has no {HELD_OUT}; expected the folder of a fold. Train the encoder with --fold.",
            folder=folder,
        )
    listed = json.loads((folder / HELD_OUT).read_text(encoding="utf-8"))
    return [name.removeprefix(WORKSPACES) for name in listed if name.startswith(WORKSPACES)]


def fold_encoder(folder: Path) -> Encoder:
    """The encoder in ``folder``: a static table, else an ONNX model."""
    return load_encoder(f"{'static' if (folder / TABLE).is_file() else 'onnx'}:{folder}")


def workspaces(
    encoder: str, folds: Sequence[Path]
) -> Iterator[tuple[Encoder, str, tuple[Tool, ...], list[Task]]]:
    """Encoder, name, tools and requests (those that nothing serves among them) of each workspace.

    Of the folds' held-out workspaces where folds are given, else of the dev split.
    """
    split = "train" if folds else "dev"
    by_library: dict[str, list[Task]] = {}
    for task in tasks("mcp_tasks", split):
        by_library.setdefault(task.library, []).append(task)
    found = libraries("mcp_tasks")
    if not folds:
        model: Encoder = RememberingEncoder(load_encoder(encoder))
        for name in found:
            if name in by_library:
                yield model, name, found[name], by_library[name]
        return
    seen: set[str] = set()
    for folder in folds:
        model = RememberingEncoder(fold_encoder(folder))
        names = held_out(folder)
        for name in names:
            if name not in seen:  # the first fold that holds it out speaks for it
                yield model, name, found[name], by_library[name]
        seen.update(names)
