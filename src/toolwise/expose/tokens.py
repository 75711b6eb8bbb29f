"""The size of a tool definition in tokens.

One counter everywhere: the characters of the compact JSON that a host puts in
the prompt (exported name, description, input schema), divided by four, rounded
up.  Four characters a token is the usual figure for English and JSON.
"""

from __future__ import annotations

import json

from toolwise.expose.names import export_name
from toolwise.records import Tool

CHARACTERS_PER_TOKEN = 4


def definition_tokens(tool: Tool) -> int:
    """Tokens of one definition."""
    shown = {"name": export_name(tool.id), "description": tool.description, "inputSchema": tool.parameters}
    characters = len(json.dumps(shown, ensure_ascii=False, separators=(",", ":")))
    return -(-characters // CHARACTERS_PER_TOKEN)
