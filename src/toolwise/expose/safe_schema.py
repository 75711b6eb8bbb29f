"""Input schemas as model providers accept them: an object at the root, no combinator there, all of it sound.

What a source says stays as it came in the index; only exports to providers are
rewritten, and every rewriting is named.  No parameter is lost: the properties of
all alternatives are offered, and only what all of them require is required.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from toolwise.expose.repair import DEEPEST, TYPES, repaired, without_dangling
from toolwise.records import Json, as_mapping
from toolwise.schema import resolve

_ALTERNATIVES = ("anyOf", "oneOf")
_NOT_AT_THE_ROOT = ("enum", "const", "not")
_OPEN: dict[str, Json] = {}


def provider_safe(schema: Json) -> tuple[dict[str, Json], list[str]]:
    """A root-object variant of ``schema``, and a note for each thing that had to change."""
    notes: list[str] = []
    if not isinstance(schema, dict):
        if schema is not None and schema is not True:
            notes.append(f"the input schema is {type(schema).__name__}, replaced by an empty object")
        return {"type": "object", "properties": {}}, notes
    if not _may_be_object(schema):
        notes.append(f"the input schema describes {schema['type']!r}, replaced by an open object")
        return {"type": "object", "properties": {}}, notes
    flat = _flat(schema, notes)
    safe: dict[str, Json] = repaired(flat, notes)
    without_dangling(safe, notes)
    return safe, list(dict.fromkeys(notes))


def _may_be_object(schema: dict[str, Json]) -> bool:
    """Whether objects may be valid: no type is said, ``object`` is among them, or what is said is no type."""
    declared = schema.get("type")
    names = declared if isinstance(declared, list) else [declared]
    return "object" in names or not any(name in TYPES for name in names)


def _flat(schema: dict[str, Json], notes: list[str]) -> dict[str, Json]:
    """The root with its combinators and its reference merged."""
    parts = _Flattening(schema).of(schema, 0)
    flat = {key: value for key, value in schema.items() if key not in ("allOf", "$ref", *_ALTERNATIVES)}
    for key in ("$ref", "allOf", *_ALTERNATIVES):
        if key in schema:
            notes.append(f"{key} at the root of the input schema was flattened")
    for key in _NOT_AT_THE_ROOT:
        if key in flat:
            notes.append(f"{key} at the root of the input schema was removed")
            del flat[key]
    if schema.get("type", "object") != "object":
        notes.append(f"the type {schema['type']!r} of the input schema became 'object'")
    flat |= {"type": "object", "properties": parts.properties}
    if parts.required or flat.get("required") == []:
        flat["required"] = parts.required
    else:
        flat.pop("required", None)
    return flat


@dataclass(slots=True)
class _Parts:
    """What a schema says about objects."""

    properties: dict[str, Json] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)


class _Flattening:
    """Collects properties through references and combinators; each place once, so circles end."""

    def __init__(self, root: dict[str, Json]) -> None:
        self._root = root
        self._done: dict[int, _Parts] = {}

    def of(self, schema: dict[str, Json], depth: int) -> _Parts:
        """The parts of ``schema``; none for one that is being taken apart already."""
        if id(schema) in self._done or depth > DEEPEST:
            return self._done.get(id(schema), _Parts())
        parts = self._done[id(schema)] = _Parts()
        properties, required = dict(as_mapping(schema.get("properties"))), _names(schema.get("required"))
        for branch in self._all_of(schema):
            more = self.of(branch, depth + 1)
            for name, value in more.properties.items():
                properties[name] = _merged("allOf", properties[name], value) if name in properties else value
            required += more.required
        for combinator in _ALTERNATIVES:
            more = self._either(schema.get(combinator), depth + 1)
            properties = {**more.properties, **properties}
            required += more.required
        parts.properties, parts.required = properties, list(dict.fromkeys(required))
        return parts

    def _all_of(self, schema: dict[str, Json]) -> list[dict[str, Json]]:
        reference, branches = schema.get("$ref"), schema.get("allOf")
        target = resolve(self._root, reference) if isinstance(reference, str) else None
        found = [target[1] if target else None, *(branches if isinstance(branches, list) else ())]
        return [branch for branch in found if isinstance(branch, dict)]

    def _either(self, branches: Json, depth: int) -> _Parts:
        """All properties of the branches that admit objects, and what every one of them requires."""
        either = _Parts()
        listed = (
            [_OPEN if branch is True else branch for branch in branches] if isinstance(branches, list) else []
        )
        shapes = [
            self.of(branch, depth) for branch in listed if isinstance(branch, dict) and _may_be_object(branch)
        ]
        for shape in shapes:
            for name, value in shape.properties.items():
                known = either.properties
                known[name] = _merged("anyOf", known[name], value) if name in known else value
        if shapes:
            either.required = [n for n in shapes[0].required if all(n in shape.required for shape in shapes)]
        return either


def _merged(combinator: str, one: Json, other: Json) -> Json:
    """Both of two schemas for one property (``allOf``), or either (``anyOf``)."""
    held = [one]
    if isinstance(one, dict) and one.keys() == {combinator} and isinstance(one[combinator], list):
        held = one[combinator]
    try:
        return one if one == other or other in held else {combinator: [*held, other]}
    except RecursionError:  # too deep to compare; both will be cut
        return {combinator: [*held, other]}


def _names(value: Json) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
