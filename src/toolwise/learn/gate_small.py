"""Small libraries of operations elsewhere, asked in people's own words: what a gate learns manners from.

The libraries of the training have a hundred tools of real servers, and are asked in sentences.  Many a user
has a dozen tools, and asks in four words.  So libraries are made of a few services of the catalogue, some of
their operations left out, and asked for what they have and for what they lack, by requests that were written
for these operations one by one (``weights/elsewhere/requests.jsonl``).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final

import numpy as np

from toolwise.learn.data import Library, Request
from toolwise.learn.sets_data import Room, room
from toolwise.protocols import Bools, Encoder, Floats
from toolwise.retrieve.elsewhere import CATALOGUE, Elsewhere, operations

REQUESTS: Final = CATALOGUE.with_name("requests.jsonl")
"""One request per line: ``{"id", "request"}``; the id is that of an operation."""
LIBRARIES: Final = 240
SERVICES: Final = 10
"""Most services in a library."""
LEFT_OUT: Final = 0.2
"""Share of a service's operations that a library has not got."""
LACKING: Final = 0.2
"""Requests for other services, for each that is served."""
ALIKE, THE_SAME = 0.5, 0.8
"""Cosine of an operation to a tool from which that may serve as well: of another service, and of its own."""


@cache
def asked() -> Mapping[str, str]:
    """The request for each operation that has one, by the operation's id."""
    rows = [json.loads(line) for line in REQUESTS.read_text(encoding="utf-8").splitlines()]
    return {row["id"]: row["request"] for row in rows}


def small_libraries(encoder: Encoder, seed: int, count: int = LIBRARIES) -> Iterator[tuple[Room, Elsewhere]]:
    """Libraries with their requests, each beside the operations that it is not made of."""
    rng = np.random.default_rng(seed)
    every = operations()
    vectors = encoder.encode_tools(every)
    place = {operation.id: row for row, operation in enumerate(every)}
    told = {place[id_]: request for id_, request in asked().items()}
    services = sorted({every[row].server for row in told})
    for number in range(count):
        drawn = {services[i] for i in rng.permutation(len(services))[: rng.integers(1, SERVICES + 1)]}
        own = [row for row, operation in enumerate(every) if operation.server in drawn]
        kept = [row for row in own if rng.random() >= LEFT_OUT] or own
        requests = [
            *(Request(told[row], (at,)) for at, row in enumerate(kept) if row in told),
            *_lacking(told, own, kept, vectors, rng),
        ]
        library = Library(f"elsewhere/{number}", tuple(every[row] for row in kept), tuple(requests))
        others = vectors.copy()
        others[kept] = 0  # they would know the library's tools by heart
        yield room(library, encoder), Elsewhere(others)


def _lacking(
    told: Mapping[int, str],
    own: Sequence[int],
    kept: Sequence[int],
    vectors: Floats,
    rng: np.random.Generator,
) -> list[Request]:
    """Requests for what was left out of the library's services, and for what other services do."""
    rows = np.array(sorted(told))
    near: Floats = (vectors[rows] @ vectors[list(kept)].T).max(axis=1)
    here: Bools = np.isin(rows, list(own))
    absent = ~np.isin(rows, list(kept)) & (near < np.where(here, THE_SAME, ALIKE))
    left = rows[absent & here].tolist()
    strange = rng.permutation(rows[absent & ~here])[: max(round(LACKING * len(kept)), 1)].tolist()
    return [Request(told[row], ()) for row in (*left, *strange)]
