"""An answer in the native shape of a host: MCP, OpenAI, Anthropic, LangChain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from toolwise.expose.safe_schema import provider_safe
from toolwise.hygiene import clean
from toolwise.records import ExposedTool, Exposure, Json, as_mapping


@dataclass(frozen=True, slots=True)
class Export:
    """A payload for a host, and what had to be changed for it."""

    payload: Json
    notes: tuple[str, ...] = ()


def to_mcp(exposure: Exposure) -> Export:
    """A ``tools/list`` result; definitions as they came but for what was hidden in their descriptions."""
    return Export({"tools": [_mcp_tool(exposed) for exposed in exposure.tools]})


def to_openai(exposure: Exposure) -> Export:
    """The ``tools`` of a chat completion request."""
    return _each(
        exposure,
        lambda name, description, schema: {
            "type": "function",
            "function": {"name": name, "description": description, "parameters": schema},
        },
    )


def to_anthropic(exposure: Exposure) -> Export:
    """The ``tools`` of a messages request."""
    return _each(
        exposure,
        lambda name, description, schema: {"name": name, "description": description, "input_schema": schema},
    )


def to_langchain(exposure: Exposure) -> Export:
    """Keyword arguments of ``StructuredTool``, one object per tool, without the function to call."""
    return _each(
        exposure,
        lambda name, description, schema: {"name": name, "description": description, "args_schema": schema},
    )


def _each(exposure: Exposure, shape: Callable[[str, str, Json], Json]) -> Export:
    payload: list[Json] = []
    notes: list[str] = []
    for exposed in exposure.tools:
        schema, changes = provider_safe(exposed.tool.parameters)
        description = clean(exposed.tool.description)
        if description != exposed.tool.description:
            notes.append(f"{exposed.id}: hidden text or orders to the agent were cut from its description")
        payload.append(shape(exposed.name, description, schema))
        notes += [f"{exposed.id}: {change}" for change in changes]
    return Export(payload, tuple(notes))


def _mcp_tool(exposed: ExposedTool) -> Json:
    tool = exposed.tool
    schema = as_mapping(tool.parameters)
    shown = {
        "name": exposed.name,
        "title": tool.title,
        "description": clean(tool.description),
        "inputSchema": schema if schema.get("type") else {**schema, "type": "object"},
        "outputSchema": as_mapping(tool.returns),
        "annotations": as_mapping(tool.annotations),
    }
    return {key: value for key, value in shown.items() if value or key in ("name", "inputSchema")}
