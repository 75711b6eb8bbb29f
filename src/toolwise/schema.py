"""JSON Schemas read with suspicion: a bounded walk, what is wrong, a type in words, and a copy to show.

Schemas come from strangers.  They may be null, cyclic, dangling, 400 levels
deep or hold 20,000 values; nothing here raises, recurses or fetches anything
for them.  References are followed within the definition only.

A pointer is a JSON pointer (RFC 6901) into the definition.  What is reached
through a ``$ref`` has the pointer of the target, so every pointer resolves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from types import MappingProxyType
from typing import Any, TypeAlias
from urllib.parse import unquote

from toolwise.hygiene import clean
from toolwise.records import Json

NODE_LIMIT = 2_000
"""Places of one schema that a walk visits at most."""
DEPTH_LIMIT = 64
"""Levels of subschemas that a walk goes down at most."""
FAULT_LIMIT = 20
"""Faults of one schema that are reported at most."""

_ONE, _MANY, _NAMED, _KEYED = "one", "many", "named", "keyed"
_KEYWORDS: Mapping[str, str] = MappingProxyType(
    {
        "properties": _NAMED,
        "patternProperties": _KEYED,
        "dependentSchemas": _KEYED,
        "additionalProperties": _ONE,
        "then": _ONE,
        "else": _ONE,
        "contains": _ONE,
        "anyOf": _MANY,
        "oneOf": _MANY,
        "allOf": _MANY,
        "prefixItems": _MANY,
    }
)
_TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
_KIND = {
    dict: "an object",
    list: "a list",
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
}

_Place: TypeAlias = tuple[str, str | None, Json]
"""Pointer, property name (None where it has none), and the subschema as it came."""


_Task: TypeAlias = tuple[Json, str, Any, Any]
"""A value, the keyword of the map it is ("" for a schema), and where its copy goes: container, key."""


@dataclass(frozen=True, slots=True)
class SchemaNode:
    """One named property of a schema."""

    pointer: str
    name: str
    schema: dict[str, Json]
    """Its subschema; empty where the source has a boolean, null or other value there."""


def walk(schema: Json, *, limit: int = NODE_LIMIT, depth: int = DEPTH_LIMIT) -> Iterator[SchemaNode]:
    """Every property reachable from ``schema``, outer levels first, in the order of the source.

    Goes through properties, items, combinators and local references.  A
    subschema that is met again (a ``$ref`` cycle, a shared Python object) is
    not entered again; at most ``limit`` places and ``depth`` levels are visited.
    """
    for pointer, name, value in _places(schema, limit, depth):
        if name is not None:
            yield SchemaNode(pointer, name, value if isinstance(value, dict) else {})


def resolve(root: Json, reference: str) -> tuple[str, Json] | None:
    """Pointer and value of a local reference such as ``#/$defs/Node``; None where it leads nowhere."""
    if reference[:2] not in ("#", "#/"):
        return None
    pointer, value = unquote(reference[1:]), root
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and key.isascii() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return pointer, value


def escape(key: str) -> str:
    """``key`` as one step of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1") if "~" in key or "/" in key else key


def kind(value: Json) -> str:
    """The JSON type of ``value`` with its article, for messages: ``a list``, ``null``."""
    return "null" if value is None else _KIND.get(type(value), f"a {type(value).__name__}")


def _places(root: Json, limit: int, depth: int) -> Iterator[_Place]:
    queue: deque[tuple[str, str | None, Json, int]] = deque([("", None, root, 0)])
    entered: set[int] = set()
    visited = 0
    while queue and visited < limit:
        pointer, name, value, level = queue.popleft()
        visited += 1
        yield pointer, name, value
        if isinstance(value, dict) and id(value) not in entered and level < depth:
            entered.add(id(value))
            room = max(limit - visited - len(queue), 0)
            queue.extend((*child, level + 1) for child in islice(_children(pointer, value, root), room))


def _children(pointer: str, schema: dict[str, Json], root: Json) -> Iterator[_Place]:
    for key, value in schema.items():
        how = _KEYWORDS.get(key)
        if how is _NAMED or how is _KEYED:
            if isinstance(value, dict):
                for name, child in value.items():
                    text = str(name)
                    yield f"{pointer}/{key}/{escape(text)}", text if how is _NAMED else None, child
        elif how is _ONE:
            yield f"{pointer}/{key}", None, value
        elif how is _MANY or (key == "items" and isinstance(value, list)):
            if isinstance(value, list):
                for i, child in enumerate(value):
                    yield f"{pointer}/{key}/{i}", None, child
        elif key == "items":
            yield f"{pointer}/items", None, value
        elif key == "$ref" and isinstance(value, str):
            target = resolve(root, value)
            if target is not None:
                yield target[0], None, target[1]


def faults(schema: Json) -> list[tuple[str, str]]:
    """What is wrong with a tool's parameter schema: (pointer, message), at most 20, in walking order.

    A fault is a shape that strict readers reject or misread; boolean
    subschemas, cycles and combinators at the root are none.
    """
    if not isinstance(schema, dict):
        return [("", f"the schema is {kind(schema)}; expected an object")]
    found: dict[tuple[str, str], None] = {}
    declared = schema.get("type")
    if declared not in (None, "object", ["object"]):
        found["/type", f"the root has type {str(declared)[:40]!r}; expected 'object'"] = None
    for pointer, _, value in _places(schema, NODE_LIMIT, DEPTH_LIMIT):
        for suffix, message in _faults_of(value, schema):
            found[pointer + suffix, message] = None
        if len(found) >= FAULT_LIMIT:
            break
    return list(found)[:FAULT_LIMIT]


def _faults_of(value: Json, root: dict[str, Json]) -> Iterator[tuple[str, str]]:
    if not isinstance(value, dict):
        if not isinstance(value, bool):
            yield "", f"the subschema is {kind(value)}; expected an object or a boolean"
        return
    for key, check in _CHECKS.items():
        if key in value:
            message = check(value[key])
            if message:
                yield f"/{key}", message
    reference = value.get("$ref")
    if isinstance(reference, str) and resolve(root, reference) is None:
        where = "leads nowhere" if reference.startswith("#") else "points outside the definition"
        yield "/$ref", f"the reference {reference[:120]!r} {where}; it is not followed"


def _is_object(value: Json) -> str:
    return "" if isinstance(value, dict) else f"is {kind(value)}; expected an object"


def _is_list(value: Json) -> str:
    return "" if isinstance(value, list) else f"is {kind(value)}; expected a list"


def _is_names(value: Json) -> str:
    if isinstance(value, list):
        return "" if all(isinstance(item, str) for item in value) else "holds something other than names"
    return f"is {kind(value)}; expected a list of names"


def _is_type(value: Json) -> str:
    names = value if isinstance(value, list) else [value]
    wrong = [name for name in islice(names, 20) if not isinstance(name, str) or name not in _TYPES]
    return f"names no JSON type: {str(wrong[0])[:40]!r}; expected one of {', '.join(_TYPES)}" if wrong else ""


def _is_text(value: Json) -> str:
    return "" if isinstance(value, str) else f"is {kind(value)}; expected a string"


def _is_bound(value: Json) -> str:
    return "is a boolean, as in draft 04; expected a number" if isinstance(value, bool) else ""


_CHECKS = {
    "properties": _is_object,
    "required": _is_names,
    "type": _is_type,
    "enum": _is_list,
    "anyOf": _is_list,
    "oneOf": _is_list,
    "allOf": _is_list,
    "$defs": _is_object,
    "$ref": _is_text,
    "exclusiveMinimum": _is_bound,
    "exclusiveMaximum": _is_bound,
}


def values(schema: Mapping[str, Json], *, limit: int = 12) -> tuple[str, ...]:
    """The first ``limit`` values a schema admits (``enum``, ``const``), each as at most 80 characters."""
    listed = schema.get("enum")
    found = list(islice(listed, limit)) if isinstance(listed, list) else []
    if "const" in schema:
        found = [schema["const"], *found][:limit]
    return tuple(_value_text(value) for value in found)


def _value_text(value: Json) -> str:
    if isinstance(value, str):
        return value[:80]
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and value.bit_length() > 1_000:
        return "a number"  # str() refuses integers of thousands of digits
    return str(value)[:80] if isinstance(value, int | float) else kind(value)


def type_text(schema: Json) -> str:
    """The type a schema admits, in words: ``array or null``; ``any`` where it does not say."""
    found = dict.fromkeys(_types_of(schema, 3))
    if isinstance(schema, dict) and schema.get("nullable") is True and found:
        found["null"] = None
    return " or ".join(found) or "any"


def _types_of(schema: Json, depth: int) -> Iterator[str]:
    if not isinstance(schema, dict) or depth == 0:
        return
    declared = schema.get("type")
    if isinstance(declared, str | list):
        names = [declared] if isinstance(declared, str) else declared[:10]
        yield from (name for name in names if isinstance(name, str))
    elif isinstance(schema.get("enum"), list):
        yield from (_type_of(value) for value in schema["enum"][:50])
    elif "const" in schema:
        yield _type_of(schema["const"])
    elif "properties" in schema:
        yield "object"
    else:
        for key in ("anyOf", "oneOf"):
            branches = schema.get(key)
            for branch in branches[:10] if isinstance(branches, list) else ():
                yield from _types_of(branch, depth - 1)


def _type_of(value: Json) -> str:
    names = {
        type(None): "null",
        bool: "boolean",
        int: "integer",
        float: "number",
        str: "string",
        list: "array",
    }
    return names.get(type(value), "object")


_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"})
"""Keywords whose value has names, not keywords, for its keys."""
_LISTS = "dependencies"
"""One more of them; its lists hold names, too."""
_EXACT = frozenset(
    "enum const default required dependentRequired pattern propertyName mapping x-mcp-header $vocabulary "
    "id $id $schema $ref $anchor $dynamicRef $dynamicAnchor $recursiveRef $recursiveAnchor".split()
)
"""Keywords that are compared with values, looked up or sent along: another text would be another schema."""


def legible(schema: Json) -> Json:
    """A copy of ``schema`` for an agent to read: its texts are cleaned as descriptions are.

    Descriptions, titles, names of choices, examples and all else that a validator only hands on loses
    hidden characters, concealed text and instructions to the agent.  Names of properties, ``enum``,
    ``const``, ``default`` and whatever else decides over values stay as they came, character by
    character; so do keys, order and structure.  Any depth; an object that is met again is copied once.
    """
    result: list[Json] = [None]
    copies: dict[tuple[int, str], Json] = {}
    stack: list[_Task] = [(schema, "", result, 0)]
    while stack:
        value, within, into, place = stack.pop()
        if isinstance(value, str):
            into[place] = _cleaned(value) if len(value) <= _SHORT else clean(value)
        elif not isinstance(value, dict | list):
            into[place] = value
        elif (id(value), within) in copies:
            into[place] = copies[id(value), within]
        else:
            into[place] = copies[id(value), within] = _opened(value, within, stack)
    return result[0]


def _opened(value: Json, within: str, stack: list[_Task]) -> Json:
    """A copy of an object or a list; what in it may have to be cleaned goes onto the stack."""
    if isinstance(value, list):
        copy: Any = list(value)
        stack.extend((item, "", copy, i) for i, item in enumerate(value))
        return copy
    copy = dict(value)
    for key, item in value.items():
        names = within == _LISTS and isinstance(item, list)
        if within and not names:
            stack.append((item, "", copy, key))
        elif not names and key not in _EXACT:
            stack.append((item, key if key in _MAPS or key == _LISTS else "", copy, key))
    return copy


_SHORT = 500
"""Characters of texts that are remembered when cleaned: lists are made of the same ones every time."""


@lru_cache(maxsize=8_192)
def _cleaned(text: str) -> str:
    return clean(text)
