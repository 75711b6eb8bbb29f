"""Arguments of a call against the input schema of the tool, before any server sees them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolwise.records import Json

_MOST = 3
"""Faults that are named."""


def fault(schema: Json, arguments: Mapping[str, Any]) -> str:
    """What is wrong with ``arguments``, as a clause; ``""`` where nothing is.

    A schema that is broken itself, or points outside of itself, admits everything: its server knows better.
    No reference is ever fetched.
    """
    from jsonschema import exceptions, validators
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    if not isinstance(schema, dict):
        return ""
    try:
        kind = validators.validator_for(schema, default=validators.Draft202012Validator)
        kind.check_schema(schema)
        found = sorted(
            kind(schema, registry=Registry()).iter_errors(dict(arguments)), key=exceptions.relevance
        )
    except (exceptions.SchemaError, Unresolvable, RecursionError, ValueError, TypeError):
        return ""
    return "; ".join(f"{error.json_path}: {error.message[:200]}" for error in found[:_MOST])
