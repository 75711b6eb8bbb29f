"""Contrastive training of a token table: the tools that serve a request above those that do not.

The loss of one request is the mean over its gold tools of
-log(e^s / (e^s + sum over the others of e^s')), the other gold tools left out
of the sum, with s a scaled cosine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from toolwise.learn.batches import Bag, Batches, Block, LibraryBags, ToolBags
from toolwise.protocols import Floats, Progress, silent


@dataclass(frozen=True, slots=True)
class Settings:
    """How the table is trained; chosen by cross-validation over training workspaces."""

    steps: int = 600
    warm_up: int = 20
    rate: float = 1e-3
    """Adam's step for the vectors; the log-weights take five times that."""
    scale: float = 12.0
    """Factor of the cosine: the inverse temperature."""
    workspaces: int = 3
    """Workspaces per step."""
    requests: int = 32
    """Requests per library and step."""
    tools: int = 150
    """Tools of a larger library per step."""
    texts: int = 128
    siblings: int = 16
    """Tools of one server at most in the block of descriptions and names."""
    across: float = 0.5
    """Weight of the loss over all workspaces of a step together."""
    others: float = 0.5
    """Weight of the block of another data set."""
    descriptions: float = 1.0
    """Weight of the block of descriptions and names."""
    operations: int = 5
    """Libraries of operations elsewhere per step, where there are any."""
    small: int = 2
    """Small libraries per step, where there are any."""


CHOSEN = Settings()
"""The settings of the packaged table."""


@dataclass(frozen=True, slots=True)
class Spaces:
    """What is asked for what."""

    workspaces: Sequence[LibraryBags]
    """The libraries that count most."""
    others: Sequence[LibraryBags] = ()
    """One per further data set."""
    operations: Sequence[LibraryBags] = ()
    """Libraries of operations elsewhere."""
    small: Sequence[LibraryBags] = ()


class _Table:
    """The table under training: vectors (V, D) and log-weights (V,)."""

    def __init__(self, torch: Any, vectors: Floats, weights: Floats) -> None:
        self._torch = torch
        self.vectors = torch.nn.Parameter(torch.tensor(vectors))
        self.logs = torch.nn.Parameter(torch.log(torch.tensor(np.maximum(weights, 1e-6))))

    def __call__(self, bags: Sequence[Bag]) -> Any:
        """Unit vectors (N, D) of N bags."""
        torch = self._torch
        ids = torch.from_numpy(np.concatenate(bags))
        starts = torch.from_numpy(np.cumsum([0, *(len(bag) for bag in bags[:-1])]))
        summed = torch.nn.functional.embedding_bag(
            ids, self.vectors, starts, mode="sum", per_sample_weights=torch.exp(self.logs)[ids]
        )
        return torch.nn.functional.normalize(summed, dim=1, eps=1e-6)


def request_losses(torch: Any, scores: Any, gold: Any) -> Any:
    """Losses (Q,) from scaled cosines (Q, T) and the mask of gold tools (Q, T)."""
    others = torch.logsumexp(scores.masked_fill(gold, float("-1e9")), 1, keepdim=True)
    return (torch.nn.functional.softplus(others - scores) * gold).sum(1) / gold.sum(1).clamp(min=1)


def _step_loss(torch: Any, table: _Table, blocks: Sequence[Block], joint: int, settings: Settings) -> Any:
    """Weighted mean losses of all blocks, and of the first ``joint`` as one block."""
    asked = table([bag for block in blocks for bag in block.requests])
    offered = table([bag for block in blocks for bag in block.tools])
    scores = settings.scale * asked @ offered.T
    loss, line, column = torch.zeros(()), 0, 0
    together = torch.zeros(scores.shape, dtype=torch.bool)
    for block in blocks:
        down, right = line + len(block.requests), column + len(block.tools)
        gold = torch.from_numpy(block.gold)
        together[line:down, column:right] = gold
        loss = loss + block.weight * request_losses(torch, scores[line:down, column:right], gold).mean()
        line, column = down, right
    rows, columns = sum(len(b.requests) for b in blocks[:joint]), sum(len(b.tools) for b in blocks[:joint])
    wide = request_losses(torch, scores[:rows, :columns], together[:rows, :columns])
    return loss + settings.across * wide.mean()


def _blocks(
    batches: Batches,
    turn: Sequence[LibraryBags],
    spaces: Spaces,
    step: int,
    settings: Settings,
) -> list[Block]:
    drawn = [batches.of_library(space, settings.requests, len(space.tools), 1.0) for space in turn]
    if spaces.others:
        other = spaces.others[step % len(spaces.others)]
        drawn.append(batches.of_library(other, settings.requests, settings.tools, settings.others))
    drawn.append(batches.of_texts(settings.texts, settings.siblings, settings.descriptions))
    for pool, count in ((spaces.operations, settings.operations), (spaces.small, settings.small)):
        for space in batches.some(pool, count):
            drawn.append(batches.of_library(space, settings.requests, len(space.tools), 1.0))
    return drawn


def contrast(
    vectors: Floats,
    weights: Floats,
    spaces: Spaces,
    servers: Sequence[Sequence[ToolBags]],
    seed: int,
    settings: Settings = CHOSEN,
    progress: Progress = silent,
) -> tuple[Floats, Floats]:
    """Train vectors (V, D) and weights (V,) and return them; one seed fixes every draw.

    ``servers`` hold the tools whose texts alone are used.
    """
    import torch

    rng = np.random.default_rng(seed)
    batches, table = Batches(rng, servers), _Table(torch, vectors, weights)
    groups = [{"params": [table.vectors], "factor": 1.0}, {"params": [table.logs], "factor": 5.0}]
    optimiser = torch.optim.Adam(groups, lr=settings.rate, betas=(0.9, 0.99))
    order: list[int] = []
    for step in range(settings.steps):
        if len(order) < settings.workspaces:
            order = [int(i) for i in rng.permutation(len(spaces.workspaces))]
        turn = [spaces.workspaces[order.pop()] for _ in range(min(settings.workspaces, len(order)))]
        blocks = _blocks(batches, turn, spaces, step, settings)
        pace = min(1.0, (step + 1) / settings.warm_up) * max(0.05, 1 - step / settings.steps)
        for group in optimiser.param_groups:
            group["lr"] = settings.rate * group["factor"] * pace
        optimiser.zero_grad()
        _step_loss(torch, table, blocks, len(turn), settings).backward()
        optimiser.step()
        progress("contrast", step + 1, settings.steps)
    return table.vectors.detach().numpy(), np.exp(table.logs.detach().numpy())
