"""Data sets as the bench sees them: tools, requests with gold sets, labels, and the library of each request.

They are found in the folder of the setting ``data`` (``TOOLWISE_DATA``,
``../shared/data`` by default) and never copied.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from toolwise.catalog import load
from toolwise.config import settings
from toolwise.evaluate import Task as Judged
from toolwise.evaluate import scene_disjoint
from toolwise.indexing import index_catalogue
from toolwise.protocols import Annotator
from toolwise.records import Capability, Catalogue, Json, Query, Tool, ToolText
from toolwise.store import Index

SCENES = ("scene_train", "scene_test")


@dataclass(frozen=True)
class Task:
    """A request, its gold set, and the name of the library it is answered from."""

    query: Query
    gold: tuple[str, ...]
    library: str
    row: dict[str, Json]


def folder(data_set: str) -> Path:
    """The folder of a data set; it may not exist."""
    return settings().data / data_set


def available(data_set: str) -> bool:
    """Whether the data set is on this machine."""
    return (folder(data_set) / "tools.jsonl").is_file()


def rows(path: Path) -> Iterator[dict[str, Json]]:
    """The objects of a JSONL file."""
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


@cache
def tools(data_set: str) -> tuple[Tool, ...]:
    """The tools of a data set in order of id; of ultratool the name and description alone.

    708 of ultratool's 2,032 tools have no parameters and are never gold, so any
    text that shows parameters would be helped unfairly.
    """
    found = sorted(load([folder(data_set) / "tools.jsonl"]).tools, key=lambda tool: tool.id)
    if data_set.startswith("ultratool"):
        found = [replace(tool, parameters=None, text=ToolText(tool.text.description)) for tool in found]
    return tuple(found)


def libraries(data_set: str) -> dict[str, tuple[Tool, ...]]:
    """The tools requests are answered from, by library name: one per workspace, or one for the data set."""
    path = folder(data_set) / "workspaces.json"
    if not path.is_file():
        return {data_set: tools(data_set)}
    by_id = {tool.id: tool for tool in tools(data_set)}
    workspaces = json.loads(path.read_text(encoding="utf-8"))
    return {w["id"]: tuple(by_id[id_] for id_ in sorted(w["tools"])) for w in workspaces}


def tasks(data_set: str, split: str, field: str = "query") -> list[Task]:
    """The requests of a split; ``field`` is the column of their text (ultratool has ``step_query`` too).

    The splits ``scene_train`` and ``scene_test`` are made of train and test
    together so that they share no gold set (seed 0).
    """
    if split in SCENES:
        return list(_scenes(data_set)[SCENES.index(split)])
    return [
        Task(Query(row["id"], row[field]), tuple(row["tools"]), row.get("workspace", data_set), row)
        for row in rows(folder(data_set) / f"queries.{split}.jsonl")
    ]


@cache
def _scenes(data_set: str) -> tuple[list[Task], list[Task]]:
    found = {task.query.id: task for split in ("train", "test") for task in tasks(data_set, split)}
    judged = (Judged(task.query.id, task.query.text, frozenset(task.gold)) for task in found.values())
    train, test = scene_disjoint(judged, np.random.default_rng(0))
    return [found[task.id] for task in train], [found[task.id] for task in test]


def levels(data_set: str) -> dict[str, int]:
    """Labelled risk level by tool id; empty where the data set has no labels."""
    path = folder(data_set) / "risk_labels.jsonl"
    return {row["id"]: row["risk_level"] for row in rows(path)} if path.is_file() else {}


def flags(data_set: str) -> dict[str, frozenset[Capability]]:
    """Labelled capabilities by tool id; empty where the data set has no such labels."""
    path = folder(data_set) / "risk_labels.jsonl"
    found = list(rows(path)) if path.is_file() else []
    return {
        row["id"]: frozenset(map(Capability, row["capabilities"])) for row in found if "capabilities" in row
    }


@cache
def audited(data_set: str) -> dict[str, int]:
    """The level that an index gives each tool of a data set, by id."""
    return judged(tools(data_set))


def judged(
    some: Sequence[Tool], encoder: str = "static", annotators: Sequence[Annotator] | None = None
) -> dict[str, int]:
    """The level that an index of ``some`` tools gives each, by id; ``annotators`` as for indexing."""
    with TemporaryDirectory(prefix="toolwise-bench-") as into:
        index_catalogue(Catalogue(tuple(some)), into, encoder=encoder, annotators=annotators)
        index = Index.open(into)
        found = dict(zip(index.ids, index.levels.tolist(), strict=True))
        index.close()
    return found


def fingerprint(data_set: str, split: str) -> str:
    """The first 16 hex digits of the sha256 of tools and requests."""
    digest = sha256()
    splits = ("train", "test") if split in SCENES else (split,)
    for name in ("tools.jsonl", *(f"queries.{one}.jsonl" for one in splits)):
        digest.update((folder(data_set) / name).read_bytes())
    return digest.hexdigest()[:16]


def sample(found: list[Task], limit: int, seed: int = 0) -> list[Task]:
    """At most ``limit`` tasks (0: all), drawn with ``seed``, in their order."""
    if limit <= 0 or len(found) <= limit:
        return found
    chosen = np.random.default_rng(seed).choice(len(found), limit, replace=False)
    return [found[row] for row in sorted(chosen)]
