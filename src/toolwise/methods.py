"""The ways to answer a request, by name: which retriever, reranker and set scorer work together.

    bm25, dense, hybrid   a retriever; its ranking is walked under the policy
    dual-head             hybrid, put in order by relevance less risk
    toolwise              hybrid, and the best of all tool sets the policy admits

Retrievers from other packages are methods by their own names.
"""

from __future__ import annotations

from dataclasses import dataclass

from toolwise import registry
from toolwise.errors import RegistryError
from toolwise.protocols import Reranker, Retriever, SetScorer
from toolwise.store import Index


@dataclass(frozen=True, slots=True)
class Recipe:
    """Names of components; ``""`` where none of the kind takes part."""

    retriever: str
    reranker: str = ""
    scorer: str = ""


_RECIPES = {
    "dual-head": Recipe("hybrid", reranker="dual-head"),
    "toolwise": Recipe("hybrid", scorer="default"),
}


@dataclass(frozen=True, slots=True)
class Parts:
    """Components, open over one index."""

    retriever: Retriever
    reranker: Reranker | None = None
    scorer: SetScorer | None = None


def names() -> tuple[str, ...]:
    """Every method, sorted."""
    return tuple(sorted({*_RECIPES, *registry.names("retriever")}))


def recipe(method: str) -> Recipe:
    """What a method is made of.  Raises RegistryError for an unknown one."""
    if method in _RECIPES:
        return _RECIPES[method]
    if method in registry.names("retriever"):
        return Recipe(method)
    raise RegistryError(
        f"there is no method called {method!r}; there are {', '.join(names())}.", kind="method", name=method
    )


def open_parts(method: str, index: Index) -> Parts:
    """The components of ``method`` over ``index``.  Raises what opening them raises."""
    chosen = recipe(method)
    retriever: Retriever = registry.get("retriever", chosen.retriever).open(index)
    reranker = registry.get("reranker", chosen.reranker).open(index) if chosen.reranker else None
    scorer = registry.get("scorer", chosen.scorer).open(index, retriever) if chosen.scorer else None
    return Parts(retriever, reranker, scorer)
