"""Tools, verdicts and vectors on disk: an SQLite file and memory-mapped arrays; judgements in a ledger."""

from toolwise.store.index import Index
from toolwise.store.ledger import Ledger, now
from toolwise.store.writer import IndexWriter

__all__ = ["Index", "IndexWriter", "Ledger", "now"]
