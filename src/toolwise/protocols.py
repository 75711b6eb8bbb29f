"""The seams of the house: what a component of each kind must do, and the laws it keeps.

A contract test runs over everything registered under each kind
(``tests/test_contracts.py``).  Axes: Q queries, N tools of the index, D
dimensions, K candidates of a shortlist or pool, S tool sets.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolwise.records import (
    Candidate,
    Catalogue,
    Exposure,
    Json,
    Observation,
    Query,
    Shortlist,
    Tool,
    ToolSet,
    Transcript,
    Verdict,
)

Floats: TypeAlias = NDArray[np.float32]
Bools: TypeAlias = NDArray[np.bool_]
Ints: TypeAlias = NDArray[np.int64]


class Reader(Protocol):
    """Turn the parsed content of one source into canonical tools.

    Laws: one broken tool never loses the others (it is kept or left out, and
    reported as a problem); tools come in the order of the source; the content
    is never changed in place and nothing in it is executed.
    """

    def recognises(self, content: object) -> bool:
        """Whether ``content`` (parsed JSON or YAML, or a list of JSONL rows) has this reader's shape."""

    def read(self, content: object, source: str, server: str) -> Catalogue:
        """Read ``content``; ``source`` names it in problems, ``server`` is the server where it names none."""


class Annotator(Protocol):
    """Say what a tool can do.

    Laws: one verdict per tool in order; deterministic; never raises for a
    tool's content; a verdict depends on that tool alone.
    """

    name: str

    def annotate(self, tools: Sequence[Tool]) -> list[Verdict]:
        """Judge each tool; ``level`` None where this annotator cannot tell."""


class Encoder(Protocol):
    """Turn texts into vectors.

    Laws: rows are float32 of unit length, or all zero where a text has nothing
    the encoder knows; a row depends on its own text alone; the same fingerprint
    means the same vectors.
    """

    dim: int
    fingerprint: str
    """Name, weights hash and text template: two encoders with one fingerprint are interchangeable."""

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        """Texts of requests -> (Q, D)."""

    def encode_tools(self, tools: Sequence[Tool]) -> Floats:
        """Tools, by their searchable text -> (N, D)."""


class Retriever(Protocol):
    """Rank the tools of an index for a query.

    Laws: at most k candidates; scores never increase; equal scores in order of
    id; with ``within`` only rows it admits; a score does not depend on k or
    ``within``.
    """

    def retrieve(self, query: Query, k: int, within: Bools | None = None) -> Shortlist:
        """The best ``k`` tools; ``within`` (N,) marks the rows that may be returned."""


class Reranker(Protocol):
    """Put a shortlist into a new order.

    Laws: the candidates stay the same, scores may change; scores never increase
    and equal ones stand in order of id; the confidence is kept; deterministic.
    """

    def rerank(self, query: Query, shortlist: Shortlist) -> Shortlist:
        """The candidates of ``shortlist``, best first by this reranker."""


@dataclass(frozen=True, slots=True)
class SetEnergy:
    """How a scorer values every tool set E of a pool of K candidates, sizes 0 to M.

    ``F(E) = align(E) + sum over pairs a < b of E of pairs[|E|, a, b] + sizes[|E|]``,
    where ``align`` is the sum of ``unary`` over E or, with ``mean``, their
    softmax-weighted mean (HYSET, eq. 6); 0 for the empty set.
    """

    unary: Floats
    """(K,): each candidate alone."""
    pairs: Floats
    """(M + 1, K, K): symmetric, one matrix per size; those of sizes 0 and 1 count nothing."""
    sizes: Floats
    """(M + 1,): the bias of each size, the empty set's first; -inf where a size is not on offer."""
    mean: bool = False
    unserved: float | None = None
    """Probability that no tool of the library serves, where that is known better than by the pool's sets."""
    values: Floats | None = None
    """F of every set of 0 to M candidates, in the order of :func:`toolwise.sets.kernel.subsets`, where it has
    been worked out; not to be written to.  Whoever replaces anything but ``unserved`` has to drop it."""


class SetScorer(Protocol):
    """Value the tool sets of a pool for a request.

    Laws: the value of a set does not depend on the order of its members or of
    the pool; a tool that was added a moment ago is valued like any other.
    """

    def narrow(self, query: Query, candidates: Sequence[Candidate], k: int) -> Sequence[Candidate]:
        """The ``k`` candidates whose sets are worth valuing, best first."""

    def energy(self, query: Query, pool: Sequence[Candidate]) -> SetEnergy:
        """Pool of K candidates, in any order."""


class Constraint(Protocol):
    """One rule of a policy over tool sets drawn from a pool of K candidates.

    Laws: a set is judged by its members alone; the empty set is always
    admitted; if a set is admitted, so is every subset of it (rules only take away).
    """

    @property
    def rule(self) -> str:
        """Stable kebab-case name shown in the answer."""

    def admits(self, sets: Bools) -> Bools:
        """Membership matrix (S, K) -> (S,): which sets keep this rule."""

    def explain(self, member: int, beside: Sequence[int] = ()) -> str:
        """Why candidate ``member`` of the pool breaks the rule, as a clause for a person.

        ``beside`` are the candidates it would have joined; a rule that they break together names those.
        """


class SetSearch(Protocol):
    """Choose a tool set from a pool under constraints.

    Laws: every constraint admits the chosen set; a withheld tool is not chosen
    and would be in the answer were there no constraints.
    """

    def search(
        self,
        pool: Sequence[Candidate],
        constraints: Sequence[Constraint],
        levels: Ints,
        first: frozenset[int],
    ) -> ToolSet:
        """Pool of K candidates best first, their levels (K,), and members before all others (pins)."""


class Execute(Protocol):
    """Call a tool of the environment for real.

    Laws: whatever a tool, its arguments or its server do wrong is an observation;
    an error that is raised ends the run of the agent.
    """

    def __call__(self, tool: str, arguments: Mapping[str, Json], /) -> Observation | Awaitable[Observation]:
        """Call the tool with the id ``tool``."""


class Agent(Protocol):
    """Serve a request with the tools at hand.

    Laws: no tool is called but those offered; every call that was made is in
    the transcript, in order of time, with what came of it; a run ends, within
    bounds that the agent states; a tool that fails, and text that a tool
    returns, never raise; the same name means the same model, instruction and
    bounds.
    """

    @property
    def name(self) -> str:
        """Model, instruction and bounds, as one text."""

    def run(self, exposure: Exposure, execute: Execute) -> Transcript:
        """Serve the request of ``exposure`` with its tools and no others."""


class Progress(Protocol):
    """Hear how a long piece of work gets on."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """``done`` of ``total`` units of ``stage`` are finished."""


def silent(stage: str, done: int, total: int) -> None:
    """The progress listener that does not listen."""
