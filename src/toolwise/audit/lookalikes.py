"""What only the whole catalogue shows: tools that pass for others, and descriptions aimed at other servers.

Codes:

- ``lookalike-name``: reads like the name of a tool of another server and is
  another name (high where it is not ASCII, else medium);
- ``lookalike-server``: the same of the server's name;
- ``cross-server-shadowing``: the description names a tool of another server and
  puts itself before it, changes what it is called with, or advises against it (high).

An annotator judges each tool alone and cannot see these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from toolwise.audit.names import disguise, skeleton
from toolwise.audit.shadowing import IDENTIFIER, interference
from toolwise.hygiene import escaped
from toolwise.records import Evidence, Finding, Level, Severity, Tool, Verdict

CODES: Final = frozenset({"lookalike-name", "lookalike-server", "cross-server-shadowing"})
_NAME: Final = "catalogue"
_BECAUSE: Final = {
    "lookalike-name": "the name passes for that of another server's tool",
    "lookalike-server": "the server's name passes for another's",
    "cross-server-shadowing": "the description interferes with a tool of another server",
}
_SHOWN: Final = 200
_FOREIGN: Final = 6
"""Letters of a name from which it is taken for a tool's rather than a word's."""


def across(tools: Sequence[Tool]) -> dict[str, tuple[Finding, ...]]:
    """The findings by id of the tool; tools without any are not in it.

    Takes time linear in the size of the catalogue, but for putting names in order.
    """
    found: dict[str, list[Finding]] = {}
    for id_, finding in (*_same_looks(tools), *_same_servers(tools), *_shadowing(tools)):
        found.setdefault(id_, []).append(finding)
    return {id_: tuple(dict.fromkeys(found[id_])) for id_ in sorted(found)}


def weighed(verdict: Verdict, findings: Sequence[Finding]) -> Verdict:
    """``verdict`` with findings of :func:`across`; one of high severity makes it level 4 at least."""
    if not findings:
        return verdict
    grave = sorted({finding.code for finding in findings if finding.severity is Severity.HIGH})
    because = (Evidence("level>=4", _NAME, _BECAUSE[code]) for code in grave)
    return replace(
        verdict,
        level=max(verdict.level or Level.HIGH, Level.HIGH) if grave else verdict.level,
        evidence=tuple(dict.fromkeys([*because, *verdict.evidence])),
        findings=tuple(dict.fromkeys([*verdict.findings, *findings])),
    )


def _same_looks(tools: Sequence[Tool]) -> Iterator[tuple[str, Finding]]:
    for tool, twin in _twins(tools):
        yield tool.id, _finding("lookalike-name", tool.name, twin.name, "name", twin.id)


def _same_servers(tools: Sequence[Tool]) -> Iterator[tuple[str, Finding]]:
    servers = [Tool(name, name, name) for name in sorted({tool.server for tool in tools})]
    twins = {server.name: twin.name for server, twin in _twins(servers)}
    for tool in tools:
        if twin := twins.get(tool.server):
            yield tool.id, _finding("lookalike-server", tool.server, twin, "server", "")


def _twins(tools: Sequence[Tool]) -> Iterator[tuple[Tool, Tool]]:
    """Each tool that passes for one of another server, and the first such, no more disguised than itself."""
    groups: dict[str, list[Tool]] = {}
    for tool in tools:
        groups.setdefault(skeleton(tool.name), []).append(tool)
    for group in groups.values():
        if len({tool.name.casefold() for tool in group}) > 1:
            models = _models(group)
            for tool in group:
                if twin := _twin(tool, models[disguise(tool.name)]):
                    yield tool, twin


def _models(group: Sequence[Tool]) -> list[list[Tool]]:
    """In order of id, by disguise, the tools that are not more disguised: whom they may pass for.

    Of a name the tools of its first two servers, of a server those of its first two names: who looks for one
    of another name and server finds one of these before any other, after four at most that will not do.
    """
    ordered = sorted(group, key=lambda tool: tool.id)
    return [_first_two(tool for tool in ordered if disguise(tool.name) <= most) for most in range(3)]


def _first_two(tools: Iterable[Tool]) -> list[Tool]:
    servers: dict[str, set[str]] = {}
    names: dict[str, set[str]] = {}
    kept = []
    for tool in tools:
        name, server = tool.name.casefold(), tool.server
        beside, before = servers.setdefault(name, set()), names.setdefault(server, set())
        if server not in beside and len(beside) < 2 and len(before) < 2:
            beside.add(server)
            before.add(name)
            kept.append(tool)
    return kept


def _twin(tool: Tool, models: Sequence[Tool]) -> Tool | None:
    """The first of ``models`` of another name and server; nobody knows whose a tool without server is."""
    others = (
        other
        for other in models
        if other.name.casefold() != tool.name.casefold() and (other.server != tool.server or not tool.server)
    )
    return next(others, None)


def _finding(code: str, name: str, other: str, field: str, where: str) -> Finding:
    severity = Severity.MEDIUM if name.isascii() else Severity.HIGH
    at = f" ({where})" if where else ""
    return Finding(code, severity, field, f"{name!a} looks like {other!a}{at}"[:_SHOWN])


def _shadowing(tools: Sequence[Tool]) -> Iterator[tuple[str, Finding]]:
    servers = _servers_by_name(tools)
    for tool in tools:
        if not any(_is_foreign(name, tool, servers) for name in IDENTIFIER.findall(tool.description)):
            continue
        spans = interference(tool.description, lambda name, tool=tool: _is_foreign(name, tool, servers))  # type: ignore[misc]
        for start, end in spans[:1]:
            text = escaped(tool.description[start:end].strip(), _SHOWN)
            yield tool.id, Finding("cross-server-shadowing", Severity.HIGH, "description", text)


def _servers_by_name(tools: Iterable[Tool]) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for tool in tools:
        found.setdefault(tool.name, set()).add(tool.server)
    return {name: frozenset(servers) for name, servers in found.items()}


def _is_foreign(name: str, tool: Tool, servers: Mapping[str, frozenset[str]]) -> bool:
    """Whether ``name``, as it is or behind a prefix, is a tool of other servers and none of this one's."""
    bare = name if name in servers else name.rpartition("__")[2]
    return len(bare) >= _FOREIGN and bare in servers and tool.server not in servers[bare]
