"""What a tool can do: its level, permissions, capabilities, and what is wrong with its definition.

One annotator per file; :func:`audit` puts their verdicts together.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolwise.audit.resolve import resolve
from toolwise.protocols import Annotator
from toolwise.records import Tool, Verdict

__all__ = ["audit", "resolve"]


def audit(tools: Sequence[Tool], annotators: Sequence[Annotator]) -> list[Verdict]:
    """The resolved verdict of all annotators on each tool, in order."""
    views = [annotator.annotate(tools) for annotator in annotators]
    return [resolve([view[i] for view in views]) for i in range(len(tools))]
