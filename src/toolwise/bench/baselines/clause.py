"""BM25 over the clauses of a request: a request that asks for several things is several searches.

A request is split at the ends of sentences, at commas, list marks and words
such as "and" or "then" (eleven languages); a piece of fewer than two index
terms goes with the piece before it.  Each clause and the whole request are
scored on their own.  With s_c(t) divided by the clause's best score, a tool's
score is

    score(t) = whole(t) + max over clauses c of s_c(t),   in [0, 2],

so that the best tool of every clause comes up, and what suits the whole
request as well comes up first.  A request of one clause is plain BM25.  On
training requests (800 of mcp_tasks, 300 of metatool, 400 of Seal-Tools dev)
this rule came out ahead of the best clause alone, of the best reciprocal rank
and of either beside the whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from toolwise.bench.data import Task
from toolwise.bench.system import Ranking
from toolwise.protocols import Floats
from toolwise.records import Query, Tool
from toolwise.retrieve import Bm25Retriever, build_bm25, terms
from toolwise.retrieve.ranking import best_rows

MOST_CLAUSES = 24
"""Clauses that are searched for; what comes after counts in the whole alone."""
LEAST_TERMS = 2

_WORDS = (
    "after that,afterwards,also,and,and also,and then,as well as,finally,then",  # English
    "y,y luego,luego,después,además,así como",  # Spanish
    "et,et puis,puis,ensuite,ainsi que,également",  # French
    "und,und dann,dann,danach,sowie,außerdem,anschließend",  # German
    "e,e depois,depois,também,e poi,poi,inoltre,nonché,infine",  # Portuguese, Italian
    "en dan,daarna,vervolgens,evenals",  # Dutch
    "и,затем,потом,а также,после этого",  # Russian
    "ثم,وبعد ذلك",  # Arabic
    "그리고,그런 다음,또한",  # Korean
)
_UNSPACED = "然后|然後|并且|並且|以及|接着|接著|同时|同時|另外|そして|それから|また、|さらに|次に"
_SPACED = "|".join(sorted({word for line in _WORDS for word in line.split(",")}, key=len, reverse=True))
_BREAK = re.compile(
    r"(?m:^)[ \t]*(?:[-*+•·–—]|\(?(?:\d{1,2}|[A-Za-z])[.)])[ \t]+"  # marks of a list, each on its line
    r"|(?<=[:;,.]\s)\d{1,2}\.\s|(?<!\S)\(?(?:\d{1,2}|[a-z])\)\s"  # or in a row: "do this: 1) ... 2) ..."
    r"|[.!?…]+(?=\s|$)|[。！？；，、،؛؟।\n;]|,(?=\s|$)|:(?=\s|$)|\s[-–—]+\s"
    rf"|{_UNSPACED}"
    rf"|(?<!\S)(?:{_SPACED})(?=\s)",
    re.IGNORECASE,
)


def clauses(text: str) -> list[str]:
    """The clauses of a request, at least one, in order; each has two index terms or more where the text has.

    >>> clauses("Book a flight to Oslo and then email the itinerary to Kim.")
    ['Book a flight to Oslo', 'email the itinerary to Kim']
    """
    found: list[str] = []
    waiting = ""
    for piece in _BREAK.split(text):
        waiting = f"{waiting} {piece.strip()}".strip()
        if not waiting:
            continue
        if len(terms(waiting)) >= LEAST_TERMS:
            found.append(waiting)
            waiting = ""
        elif found:
            found[-1] = f"{found[-1]} {waiting}"
            waiting = ""
    if waiting:
        found.append(waiting)
    return found or [text]


def merge(whole: Floats, parts: Sequence[Floats]) -> Floats:
    """One score per tool (N,) of the request's scores (N,) and those of its clauses; see the module."""
    best = np.zeros_like(whole)
    for scores in parts:
        best = np.maximum(best, _of_best(scores))
    return np.asarray(_of_best(whole) + best, np.float32)


def _of_best(scores: Floats) -> Floats:
    top = float(scores.max(initial=0.0))
    return scores / np.float32(top) if top > 0 else np.zeros_like(scores)


class ClauseBm25System:
    """BM25 by clauses."""

    name = "clause-bm25"

    def fit(self, tools: Sequence[Tool], train: Sequence[Task]) -> None:
        """Index the tools."""
        self._ids = [tool.id for tool in tools]
        self._bm25 = Bm25Retriever(build_bm25(tools), self._ids)

    def rank(self, query: Query, k: int) -> Ranking:
        """The best ``k`` tools that share a term with the request."""
        parts = clauses(query.text)[:MOST_CLAUSES]
        scores = merge(self._bm25.score(query.text), [self._bm25.score(part) for part in parts])
        rows = best_rows(scores, k)
        return [(self._ids[row], float(scores[row])) for row in rows if scores[row] > 0]
