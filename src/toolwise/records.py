"""The records that travel between rooms.  All are frozen; JSON values inside are never changed in place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any, TypeAlias, TypeVar

Json: TypeAlias = Any
"""A JSON value: None, bool, int, float, str, list or dict of these, without cycles."""


class Level(IntEnum):
    """Operational risk of exposing a tool (Risk-aware reranking, Appendix A: the five-level rubric)."""

    SAFE = 1
    """Read-only, no side effect, nothing sensitive."""
    LOW = 2
    """A minor reversible action, or personal but not sensitive data."""
    MEDIUM = 3
    """Sensitive data, or a persistent write.  Also the level of a tool nobody could judge."""
    HIGH = 4
    """Irreversible, or touching security controls or system permissions."""
    CRITICAL = 5
    """Harm at large scale, intrusion, or severe loss of privacy."""


UNKNOWN_LEVEL = Level.MEDIUM


class Permission(StrEnum):
    """What a tool is able to do to its surroundings (five categories)."""

    SHELL = "shell"
    WRITE = "write"
    NETWORK = "network"
    CREDENTIALS = "credentials"
    CODE = "code"


class Capability(StrEnum):
    """One leg of a toxic combination: private data, untrusted content and a way out."""

    PRIVATE = "private"
    UNTRUSTED = "untrusted"
    EXTERNAL = "external"


class Severity(StrEnum):
    """How much a finding should worry the reader."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class ToolText:
    """The searchable text of a tool: bounded, hidden characters and instructions to the agent removed."""

    description: str = ""
    parameters: tuple[str, ...] = ()
    """Parameter names in schema order, nested ones included."""
    details: str = ""
    """Parameter descriptions and enum values, as one text."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool as its source defines it, with the text to search it by.

    ``parameters``, ``returns`` and ``annotations`` are kept as they came
    (JSON Schema, JSON Schema, MCP behaviour hints); ``None`` where absent.
    """

    id: str
    name: str
    server: str = ""
    title: str = ""
    description: str = ""
    parameters: Json = None
    returns: Json = None
    annotations: Json = None
    source: str = ""
    """The kind of source it was read from: jsonl, mcp, openapi, function."""
    text: ToolText = ToolText()
    content_hash: str = ""
    """sha256 (hex) of everything the source says about the tool, the id excluded."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something wrong with one tool of a source, or with the source around it."""

    source: str
    """Path or name of the source."""
    tool: str
    """Id or name of the tool, or its position (``#17``) where it has none; empty: the whole source."""
    pointer: str
    """JSON pointer to the offending place within the tool's definition (``""`` = the whole)."""
    message: str
    kept: bool
    """Whether the tool is in the catalogue all the same."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Tools in the order of their sources, ids unique, and what was wrong on the way."""

    tools: tuple[Tool, ...]
    problems: tuple[Problem, ...] = ()
    unreachable: tuple[str, ...] = ()
    """Servers that should have been listed and could not be."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One reason for a part of a verdict."""

    claim: str
    """What it supports: ``level>=4``, ``permission:shell``, ``capability:private``."""
    source: str
    """The annotator that says so."""
    because: str
    """One short clause for a person: ``name says "delete"``."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something suspicious or contradictory about a tool's definition."""

    code: str
    """Stable kebab-case code, e.g. ``hidden-unicode``."""
    severity: Severity
    field: str
    """JSON pointer or field name: ``description``, ``/properties/path/description``, ``annotations``."""
    text: str
    """The offending span (hidden characters escaped), at most 200 characters."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an annotator, or all of them together, say about one tool."""

    level: Level | None = None
    """None where the annotator cannot tell."""
    permissions: frozenset[Permission] = frozenset()
    capabilities: frozenset[Capability] = frozenset()
    evidence: tuple[Evidence, ...] = ()
    findings: tuple[Finding, ...] = ()
    chances: tuple[float, ...] = ()
    """How likely each capability is, in order of the enumeration and in hundredths, where one is guessed;
    empty where nothing is: see :attr:`likely`."""

    @property
    def likely(self) -> tuple[float, ...]:
        """How likely each capability is, in order of the enumeration; 1 or 0 where nothing is guessed."""
        return self.chances or tuple(float(one in self.capabilities) for one in Capability)


PERSON = "person"
"""The annotator of every judgement that a person made."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict on one tool with who gave it, when, and on which definition.

    An annotator's verdict is whole: what it does not name, it denies.  A person
    who names no permission (or capability) leaves them as the others see them,
    unless evidence claims ``permission:none`` (``capability:none``).
    """

    tool: str
    """Id of the tool."""
    annotator: str
    """``rules``, ``head``, ``llm:MODEL`` or :data:`PERSON`."""
    content_hash: str
    """Of the definition that was judged; on another one the judgement is stale."""
    verdict: Verdict
    at: str
    """UTC, ISO-8601: ``2026-05-31T12:30:00+00:00``."""
    who: str = ""
    """The person's name, free text; empty for annotators, whose name says it."""
    reason: str = ""
    """Why, in the words of a person or a model."""


@dataclass(frozen=True, slots=True)
class AuditedTool:
    """A tool, what the audit says of it, and the size of its definition."""

    tool: Tool
    verdict: Verdict
    tokens: int
    """Size of the definition in tokens, by the counter of :mod:`toolwise.expose.tokens`."""

    @property
    def level(self) -> Level:
        """The audited level; 3 where nobody could tell."""
        return UNKNOWN_LEVEL if self.verdict.level is None else self.verdict.level


@dataclass(frozen=True, slots=True)
class Query:
    """One request in a user's words."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """One tool a retriever proposes."""

    row: int
    """Position of the tool in the index."""
    id: str
    score: float
    """Comparable over queries of the same retriever; higher is better."""


@dataclass(frozen=True, slots=True)
class Shortlist:
    """Candidates for one query, best first; equal scores in order of id."""

    query_id: str
    candidates: tuple[Candidate, ...]
    confidence: float = 1.0
    """The evidence that anything fits, as a multiple of the least that convinces; below 1, nothing does."""


@dataclass(frozen=True, slots=True)
class Withheld:
    """A tool that would have been in the answer but for a rule."""

    id: str
    level: int
    rule: str
    reason: str
    gain: float = 0.0
    """Completeness that the answer would gain without the rule; 0 where the search cannot tell."""


@dataclass(frozen=True, slots=True)
class ToolSet:
    """What the search chose from a shortlist, and what a rule kept out (both best first)."""

    chosen: tuple[Candidate, ...]
    withheld: tuple[Withheld, ...] = ()
    gains: tuple[float, ...] = ()
    """What each chosen tool adds to the completeness of the set; empty where the search cannot tell."""
    completeness: float | None = None
    """Probability that the chosen set holds all that is needed; None where the search cannot tell."""


@dataclass(frozen=True, slots=True)
class ExposedTool:
    """One tool of an answer."""

    id: str
    name: str
    """The name the agent sees: at most 64 characters of ``[A-Za-z0-9_-]``, unique and reversible."""
    server: str
    score: float
    level: int
    reason: str
    tool: Tool = field(repr=False)


@dataclass(frozen=True, slots=True)
class Exposure:
    """The answer to one request: the tools the agent gets to see, and why."""

    id: str
    query: str
    abstained: bool
    reason: str
    tools: tuple[ExposedTool, ...]
    withheld: tuple[Withheld, ...]
    tokens: int

    def to_json(self) -> dict[str, Json]:
        """The answer as the JSON contract of ``toolwise select --json``."""
        shown: tuple[str, ...] = ("id", "name", "server", "score", "level", "reason")
        return {
            "id": self.id,
            "query": self.query,
            "abstained": self.abstained,
            "reason": self.reason,
            "tools": [{key: getattr(tool, key) for key in shown} for tool in self.tools],
            "withheld": [
                {"id": w.id, "level": w.level, "rule": w.rule, "reason": w.reason} for w in self.withheld
            ],
            "tokens": self.tokens,
        }


@dataclass(frozen=True, slots=True)
class Observation:
    """What came of one call of a tool, as the agent is told."""

    text: str
    ok: bool = True
    """Whether the tool did its work."""
    telling: bool = True
    """Whether this says anything about the tool; not where its server was away."""


@dataclass(frozen=True, slots=True)
class Step:
    """One call an agent tried, and what came of it."""

    tool: str
    """Id of the tool; empty where the agent named none that was offered."""
    arguments: Json
    observation: Observation
    kept: bool = True
    """Whether the agent built on it; False where it went back and tried another way."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """What an agent did about one request."""

    request: str
    offered: tuple[str, ...]
    """Ids of the tools at hand."""
    answer: str | None
    """None where there is none: see ``ended``."""
    ended: str
    """``answered``, ``gave up``, or the bound that was reached: ``nodes``, ``tokens``, ``budget``."""
    steps: tuple[Step, ...] = ()
    """In order of time."""
    nodes: int = 0
    """Times the model was asked."""
    tokens: int = 0
    """Sent and received."""


def as_mapping(value: Json) -> Mapping[str, Json]:
    """``value`` where it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


_Flag = TypeVar("_Flag", bound=StrEnum)


def to_bits(flags: Iterable[_Flag], kind: type[_Flag]) -> int:
    """A set of flags as bits in the order of the enumeration."""
    order = list(kind)
    return sum(1 << order.index(flag) for flag in flags)


def from_bits(bits: int, kind: type[_Flag]) -> frozenset[_Flag]:
    """The inverse of :func:`to_bits`."""
    return frozenset(flag for i, flag in enumerate(kind) if bits >> i & 1)
