"""Several catalogues -> one, ids unique: the same definition once, a different one under a suffixed id."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, count

from toolwise.records import Catalogue, Problem, Tool


def merge(catalogues: Sequence[Catalogue], sources: Sequence[str] = ()) -> Catalogue:
    """One catalogue in the given order; ``sources`` names them in the problems reported here.

    An id met again with the same content hash counts once.  With another hash
    it becomes ``id#2``, ``id#3``, ... (the next that nobody has) and is reported.
    """
    named = [*sources, *(_source(catalogue) for catalogue in catalogues[len(sources) :])]
    tools = [
        (tool, source)
        for catalogue, source in zip(catalogues, named, strict=True)
        for tool in catalogue.tools
    ]
    kept, renamed = _unique(tools)
    return Catalogue(
        tuple(kept),
        (*chain.from_iterable(catalogue.problems for catalogue in catalogues), *renamed),
        tuple(dict.fromkeys(chain.from_iterable(catalogue.unreachable for catalogue in catalogues))),
    )


def unique(tools: Iterable[Tool], problems: Iterable[Problem], source: str) -> Catalogue:
    """The catalogue of one source, whose ids may repeat."""
    kept, renamed = _unique([(tool, source) for tool in tools])
    return Catalogue(tuple(kept), (*problems, *renamed))


def _source(catalogue: Catalogue) -> str:
    if catalogue.problems:
        return catalogue.problems[0].source
    return catalogue.tools[0].source if catalogue.tools else ""


def _unique(tools: Sequence[tuple[Tool, str]]) -> tuple[list[Tool], list[Problem]]:
    taken = {tool.id for tool, _ in tools}
    hashes: dict[str, set[str]] = {}
    kept: list[Tool] = []
    problems: list[Problem] = []
    for tool, source in tools:
        base = _base(tool.id, hashes)
        if tool.id not in hashes:
            hashes[tool.id] = {tool.content_hash}
            hashes[base].add(tool.content_hash)
            kept.append(tool)
        elif tool.content_hash not in hashes[base]:
            hashes[base].add(tool.content_hash)
            new = next(f"{base}#{n}" for n in count(2) if f"{base}#{n}" not in taken)
            taken.add(new)
            hashes[new] = {tool.content_hash}
            kept.append(replace(tool, id=new))
            message = f"the id {tool.id!r} belongs to another definition already; kept as {new!r}"
            problems.append(Problem(source, new, "", message, kept=True))
    return kept, problems


def _base(tool_id: str, known: dict[str, set[str]]) -> str:
    """The id that a suffixed one was made from, where that one is known."""
    base, mark, number = tool_id.rpartition("#")
    return base if mark and number.isdecimal() and base in known else tool_id
