"""Request -> shortlist: lexical, dense, and both."""

from toolwise.retrieve.bm25 import Bm25Retriever
from toolwise.retrieve.bm25 import build as build_bm25
from toolwise.retrieve.clauses import clauses
from toolwise.retrieve.dense import DenseRetriever
from toolwise.retrieve.fit import fitting
from toolwise.retrieve.hybrid import HybridRetriever
from toolwise.retrieve.vocabulary import terms, tool_terms, words

__all__ = [
    "Bm25Retriever",
    "DenseRetriever",
    "HybridRetriever",
    "build_bm25",
    "clauses",
    "fitting",
    "terms",
    "tool_terms",
    "words",
]
