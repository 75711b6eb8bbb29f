"""Train the heads of the risk-aware reranker exactly as the paper does (extra ``[train]``).

Triplets of a request, a gold tool and a tool outside the gold set, five per
gold tool; margin ranking loss (0.1) on ``f_rel`` plus 0.5 times the mean
squared error of ``f_risk`` against (r - 1) / 4 on both tools; Adam 1e-3,
batches of 64, ten epochs, the best of them by the loss on a tenth of the
requests (section 5.1 of the paper).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolwise.errors import EncoderError
from toolwise.learn.dual_head import (
    HIDDEN,
    UNKNOWN,
    Lesson,
    as_array,
    one_thread,
    parted,
    torch_for_heads,
    usable,
)
from toolwise.protocols import Floats, Ints
from toolwise.rerank.dual_head import PaperHeads, Perceptron


@dataclass(frozen=True)
class PaperPlan:
    """The published settings."""

    seed: int = 0
    epochs: int = 10
    batch: int = 64
    rate: float = 1e-3
    negatives: int = 5
    margin: float = 0.1
    risk_weight: float = 0.5
    validation: float = 0.1
    folds: int = 1
    """Risk heads, one per fold of the tools; 1 for a single head that learns from all labels."""


@one_thread()
def train_paper(lessons: Sequence[Lesson], plan: PaperPlan | None = None) -> list[PaperHeads]:
    """The heads as published; one pair per fold.  Raises MissingExtra, or EncoderError: nothing teaches."""
    torch, plan = torch_for_heads(), plan or PaperPlan()
    lessons = usable(lessons)
    rng = np.random.default_rng(plan.seed)
    train, validation = parted(lessons, plan.validation, rng)
    stacked = _Stacked.of(torch, lessons)
    network = _PaperNetwork(torch, stacked.tools.shape[1], plan)
    shown = _triplets(lessons, train, plan.negatives, rng)
    judged = _triplets(lessons, validation, plan.negatives, rng)
    if not len(shown):
        raise EncoderError(
            "every request needs all tools of its library: expected some tool to learn to rank below."
        )
    optimiser = torch.optim.Adam(network.parameters, plan.rate)
    best, kept = float("inf"), network.copies()
    for _ in range(plan.epochs):
        for start in range(0, len(shown), plan.batch):
            if start == 0:
                rng.shuffle(shown)
            optimiser.zero_grad()
            network.loss(stacked, torch.from_numpy(shown[start : start + plan.batch])).backward()
            optimiser.step()
        with torch.no_grad():
            loss = float(network.loss(stacked, torch.from_numpy(judged if len(judged) else shown)))
        if loss < best:
            best, kept = loss, network.copies()
    return network.heads(kept)


@dataclass(frozen=True)
class _Stacked:
    """All lessons as tensors; rows of tools and requests count through."""

    tools: Any
    queries: Any
    risk: Any
    """(N,) (r - 1) / 4."""
    known: Any
    """(N,) 1 where the label may be learned from."""
    held: Any

    @classmethod
    def of(cls, torch: Any, lessons: Sequence[Lesson]) -> _Stacked:
        levels = torch.from_numpy(np.concatenate([lesson.levels for lesson in lessons]))
        return cls(
            torch.from_numpy(np.concatenate([lesson.tools for lesson in lessons])),
            torch.from_numpy(np.concatenate([lesson.queries for lesson in lessons])),
            (levels.float() - 1) / 4,
            (levels != UNKNOWN).float(),
            torch.from_numpy(np.concatenate([lesson.held for lesson in lessons])),
        )


def _triplets(
    lessons: Sequence[Lesson], requests: Ints, negatives: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """(T, 3) rows of request, gold tool and a tool outside the gold set, of all lessons counted through."""
    tools = np.cumsum([0, *(len(lesson.tools) for lesson in lessons)])
    queries = np.cumsum([0, *(len(lesson.queries) for lesson in lessons)])
    found: list[tuple[int, int, int]] = []
    for at, request in requests.tolist():
        gold = lessons[at].gold[request]
        for positive in gold:
            for negative in _outside(len(lessons[at].tools), gold, negatives, rng):
                found.append((queries[at] + request, tools[at] + positive, tools[at] + negative))
    return np.array(found, np.int64).reshape(-1, 3)


def _outside(size: int, gold: Sequence[int], count: int, rng: np.random.Generator) -> list[int]:
    """``count`` distinct rows that are not gold, or all of them where there are fewer."""
    wanted = set(gold)
    if size - len(wanted) <= 4 * count:
        others = np.array([row for row in range(size) if row not in wanted], np.int64)
        return [int(row) for row in rng.permutation(others)[:count]]
    drawn: dict[int, None] = {}
    while len(drawn) < count:
        row = int(rng.integers(size))
        if row not in wanted:
            drawn.setdefault(row)
    return list(drawn)


class _PaperNetwork:
    """``f_rel`` and one ``f_risk`` per fold; the risk heads lie side by side in one layer."""

    def __init__(self, torch: Any, dim: int, plan: PaperPlan) -> None:
        self._torch, self._plan, self._dim = torch, plan, dim
        generator = torch.Generator().manual_seed(plan.seed)
        self.parameters = [
            *self._layer(generator, (HIDDEN, 2 * dim), (HIDDEN,), 2 * dim),
            *self._layer(generator, (HIDDEN,), (1,), HIDDEN),
            *self._layer(generator, (plan.folds, HIDDEN, dim), (plan.folds, HIDDEN), dim),
            *self._layer(generator, (plan.folds, HIDDEN), (plan.folds,), HIDDEN),
        ]

    def _layer(
        self, generator: Any, weights: tuple[int, ...], bias: tuple[int, ...], inputs: int
    ) -> list[Any]:
        """Uniform in +-1 / sqrt(inputs), as torch starts linear layers."""
        bound = inputs**-0.5
        made = [
            self._torch.empty(shape).uniform_(-bound, bound, generator=generator) for shape in (weights, bias)
        ]
        return [tensor.requires_grad_() for tensor in made]

    def loss(self, data: _Stacked, triplets: Any) -> Any:
        """Margin ranking loss plus the weighted squared error of risk on both tools, summed over folds."""
        query, positive, negative = triplets.T
        better, worse = self._relevance(data, query, positive), self._relevance(data, query, negative)
        ranking = (self._plan.margin - (better - worse)).clamp(min=0).mean()
        return ranking + self._plan.risk_weight * (self._error(data, positive) + self._error(data, negative))

    def _relevance(self, data: _Stacked, query: Any, tool: Any) -> Any:
        first, first_bias, second, second_bias = self.parameters[:4]
        both = self._torch.cat([data.queries[query], data.tools[tool]], 1)
        hidden = (both @ first.T + first_bias).relu()
        return (hidden @ second + second_bias).sigmoid()

    def _error(self, data: _Stacked, tool: Any) -> Any:
        first, first_bias, second, second_bias = self.parameters[4:]
        flat = data.tools[tool] @ first.reshape(-1, self._dim).T
        hidden = (flat.reshape(len(tool), -1, HIDDEN) + first_bias).relu()
        predicted = ((hidden * second).sum(2) + second_bias).sigmoid()  # (B, folds)
        mine = data.known[tool][:, None].repeat(1, self._plan.folds)
        if self._plan.folds > 1:
            mine = mine * (data.held[tool][:, None] != self._torch.arange(self._plan.folds))
        squared = (predicted - data.risk[tool][:, None]) ** 2 * mine
        return (squared.sum(0) / mine.sum(0).clamp(min=1)).sum()

    def copies(self) -> list[Floats]:
        """The parameters as they are now."""
        return [as_array(tensor).copy() for tensor in self.parameters]

    def heads(self, values: Sequence[Floats]) -> list[PaperHeads]:
        """One pair of heads per fold."""
        rel = Perceptron(values[0], values[1], values[2][None], values[3])
        first, first_bias, second, second_bias = values[4:]
        return [
            PaperHeads(rel, Perceptron(first[j], first_bias[j], second[j][None], second_bias[j : j + 1]))
            for j in range(self._plan.folds)
        ]
