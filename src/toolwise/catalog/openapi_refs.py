"""References of an OpenAPI document: followed within it, and carried over into the schemas of tools."""

from __future__ import annotations

import re
from collections import deque
from typing import Any

from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012

from toolwise.records import Json

_STEPS = 20


class Document:
    """A whole document and its references; nothing outside it is fetched."""

    def __init__(self, content: dict[str, Json]) -> None:
        registry: Registry[Any] = Registry().with_resource("", DRAFT202012.create_resource(content))
        self._resolver = registry.resolver()
        self._found: dict[str, tuple[Json] | None] = {}
        self._names: dict[str, str] = {}
        self._definitions: dict[str, tuple[Json, deque[str]]] = {}

    def followed(self, value: Json) -> tuple[Json, str]:
        """``value``, or what its ``$ref`` leads to in the end; and why it leads nowhere (else ``""``)."""
        seen: set[str] = set()
        while isinstance(value, dict) and isinstance(reference := value.get("$ref"), str):
            if reference in seen or len(seen) > _STEPS:
                return None, f"the reference {reference[:120]!r} leads back to itself"
            seen.add(reference)
            found = self._lookup(reference)
            if found is None:
                return None, f"the reference {reference[:120]!r} leads nowhere within the document"
            value = found[0]
        return value, ""

    def closed(self, schema: dict[str, Json], limit: int) -> tuple[dict[str, Json], bool]:
        """A copy of ``schema`` with all that it refers to in its own ``$defs``, and whether that is complete.

        Nearest first, at most ``limit`` definitions; those beyond admit
        anything (``{}``).  References that lead nowhere stay as they are.
        """
        waiting: deque[str] = deque()
        root: dict[str, Json] = self._carried(schema, waiting)
        definitions: dict[str, Json] = {}
        while waiting:
            reference = waiting.popleft()
            name = self._name(reference)
            if name in definitions:
                continue
            if len(definitions) >= limit:
                definitions[name] = {}
                continue
            definitions[name], further = self._definition(reference)
            waiting.extend(further)
        if definitions:
            root["$defs"] = {name: definitions[name] for name in sorted(definitions)}
        return root, len(definitions) <= limit

    def _definition(self, reference: str) -> tuple[Json, deque[str]]:
        """The target of ``reference``, its references turned, and those references; shared by all tools."""
        if reference not in self._definitions:
            found, further = self._lookup(reference), deque[str]()
            self._definitions[reference] = (self._carried(found[0] if found else {}, further), further)
        return self._definitions[reference]

    def _carried(self, value: Json, waiting: deque[str]) -> Json:
        """A copy with references turned towards ``$defs``; iterative, for schemas may nest deep."""
        top: list[Json] = [value]
        open_slots: list[tuple[Any, Any]] = [(top, 0)]
        while open_slots:
            holder, key = open_slots.pop()
            inner = holder[key]
            if isinstance(inner, dict):
                holder[key] = inner = dict(inner)
                open_slots.extend((inner, name) for name in inner)
            elif isinstance(inner, list):
                holder[key] = inner = list(inner)
                open_slots.extend((inner, i) for i in range(len(inner)))
            elif key == "$ref" and isinstance(inner, str) and self._lookup(inner) is not None:
                waiting.append(inner)
                holder[key] = f"#/$defs/{self._name(inner)}"
        return top[0]

    def _name(self, reference: str) -> str:
        """A name for the target of ``reference`` under ``$defs``, its own within the document."""
        if reference not in self._names:
            stem = re.sub(r"[^A-Za-z0-9._-]+", "_", reference.rpartition("/")[2]) or "schema"
            taken = set(self._names.values())
            name, n = stem, 2
            while name in taken:
                name, n = f"{stem}_{n}", n + 1
            self._names[reference] = name
        return self._names[reference]

    def _lookup(self, reference: str) -> tuple[Json] | None:
        if reference not in self._found:
            try:
                self._found[reference] = (self._resolver.lookup(reference).contents,)
            except (Unresolvable, LookupError, TypeError, ValueError, AttributeError):
                self._found[reference] = None  # a broken document makes the library fail in many ways
        return self._found[reference]
