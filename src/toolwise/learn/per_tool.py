"""A per-tool scorer: the cosine of the frozen encoder plus a learned bilinear residual.

s(x, t) = e(x) . e(t) + e(x) W e(t), W starting at zero, trained with a softmax
over the tools of the library, each gold tool against all that are not gold.
The comparator that scores no sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from toolwise.learn.hyperedge_pools import Example
from toolwise.learn.set_examples import SetExamples
from toolwise.learn.text_model import torch_of_extra
from toolwise.protocols import Floats, Progress, silent

SHARPNESS = 20.0
"""Factor of the scores within the softmax."""
RATE = 3e-4
DECAY = 1e-2
"""Decoupled weight decay of W towards the frozen encoder."""
BATCH = 32
EPOCHS = 20
PATIENCE = 3


@dataclass(slots=True)
class PerTool:
    """W (R, D), and Recall@5 on development requests before training and after each epoch."""

    residual: Floats
    dev: list[float] = field(default_factory=list)

    def scores(self, request: Floats, tools: Floats) -> Floats:
        """(N,) of a request (R,) and tools (N, D)."""
        found: Floats = tools @ (request + request @ self.residual)
        return found


def train_per_tool(
    examples: SetExamples,
    *,
    epochs: int = EPOCHS,
    rate: float = RATE,
    seed: int = 0,
    progress: Progress = silent,
) -> PerTool:
    """Train W; the weights of the best epoch are kept, the untrained ones among them.

    Raises MissingExtra without torch.
    """
    torch = torch_of_extra()
    weights = torch.nn.Parameter(torch.zeros(examples.requests.shape[1], examples.tools.shape[1]))
    optimiser = torch.optim.AdamW([weights], lr=rate, weight_decay=DECAY)
    generator = np.random.default_rng(seed)
    best = PerTool(weights.detach().numpy().copy())
    dev = [_recall(examples, best)]
    since = 0
    for epoch in range(epochs):
        progress("per-tool", epoch, epochs)
        for batch in _batches(examples.train, generator):
            optimiser.zero_grad()
            _loss(torch, weights, examples, batch).backward()
            optimiser.step()
        now = PerTool(weights.detach().numpy().copy())
        dev.append(_recall(examples, now))
        since += 1
        if dev[-1] > max(dev[:-1]) or not examples.dev:
            best, since = now, 0
        elif since >= PATIENCE:
            break
    best.dev = dev
    return best


def _batches(examples: Sequence[Example], generator: np.random.Generator) -> list[list[Example]]:
    """Minibatches of one library each, in random order."""
    by_library: dict[int, list[Example]] = {}
    for place in generator.permutation(len(examples)):
        by_library.setdefault(examples[place].library, []).append(examples[place])
    found = [own[i : i + BATCH] for own in by_library.values() for i in range(0, len(own), BATCH)]
    return [found[place] for place in generator.permutation(len(found))]


def _loss(torch: Any, weights: Any, examples: SetExamples, batch: Sequence[Example]) -> Any:
    rows = examples.negatives[batch[0].library]
    requests = torch.from_numpy(examples.requests[[one.row for one in batch]])
    turned = requests + requests @ weights
    others = SHARPNESS * turned @ torch.from_numpy(examples.tools[rows]).T  # (B, n)
    gold = np.array([np.isin(rows, one.gold) for one in batch])
    rest = others.masked_fill(torch.from_numpy(gold), float("-inf")).logsumexp(1)  # (B,)
    total = turned.new_zeros(())
    for place, one in enumerate(batch):
        right = SHARPNESS * torch.from_numpy(examples.tools[list(one.gold)]) @ turned[place]
        total = total + (torch.logaddexp(right, rest[place].expand(len(one.gold))) - right).mean()
    return total / len(batch)


def _recall(examples: SetExamples, model: PerTool) -> float:
    found = []
    for one in examples.dev:
        rows = examples.libraries[one.library]
        scores = model.scores(examples.requests[one.row], examples.tools[rows])
        top = rows[np.argsort(-scores, kind="stable")[:5]]
        found.append(len(set(top.tolist()) & set(one.gold)) / len(one.gold))
    return float(np.mean(found)) if found else 0.0
