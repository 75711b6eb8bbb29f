"""The size of a tool definition in tokens.

One counter everywhere: the compact JSON that a host puts in the prompt
(exported name, description, input schema), its characters divided by four and
rounded up, or, where the setting ``tokenizer`` names a ``tokenizer.json``, its
tokens by that file.  Four characters a token is the usual figure for English
and JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from toolwise.errors import ConfigError
from toolwise.expose.names import export_name
from toolwise.records import Tool

CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """How many tokens a text takes."""

    name: str
    """Two counters of one name count the same."""
    count: Callable[[str], int]


def characters(text: str) -> int:
    """Characters divided by four, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


DEFAULT_COUNTER = TokenCounter("characters/4", characters)


def token_counter(tokenizer: Path | None) -> TokenCounter:
    """The counter of a ``tokenizer.json``; of characters where there is none.

    Raises ConfigError for a file that is no tokenizer.
    """
    if tokenizer is None:
        return DEFAULT_COUNTER
    from tokenizers import Tokenizer

    try:
        content = tokenizer.read_bytes()
        loaded = Tokenizer.from_buffer(content)
    except Exception as error:  # the library raises bare Exception
        raise ConfigError(
            f"setting 'tokenizer' names {tokenizer}, which cannot be used: {error}. "
            "Expected a tokenizer.json, as Hugging Face models carry.",
            setting="tokenizer",
        ) from error

    def count(text: str) -> int:
        return len(loaded.encode(text, add_special_tokens=False).ids)

    return TokenCounter(f"tokenizer:{sha256(content).hexdigest()[:16]}", count)


def definition_tokens(tool: Tool, counter: TokenCounter = DEFAULT_COUNTER) -> int:
    """Tokens of one definition."""
    shown = {"name": export_name(tool.id), "description": tool.description, "inputSchema": tool.parameters}
    return counter.count(json.dumps(shown, ensure_ascii=False, separators=(",", ":")))
