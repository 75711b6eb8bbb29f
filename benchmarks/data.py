"""Data sets as toolwise sees them: tools, requests with gold sets, and the library of each request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from toolwise.catalog import load
from toolwise.config import settings
from toolwise.records import Json, Query, Tool, ToolText


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


def tasks(data_set: str, split: str) -> list[Task]:
    """The requests of a split."""
    return [
        Task(Query(row["id"], row["query"]), tuple(row["tools"]), row.get("workspace", data_set), row)
        for row in rows(folder(data_set) / f"queries.{split}.jsonl")
    ]
