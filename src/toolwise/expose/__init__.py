"""What the agent sees: names, sizes and host shapes of a chosen tool set."""

from toolwise.expose.formats import Export, to_anthropic, to_langchain, to_mcp, to_openai
from toolwise.expose.names import export_name, original_ids
from toolwise.expose.tokens import TokenCounter, definition_tokens, token_counter

__all__ = [
    "Export",
    "TokenCounter",
    "definition_tokens",
    "export_name",
    "original_ids",
    "to_anthropic",
    "to_langchain",
    "to_mcp",
    "to_openai",
    "token_counter",
]
