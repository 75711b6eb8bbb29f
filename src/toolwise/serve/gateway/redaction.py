"""Arguments of calls as the log keeps them: what they are called and of what kind, never what they hold."""

from __future__ import annotations

import re
from collections.abc import Mapping

from toolwise.records import Json

_MOST_ITEMS = 20
_DEEPEST = 8
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$.-]{0,63}")


def redacted(value: Json, depth: int = 0) -> Json:
    """Arguments without their values: names of properties stay, every value becomes its kind.

    A key that does not look like the name of a property is a value, too: of an address book, say.
    """
    if depth >= _DEEPEST and isinstance(value, Mapping | list):
        return "(...)"
    if isinstance(value, Mapping):
        return {_named(key): redacted(value[key], depth + 1) for key in list(value)[:_MOST_ITEMS]}
    if isinstance(value, list):
        return [redacted(item, depth + 1) for item in value[:_MOST_ITEMS]]
    return None if value is None else f"({type(value).__name__})"


def _named(key: object) -> str:
    return key if isinstance(key, str) and _NAME.fullmatch(key) else "(name)"
