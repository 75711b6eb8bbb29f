"""A user's own requests as training data: which request chooses from which tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from toolwise.errors import EncoderError
from toolwise.learn.data import Library, Request
from toolwise.learn.encoder import Sources
from toolwise.learn.holdout import aside, split
from toolwise.records import Tool

ENOUGH_LIBRARIES = 10
"""Libraries from which whole ones are held out; with fewer, requests of each are."""


class Trace(Protocol):
    """A request with the tools that served it."""

    @property
    def text(self) -> str:
        """The request."""

    @property
    def gold(self) -> frozenset[str]:
        """Ids of the tools that served it."""

    @property
    def workspace(self) -> str | None:
        """The workspace it was asked in, where there are several."""


@dataclass(frozen=True, slots=True)
class Own:
    """Libraries made of traces, and how many traces say nothing about their tools."""

    libraries: tuple[Library, ...]
    left_out: int
    """Traces without gold tools, or with some that their library lacks."""


def of_traces(
    tools: Sequence[Tool], traces: Iterable[Trace], workspaces: Mapping[str, frozenset[str]] | None = None
) -> Own:
    """One library per workspace that is asked in; traces without a workspace choose from all ``tools``.

    Raises EncoderError where a trace names a workspace that ``workspaces`` lacks.
    """
    by_space: dict[str, list[Trace]] = {}
    for trace in traces:
        by_space.setdefault((trace.workspace or "") if workspaces is not None else "", []).append(trace)
    found, left_out = [], 0
    for name, mine in sorted(by_space.items()):
        shown = [tool for tool in tools if tool.id in _ids(name, workspaces)] if name else list(tools)
        row = {tool.id: place for place, tool in enumerate(shown)}
        fit = [trace for trace in mine if trace.gold and all(id_ in row for id_ in trace.gold)]
        left_out += len(mine) - len(fit)
        requests = tuple(Request(t.text, tuple(sorted(row[id_] for id_ in t.gold))) for t in fit)
        found.append(Library(f"own/{name}", tuple(shown), requests))
    return Own(tuple(library for library in found if library.requests), left_out)


def _ids(name: str, workspaces: Mapping[str, frozenset[str]] | None) -> frozenset[str]:
    if workspaces is None or name not in workspaces:
        raise EncoderError(
            f"a request is of workspace {name!r}, which the file of workspaces lacks. "
            "Give the file that belongs to the requests.",
            workspace=name,
        )
    return workspaces[name]


def sources_of(libraries: Sequence[Library], share: float, seed: int) -> Sources:
    """``libraries`` with ``share`` of them held out, or of their requests where there are few libraries.

    Requests of the same words are never on both sides.
    """
    if len(libraries) >= ENOUGH_LIBRARIES:
        kept, out = split(libraries, round(share * len(libraries)), seed)
        return Sources(tuple(kept), (), tuple(out))
    rng = np.random.default_rng(seed)
    kept, out = [], []
    for library in libraries:
        words = [tuple(request.text.casefold().split()) for request in library.requests]
        held = aside(words, round(share * len(words)), rng)
        pairs = list(enumerate(library.requests))
        kept.append(replace(library, requests=tuple(r for place, r in pairs if place not in held)))
        out.append(replace(library, requests=tuple(r for place, r in pairs if place in held)))
    return Sources(tuple(kept), (), tuple(library for library in out if library.requests))
