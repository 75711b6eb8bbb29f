"""Arguments of a call against the input schema of the tool, before any server sees them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from toolwise.records import Json

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

_MOST = 3
"""Faults that are named."""
DEEPEST = 64
"""Levels that arguments may be nested."""
_MOST_SCHEMAS = 1024
_LARGEST = 20_000
"""Nodes of a schema that is checked, references written out."""
_MOST_RETURNS = 1
_LEFT_OUT = ("pattern", "patternProperties", "unevaluatedProperties")
"""What a schema says by regular expressions is left to its server: one that takes for ever would stop us."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with some arguments."""

    message: str
    """A clause for the caller; it may repeat values."""
    where: str
    """Place and rule alone, for the log."""


class Arguments:
    """Checks arguments; the validators of schemas seen lately are kept."""

    def __init__(self) -> None:
        self._validators: OrderedDict[str, Validator | None] = OrderedDict()

    def fault(self, key: str, schema: Json, arguments: Mapping[str, Any]) -> Fault | None:
        """What is wrong with ``arguments``; None where nothing is.  Schemas of one ``key`` are the same.

        A schema that is broken itself, or points outside of itself, admits everything: its server knows
        better.  No reference is ever fetched.
        """
        from jsonschema import exceptions
        from referencing.exceptions import Unresolvable

        if _is_deeper(arguments, DEEPEST):
            return Fault(f"the arguments are nested more than {DEEPEST} deep", "too deep")
        validator = self._validator(key, schema)
        if validator is None:
            return None
        try:
            found = sorted(validator.iter_errors(dict(arguments)), key=exceptions.relevance)[:_MOST]
        except (Unresolvable, RecursionError, ValueError, TypeError):
            return None
        if not found:
            return None
        return Fault(
            "; ".join(f"{error.json_path}: {error.message[:200]}" for error in found),
            "; ".join(f"{_place(error.absolute_schema_path)}: {error.validator}" for error in found),
        )

    def _validator(self, key: str, schema: Json) -> Validator | None:
        if key in self._validators:
            self._validators.move_to_end(key)
            return self._validators[key]
        made = self._validators[key] = _made(schema)
        if len(self._validators) > _MOST_SCHEMAS:
            self._validators.popitem(last=False)
        return made


def _place(path: Any) -> str:
    """Where in the schema; unlike the place in the arguments, no caller has a say in it."""
    return "/".join(map(str, path))[:100]


def _made(schema: Json) -> Validator | None:
    from jsonschema import exceptions, validators
    from referencing import Registry

    if not isinstance(schema, dict):
        return None
    kind = validators.validator_for(schema, default=validators.Draft202012Validator)
    try:
        if not _is_small(schema):
            return None
        kind.check_schema(schema)
    except (exceptions.SchemaError, RecursionError, ValueError, TypeError):
        return None
    made: Validator = _without_expressions(kind)(_of_one_dialect(schema), registry=Registry())
    return made


def _of_one_dialect(schema: Json, *, root: bool = True) -> Json:
    """``schema`` without ``$schema`` below its root: another dialect would bring expressions back."""
    if isinstance(schema, list):
        return [_of_one_dialect(item, root=False) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _of_one_dialect(value, root=False)
        for key, value in schema.items()
        if root or key != "$schema" or not isinstance(value, str)
    }


def _is_small(schema: Mapping[str, Json]) -> bool:
    """Whether ``schema`` stays below ``_LARGEST`` nodes with every reference written out.

    References that are not pointers into it are left to its server, and so are those that lead
    back to themselves more than once: both can take for ever.
    """
    sizes: dict[str, int] = {}
    open_: set[str] = set()
    returns = 0

    def size(node: Json) -> int:
        nonlocal returns
        if isinstance(node, list):
            return sum(map(size, node))
        if not isinstance(node, dict):
            return 1
        total = 1
        for key, value in node.items():
            named = isinstance(value, str)
            if named and (key in ("$dynamicRef", "$recursiveRef") or (key == "$id" and node is not schema)):
                return _LARGEST
            if key != "$ref" or not named:
                total += size(value)
            elif not value.startswith("#"):
                return _LARGEST
            elif value in open_:
                returns += 1
            else:
                if value not in sizes:
                    open_.add(value)
                    sizes[value] = size(_at(schema, value))
                    open_.discard(value)
                total += sizes[value]
        return min(total, _LARGEST)

    return size(schema) < _LARGEST and returns <= _MOST_RETURNS


def _at(schema: Json, pointer: str) -> Json:
    """What a JSON pointer (``#/$defs/a``) leads to; None where it leads nowhere."""
    for part in pointer[1:].split("/")[1:]:
        step = part.replace("~1", "/").replace("~0", "~")
        if isinstance(schema, dict):
            schema = schema.get(step)
        elif isinstance(schema, list) and step.isdecimal() and int(step) < len(schema):
            schema = schema[int(step)]
        else:
            return None
    return schema


@cache
def _without_expressions(kind: Any) -> Any:
    """``kind`` of validator, judging nothing by a regular expression."""
    from jsonschema import validators

    extend: Any = validators.extend
    additional = kind.VALIDATORS.get("additionalProperties")

    def nothing(validator: Validator, value: Json, instance: Json, schema: Json) -> Iterator[Any]:
        return iter(())

    def additional_properties(
        validator: Validator, value: Json, instance: Json, schema: Json
    ) -> Iterator[Any]:
        if "patternProperties" in schema:
            return
        yield from additional(validator, value, instance, schema) or ()

    changed: dict[str, Any] = {name: nothing for name in _LEFT_OUT if name in kind.VALIDATORS}
    if additional is not None:
        changed["additionalProperties"] = additional_properties
    return extend(kind, changed)


def _is_deeper(value: Json, most: int) -> bool:
    """Whether ``value`` is nested more than ``most`` deep; looks at each level once, without recursion."""
    layer = [value]
    for _ in range(most):
        layer = [
            inner
            for outer in layer
            for inner in (outer.values() if isinstance(outer, Mapping) else outer)
            if isinstance(inner, Mapping | list)
        ]
        if not layer:
            return False
    return True
