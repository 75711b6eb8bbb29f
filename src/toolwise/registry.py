"""Components by kind and name: one table, lazy imports, entry points of the same kinds.

A built-in is one line of the table below.  A component from outside is an
entry point of the group ``toolwise.<kind>``; outside plugins are switched off
with ``TOOLWISE_PLUGINS=0`` (see :mod:`toolwise.config`).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from toolwise.config import settings
from toolwise.errors import RegistryError

_BUILT_IN: dict[str, dict[str, str]] = {
    "reader": {
        "mcp": "toolwise.catalog.mcp_listing:McpListingReader",
        "functions": "toolwise.catalog.functions:FunctionReader",
        "openapi": "toolwise.catalog.openapi:OpenApiReader",
        "rows": "toolwise.catalog.rows:RowReader",
    },
    "annotator": {
        "rules": "toolwise.audit.rules:RuleAnnotator",
        "hints": "toolwise.audit.hints:HintAnnotator",
        "languages": "toolwise.audit.languages:LanguageAnnotator",
        "poisoning": "toolwise.audit.poisoning:PoisoningAnnotator",
        "head": "toolwise.audit.head:HeadAnnotator",
        "llm": "toolwise.audit.llm:LlmAnnotator",
    },
    "encoder": {
        "static": "toolwise.encode.static:StaticEncoder",
        "onnx": "toolwise.encode.onnx:OnnxEncoder",
        "sentence-transformers": "toolwise.encode.sentence_transformers:SentenceTransformersEncoder",
        "openai": "toolwise.encode.openai:OpenAIEncoder",
    },
    "retriever": {
        "bm25": "toolwise.retrieve.bm25:Bm25Retriever",
        "dense": "toolwise.retrieve.dense:DenseRetriever",
        "hybrid": "toolwise.retrieve.hybrid:HybridRetriever",
    },
    "reranker": {
        "dual-head": "toolwise.rerank.dual_head:DualHeadReranker",
        "tool-graph": "toolwise.rerank.toolgraph:ToolGraphReranker",
        "rule-filter": "toolwise.rerank.rule_filter:RuleFilterReranker",
    },
    "scorer": {
        "default": "toolwise.sets.default:DefaultScorer",
    },
    "format": {
        "mcp": "toolwise.expose.formats:to_mcp",
        "openai": "toolwise.expose.formats:to_openai",
        "anthropic": "toolwise.expose.formats:to_anthropic",
        "langchain": "toolwise.expose.formats:to_langchain",
    },
}


@cache
def _table(kind: str) -> dict[str, str]:
    if kind not in _BUILT_IN:
        raise RegistryError(
            f"there is no kind of component called {kind!r}; the kinds are {', '.join(sorted(_BUILT_IN))}.",
            kind=kind,
        )
    table = dict(_BUILT_IN[kind])
    if settings().plugins:
        for point in entry_points(group=f"toolwise.{kind}"):
            if point.name in table:
                raise RegistryError(
                    f"two components are registered as {kind} {point.name!r}: {table[point.name]} and "
                    f"{point.value}. Rename or uninstall one, or set TOOLWISE_PLUGINS=0.",
                    kind=kind,
                    name=point.name,
                )
            table[point.name] = point.value
    return table


def names(kind: str) -> tuple[str, ...]:
    """Names registered under ``kind``, sorted.  Raises RegistryError for an unknown kind."""
    return tuple(sorted(_table(kind)))


def get(kind: str, name: str) -> Any:
    """The component itself (a class or function), imported now.

    Raises RegistryError for an unknown kind or name.
    """
    table = _table(kind)
    if name not in table:
        raise RegistryError(
            f"there is no {kind} called {name!r}; registered: {', '.join(sorted(table))}.",
            kind=kind,
            name=name,
        )
    module, _, attribute = table[name].partition(":")
    return getattr(import_module(module), attribute)
