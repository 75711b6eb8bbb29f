"""Subschemas without the values that strict readers refuse.

A host rejects a whole request for one keyword with a wrong value.  Such a
keyword is left out and named; everything else is copied.  The checks are those
of the JSON Schema 2020-12 metaschema for the keywords that occur in practice.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator

from toolwise.records import Json
from toolwise.schema import kind, resolve

DEEPEST = 64
"""Levels of subschemas that are kept."""
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")

_ONE = frozenset(
    "items additionalProperties not if then else contains propertyNames contentSchema "
    "unevaluatedItems unevaluatedProperties".split()
)
_MANY = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})


def repaired(schema: Json, notes: list[str], depth: int = 0) -> Json:
    """A copy of ``schema`` that keeps what is sound; what had to go is added to ``notes``."""
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, dict):
        notes.append(f"a subschema that is {kind(schema)} was replaced by an open one")
        return {}
    if depth > DEEPEST:
        notes.append(f"nesting below {DEEPEST} levels was cut")
        return {}
    copy: dict[str, Json] = {}
    for key, value in _modern(schema).items():
        if _is_sound(key, value):
            copy[key] = _inside(key, value, notes, depth + 1)
        else:
            notes.append(f"{key!r} with {kind(value)} that is not valid there was removed")
    return copy


def without_dangling(schema: dict[str, Json], notes: list[str]) -> None:
    """Take from ``schema`` (a copy of our own) the references that lead nowhere within it."""
    for node in list(_subschemas(schema)):
        reference = node.get("$ref")
        if isinstance(reference, str) and not _leads_to_schema(schema, reference):
            notes.append(f"$ref {reference!r} leads nowhere and was removed")
            del node["$ref"]


def _leads_to_schema(root: Json, reference: str) -> bool:
    found = resolve(root, reference)
    return found is not None and isinstance(found[1], dict | bool)


def _modern(schema: dict[str, Json]) -> dict[str, Json]:
    """``schema`` with the tuple form of ``items`` (draft 07) under its present name."""
    items = schema.get("items")
    if not isinstance(items, list) or not items or "prefixItems" in schema:
        return schema
    return {"prefixItems" if key == "items" else key: value for key, value in schema.items()}


def _inside(key: str, value: Json, notes: list[str], depth: int) -> Json:
    if key in _ONE:
        return repaired(value, notes, depth)
    if key in _MANY:
        return [repaired(item, notes, depth) for item in value]
    if key in _NAMED:
        return {name: repaired(item, notes, depth) for name, item in value.items()}
    if key == "required":
        return list(dict.fromkeys(value))
    return _finite(value)


def _finite(value: Json) -> Json:
    """``value`` as JSON allows it: infinite and undefined numbers become null."""
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return json.loads(json.dumps(value), parse_constant=lambda _: None)
    return value


def _subschemas(schema: Json) -> Iterator[dict[str, Json]]:
    queue = [schema]
    while queue:
        node = queue.pop()
        if not isinstance(node, dict):
            continue
        yield node
        for key, value in node.items():
            if key in _ONE:
                queue.append(value)
            elif key in _MANY:
                queue += value
            elif key in _NAMED:
                queue += value.values()


def _is_sound(key: str, value: Json) -> bool:
    if key in _MANY:
        return isinstance(value, list) and bool(value)
    if key in _NAMED:
        return isinstance(value, dict)
    if key in _ONE:
        return isinstance(value, dict | bool)
    check = _CHECKS.get(key)
    return check is None or check(value)


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_flag(value: Json) -> bool:
    return isinstance(value, bool)


def _is_list(value: Json) -> bool:
    return isinstance(value, list)


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_names(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_names_by_name(value: Json) -> bool:
    return isinstance(value, dict) and all(_is_names(item) for item in value.values())


def _is_type(value: Json) -> bool:
    names = value if isinstance(value, list) else [value]
    known = all(isinstance(name, str) and name in TYPES for name in names)
    return known and 0 < len(names) == len(set(names))


_CHECKS: dict[str, Callable[[Json], bool]] = {
    "type": _is_type,
    "required": _is_names,
    "dependentRequired": _is_names_by_name,
    "dependencies": lambda value: False,  # draft 07; its two meanings have other names now
    "multipleOf": lambda value: _is_number(value) and value > 0,
    "$vocabulary": lambda value: False,
    **dict.fromkeys(("enum", "examples"), _is_list),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly"), _is_flag),
    **dict.fromkeys(
        (
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
            "minContains",
            "maxContains",
            "minProperties",
            "maxProperties",
        ),
        _is_count,
    ),
    **dict.fromkeys(
        (
            "$ref",
            "$schema",
            "$id",
            "$comment",
            "title",
            "description",
            "format",
            "pattern",
            "contentEncoding",
            "contentMediaType",
        ),
        _is_text,
    ),
    **dict.fromkeys(
        ("$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef", "$recursiveAnchor"), lambda value: False
    ),
}
"""What a keyword may hold; keywords not listed may hold anything."""
