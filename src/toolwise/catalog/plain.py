"""Any Python value as a JSON value: without cycles, of bounded depth and size, encodable as UTF-8."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from datetime import date, time
from typing import TypeAlias

from toolwise.hygiene import sound
from toolwise.records import Json
from toolwise.schema import FAULT_LIMIT, escape, kind

Fault: TypeAlias = tuple[str, str]
"""JSON pointer into a definition, and what is wrong there."""

LEVELS = 820
"""Levels of lists and objects that are kept: as many as json.dumps copes with from deep in a program."""
VALUES = 500_000
"""Values of one definition that are kept; a shared Python object counts as often as it is met."""

TOO_LARGE = "the definition is too large; the rest is cut"
_BIG = 10_000  # bits; Python refuses to print integers of more than 4,300 digits


def plain(value: object, at: str = "", *, limit: int = VALUES) -> tuple[Json, list[Fault]]:
    """A JSON copy of ``value``, and what had to give: (pointer below ``at``, message), at most 20.

    A cycle, and what lies deeper than 820 levels or beyond ``limit`` values,
    becomes ``{}``; numbers JSON lacks and foreign objects become null; keys
    become strings, tuples and sets lists.
    """
    return _Copy(limit).run(value, at)


class _Copy:
    """One copy in progress; iterative, for sources may nest deeper than Python recurses."""

    def __init__(self, limit: int) -> None:
        self.room = limit
        self.faults: list[Fault] = []
        self.open: set[int] = set()

    def run(self, value: object, at: str) -> tuple[Json, list[Fault]]:
        top: list[Json] = []
        start: _Entries = iter([(None, value, at)])
        frames: list[tuple[_Entries, Json, int]] = [(start, top, 0)]
        while frames:
            children, target, identity = frames[-1]
            entry = next(children, None)
            if entry is None:
                self.open.discard(identity)
                frames.pop()
                continue
            key, child, pointer = entry
            copy, inside = self._enter(child, pointer, len(frames))
            if isinstance(target, dict):
                target[key] = copy
            else:
                target.append(copy)
            if inside is not None:
                self.open.add(id(child))
                frames.append((inside, copy, id(child)))
        return top[0], self.faults

    def _enter(self, value: object, at: str, level: int) -> tuple[Json, _Entries | None]:
        """The copy of a leaf, or an empty container and the entries still to be copied into it."""
        self.room -= 1
        if not isinstance(value, Mapping | list | tuple | set | frozenset):
            return self._leaf(value, at), None
        if id(value) in self.open:
            self._report(at, "the definition contains itself here; cut")
        elif level > LEVELS:
            self._report(at, f"nested more than {LEVELS} levels deep; cut")
        elif self.room < 0:
            self._report(at, TOO_LARGE)
        elif isinstance(value, Mapping):
            return {}, self._pairs(value, at)
        else:
            return [], self._items(value, at)
        return {}, None

    def _pairs(self, value: Mapping[object, object], at: str) -> _Entries:
        for key, child in value.items():
            text = sound(key if isinstance(key, str) else _key(key))
            if text != key and isinstance(key, str):
                self._report(at, "a key holds half a character (lone surrogate); replaced")
            yield text, child, f"{at}/{escape(text)}"

    def _items(
        self, value: list[object] | tuple[object, ...] | set[object] | frozenset[object], at: str
    ) -> _Entries:
        if isinstance(value, set | frozenset):
            self._report(at, "is a Python set; kept as a sorted list")
            value = sorted(value, key=repr)
        for i, child in enumerate(value):
            yield None, child, f"{at}/{i}"

    def _leaf(self, value: object, at: str) -> Json:
        if isinstance(value, str):
            text = sound(value)
            if text != value:
                self._report(at, "holds half a character (lone surrogate); replaced")
            return text
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int) and value.bit_length() < _BIG:
            return int(value)
        if isinstance(value, float) and math.isfinite(value):
            return float(value)
        if isinstance(value, date | time):
            return value.isoformat()
        what = "a number JSON cannot hold" if isinstance(value, int | float) else kind(value)
        self._report(at, f"is {what}; replaced by null")
        return None

    def _report(self, at: str, message: str) -> None:
        if len(self.faults) < FAULT_LIMIT:
            self.faults.append((at, message))


_Entries: TypeAlias = Iterator[tuple[str | None, object, str]]


def _key(key: object) -> str:
    """A key that is no string, as JSON would spell it."""
    names = {None: "null", True: "true", False: "false"}
    if key is None or isinstance(key, bool):
        return names[key]
    if isinstance(key, int) and key.bit_length() >= _BIG:
        return "a large number"
    return str(key)
