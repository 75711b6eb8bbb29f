"""Which reader a parsed content belongs to; one place, so that no two readers claim the same content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal, TypeAlias

from toolwise.records import Json

Shape: TypeAlias = Literal["mcp", "functions", "openapi", "rows"]

_FUNCTION_KEYS = ("input_schema", "args_schema", "args", "functionDeclarations", "function_declarations")
_ORDER: tuple[Shape, ...] = ("rows", "mcp", "functions")


def shape_of(content: Json) -> Shape | None:
    """The shape of a whole source; of a list, that of most of its items."""
    if isinstance(content, list):
        return _vote(content)
    if not isinstance(content, dict):
        return None
    if is_openapi(content):
        return "openapi"
    if (tools := page(content)) is not None:
        return _page_shape(*tools)
    if isinstance(content.get("functions"), list):
        return "functions"
    return definition_shape(content) if schema_key(content) or is_function(content) else None


def definition_shape(item: Json) -> Shape | None:
    """The shape of one definition, or of one page of definitions."""
    if not isinstance(item, dict):
        return None
    if page(item) is not None:
        return "mcp"
    told = "name" in item and ("description" in item or "parameters" in item)
    if isinstance(item.get("id"), str) and item.get("type") != "function" and (told or "name" in item):
        return "rows"
    if "inputSchema" in item:
        return "mcp"
    return "functions" if told or is_function(item) else None


def is_function(item: dict[str, Json]) -> bool:
    """Whether ``item`` can only be a function schema of a model's API or a framework."""
    return (
        item.get("type") == "function"
        or isinstance(item.get("function"), dict)
        or any(key in item for key in _FUNCTION_KEYS)
        or is_titled_schema(item)
    )


def is_titled_schema(item: dict[str, Json]) -> bool:
    """Whether ``item`` is a JSON Schema whose title names a function."""
    return "title" in item and isinstance(item.get("properties"), dict) and "name" not in item


def is_openapi(content: dict[str, Json]) -> bool:
    """Whether ``content`` is an OpenAPI document of any version."""
    return "openapi" in content or "swagger" in content or isinstance(content.get("paths"), dict)


def page(content: dict[str, Json]) -> tuple[str, Json] | None:
    """Pointer and value of the ``tools`` of a listing page, bare or wrapped by JSON-RPC; else None."""
    result = content.get("result")
    if isinstance(result, dict) and "tools" in result:
        return "/result/tools", result["tools"]
    return ("/tools", content["tools"]) if "tools" in content else None


def _page_shape(pointer: str, tools: Json) -> Shape:
    """That of ``tools``: a request to a model's API has them under this key too."""
    items = [item for item in tools if isinstance(item, dict)] if isinstance(tools, list) else []
    functions = sum(is_function(item) or "parameters" in item for item in items)
    listed = sum("inputSchema" in item for item in items)
    return "functions" if pointer == "/tools" and functions > listed else "mcp"


def schema_key(item: dict[str, Json]) -> str | None:
    """The key under which ``item`` keeps the schema of its parameters; None where it has none."""
    keys = ("inputSchema", "input_schema", "parameters", "parametersJsonSchema", "args_schema", "args")
    return next((key for key in keys if key in item), None)


def _vote(items: Iterable[Json]) -> Shape | None:
    votes: Counter[Shape] = Counter(shape for item in items if (shape := definition_shape(item)))
    ranked = sorted(_ORDER, key=lambda shape: -votes[shape])
    return ranked[0] if votes else None
