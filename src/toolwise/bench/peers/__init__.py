"""The rivals: other tool retrievers, each in a virtual environment of its own, driven over a pipe.

A rival is a row of ``RIVALS``: what pip installs (pinned to the versions that
were measured) and which adapter drives it.  An adapter is a small script that
the rival's own Python runs; it never imports toolwise.  ``process`` starts
adapters and installs environments.

Rivals that need an encoder all get the same one, our static table, so that a
comparison is one of methods and not of weights.
"""

from __future__ import annotations

from dataclasses import dataclass

_VECTORS = ("numpy==2.4.6", "safetensors==0.8.0", "tokenizers==0.23.3")


@dataclass(frozen=True, slots=True)
class Rival:
    """One rival: its ``name`` in tables, what pip installs, and the script that drives it."""

    name: str
    requirements: tuple[str, ...]
    adapter: str
    """File name in ``adapters/``."""
    note: str
    home: str
    """The virtual environment, a folder name; variants of one rival share it."""
    options: tuple[str, ...] = ()
    """Arguments of the adapter."""


_CALLBUS = ("callbus==0.3.1", "bm25s==0.3.16", "PyStemmer==3.1.0", *_VECTORS)

RIVALS: dict[str, Rival] = {
    rival.name: rival
    for rival in (
        Rival(
            "agent-tool-router",
            ("agent-tool-router==0.4.0",),
            "agent_tool_router_route.py",
            "TF-IDF over names and descriptions, the router that needs no download",
            "agent-tool-router",
        ),
        Rival(
            "bm25s",
            ("bm25s==0.3.16",),
            "bm25s_plain.py",
            "plain BM25 over lower-case words of name and description, library defaults",
            "bm25s",
        ),
        Rival(
            "callbus-bm25",
            _CALLBUS,
            "callbus_rank.py",
            "its keyword scorer",
            "callbus",
            ("bm25",),
        ),
        Rival(
            "callbus-hybrid",
            _CALLBUS,
            "callbus_rank.py",
            "its keyword scorer and a dense one, fused by reciprocal rank; the shared static vectors",
            "callbus",
            ("hybrid",),
        ),
        Rival(
            "dehydrator",
            ("dehydrator==0.3.1",),
            "dehydrator_index.py",
            "BM25L; its paid reranker is off",
            "dehydrator",
        ),
        Rival(
            "fastmcp",
            ("fastmcp==4.2.3",),
            "fastmcp_search.py",
            "the BM25 search transform, without the server around it",
            "fastmcp",
        ),
        Rival(
            "graph-tool-call",
            ("graph-tool-call==0.47.0",),
            "graph_tool_call_retrieve.py",
            "keywords and graph, its default without an embedding",
            "graph-tool-call",
        ),
        Rival(
            "langgraph-bigtool",
            ("langgraph-bigtool==0.0.3", "langgraph==1.2.24", *_VECTORS),
            "langgraph_bigtool_store.py",
            "cosine in the in-memory store; the shared static vectors",
            "langgraph-bigtool",
        ),
        Rival(
            "llama-index",
            ("llama-index-core==0.14.25", *_VECTORS),
            "llama_index_objects.py",
            "ObjectIndex over the in-memory vector store; the shared static vectors",
            "llama-index",
        ),
        Rival(
            "semantic-router",
            ("semantic-router==1.1.1", *_VECTORS),
            "semantic_router_routes.py",
            "one route per tool; the shared static vectors",
            "semantic-router",
        ),
        Rival(
            "toolscope",
            ("toolscope==0.1.0", *_VECTORS),
            "toolscope_filter.py",
            "in-memory filter; the shared static vectors",
            "toolscope",
        ),
    )
}
"""Every rival by name, in the order of the names."""
