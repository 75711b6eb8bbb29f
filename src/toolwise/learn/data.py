"""The data that weights may be trained on, and the guard that keeps everything else out.

Only splits named in :data:`PERMITTED` are opened.  Tools of the servers in
``mcp_tasks/reserved_servers.txt`` are kept for testing: they enter neither as
texts nor as labels.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolwise.errors import CatalogueError, SourceNotFound
from toolwise.hygiene import clean
from toolwise.records import Tool, ToolText
from toolwise.schema import walk

PERMITTED: Mapping[str, tuple[str, ...]] = {
    "mcp_tasks": ("train",),
    "metatool": ("single", "multi"),
    "bfcl": ("multiple", "parallel_multiple", "multi_turn"),
    "sealtools": ("dev",),
    "apibank": ("test",),  # the name of its only split
    "restbench": ("spotify", "tmdb"),
}
"""Data set -> splits whose requests may be trained on."""

TEXT_SOURCES = ("toucan_mcp",)
"""Data sets whose tool texts alone may be used, the reserved servers excepted."""

MAX_DESCRIPTION = 2_000
"""Characters of a description kept in a training tool."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request and the rows, in its library, of the tools that serve it."""

    text: str
    gold: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Library:
    """The tools one set of requests chooses from."""

    name: str
    """``dataset`` or ``dataset/part``."""
    tools: tuple[Tool, ...]
    requests: tuple[Request, ...]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)
    except FileNotFoundError as error:
        raise SourceNotFound(
            f"{path} does not exist; expected the folder of data sets. Give its path with --data.", path=path
        ) from error


def reserved_servers(data: Path) -> frozenset[str]:
    """Servers kept for testing.  Raises SourceNotFound where the list is missing: no list, no training."""
    path = data / "mcp_tasks" / "reserved_servers.txt"
    if not path.is_file():
        raise SourceNotFound(f"{path} does not exist; without it nothing may be trained.", path=path)
    return frozenset(line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip())


def server_of(row: Mapping[str, Any]) -> str:
    """The server of a tool row: its ``group``, else the part of its id before the first slash."""
    identifier = str(row["id"])
    return str(row.get("group") or (identifier.partition("/")[0] if "/" in identifier else ""))


def is_reserved(row: Mapping[str, Any], reserved: frozenset[str]) -> bool:
    """Whether a tool row is of a reserved server, by ``group`` or by the prefix of its id."""
    identifier = str(row["id"])
    return row.get("group") in reserved or any(
        identifier[:cut] in reserved for cut, sign in enumerate(identifier) if sign == "/"
    )


def to_tool(row: Mapping[str, Any]) -> Tool:
    """A tool row as a :class:`Tool` with the text encoders read."""
    description = str(row.get("description") or "")
    names = dict.fromkeys(node.name for node in walk(row.get("parameters")))
    text = ToolText(clean(description[:MAX_DESCRIPTION]), tuple(names))
    return Tool(
        id=str(row["id"]),
        name=str(row["name"]),
        server=server_of(row),
        description=description,
        parameters=row.get("parameters"),
        source="jsonl",
        text=text,
    )


def tool_corpus(data: Path) -> tuple[Tool, ...]:
    """Every tool whose text may be used without requests: the text sources less the reserved servers."""
    reserved = reserved_servers(data)
    return tuple(
        to_tool(row)
        for name in TEXT_SOURCES
        for row in _rows(data / name / "tools.jsonl")
        if not is_reserved(row, reserved)
    )


def _library(name: str, tools: Iterable[Tool], rows: Iterable[Mapping[str, Any]]) -> Library:
    kept = tuple(tools)
    position = {tool.id: row for row, tool in enumerate(kept)}
    requests = []
    for row in rows:
        unknown = [identifier for identifier in row["tools"] if identifier not in position]
        if unknown:
            raise CatalogueError(
                f"request {row['id']} of {name} needs {unknown[0]!r}, which its library lacks or which is "
                "reserved for testing. Leave the request out of the training split.",
                source=name,
            )
        if row["tools"]:
            requests.append(Request(str(row["query"]), tuple(position[i] for i in row["tools"])))
    return Library(name, kept, tuple(requests))


def _workspaces(data: Path, tools: Mapping[str, Tool]) -> Iterator[Library]:
    folder = data / "mcp_tasks"
    rows = [row for split in PERMITTED["mcp_tasks"] for row in _rows(folder / f"queries.{split}.jsonl")]
    for space in json.loads((folder / "workspaces.json").read_text(encoding="utf-8")):
        mine = [row for row in rows if row["workspace"] == space["id"]]
        if space["split"] in PERMITTED["mcp_tasks"] and mine:
            yield _library(f"mcp_tasks/{space['id']}", (tools[i] for i in space["tools"] if i in tools), mine)


def _part(name: str, tools: Mapping[str, Tool], rows: list[dict[str, Any]]) -> Iterator[Library]:
    """One library per app for restbench; for sealtools only tools that a permitted request needs."""
    if name == "restbench":
        for app in sorted({tool.server for tool in tools.values()}):
            mine = [tool for tool in tools.values() if tool.server == app]
            yield _library(f"{name}/{app}", mine, (r for r in rows if str(r["id"]).startswith(f"{app}-")))
        return
    needed = {identifier for row in rows for identifier in row["tools"]}
    shown = [tool for tool in tools.values() if name != "sealtools" or tool.id in needed]
    yield _library(name, shown, rows)


def libraries(data: Path, sets: Iterable[str] = tuple(PERMITTED)) -> tuple[Library, ...]:
    """The permitted requests with the libraries they choose from, by data set and part.

    Raises CatalogueError for a data set that is not permitted and for a
    request that needs a reserved tool.
    """
    reserved = reserved_servers(data)
    found: list[Library] = []
    for name in sets:
        if name not in PERMITTED:
            raise CatalogueError(
                f"{name!r} is not permitted for training; permitted are {', '.join(PERMITTED)}.", source=name
            )
        rows = _rows(data / name / "tools.jsonl")
        tools = {tool.id: tool for tool in (to_tool(r) for r in rows if not is_reserved(r, reserved))}
        if name == "mcp_tasks":
            found.extend(_workspaces(data, tools))
            continue
        requests = [r for split in PERMITTED[name] for r in _rows(data / name / f"queries.{split}.jsonl")]
        found.extend(_part(name, tools, requests))
    return tuple(found)
