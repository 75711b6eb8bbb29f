"""How a changed definition looks in a terminal: old and new, line by line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolwise.records import Json

MOST_LINES = 300
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n")
STYLES = {"-": "red", "+": "green", "@": "dim"}
"""Of a line by its first character."""


def differences(old: Mapping[str, Json], new: Mapping[str, Json], *, context: int = 2) -> list[str]:
    """The fields that differ as unified diffs; texts are cut into sentences, all else is indented JSON.

    Each field begins with a line ``@@ FIELD``.  Lines may hold anything that a server wrote.
    """
    return [line for field in new for line in _difference(field, old.get(field), new[field], context)]


def _difference(field: str, old: Json, new: Json, context: int) -> Iterator[str]:
    before, after = (json.dumps(value, ensure_ascii=False) for value in (old, new))
    if before == after:  # 1 and true are equal to Python alone
        return
    lines = list(unified_diff(_lines(old), _lines(new), lineterm="", n=context))[2:]
    for line in lines or [f"@@ {field}", f"-{before}", f"+{after}"]:  # white space alone differs
        yield f"@@ {field}" if line.startswith("@@") else line


def _lines(value: Json) -> list[str]:
    if isinstance(value, str):
        return [part for part in _SENTENCE.split(value) if part]
    return [] if value is None else json.dumps(value, ensure_ascii=False, indent=2).split("\n")
