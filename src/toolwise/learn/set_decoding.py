"""Shortlists, greedy rankings and best sets of a set scorer under training, in minibatches.

The same two stages as at inference (HYSET, eq. 12 to 14), on torch tensors:
development measures and comparators use them, the deployed scorer does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from toolwise.learn.hyperedge_pools import Example
from toolwise.learn.set_networks import Hyperedges, SetNetwork
from toolwise.protocols import Floats, Ints
from toolwise.sets.kernel import Subsets, subsets

NEAR = 15
"""K_1 of the paper: tools of the shortlist that score best alone."""
POOL = 20
"""K_pool of the paper."""
_CHUNK = 32


@dataclass(frozen=True, slots=True)
class Decoded:
    """What a scorer makes of one request; rows of tools."""

    ranking: tuple[int, ...]
    """The whole shortlist: greedily by F up to the largest size, then by l."""
    best: tuple[int, ...]
    """The set of greatest F, ascending."""


def shortlist(network: SetNetwork, requests: Any, rows: Any, near: int = NEAR, pool: int = POOL) -> Any:
    """Rows (B, K), ascending, of each request's shortlist among ``rows`` (n,).

    ``near`` of them by l, the others by complementarity under the matrix of the
    largest size; a scorer without matrices takes all by l.
    """
    scores = network.unary(requests, rows)  # (B, n)
    pool = min(pool, len(rows))
    near = min(near, pool) if isinstance(network, Hyperedges) else pool
    places = scores.topk(near, 1).indices
    if isinstance(network, Hyperedges) and near < pool:
        vectors = network.table[rows]
        turned = vectors @ network.matrices()[-1]  # (n, D)
        gains = (turned[places] @ vectors.T).amax(1)  # (B, n)
        gains = gains.scatter(1, places, float("-inf"))
        places = network.torch.cat([places, gains.topk(pool - near, 1).indices], 1)
    return rows[places.sort(1).values]


def greedy(network: SetNetwork, requests: Any, pool: Any, steps: int, largest: int) -> Any:
    """Rows (B, steps) picked by greatest F with those before them, ``steps`` <= ``largest``; ties by row."""
    torch = network.torch
    batch, width = pool.shape
    picked = pool.new_full((batch, 0), -1)
    taken = torch.zeros_like(pool, dtype=torch.bool)
    for _ in range(min(steps, width)):
        padding = pool.new_full((batch, width, largest - 1 - picked.shape[1]), -1)
        before = picked[:, None].expand(-1, width, -1)
        members = torch.cat([before, pool[..., None], padding], -1)
        values = network.energy(requests, members).masked_fill(taken, float("-inf"))
        place = values.argmax(1, keepdim=True)
        taken = taken.scatter(1, place, True)
        picked = torch.cat([picked, pool.gather(1, place)], 1)
    return picked


def recall(
    network: SetNetwork,
    requests: Floats,
    examples: Sequence[Example],
    libraries: Sequence[Ints],
    largest: int,
) -> float:
    """Mean Recall@5 of the greedy ranking over ``examples``; 0 where there are none."""
    torch = network.torch
    found: list[float] = []
    with torch.no_grad():
        for library in sorted({example.library for example in examples}):
            mine = [example for example in examples if example.library == library]
            rows = torch.from_numpy(libraries[library])
            for start in range(0, len(mine), _CHUNK):
                part = mine[start : start + _CHUNK]
                vectors = torch.from_numpy(requests[[example.row for example in part]])
                pool = shortlist(network, vectors, rows)
                picked = greedy(network, vectors, pool, min(5, largest), largest).tolist()
                found += [len(set(p) & set(e.gold)) / len(e.gold) for p, e in zip(picked, part, strict=True)]
    return float(np.mean(found)) if found else 0.0


def decode(network: SetNetwork, request: Floats, rows: Ints, largest: int) -> Decoded:
    """Ranking and best set of one request (R,) over ``rows``, every set of the shortlist scored."""
    torch = network.torch
    with torch.no_grad():
        vector = torch.from_numpy(request)[None]
        pool = shortlist(network, vector, torch.from_numpy(rows))[0]
        table = subsets(len(pool), largest)
        padded = torch.cat([pool, pool.new_tensor([-1])])
        members = padded[torch.tensor(table.indices[1:])][None]
        values = np.concatenate([[-np.inf], network.energy(vector, members)[0].numpy()])
        alone = network.unary(vector, pool)[0].numpy()
    found = pool.numpy()
    order = _greedy_order(values, table)
    order += [int(place) for place in np.argsort(-alone, kind="stable") if place not in order]
    best = table.members[int(values.argmax())]
    return Decoded(tuple(found[order].tolist()), tuple(found[best].tolist()))


def _greedy_order(values: Floats, table: Subsets) -> list[int]:
    """Places in the order greedy marginal gain picks them, up to the table's largest size."""
    chosen: list[int] = []
    for _ in range(min(table.m, table.k)):
        rest = [place for place in range(table.k) if place not in chosen]
        reached = [values[table.row((*chosen, place))] for place in rest]
        chosen.append(rest[int(np.argmax(reached))])
    return chosen
