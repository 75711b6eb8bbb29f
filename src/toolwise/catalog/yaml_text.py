"""YAML from strangers: the safe loader, with bounds on nesting, merge keys and aliases."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

from toolwise.catalog.plain import TOO_LARGE, plain
from toolwise.errors import CatalogueError
from toolwise.records import Json, Problem

VALUES = 2_000_000
"""Values a file may spell out to; aliases count as often as they are used."""

_MERGED_KEYS, _MERGED_PARTS = 10_000, 1_000
_FLOW_DEPTH, _BLOCK_DEPTH = 400, re.compile(r"^[ \t?-]{800}", re.MULTILINE)
_MERGE_TAG = "tag:yaml.org,2002:merge"

if TYPE_CHECKING:
    _Base = yaml.SafeLoader
else:
    _Base = object


class _BoundedMerges(_Base):
    """Mixin for a safe loader: ``<<`` of bounded size, which could otherwise grow exponentially."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        for key, value in node.value:
            if key.tag == _MERGE_TAG and len(getattr(value, "value", ())) > _MERGED_PARTS:
                raise _too_much(key, f"a merge key of more than {_MERGED_PARTS} parts")
        super().flatten_mapping(node)
        if len(node.value) > _MERGED_KEYS:
            raise _too_much(node, f"merge keys make more than {_MERGED_KEYS} keys of one object")


class _Loader(_BoundedMerges, yaml.SafeLoader):
    """Pure Python: slow, but deep nesting ends in a RecursionError."""


def _too_much(node: yaml.Node, what: str) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, what, node.start_mark)


def _loader(text: str) -> Any:
    """The C parser where PyYAML has it, unless the text nests so deep that it could overrun the stack."""
    if not hasattr(yaml, "CSafeLoader") or _flow_depth(text) > _FLOW_DEPTH or _BLOCK_DEPTH.search(text):
        return _Loader
    return type("_FastLoader", (_BoundedMerges, yaml.CSafeLoader), {})


def _flow_depth(text: str) -> int:
    """How deep brackets nest at most, those within strings included."""
    depth = deepest = 0
    for bracket in re.findall(r"[\[\]{}]", text):
        depth = depth + 1 if bracket in "[{" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest


def parse_yaml(text: str, source: str) -> tuple[Json, list[Problem]]:
    """The content as JSON values, and what YAML has that JSON lacks.

    Raises CatalogueError (``source``, ``line``) for what is not YAML, and for
    aliases that multiply beyond 2,000,000 values.
    """
    try:
        loaded = yaml.load(text, Loader=_loader(text))
    except (yaml.YAMLError, RecursionError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise _unreadable(error, source) from error
    content, faults = plain(loaded, limit=VALUES)
    if any(message == TOO_LARGE for _, message in faults):
        raise CatalogueError(
            f"{source} spells out to more than {VALUES:,} values: its aliases multiply. Remove them.",
            source=source,
        )
    return content, [Problem(source, "", at, message, kept=True) for at, message in faults]


def _unreadable(error: Exception, source: str) -> CatalogueError:
    mark = getattr(error, "problem_mark", None)
    line = mark.line + 1 if mark else 1
    reason = (
        "it nests too deep" if isinstance(error, RecursionError) else getattr(error, "problem", None) or error
    )
    return CatalogueError(
        f"{source}:{line}: not valid YAML: {reason}. Correct the file, or save it as JSON.",
        source=source,
        line=line,
    )
