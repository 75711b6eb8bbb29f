"""What an encoder gets to read of a tool or a request: one template for all encoders.

An index is only comparable with requests encoded the same way, so
:data:`TEMPLATE` goes into every encoder's fingerprint; change it with the
functions below.
"""

from __future__ import annotations

import re

from toolwise.records import Tool
from toolwise.text import readable

TEMPLATE = "tool-text-2"
"""Version of the template: changes whenever the text of a tool or a request may change."""

DESCRIPTION_LIMIT = 240
"""Characters of a description that are read: the first sentences say what a tool is for."""
PARAMETER_LIMIT = 16
"""Parameter names that are read, in schema order."""
QUERY_LIMIT = 20_000
"""Characters of a request that are read."""

_HUMP = re.compile(r"[a-z][A-Z]")
_SUSPECT = re.compile(r"[^\W_]_+[^\W_]|[a-z][A-Z]")
_WORD = re.compile(r"\w+")
_CAMEL = re.compile(r"[a-z]{2,}[A-Z]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def _spell_word(match: re.Match[str]) -> str:
    word = match[0]
    inner = "_" in word.strip("_")
    if inner or _CAMEL.match(word) or len(_HUMP.findall(word)) > 1:
        return readable(word)
    return word


def spell_out(text: str) -> str:
    """``text`` with its identifiers as words: ``call getUserInfo`` -> ``call get user info``.

    Only words with an inner underscore, a camelCase start or several humps
    count; brand names of one hump (GitHub, YouTube) stay whole.
    """
    return _WORD.sub(_spell_word, text) if _SUSPECT.search(text) else text


def _cut(text: str, limit: int) -> str:
    """At most ``limit`` characters of ``text``, ending at a blank where there is one."""
    if len(text) <= limit:
        return text
    head = text[:limit]
    return head.rpartition(" ")[0] or head


def _encodable(text: str) -> str:
    """``text`` without lone surrogates, which no tokenizer accepts."""
    return _SURROGATE.sub(" ", text)


def tool_text(tool: Tool) -> str:
    """The text of a tool: ``server: name. description parameters``, identifiers as words, lengths bounded."""
    server = spell_out(tool.server.replace("-", "_")).replace("_", " ")
    head = f"{server}: {readable(tool.name)}." if server else f"{readable(tool.name)}."
    body = spell_out(_cut(" ".join(tool.text.description.split()), DESCRIPTION_LIMIT))
    names = ", ".join(readable(name) for name in tool.text.parameters[:PARAMETER_LIMIT])
    return _encodable(" ".join(part for part in (head, body, names) if part))


def query_text(text: str) -> str:
    """The text of a request: bounded, identifiers as words."""
    return _encodable(spell_out(text[:QUERY_LIMIT]))
