"""bm25s as its first example would use it: lower-case words of name and description, library defaults."""

# mypy: disable-error-code="import-not-found, import-untyped"
from __future__ import annotations

from typing import Any

from peer_wire import Row, serve


class Plain:
    """No stemming, no stop words, no splitting of names: the floor for a lexical ranking."""

    def __init__(self) -> None:
        import bm25s

        self._library: Any = bm25s
        self._ids: list[str] = []

    def build(self, tools: list[Row]) -> None:
        """Index the words of every tool."""
        self._ids = [tool["id"] for tool in tools]
        self._index = self._library.BM25()
        texts = [_words(f"{tool['name']} {tool['description']}") for tool in tools]
        self._index.index(texts, show_progress=False)

    def search(self, query: str, k: int) -> list[str]:
        """Tools that share a word with the request."""
        words = _words(query)
        if not words:
            return []
        rows, scores = self._index.retrieve([words], k=min(k, len(self._ids)), show_progress=False)
        return [self._ids[int(row)] for row, score in zip(rows[0], scores[0], strict=True) if score > 0]


def _words(text: str) -> list[str]:
    return text.lower().split()


if __name__ == "__main__":
    serve(Plain)
