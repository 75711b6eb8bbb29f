"""Input schemas as model providers accept them: an object root without combinators, no dangling reference.

What a source says stays as it came in the index; only exports to providers are
rewritten, and every rewriting is named.
"""

from __future__ import annotations

from typing import Any

from toolwise.records import Json, as_mapping

_COMBINATORS = ("anyOf", "oneOf", "allOf")
_DEEPEST = 64


def provider_safe(schema: Json) -> tuple[dict[str, Json], list[str]]:
    """A root-object variant of ``schema``, and a note for each thing that had to change."""
    notes: list[str] = []
    if not isinstance(schema, dict):
        if schema is not None and schema is not True:
            notes.append(f"the input schema is {type(schema).__name__}, replaced by an empty object")
        return {"type": "object", "properties": {}}, notes
    if schema.get("type", "object") != "object":
        notes.append(f"the input schema describes {schema['type']!r}, replaced by an open object")
        return {"type": "object", "properties": {}}, notes
    root = _flatten(schema, notes)
    resolved: dict[str, Json] = _resolve(root, root, notes, 0)
    return resolved, list(dict.fromkeys(notes))


def _flatten(schema: dict[str, Json], notes: list[str]) -> dict[str, Json]:
    """The root with its combinators merged: all properties, and what every alternative requires."""
    root = {key: value for key, value in schema.items() if key not in _COMBINATORS}
    properties = dict(as_mapping(root.get("properties")))
    required = _names(root.get("required"))
    for combinator in _COMBINATORS:
        branches = [as_mapping(branch) for branch in schema.get(combinator) or () if isinstance(branch, dict)]
        if combinator not in schema:
            continue
        notes.append(f"{combinator} at the root of the input schema was flattened")
        for branch in branches:
            properties = {**as_mapping(branch.get("properties")), **properties}
        needed = [_names(branch.get("required")) for branch in branches]
        if combinator == "allOf":
            required += [name for names in needed for name in names]
        elif needed:
            required += [name for name in needed[0] if all(name in names for names in needed)]
    root |= {"type": "object", "properties": properties}
    root.pop("required", None)
    if required:
        root["required"] = list(dict.fromkeys(required))
    return root


def _names(value: Json) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _resolve(node: Json, root: dict[str, Json], notes: list[str], depth: int) -> Any:
    """``node`` without references that lead nowhere, cut where it nests deeper than providers accept."""
    if depth > _DEEPEST:
        notes.append(f"nesting below {_DEEPEST} levels was cut")
        return {}
    if isinstance(node, list):
        return [_resolve(item, root, notes, depth + 1) for item in node]
    if not isinstance(node, dict):
        return node
    reference = node.get("$ref")
    if isinstance(reference, str) and not _leads_somewhere(reference, root):
        notes.append(f"$ref {reference!r} leads nowhere and was removed")
        node = {key: value for key, value in node.items() if key != "$ref"}
    return {key: _resolve(value, root, notes, depth + 1) for key, value in node.items()}


def _leads_somewhere(reference: str, root: Json) -> bool:
    if not reference.startswith("#"):
        return False
    place = root
    for step in reference[1:].strip("/").split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        if key == "":
            continue
        if not isinstance(place, dict) or key not in place:
            return False
        place = place[key]
    return True
