"""The labelled tools a risk head is trained on, nothing reserved.

They are those of the training workspaces of ``mcp_tasks``, and those of the small
libraries of our own writing (:mod:`toolwise.learn.own_words`), whose labels stand in
``training/labels.jsonl``, one annotator's: ``{"library", "id", "risk_level",
"capabilities", "permissions"}``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from toolwise.audit.head_weights import FLAGS, THRESHOLDS
from toolwise.catalog import load, with_text
from toolwise.errors import CatalogueError, SourceNotFound
from toolwise.learn.data import PERMITTED, is_reserved, reserved_servers
from toolwise.learn.own_words import FOLDER, SMALL, small_libraries
from toolwise.protocols import Floats, Ints
from toolwise.records import Tool

DATA_SET = "mcp_tasks"


@dataclass(frozen=True, slots=True)
class Labelled:
    """N tools, those of a workspace together, with what annotators said of them."""

    tools: tuple[Tool, ...]
    workspaces: tuple[str, ...]
    """N: the workspace of each tool, or its small library; no server is in two workspaces."""
    levels: Ints
    """(N,): the resolved level, 1 to 5."""
    targets: Floats
    """(N, K): the share of votes for level 2, 3, 4, 5 or more, then 0 or 1 for each flag."""

    def part(self, rows: Ints) -> Labelled:
        """The tools in ``rows``."""
        places = rows.tolist()
        return Labelled(
            tuple(self.tools[i] for i in places),
            tuple(self.workspaces[i] for i in places),
            self.levels[rows],
            self.targets[rows],
        )


def labelled(data: Path) -> Labelled:
    """The labelled tools of the training workspaces.

    Raises SourceNotFound where the data or the list of reserved servers is
    missing, CatalogueError for a tool without a label, or a reserved one.
    """
    return of_split(data, PERMITTED[DATA_SET], reserved_servers(data))


def own(folder: Path = FOLDER) -> Labelled:
    """The labelled tools of the small libraries.

    Raises SourceNotFound without the folder, CatalogueError for a tool without a label.
    """
    path = folder / "labels.jsonl"
    lines = _text(path, "the folder training/ of the repository. Give it with --own").split("\n")
    labels: dict[tuple[str, str], Mapping[str, Any]] = {}
    for number, row in ((n, json.loads(line)) for n, line in enumerate(lines, 1) if line.strip()):
        unknown = {*row.get("capabilities", ()), *row.get("permissions", ())} - set(map(str, FLAGS))
        if row.get("risk_level") not in range(1, 6) or unknown or not {"library", "id"} <= row.keys():
            raise CatalogueError(
                f"{path}, line {number}: {row}; expected library, id, a risk_level of 1 to 5, "
                f"capabilities and permissions of {', '.join(FLAGS)}. Mend the line.",
                source=path,
            )
        labels[row["library"], row["id"]] = row | {"votes": [row["risk_level"]]}
    placed = [(library.name, tool) for library in small_libraries(folder) for tool in library.tools]
    for name, tool in placed:
        if (name.removeprefix(SMALL), tool.id) not in labels:
            raise CatalogueError(
                f"tool {tool.id!r} of library {name} has no label in {folder / 'labels.jsonl'}; "
                "expected one line for each tool. Add it.",
                source=folder,
            )
    rows = [labels[name.removeprefix(SMALL), tool.id] for name, tool in placed]
    return _labelled([tool for _, tool in placed], [name for name, _ in placed], rows)


def joined(parts: Sequence[Labelled]) -> Labelled:
    """All tools of several, in their order."""
    return Labelled(
        tuple(tool for part in parts for tool in part.tools),
        tuple(name for part in parts for name in part.workspaces),
        np.concatenate([part.levels for part in parts]),
        np.concatenate([part.targets for part in parts]),
    )


def _labelled(
    tools: Sequence[Tool], workspaces: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> Labelled:
    return Labelled(
        tuple(map(with_text, tools)),
        tuple(workspaces),
        np.array([row["risk_level"] for row in rows], np.int64),
        np.array([_target(row) for row in rows], np.float32).reshape(len(rows), THRESHOLDS + len(FLAGS)),
    )


def of_split(data: Path, splits: tuple[str, ...], reserved: frozenset[str]) -> Labelled:
    """Like :func:`labelled` for workspaces of ``splits``; tools of ``reserved`` servers are refused."""
    folder = data / DATA_SET
    lines = _text(folder / "risk_labels.jsonl").split("\n")
    labels = {str(row["id"]): row for row in map(json.loads, filter(str.strip, lines))}
    tools = {tool.id: tool for tool in load([folder / "tools.jsonl"], text=False).tools}
    spaces = json.loads(_text(folder / "workspaces.json"))
    placed = [(s["id"], str(i)) for s in spaces if s["split"] in splits for i in sorted(s["tools"])]
    for space, identifier in placed:
        if identifier not in labels or identifier not in tools or _is_reserved(tools[identifier], reserved):
            raise CatalogueError(
                f"tool {identifier!r} of workspace {space} has no label, is not in the library or is "
                "reserved for testing. Only labelled tools of training workspaces may be trained on.",
                source=folder,
            )
    rows = [labels[identifier] for _, identifier in placed]
    return _labelled([tools[identifier] for _, identifier in placed], [space for space, _ in placed], rows)


def _text(path: Path, expected: str = "the folder of data sets. Give its path with --data") -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise SourceNotFound(f"{path} does not exist; expected {expected}.", path=path) from error


def _is_reserved(tool: Tool, reserved: frozenset[str]) -> bool:
    return is_reserved({"id": tool.id, "group": tool.server}, reserved)


def _target(row: Mapping[str, Any]) -> list[float]:
    votes = row["votes"]
    shares = [sum(vote >= level for vote in votes) / len(votes) for level in range(2, 2 + THRESHOLDS)]
    said = {*row["capabilities"], *row["permissions"]}
    return [*shares, *(float(flag in said) for flag in FLAGS)]


def folds(workspaces: tuple[str, ...], parts: int, seed: int) -> list[tuple[Ints, Ints]]:
    """Rows to train on and rows held out, ``parts`` times; every workspace is held out once, whole."""
    names = sorted(set(workspaces))
    drawn = np.random.default_rng(seed).permutation(len(names))
    of = np.array([names.index(name) for name in workspaces])
    out = [np.isin(of, drawn[part::parts]) for part in range(parts)]
    return [(np.flatnonzero(~held), np.flatnonzero(held)) for held in out]
