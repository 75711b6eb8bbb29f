"""Small libraries of operations elsewhere, asked in people's own words: what a gate learns manners from.

The libraries of the training have a hundred tools of real servers, and are asked in sentences.  Many a user
has a dozen tools, and asks in four words.  So libraries are made of a few services of the catalogue, some of
their operations left out, and asked for what they have and for what they lack, by requests that were written
for these operations one by one (:mod:`toolwise.learn.own_words`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from toolwise.learn.data import Library, Request
from toolwise.learn.own_words import Asked
from toolwise.learn.sets_data import Room, room
from toolwise.protocols import Bools, Encoder, Floats
from toolwise.retrieve.elsewhere import Elsewhere, operations

SERVICES: Final = 10
"""Most services in a library."""
LEFT_OUT: Final = 0.2
"""Share of a service's operations that a library has not got."""
LACKING: Final = 0.2
"""Requests for other services, for each that is served."""
ALIKE, THE_SAME = 0.5, 0.8
"""Cosine of an operation to a tool from which that may serve as well: of another service, and of its own."""


def made_libraries(
    encoder: Encoder, asked: Sequence[Asked], services: Collection[str], seed: int, count: int
) -> Iterator[tuple[Room, Elsewhere]]:
    """Libraries of some of ``services`` with their requests, each beside the operations it is not made of.

    They are asked what needs one operation.
    """
    rng = np.random.default_rng(seed)
    every = operations()
    vectors = encoder.encode_tools(every)
    told: dict[int, list[str]] = {}
    for one in asked:
        if len(one.rows) == 1 and every[one.rows[0]].server in services:
            told.setdefault(one.rows[0], []).append(one.text)
    known = sorted({every[row].server for row in told})
    for number in range(count):
        drawn = {known[i] for i in rng.permutation(len(known))[: rng.integers(1, SERVICES + 1)]}
        own = [row for row, operation in enumerate(every) if operation.server in drawn]
        kept = [row for row in own if rng.random() >= LEFT_OUT] or own
        said = {row: texts[int(rng.integers(len(texts)))] for row, texts in told.items()}
        requests = [
            *(Request(said[row], (at,)) for at, row in enumerate(kept) if row in said),
            *_lacking(said, own, kept, vectors, rng),
        ]
        library = Library(f"made/{number}", tuple(every[row] for row in kept), tuple(requests))
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
