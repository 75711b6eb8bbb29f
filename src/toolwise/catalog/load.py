"""Sources by path -> one catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from toolwise import registry
from toolwise.catalog.files import parse_file
from toolwise.catalog.functions import read_functions
from toolwise.catalog.mcp_listing import McpListingReader, read_tool
from toolwise.catalog.merge import merge, unique
from toolwise.catalog.normalise import with_text
from toolwise.catalog.plain import plain
from toolwise.catalog.rows import read_row
from toolwise.catalog.shape import definition_shape, page
from toolwise.errors import SourceNotFound, UnknownFormat
from toolwise.protocols import Progress, Reader, silent
from toolwise.records import Catalogue, Json, Problem, Tool
from toolwise.schema import kind

FORMATS = (
    "JSON lines with an id per tool; an MCP tools/list result; an mcpServers configuration; "
    "an OpenAPI 3 document (JSON or YAML); a list of OpenAI, Anthropic or LangChain function schemas"
)
_NAMES_ITS_OWN = ("rows", "openapi")


def load(sources: Sequence[str | Path], *, progress: Progress = silent, text: bool = True) -> Catalogue:
    """The tools of all ``sources``, in order, ids unique.

    A source is a file of any known format (:data:`FORMATS`); ``NAME=PATH``
    names the server of its tools, which is otherwise the one it states, or its
    file name.  An mcpServers configuration starts or reaches its servers.
    With ``text`` False the searchable texts are left empty, for
    :func:`toolwise.catalog.normalise.with_text` to fill in where needed.

    Raises SourceNotFound, UnknownFormat, another CatalogueError for a file that
    cannot be parsed, and what
    :func:`toolwise.catalog.mcp_live.list_servers` raises.
    """
    parts: list[Catalogue] = []
    names: list[str] = []
    for number, given in enumerate(sources):
        progress("read", number, len(sources))
        server, path = _named(given)
        parts.append(_load_file(path, server, progress))
        names.append(str(path))
    progress("read", len(sources), len(sources))
    merged = merge(parts, names)
    return _with_texts(merged) if text else merged


def _with_texts(catalogue: Catalogue) -> Catalogue:
    return replace(catalogue, tools=tuple(with_text(tool) for tool in catalogue.tools))


def _named(given: str | Path) -> tuple[str, Path]:
    """Server name and path of ``NAME=PATH``; a file that has such a name itself is taken as it is."""
    text = str(given)
    if "://" in text and not Path(text).exists():
        raise SourceNotFound(
            f"{text} is an address. Save what it serves to a file, or put an MCP server into an "
            'mcpServers configuration: {"mcpServers": {"name": {"url": "..."}}}.',
            source=text,
        )
    name, mark, path = text.partition("=")
    if isinstance(given, Path) or not mark or not name or "/" in name or Path(text).exists():
        return "", Path(given)
    return name, Path(path)


def _load_file(path: Path, server: str, progress: Progress) -> Catalogue:
    source = str(path)
    content, found = parse_file(path)
    servers = mcp_servers(content)
    if servers == {}:
        read, nothing = Catalogue(()), "it names no servers"
    elif servers is not None:
        from toolwise.catalog.mcp_live import list_servers

        read = list_servers(servers, source, progress)
        nothing = "" if read.tools or read.problems else "it names no servers that are not disabled"
    else:
        name, reader = _reader(content, source)
        read = reader.read(content, source, server or ("" if name in _NAMES_ITS_OWN else path.stem))
        nothing = "" if read.tools or read.problems else "it holds no tools"
    empty = (Problem(source, "", "", nothing, kept=False),) if nothing else ()
    return replace(read, problems=(*found, *read.problems, *empty))


def mcp_servers(content: Json) -> Json:
    """The servers of a host's configuration (``mcpServers``, VS Code's ``servers``); None if it is none."""
    if not isinstance(content, dict):
        return None
    if "mcpServers" in content:
        return [] if content["mcpServers"] is None else content["mcpServers"]
    inner = content.get("mcp", content)
    servers = inner.get("servers") if isinstance(inner, dict) else None
    if isinstance(servers, dict) and any(
        isinstance(entry, dict) and ("command" in entry or "url" in entry) for entry in servers.values()
    ):
        return servers
    return None


def _reader(content: Json, source: str) -> tuple[str, Reader]:
    for name in registry.names("reader"):
        reader: Reader = registry.get("reader", name)()
        if reader.recognises(content):
            return name, reader
    raise UnknownFormat(
        f"{source} holds {_outline(content)}; that is no known form of tool definitions. Known: {FORMATS}.",
        source=source,
    )


def _outline(content: Json) -> str:
    """What is at the top of a content, for a message."""
    if isinstance(content, dict):
        keys = ", ".join(repr(key[:40]) for key in list(content)[:8])
        return f"an object with the keys {keys}" if keys else "an empty object"
    if isinstance(content, list) and content:
        first = _outline(content[0]) if isinstance(content[0], dict) else kind(content[0])
        return f"a list of {len(content)}, the first being {first}"
    return "an empty list" if content == [] else kind(content)


def from_definitions(definitions: Iterable[Mapping[str, Json]], server: str = "") -> Catalogue:
    """The tools of definitions held in Python, in any of the forms files may have, mixed at will.

    A definition is a function schema, an MCP tool, a row with an id, or a page
    of MCP tools.  Never raises for what a definition holds; what is no tool is
    reported by its position.
    """
    listed = [definitions] if isinstance(definitions, Mapping) else definitions
    items: list[tuple[Json, list[Problem]]] = [_copied(item, f"#{n}") for n, item in enumerate(listed, 1)]
    among_mcp = any(definition_shape(item) == "mcp" for item, _ in items)
    tools: list[Tool] = []
    problems: list[Problem] = []
    for number, (item, found) in enumerate(items, 1):
        more_tools, more = _definition(item, server, f"#{number}", among_mcp=among_mcp)
        tools += more_tools
        problems += [*found, *more]
    return _with_texts(unique(tools, problems, _PYTHON))


_PYTHON = "definitions"


def _copied(item: object, label: str) -> tuple[Json, list[Problem]]:
    copy, faults = plain(item)
    name = copy.get("name") if isinstance(copy, dict) else None
    tool = name if isinstance(name, str) and name else label
    return copy, [Problem(_PYTHON, tool, at, message, kept=True) for at, message in faults]


def _definition(item: Json, server: str, label: str, *, among_mcp: bool) -> tuple[list[Tool], list[Problem]]:
    shape = definition_shape(item)
    if isinstance(item, dict) and page(item) is not None:
        listing = McpListingReader().read(item, _PYTHON, server)
        return list(listing.tools), list(listing.problems)
    if shape == "functions" and not (among_mcp and _bare(item)):
        return read_functions(item, source=_PYTHON, server=server, label=label)
    read = read_row if shape == "rows" else read_tool
    tool, problems = read(item, source=_PYTHON, server=server, label=label)
    return ([tool] if tool else []), problems


def _bare(item: dict[str, Json]) -> bool:
    return set(item) <= {"name", "title", "description", "annotations"}
