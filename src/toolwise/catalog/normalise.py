"""One definition, whatever its dialect -> one canonical Tool: hash first, searchable text later.

``make_tool`` checks and hashes a definition and leaves ``Tool.text`` empty:
extracting and cleaning text takes longer than all the rest, and an index needs
it only where something is new or changed.  ``with_text`` fills it in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from itertools import accumulate
from types import MappingProxyType
from typing import Any, Final

from toolwise.catalog.plain import LEVELS, Fault, plain
from toolwise.hygiene import clean, sound
from toolwise.records import Json, Problem, Tool, ToolText
from toolwise.schema import faults, kind, values, walk

ABSENT: Final[Any] = object()
"""A field the source does not have; ``None`` means it has null there."""

DESCRIPTION_LIMIT = 2_000
"""Characters of a description that are searchable; the front wins."""
NAME_LIMIT = 60
"""Parameter names of one tool that are searchable."""
DETAILS_LIMIT = 2_000
"""Characters of parameter descriptions and values that are searchable."""

_READ = 20_000  # characters that are cleaned; instructions are removed as wholes, so look beyond the limit
_PIECE = 300
_PLACES, _DEPTH = 400, 16
_HALF = re.compile(r"\\ud[89a-f]")
_EMPTY = ToolText()
_STRING, _BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"'), re.compile(r"[\[\]{}]")
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_NOWHERE: Mapping[str, str] = MappingProxyType({})


def make_tool(
    *,
    id: str,
    name: str,
    server: str = "",
    title: Json = "",
    description: Json = ABSENT,
    parameters: Json = ABSENT,
    returns: Json = None,
    annotations: Json = None,
    source: str = "",
    pointers: Mapping[str, str] = _NOWHERE,
) -> tuple[Tool, list[Fault]]:
    """The canonical tool of one definition without its text, and its faults as (JSON pointer, message).

    Never raises for a definition's content.  Schemas are kept as they came as
    far as JSON can hold them (see :func:`toolwise.catalog.plain.plain`).
    ``pointers`` says where the source keeps a field (``{"parameters":
    "/inputSchema"}``); the default is the field's own name.
    """
    where = {
        key: pointers.get(key, f"/{key}") for key in ("description", "parameters", "returns", "annotations")
    }
    told: dict[str, Json] = {
        "name": name,
        "server": server,
        "title": title if isinstance(title, str) else "",
        "description": description if isinstance(description, str) else "",
        "parameters": None if parameters is ABSENT else parameters,
        "returns": returns,
        "annotations": annotations if isinstance(annotations, dict) else None,
    }
    found: list[Fault] = []
    text = canonical(told)
    if text is None:
        told, found = _repaired(told, where)
        text = _dumps(told)
    found += _field_faults(description, annotations, where)
    if parameters is not ABSENT:
        found += [(where["parameters"] + at, message) for at, message in faults(told["parameters"])]
    digest = sha256(text.encode("ascii")).hexdigest()
    return Tool(id=sound(id), source=source, content_hash=digest, **told), found


def canonical(value: Json) -> str | None:
    """``value`` as ASCII JSON with sorted keys; None where :func:`plain` must repair it first."""
    try:
        text = _dumps(value)
    except (TypeError, ValueError, RecursionError):
        return None
    deep = text.count("{") + text.count("[") > LEVELS and _levels(text) > LEVELS
    half = _HALF.search(text) is not None and not _encodable(value)
    return None if deep or half else text


def _dumps(value: Json) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _levels(text: str) -> int:
    """How deep the lists and objects of a JSON text nest."""
    steps = (1 if bracket in "[{" else -1 for bracket in _BRACKET.findall(_STRING.sub("", text)))
    return max(accumulate(steps), default=0)


def _encodable(value: Json) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _repaired(told: dict[str, Json], where: Mapping[str, str]) -> tuple[dict[str, Json], list[Fault]]:
    fixed: dict[str, Json] = {}
    found: list[Fault] = []
    for key, value in told.items():
        fixed[key], more = plain(value, where.get(key, f"/{key}"))
        found += more
    return fixed, found


def _field_faults(description: Json, annotations: Json, where: Mapping[str, str]) -> list[Fault]:
    found: list[Fault] = []
    if description is ABSENT or description is None or description == "":
        found.append((where["description"], "there is no description; the tool is found by its name alone"))
    elif not isinstance(description, str):
        found.append((where["description"], f"is {kind(description)}; expected a string. It is ignored"))
    if annotations is not None and not isinstance(annotations, dict):
        found.append((where["annotations"], f"is {kind(annotations)}; expected an object. It is ignored"))
    elif annotations:
        found += [
            (f"{where['annotations']}/{hint}", f"is {kind(annotations[hint])}; expected a boolean")
            for hint in _HINTS
            if annotations.get(hint) is not None and not isinstance(annotations[hint], bool)
        ]
    return found


def with_text(tool: Tool) -> Tool:
    """``tool`` with its searchable text; unchanged where it has one."""
    return tool if tool.text != _EMPTY else replace(tool, text=searchable(tool))


def searchable(tool: Tool) -> ToolText:
    """The searchable text of a tool: bounded, without hidden characters and instructions to the agent."""
    names: dict[str, None] = {}
    pieces: list[str] = []
    for node in walk(tool.parameters, limit=_PLACES, depth=_DEPTH):
        if len(names) < NAME_LIMIT:
            names[_name(node.name)] = None
        pieces.extend(_details(node.schema))
    names.pop("", None)
    return ToolText(
        description=clean(tool.description[:_READ])[:DESCRIPTION_LIMIT],
        parameters=tuple(names),
        details=_joined(pieces),
    )


def _name(name: str) -> str:
    short = name[:100]
    return short if short.isidentifier() and short.isascii() else clean(short)


def _details(schema: Mapping[str, Json]) -> Iterator[str]:
    description = schema.get("description")
    if isinstance(description, str) and description:
        yield description[:_PIECE]
    items = schema.get("items")
    listed = values(schema, limit=8) or (values(items, limit=8) if isinstance(items, dict) else ())
    if listed:
        yield ", ".join(listed)


def _joined(pieces: Iterable[str]) -> str:
    kept: list[str] = []
    size = 0
    for piece in dict.fromkeys(pieces):
        kept.append(piece)
        size += len(piece) + 1
        if size > DETAILS_LIMIT:
            break
    return clean("\n".join(kept))[:DETAILS_LIMIT]


def problems(found: Iterable[Fault], *, source: str, tool: str, kept: bool = True) -> list[Problem]:
    """Faults of one definition as problems of its source, the same place and message once."""
    return [Problem(source, tool, at, message, kept) for at, message in dict.fromkeys(found)]
