"""How private data could get out: tools that together read it, take in strangers' words and send.

An agent that reads private data, takes in text that a stranger wrote, and can
send something outside may be talked into giving the data away, though each of
the three is harmless alone.  Here is which tool, server, or two or three
servers give an agent all three, none of them without need.  Servers are
compared by the capabilities they have, not tool by tool, so that 13,000 tools
take no longer than reading them once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import combinations, product
from math import prod
from typing import Final, TypeAlias

from toolwise.records import AuditedTool, Capability, to_bits

_Mask: TypeAlias = int
"""Capabilities as bits, in the order of the enumeration."""

_ALL: Final[_Mask] = to_bits(Capability, Capability)
_ONES: Final[tuple[_Mask, ...]] = tuple(to_bits([capability], Capability) for capability in Capability)


class Reach(StrEnum):
    """How much has to be connected for a flow; the shortest explanation first."""

    TOOL = "one tool"
    SERVER = "one server"
    PAIR = "two servers"
    TRIPLE = "three servers"


@dataclass(frozen=True, slots=True)
class Leg:
    """One capability of a flow, and the tool that is named for it."""

    capability: Capability
    tool: str
    """Id of the tool."""
    because: str
    """The evidence for the capability, as a clause."""
    others: int
    """Tools of the flow's servers that have the capability as well."""


@dataclass(frozen=True, slots=True)
class Flow:
    """One way out: the fewest tools of these servers that have all three capabilities."""

    reach: Reach
    servers: tuple[str, ...]
    legs: tuple[Leg, ...]
    """In the order private, untrusted, external."""

    @property
    def tools(self) -> tuple[str, ...]:
        """The ids of the named tools, each once."""
        return tuple(dict.fromkeys(leg.tool for leg in self.legs))


class Flows:
    """All flows of a catalogue.

    A server that has a tool with all three is listed by that tool; pairs are of
    servers neither of which has all three, triples of servers no two of which have.
    """

    def __init__(self, tools: Iterable[AuditedTool]) -> None:
        self._tools: dict[str, AuditedTool] = {}
        self._by_server: dict[str, dict[_Mask, list[str]]] = {}
        for audited in sorted(tools, key=lambda audited: audited.tool.id):
            if mask := to_bits(audited.verdict.capabilities, Capability):
                self._tools[audited.tool.id] = audited
                self._by_server.setdefault(audited.tool.server, {}).setdefault(mask, []).append(
                    audited.tool.id
                )
        self._kinds: dict[frozenset[_Mask], list[str]] = {}
        for server, by_mask in sorted(self._by_server.items()):
            self._kinds.setdefault(frozenset(by_mask), []).append(server)

    def count(self, reach: Reach) -> int:
        """How many flows of this reach there are, without listing them."""
        if reach is Reach.TOOL:
            return sum(len(by_mask.get(_ALL, ())) for by_mask in self._by_server.values())
        if reach is Reach.SERVER:
            return len(self._whole())
        if reach is Reach.PAIR:
            return sum(len(self._kinds[a]) * len(self._kinds[b]) for a, b in self._pairs_of_kinds())
        return prod(len(self._having(one)) for one in _ONES)

    def of(self, reach: Reach) -> Iterator[Flow]:
        """The flows of this reach: fewest tools first, then by server and tool."""
        if reach is Reach.TOOL:
            for server, by_mask in sorted(self._by_server.items()):
                for id_ in by_mask.get(_ALL, ()):
                    yield self._flow(reach, (server,), (id_,))
        elif reach is Reach.TRIPLE:
            for triple in product(*(self._having(one) for one in _ONES)):
                yield self._flow(reach, tuple(sorted(triple)))
        else:
            for size in (2, 3):
                groups = self._whole(size) if reach is Reach.SERVER else self._pairs(size)
                yield from (self._flow(reach, group) for group in groups)

    def _having(self, mask: _Mask) -> list[str]:
        """Servers with exactly these capabilities."""
        return sorted(s for kind, servers in self._kinds.items() if _union(kind) == mask for s in servers)

    def _whole(self, size: int = 0) -> list[tuple[str, ...]]:
        """Servers with all three capabilities and no tool that has; where given, those of ``size`` tools."""
        return sorted(
            (server,)
            for kind, servers in self._kinds.items()
            if _ALL not in kind and (n := len(_cover(kind))) and size in (0, n)
            for server in servers
        )

    def _pairs_of_kinds(self) -> Iterator[tuple[frozenset[_Mask], frozenset[_Mask]]]:
        partial = [kind for kind in self._kinds if _union(kind) != _ALL]
        return ((a, b) for a, b in combinations(partial, 2) if _union(a | b) == _ALL)

    def _pairs(self, size: int) -> list[tuple[str, ...]]:
        """Pairs of servers with all three capabilities in ``size`` tools, neither with all of its own."""
        return sorted(
            tuple(sorted(pair))
            for a, b in self._pairs_of_kinds()
            if len(_cover(a | b)) == size
            for pair in product(self._kinds[a], self._kinds[b])
        )

    def _flow(self, reach: Reach, servers: tuple[str, ...], ids: tuple[str, ...] = ()) -> Flow:
        """The flow through ``ids``, or through the fewest tools of ``servers``, the first of each kind."""
        masks = frozenset(mask for server in servers for mask in self._by_server[server])
        named = ids or tuple(
            min(self._by_server[s][mask][0] for s in servers if mask in self._by_server[s])
            for mask in _cover(masks)
        )
        legs = tuple(self._leg(capability, named, servers) for capability in Capability)
        return Flow(reach, servers, legs)

    def _leg(self, capability: Capability, named: tuple[str, ...], servers: tuple[str, ...]) -> Leg:
        able = sum(
            len(ids)
            for server in servers
            for mask, ids in self._by_server[server].items()
            if mask & to_bits([capability], Capability)
        )
        tool = next(id_ for id_ in named if capability in self._tools[id_].verdict.capabilities)
        return Leg(capability, tool, _because(self._tools[tool], capability), able - 1)


def _union(masks: Iterable[_Mask]) -> _Mask:
    whole = 0
    for mask in masks:
        whole |= mask
    return whole


@cache
def _cover(masks: frozenset[_Mask]) -> tuple[_Mask, ...]:
    """The fewest of ``masks`` that make up all three capabilities; ``()`` where they do not."""
    for size in (1, 2, 3):
        for some in combinations(sorted(masks, reverse=True), size):
            if _union(some) == _ALL:
                return some
    return ()


def _because(audited: AuditedTool, capability: Capability) -> str:
    """The first reason that the audit has for a capability."""
    claim = f"capability:{capability}"
    reasons = (e.because for e in audited.verdict.evidence if e.claim == claim)
    return next(reasons, "no evidence kept")
