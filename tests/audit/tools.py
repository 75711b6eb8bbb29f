"""Tools of our own invention for the tests of the audit."""

from __future__ import annotations

from toolwise.hygiene import clean
from toolwise.records import Json, Tool, ToolText
from toolwise.schema import walk


def tool(
    name: str, description: str = "", *parameters: str, schema: Json = None, annotations: Json = None
) -> Tool:
    """A tool with string parameters of these names, or with this schema."""
    if schema is None:
        schema = {"type": "object", "properties": {key: {"type": "string"} for key in parameters}}
    names = tuple(node.name for node in walk(schema))
    return Tool(
        id=f"acme/{name}",
        name=name,
        server="acme",
        description=description,
        parameters=schema,
        annotations=annotations,
        text=ToolText(clean(description), names),
    )
