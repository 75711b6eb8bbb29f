"""Answers to MCP ``tools/list``: one page or many, bare or wrapped by JSON-RPC, or their tools alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from toolwise.catalog.merge import unique
from toolwise.catalog.normalise import ABSENT, make_tool, problems
from toolwise.catalog.shape import page, shape_of
from toolwise.records import Catalogue, Json, Problem, Tool, as_mapping
from toolwise.schema import kind

_Item: TypeAlias = tuple[Json, str] | Problem
"""A definition and its server, or what is wrong with a page."""


class McpListingReader:
    """Reads listings of MCP tools; ids are ``server/name``.

    The server is the ``"server"`` beside a page's tools, else the one given.
    """

    def recognises(self, content: object) -> bool:
        """Whether ``content`` is a page of MCP tools, a list of pages or a list of MCP tools."""
        return shape_of(content) == "mcp"

    def read(self, content: object, source: str, server: str) -> Catalogue:
        """Read every page in order."""
        tools: list[Tool] = []
        found: list[Problem] = []
        number = 0
        for item in _items(content, source, server):
            if isinstance(item, Problem):
                found.append(item)
                continue
            number += 1
            tool, more = read_tool(item[0], source=source, server=item[1], label=f"#{number}")
            tools += [tool] if tool else []
            found += more
        return unique(tools, found, source)


def _items(content: Json, source: str, server: str) -> Iterator[_Item]:
    parts = content if isinstance(content, list) else [content]
    last = len(parts)
    for number, part in enumerate(parts, 1):
        listed = page(part) if isinstance(part, dict) else None
        if listed is None:
            yield part, server
            continue
        pointer, tools = listed
        if not isinstance(tools, list):
            yield Problem(source, f"page {number}", pointer, f"is {kind(tools)}; expected a list", kept=False)
            continue
        own = part.get("server")
        yield from ((tool, own if isinstance(own, str) and own else server) for tool in tools)
        holder = part["result"] if pointer == "/result/tools" else part
        if number == last and holder.get("nextCursor"):
            at = pointer.removesuffix("tools") + "nextCursor"
            message = "the listing goes on after this page; its other pages are not here"
            yield Problem(source, f"page {number}", at, message, kept=False)


def read_tool(item: Json, *, source: str, server: str, label: str) -> tuple[Tool | None, list[Problem]]:
    """The tool of one MCP definition and its problems; ``label`` names it where it has no name."""
    if not isinstance(item, dict):
        return None, [Problem(source, label, "", f"the tool is {kind(item)}; expected an object", kept=False)]
    name = item.get("name")
    where = f"{server}/{label}" if server else label
    if not isinstance(name, str) or not name:
        message = (
            f"the name is {kind(name) if name != '' else 'empty'}; expected a string. The tool is left out"
        )
        return None, [Problem(source, where, "/name", message, kept=False)]
    tool, faults = make_tool(
        id=f"{server}/{name}" if server else name,
        name=name,
        server=server,
        title=item.get("title") or as_mapping(item.get("annotations")).get("title"),
        description=item.get("description", ABSENT),
        parameters=item.get("inputSchema", ABSENT),
        returns=item.get("outputSchema"),
        annotations=item.get("annotations"),
        source="mcp",
        pointers={"parameters": "/inputSchema", "returns": "/outputSchema"},
    )
    if "inputSchema" not in item:
        faults.append(("/inputSchema", "there is no inputSchema; taken as a tool without parameters"))
    return tool, problems(faults, source=source, tool=tool.id)
