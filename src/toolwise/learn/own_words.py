"""Our own writing to train on: small libraries, and operations elsewhere, asked in people's own words.

``training/libraries.jsonl`` holds one library per line, as somebody might have it: ``{"name", "about",
"tools", "requests"}``, tools as rows of the data sets' format, requests as ``{"query", "gold"}`` with the ids
of the tools that serve, or none.  ``training/workspaces.jsonl`` holds requests to the training workspaces of
mcp_tasks, ``{"workspace", "query", "gold"}``, and ``training/requests.jsonl`` requests for operations of
:mod:`toolwise.retrieve.elsewhere`, ``{"ids", "request"}``: most need one, some need several.
``training/talk.txt`` holds what is said to an assistant and needs no tool, line by line.

The operations are cut into districts by the order of their services, and libraries are made of the services
of one district each, so that what is trained without a district has seen none of its services.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np

from toolwise.catalog import from_definitions
from toolwise.errors import CatalogueError, SourceNotFound
from toolwise.learn.data import Library, Request
from toolwise.learn.holdout import fold
from toolwise.records import Tool
from toolwise.retrieve.elsewhere import operations

FOLDER: Final = Path("training")
"""Where the writing is, from the root of the repository."""
WORKSPACES: Final = "mcp_tasks/"
"""How the names of those libraries begin that are workspaces."""
SMALL: Final = "small/"
"""How the names of the small libraries begin."""
ELSEWHERE: Final = "elsewhere/"
"""How the names of libraries of operations begin: ``elsewhere/district/number``."""
HELD_OUT: Final = "held_out.json"
"""Names, in an encoder's folder, of the libraries whose requests it was not trained on."""
DISTRICTS: Final = 3
LARGE, LITTLE = 100, 40
"""Tools from which a library is full: one that is asked for several at once, and any other."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request and the rows of the operations that it needs."""

    text: str
    rows: tuple[int, ...]


def unit(name: str) -> str:
    """What is held out together with the library ``name``: its district, or itself."""
    return "/".join(name.split("/")[:2])


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError as error:
        raise SourceNotFound(
            f"{path} does not exist; expected the folder training/ of the repository. Give it with --own.",
            path=path,
        ) from error


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(_lines(path), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except json.JSONDecodeError as error:
                raise CatalogueError(
                    f"{path}, line {number}: {error}; expected one JSON object. Mend the line.",
                    source=str(path),
                ) from error


def small_libraries(folder: Path = FOLDER) -> tuple[Library, ...]:
    """The small libraries with all their requests, gold empty where nothing serves.

    Raises SourceNotFound without the folder, CatalogueError for a request that needs an unknown tool.
    """
    path = folder / "libraries.jsonl"
    return tuple(
        _with_requests(SMALL + row["name"], from_definitions(row["tools"]).tools, row["requests"], path)
        for row in _rows(path)
    )


def asked_too(libraries: Sequence[Library], folder: Path = FOLDER) -> tuple[Library, ...]:
    """The workspaces that have requests of our own writing, with these in place of theirs.

    Raises SourceNotFound without the folder, CatalogueError for a request that needs an unknown tool.
    """
    path = folder / "workspaces.jsonl"
    told: dict[str, list[dict[str, Any]]] = {}
    for row in _rows(path):
        told.setdefault(row["workspace"], []).append(row)
    return tuple(
        _with_requests(library.name, library.tools, told[library.name], path)
        for library in libraries
        if library.name in told
    )


def asked_more(libraries: Sequence[Library], folder: Path = FOLDER) -> tuple[Library, ...]:
    """Libraries, the workspaces of them with the served requests of our own writing after theirs.

    Raises SourceNotFound without the folder, CatalogueError for a request that needs an unknown tool.
    """
    own = {library.name: answerable(library).requests for library in asked_too(libraries, folder)}
    return tuple(
        replace(library, requests=(*library.requests, *own.get(library.name, ()))) for library in libraries
    )


def _with_requests(
    name: str, tools: Sequence[Tool], rows: Sequence[Mapping[str, Any]], path: Path
) -> Library:
    place = {tool.id: at for at, tool in enumerate(tools)}
    unknown = [id_ for row in rows for id_ in row["gold"] if id_ not in place]
    if unknown:
        raise CatalogueError(
            f"{name}: a request needs {unknown[0]!r}, which its library lacks. Mend its line.",
            source=str(path),
        )
    asked = (Request(row["query"], tuple(place[id_] for id_ in row["gold"])) for row in rows)
    return Library(name, tuple(tools), tuple(asked))


def requests(folder: Path = FOLDER) -> tuple[Asked, ...]:
    """What is asked of operations elsewhere.

    Raises SourceNotFound without the folder, CatalogueError for an unknown operation.
    """
    place = {operation.id: row for row, operation in enumerate(operations())}
    found = []
    for row in _rows(folder / "requests.jsonl"):
        unknown = [id_ for id_ in row["ids"] if id_ not in place]
        if unknown:
            raise CatalogueError(
                f"{row['request']!r} needs {unknown[0]!r}, which is no operation elsewhere. Mend its line.",
                source=str(folder / "requests.jsonl"),
            )
        found.append(Asked(row["request"], tuple(place[id_] for id_ in row["ids"])))
    return tuple(found)


def small_talk(part: int, parts: int, folder: Path = FOLDER) -> tuple[str, ...]:
    """What needs no tool, of fold ``part`` of ``parts``; raises SourceNotFound without the folder."""
    said = (line for line in _lines(folder / "talk.txt") if line.strip())
    return tuple(line for line in said if crc32(line.encode()) % parts == part)


def districts() -> tuple[tuple[str, ...], ...]:
    """The services of each district, in their order; districts have about as many operations."""
    count = Counter(operation.server for operation in operations())
    found: list[list[str]] = [[] for _ in range(DISTRICTS)]
    before = 0
    for service, own in count.items():
        found[before * DISTRICTS // len(operations())].append(service)
        before += own
    return tuple(tuple(services) for services in found)


def services_of(names: Collection[str]) -> frozenset[str]:
    """The services of the districts that libraries of these names are of."""
    numbers = {name.split("/")[1] for name in names if name.startswith(ELSEWHERE)}
    return frozenset(service for number in sorted(numbers) for service in districts()[int(number)])


def operation_libraries(folder: Path = FOLDER, rounds: int = 1, seed: int = 0) -> tuple[Library, ...]:
    """Libraries of the services of a district, asked for all they serve.

    The services of a district are made into libraries ``rounds`` times; a request may be asked of several.
    Requests that need services of two districts are asked of none.
    """
    told, every = requests(folder), operations()
    rng = np.random.default_rng(seed)
    found: list[Library] = []
    for number, services in enumerate(districts()):
        own = [one for one in told if all(every[row].server in services for row in one.rows)]
        drawn = [group for _ in range(rounds) for group in _groups(services, own, every, rng)]
        found += [
            _library(f"{ELSEWHERE}{number}/{at:02}", group, own, every) for at, group in enumerate(drawn)
        ]
    return tuple(found)


def _groups(
    services: Sequence[str], own: Sequence[Asked], every: Sequence[Tool], rng: np.random.Generator
) -> list[set[str]]:
    """Services that stand together: those of requests for several until a library is full, then the rest."""
    size = Counter(operation.server for operation in every)
    several = [one for one in own if len({every[row].server for row in one.rows}) > 1]
    drawn = [{every[row].server for row in several[at].rows} for at in rng.permutation(len(several)).tolist()]
    left = set(services).difference(*drawn)
    alone = [{services[at]} for at in rng.permutation(len(services)).tolist() if services[at] in left]
    found: list[set[str]] = []
    for parts, full in ((drawn, LARGE), (alone, LITTLE)):
        open_: set[str] = set()
        for part in parts:
            open_ |= part
            if sum(size[service] for service in open_) >= full:
                found.append(open_)
                open_ = set()
        if open_:
            found.append(open_)
    return found


def _library(name: str, services: set[str], own: Sequence[Asked], every: Sequence[Tool]) -> Library:
    rows = [row for row, operation in enumerate(every) if operation.server in services]
    place = {row: at for at, row in enumerate(rows)}
    asked = (one for one in own if all(row in place for row in one.rows))
    return Library(
        name,
        tuple(every[row] for row in rows),
        tuple(Request(one.text, tuple(place[row] for row in one.rows)) for one in asked),
    )


def answerable(library: Library) -> Library:
    """The library with the requests that some tool of it serves."""
    return replace(library, requests=tuple(request for request in library.requests if request.gold))


def without_fold(
    libraries: Sequence[Library], part: int, parts: int
) -> tuple[tuple[Library, ...], tuple[Library, ...]]:
    """Libraries less those of fold ``part`` of ``parts``, and these.

    Workspaces and districts are cut into folds each by themselves, by their number and order.  A small
    library is of the fold that its name says, whichever others there are.  No other data set is cut.
    """
    names = dict.fromkeys(unit(library.name) for library in libraries)
    gone = {name for name in names if name.startswith(SMALL) and crc32(name.encode()) % parts == part}
    for kind in (WORKSPACES, ELSEWHERE):
        gone.update(fold([name for name in names if name.startswith(kind)], part, parts)[1])
    kept = tuple(library for library in libraries if unit(library.name) not in gone)
    return kept, tuple(library for library in libraries if unit(library.name) in gone)
