"""LlamaIndex's ``ObjectIndex`` over function tools, in its in-memory vector store.

The embedding is the shared static one, which it would otherwise ask of a provider.
"""

# mypy: disable-error-code="import-not-found, import-untyped, no-any-return"
from __future__ import annotations

from typing import Any

from peer_vectors import StaticTable
from peer_wire import Row, serve, unique_names


class Objects:
    """The index, and one retriever for each length of result."""

    def __init__(self) -> None:
        from llama_index.core import VectorStoreIndex, objects, tools

        self._objects: Any = objects
        self._tools: Any = tools
        self._vectors: Any = VectorStoreIndex
        self._embedding = _shared_embedding()
        self._ids: dict[str, str] = {}
        self._retrievers: dict[int, Any] = {}

    def build(self, tools: list[Row]) -> None:
        """Index names and descriptions; a schema it would take only as a pydantic class."""
        self._ids = unique_names(tools)
        self._retrievers = {}
        functions = [
            self._tools.FunctionTool(
                fn=_never,
                metadata=self._tools.ToolMetadata(
                    name=name, description=tool["description"] or name, fn_schema=None
                ),
            )
            for name, tool in zip(self._ids, tools, strict=True)
        ]
        self._index = self._objects.ObjectIndex.from_objects(
            functions, index_cls=self._vectors, embed_model=self._embedding
        )

    def search(self, query: str, k: int) -> list[str]:
        """The nearest tools."""
        if k not in self._retrievers:
            self._retrievers[k] = self._index.as_retriever(similarity_top_k=k)
        return [self._ids[tool.metadata.name] for tool in self._retrievers[k].retrieve(query)]


def _never(**_: Any) -> None:
    """Nothing is ever called."""


def _shared_embedding() -> Any:
    from llama_index.core.base.embeddings.base import BaseEmbedding

    table = StaticTable()

    class SharedEmbedding(BaseEmbedding):  # type: ignore[misc, unused-ignore]
        """The shared vectors as a LlamaIndex embedding."""

        def _get_query_embedding(self, query: str) -> list[float]:
            return table.lists([query])[0]

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return table.lists([query])[0]

        def _get_text_embedding(self, text: str) -> list[float]:
            return table.lists([text])[0]

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return table.lists(texts)

    return SharedEmbedding()


if __name__ == "__main__":
    serve(Objects)
