"""Tools, verdicts and vectors on disk: an SQLite file and memory-mapped arrays."""

from toolwise.store.index import Index
from toolwise.store.writer import IndexWriter

__all__ = ["Index", "IndexWriter"]
