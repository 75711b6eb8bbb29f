"""Definitions of tools as they were approved, kept so that a person can see what changed since."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from toolwise.errors import IndexNotFound
from toolwise.records import AuditedTool, Json, Tool
from toolwise.store import Index

FIELDS = ("name", "title", "description", "parameters", "returns", "annotations")
"""What of a tool its server says."""


def definition(tool: Tool) -> dict[str, Json]:
    """What its server says of a tool, by field."""
    return {field: getattr(tool, field) for field in FIELDS}


def present(state: Path, ids: Iterable[str] | None = None) -> dict[str, AuditedTool]:
    """Tools as the index of a state folder has them now, by id: all, or those of ``ids`` that are there.

    Raises BrokenIndex or IndexVersionError; without an index there are none.
    """
    from toolwise.serve.gateway.library import INDEX  # which keeps its approvals by way of this module

    try:
        index = Index.open(state / INDEX)
    except IndexNotFound:
        return {}
    with closing(index):
        wanted = index.ids if ids is None else [id_ for id_ in sorted(set(ids)) if id_ in index]
        return {audited.tool.id: audited for audited in index.tools(wanted)}
