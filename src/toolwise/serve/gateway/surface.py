"""What an agent sees of the gateway: its own tools, pinned and listed tools, and the shape of an answer."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations

from toolwise.hygiene import clean
from toolwise.records import AuditedTool, Exposure, Json, Permission, Shortlist, as_mapping, to_bits
from toolwise.retrieve import terms
from toolwise.schema import legible
from toolwise.serve.gateway.guard import Kind, Reach, kind

FIND = "find_tools"
CALL = "call_tool"
SPLIT = {kind: f"call_{kind}_tool" for kind in Kind}
"""The call tools where there is one per kind."""
ALTERNATIVES = 5
_SERVERS, _WORDS = 40, 5
_WORD = re.compile(r"[^\W_]+")
_LONGEST_WORD = 24
_SHORT = 120
_BRIEF = 400
_MOST_NAMES = 40


def own_tools(reach: Reach, *, split: bool) -> list[Tool]:
    """``find_tools`` and the call tools; their texts depend on what can be reached and on nothing else."""
    calls = [_call_tool(CALL, None)]
    if split:
        calls = [_call_tool(name, kind) for kind, name in SPLIT.items() if kind in reach.access.scopes]
    return [_find_tool(reach, calls), *calls]


def _find_tool(reach: Reach, calls: Sequence[Tool]) -> Tool:
    via = " or ".join(f"`{tool.name}`" for tool in calls)
    return Tool(
        name=FIND,
        description=(
            f"Find the tools for a task. {summary(reach)} Describe the whole task in one sentence with its "
            f"details; the answer holds the tools it needs with their input schemas. Then use {via} with "
            "the name of a tool and its arguments."
        ),
        input_schema={
            "type": "object",
            "properties": {
                "task": {
                    "type": "string",
                    "minLength": 1,
                    "description": "What is to be done, in plain words.",
                },
                "max_tools": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 20,
                    "description": "Most tools in the answer.",
                },
                "max_level": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 5,
                    "description": "Highest risk level, 1 (reads only) to 5.",
                },
            },
            "required": ["task"],
            "additionalProperties": False,
        },
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
    )


_DOES = {
    None: "Call a tool by the name that find_tools gave.",
    Kind.READ: "Call a tool that only reads, by the name that find_tools gave.",
    Kind.WRITE: "Call a tool that changes something, by the name that find_tools gave.",
    Kind.DESTRUCTIVE: "Call a tool of risk level 4 or 5, by the name that find_tools gave. What it does is "
    "hard or impossible to undo.",
}


def _call_tool(name: str, kind: Kind | None) -> Tool:
    return Tool(
        name=name,
        description=_DOES[kind],
        input_schema={
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "The name of the tool."},
                "arguments": {"type": "object", "description": "Its arguments, by its input schema."},
            },
            "required": ["name"],
            "additionalProperties": False,
        },
        annotations=ToolAnnotations(
            read_only_hint=kind is Kind.READ,
            destructive_hint=kind in (None, Kind.DESTRUCTIVE),
            open_world_hint=True,
        ),
    )


def summary(reach: Reach) -> str:
    """What is behind the gateway, in one or two sentences: servers, counts and their commonest words."""
    index = reach.view.selector.index
    by_server: dict[str, list[str]] = {}
    for row in np.flatnonzero(reach.rows):
        server, name = reach.view.own_names[index.ids[row]]
        by_server.setdefault(server, []).append(name)
    if not by_server:
        return "No tool can be reached at the moment."
    total = sum(map(len, by_server.values()))
    shown = sorted(by_server, key=lambda server: (-len(by_server[server]), server))[:_SERVERS]
    parts = [
        f"{server} ({len(by_server[server])}: {', '.join(_words(by_server[server]))})"
        for server in sorted(shown)
    ]
    more = f" and {len(by_server) - len(shown)} more" if len(by_server) > len(shown) else ""
    tools, servers = (
        f"{n} {what}{'' if n == 1 else 's'}" for n, what in ((total, "tool"), (len(by_server), "server"))
    )
    return f"Behind this gateway: {tools} of {servers}: {'; '.join(parts)}{more}."


def _words(names: Iterable[str]) -> list[str]:
    """The commonest words of tool names, ties in order of the alphabet: no name speaks in sentences."""
    counts = Counter(
        word
        for name in names
        for word in dict.fromkeys(_WORD.findall(name.lower()))
        if len(word) <= _LONGEST_WORD and terms(word)
    )
    return [word for word, _ in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:_WORDS]]


def listed(name: str, audited: AuditedTool) -> Tool:
    """A tool as its server defined it, with clean texts, the gateway's name and the audited level."""
    tool = audited.tool
    schema = as_mapping(legible(tool.parameters))
    returns = as_mapping(legible(tool.returns))
    return Tool.model_validate(
        {
            "name": name,
            "title": clean(tool.title) or None,
            "description": tool.text.description or clean(tool.description),
            "inputSchema": schema if schema.get("type") == "object" else {**schema, "type": "object"},
            "outputSchema": returns if returns.get("type") == "object" else None,
            "annotations": _hints(audited),
            "_meta": {"toolwise/level": int(audited.level), "toolwise/server": tool.server},
        },
        by_name=False,
    )


def _hints(audited: AuditedTool) -> dict[str, bool | str]:
    """What the server says of its tool, but never that it is milder than the audit found it."""
    given = {
        key: clean(value) if isinstance(value, str) else value
        for key, value in as_mapping(audited.tool.annotations).items()
        if isinstance(value, bool | str)
    }
    real = kind(int(audited.level), to_bits(audited.verdict.permissions, Permission))
    reads = real is Kind.READ and given.get("readOnlyHint", True) is True
    destroys = real is Kind.DESTRUCTIVE or (not reads and given.get("destructiveHint") is True)
    return given | {"readOnlyHint": reads, "destructiveHint": destroys}


def found(
    exposure: Exposure, ranked: Shortlist, names: Mapping[str, str], texts: Mapping[str, str]
) -> CallToolResult:
    """The answer of ``find_tools``.

    ``ranked`` are reachable tools, best first, of which those that are not in
    the answer are named as alternatives; ``names`` (id -> name) and ``texts``
    (id -> description) say how.  No score of any tool is shown.
    """
    chosen = {tool.id for tool in exposure.tools}
    others = [c.id for c in ranked.candidates if c.id not in chosen][:ALTERNATIVES]
    content: dict[str, Json] = {
        "tools": [
            {
                "name": tool.name,
                "description": tool.tool.text.description or clean(tool.tool.description)[:_SHORT],
                "input_schema": legible(tool.tool.parameters) or {"type": "object"},
                "risk_level": tool.level,
                "why": tool.reason,
            }
            for tool in exposure.tools
        ],
        "alternatives": [{"name": names[id_], "description": texts[id_][:_SHORT]} for id_ in others],
        "note": _note(exposure, names),
    }
    return CallToolResult(content=[_text(content)], structured_content=content)


def _note(exposure: Exposure, names: Mapping[str, str]) -> str:
    kept = "; ".join(f"{names[w.id]} is left out: {w.reason}" for w in exposure.withheld if w.id in names)
    if exposure.abstained:
        nothing = (
            f"Nothing surely fits: {exposure.reason}. See whether an alternative does, describe the task in "
            "other words, or tell the user."
        )
        return f"{nothing} {kept}".strip()
    return kept


def failure(message: str) -> CallToolResult:
    """A result that says what went wrong."""
    return CallToolResult(content=[TextContent(type="text", text=message)], is_error=True)


def brief(arguments: Mapping[str, Json]) -> str:
    """Arguments for a person to read: every name is shown, long values from their beginning."""
    text = json.dumps(arguments, ensure_ascii=True, separators=(", ", ": "))
    if len(text) <= _BRIEF:
        return text
    shown = []
    for name, value in list(arguments.items())[:_MOST_NAMES]:
        said = json.dumps(value, ensure_ascii=True, separators=(", ", ": "))
        cut = said if len(said) <= _SHORT else f"{said[:_SHORT]} ... ({len(said)} characters)"
        shown.append(f"{json.dumps(name[:_SHORT])}: {cut}")
    more = len(arguments) - len(shown)
    return "{" + ", ".join(shown) + (f", and {more} more" if more else "") + "}"


def unknown(name: str, *, profile: bool = False) -> CallToolResult:
    """The one answer to every name that cannot be called, whatever the reason."""
    what = "List the tools." if profile else f"Use {FIND} to find the tools for your task."
    return failure(f"There is no tool called {name[:100]!r}. {what}")


def _text(content: Json) -> TextContent:
    return TextContent(type="text", text=json.dumps(content, ensure_ascii=False, separators=(",", ":")))
