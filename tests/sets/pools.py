"""A small library with a retriever, and a default scorer over it."""

from __future__ import annotations

import numpy as np

from tests.builders import WordEncoder, tool
from toolwise.records import Candidate, Query, Tool, ToolText
from toolwise.retrieve import Bm25Retriever, DenseRetriever, HybridRetriever, build_bm25
from toolwise.sets.default import DefaultScorer
from toolwise.sets.default_weights import WIDTHS, Perceptron, Weights, plain

WORDS = ("list", "order", "cancel", "send", "mail", "team", "weather", "invoice")
REQUEST = Query("q", "cancel my order and send a mail to the team")


def needing(id_: str, description: str, *required: str) -> Tool:
    """A tool with required parameters."""
    schema = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in required},
        "required": list(required),
    }
    return tool(id_, description, parameters=schema, text=ToolText(description, required))


LIBRARY = (
    needing("mail/list_mails", "List mails."),
    needing("mail/send_mail", "Send a mail.", "team_id"),
    needing("shop/cancel_order", "Cancel an order. Use list_orders to find the id.", "order_id"),
    needing("shop/list_orders", "List every order."),
    needing("sky/get_weather", "The weather of today."),
    needing("team/list_teams", "List each team."),
)


def retriever(library: tuple[Tool, ...] = LIBRARY) -> HybridRetriever:
    """Hybrid retrieval by word counts and BM25."""
    ids = [one.id for one in library]
    encoder = WordEncoder(WORDS)
    dense = DenseRetriever(encoder, encoder.encode_tools(library), ids)
    return HybridRetriever(Bm25Retriever(build_bm25(library), ids), dense, ids)


def scorer(weights: Weights | None = None, library: tuple[Tool, ...] = LIBRARY) -> DefaultScorer:
    """The default scorer of a library, with weights that know nothing unless given."""
    return DefaultScorer(
        retriever(library),
        lambda pool: [library[candidate.row] for candidate in pool],
        WordEncoder(WORDS).encode_tools(library),
        plain() if weights is None else weights,
    )


def pool(found: HybridRetriever, query: Query = REQUEST, k: int = 6) -> list[Candidate]:
    """The retriever's candidates."""
    return list(found.retrieve(query, k).candidates)


def random_weights(seed: int = 0) -> Weights:
    """Weights that say something about everything."""
    rng = np.random.default_rng(seed)

    def drawn(*shape: int) -> np.ndarray:
        return (0.3 * rng.normal(size=shape)).astype(np.float32)

    made = {
        name: Perceptron(drawn(i), np.full(i, 10, np.float32), drawn(i, 4), drawn(4), drawn(4, o), drawn(o))
        for name, (i, o) in WIDTHS.items()
    }
    usual = np.array([[0.0], [1e6]], np.float32) * np.ones((1, 5), np.float32)
    return Weights(**made, base=np.array([1.0, 0.5], np.float32), sizes=drawn(6), usual=usual)
