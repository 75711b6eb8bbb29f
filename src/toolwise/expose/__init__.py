"""What the agent sees: names, sizes and host shapes of a chosen tool set."""

from toolwise.expose.formats import Export, to_anthropic, to_langchain, to_mcp, to_openai
from toolwise.expose.names import export_name, original_ids
from toolwise.expose.tokens import definition_tokens

__all__ = [
    "Export",
    "definition_tokens",
    "export_name",
    "original_ids",
    "to_anthropic",
    "to_langchain",
    "to_mcp",
    "to_openai",
]
