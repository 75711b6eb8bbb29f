"""The default set scorer in torch: the loss over all sets of a pool, and training by gradients.

A pool's 6,885 sets are compared by a softmax.  Sets of four and five, nine in
ten of them, are drawn anew for each batch and count for those that were not
(importance weights), which makes a pass five times cheaper and changes no
expectation of the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np

from toolwise.learn.own_words import SMALL
from toolwise.learn.sets_data import Lists, Pools
from toolwise.learn.text_model import torch_of_extra
from toolwise.protocols import Floats, Progress, SetEnergy, silent
from toolwise.sets.default import FAR, pair_inputs, slope, trust_of, unknown_sizes, whole_inputs, with_first
from toolwise.sets.default_weights import LARGEST, SIGNS, Perceptron, Weights
from toolwise.sets.features import UNARY
from toolwise.sets.kernel import subsets

Data = TypeVar("Data", Lists, Pools)

SHARE = UNARY.index("share")
_CLIP = 5.0
_NEVER = -1e4
_HALF = 2.0
"""First score that stands for one in two (:func:`toolwise.sets.features.odds`)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything a training run depends on, apart from the data."""

    epochs: int = 14
    patience: int = 4
    batch: int = 64
    rate: float = 3e-3
    decay: float = 1e-2
    dropout: float = 0.2
    hidden: tuple[int, int, int, int] = (48, 64, 64, 32)
    """Widths of ``first``, ``unary``, ``pair`` and ``whole``."""
    draws: int = 200
    """Sets of four, and of five, per batch."""
    partial: float = 0.5
    """What a request counts whose tools are not all in its pool: the part that is there is to be chosen."""
    unserved: float = 1.0
    """What a request counts that no tool serves."""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Inputs:
    """Pools as the perceptrons take them, not yet standardised."""

    unary: Floats
    """(n, K, U + 2)"""
    pairs: Floats
    """(n, P, V + 4)"""
    whole: Floats
    """(n, G + L + 1)"""
    first: Floats
    """(n, K)"""


def inputs(pools: Pools, weights: Weights, trust: Floats | None = None) -> Inputs:
    """What inference would hand to the perceptrons, for all pools at once.

    ``trust`` (n,) is how far weights are believed; in training also by pools whose tools say little.
    """
    share = pools.unary[:, :, SHARE]
    trust = trust_of(weights, pools.whole) if trust is None else trust
    counts = slope(weights, 0, trust)[:, None]
    first = counts * share + trust[:, None] * weights.first(pools.unary)[..., 0]
    first = np.where(pools.valid, first, FAR).astype(np.float32)
    size = pools.valid.shape[1]
    rows, columns = np.triu_indices(size, 1)
    return Inputs(
        with_first(pools.unary, first),
        pair_inputs(pools.pairs, first, pools.whole, rows, columns),
        whole_inputs(pools.whole, first),
        first,
    )


def spread_of(rows: Floats) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each feature, 0 and 1 where nothing is known of it."""
    mean, spread = np.zeros(rows.shape[1], np.float32), np.ones(rows.shape[1], np.float32)
    for place, column in enumerate(rows.T):
        known = column[np.isfinite(column)].astype(np.float64)
        if len(known):
            mean[place] = known.mean()
            spread[place] = known.std() if known.std() > 1e-4 else 1
    return mean, spread


def usual_of(pools: Pools) -> Floats:
    """(2, S): mean and deviation of what tells kinds of requests apart.

    Of all libraries but our own small ones, where any are left: these are asked so briefly that what other
    data sets ask would count as strange beside them, and are found usual all the same.
    """
    others = np.array([not name.startswith(SMALL) for name in pools.library])
    known = pools.whole[others] if others.any() else pools.whole
    return np.stack(spread_of(known[:, list(SIGNS)]))


def _network(torch: Any, start: Perceptron, dropout: float) -> Any:
    """A perceptron that starts as ``start``; its standardisation is not trained."""

    class Network(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            for field in fields(Perceptron):
                tensor = torch.tensor(np.array(getattr(start, field.name)))
                if field.name in ("mean", "spread"):
                    self.register_buffer(field.name, tensor)
                else:
                    setattr(self, field.name, torch.nn.Parameter(tensor))
            self.drop = torch.nn.Dropout(dropout)

        def forward(self, rows: Any) -> Any:
            x = torch.nan_to_num(torch.clamp((rows - self.mean) / self.spread, -_CLIP, _CLIP), nan=0.0)
            return self.drop(torch.relu(x @ self.hidden + self.hidden_bias)) @ self.out + self.out_bias

    return Network()


def _perceptron(network: Any) -> Perceptron:
    return Perceptron(
        **{
            field.name: np.ascontiguousarray(getattr(network, field.name).detach().numpy(), dtype=np.float32)
            for field in fields(Perceptron)
        }
    )


def fresh(rows: Floats, hidden: int, outputs: int, rng: np.random.Generator) -> Perceptron:
    """A perceptron that says 0 of everything, ready to learn from rows (R, I) of this kind."""
    mean, spread = spread_of(rows)
    width = len(mean)
    first = rng.normal(0, np.sqrt(1 / width), (width, hidden)).astype(np.float32)
    return Perceptron(
        mean,
        spread,
        first,
        rng.normal(0, 0.1, hidden).astype(np.float32),
        np.zeros((hidden, outputs), np.float32),
        np.zeros(outputs, np.float32),
    )


def _fit(
    torch: Any,
    modules: Any,
    loss: Callable[[Any, bool], Any],
    counts: tuple[int, int],
    plan: Plan,
    stage: str,
    progress: Progress,
) -> float:
    """Minimise ``loss(rows, training)``; leave ``modules`` as they were at the best held-out loss.

    ``counts`` are how many requests are trained on (rows 0 to n - 1) and held out (after them).
    """
    n, held = counts
    parameters = [p for p in modules.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(parameters, lr=plan.rate, weight_decay=plan.decay)
    steps = -(-n // plan.batch)
    pace = torch.optim.lr_scheduler.OneCycleLR(optimiser, plan.rate, total_steps=plan.epochs * steps)
    rng = np.random.default_rng([plan.seed, 7])

    def measured() -> float:
        modules.eval()
        rows = np.arange(n, n + held) if held else np.arange(n)
        with torch.no_grad():
            parts = [(len(r), float(loss(r, False))) for r in np.array_split(rows, -(-len(rows) // 128))]
        return sum(count * value for count, value in parts) / len(rows)

    best, kept, stale = measured(), _copy(modules), 0
    for epoch in range(plan.epochs):
        modules.train()
        for step, rows in enumerate(np.array_split(rng.permutation(n), steps), 1):
            value = loss(rows, True)
            optimiser.zero_grad()
            value.backward()
            optimiser.step()
            pace.step()
            progress(stage, epoch * steps + step, plan.epochs * steps)
        now = measured()
        if now < best:
            best, kept, stale = now, _copy(modules), 0
        else:
            stale += 1
            if stale == plan.patience:
                break
    modules.load_state_dict(kept)
    return best


def _copy(modules: Any) -> dict[str, Any]:
    return {name: tensor.clone() for name, tensor in modules.state_dict().items()}


def train_first(
    lists: Lists, held: Lists, plan: Plan, progress: Progress = silent
) -> tuple[Perceptron, float]:
    """The perceptron of the first scores and what the share of the best score counts.

    Each candidate is judged alone: logistic loss, summed over a list.
    """
    torch = torch_of_extra()
    rng = np.random.default_rng([plan.seed, 1])
    joined = [np.concatenate([getattr(lists, n), getattr(held, n)]) for n in ("unary", "valid", "gold")]
    unary, valid, gold = (torch.tensor(array) for array in joined)
    with torch.random.fork_rng():
        torch.manual_seed(plan.seed)
        start = fresh(lists.unary[lists.valid], plan.hidden[0], 1, rng)
        network = _network(torch, start, plan.dropout)
        modules = torch.nn.ModuleDict({"first": network})
        base = torch.nn.Parameter(torch.tensor(1.0))
        modules.register_parameter("base", base)
        judged = torch.nn.functional.binary_cross_entropy_with_logits

        def loss(rows: Any, training: bool) -> Any:
            at = torch.as_tensor(rows)
            score = base * unary[at][:, :, SHARE] + network(unary[at]).squeeze(-1) - _HALF
            each = judged(score, gold[at].float(), reduction="none")
            return each.masked_fill(~valid[at], 0).sum(1).mean()

        _fit(torch, modules, loss, (len(lists.unary), len(held.unary)), plan, "first scores", progress)
    return _perceptron(network), float(base.detach())


class SetLoss:
    """Minus the log probability of the sets that serve, over the sets of each pool."""

    def __init__(self, torch: Any, pools: Pools, plan: Plan) -> None:
        self._torch, self._plan = torch, plan
        size = pools.valid.shape[1]
        self._table = subsets(size, LARGEST)
        self._rows, self._columns = np.triu_indices(size, 1)
        self._rng = np.random.default_rng([plan.seed, 3])
        self._fixed = self._incidence(np.random.default_rng(0))
        self.valid = torch.tensor(pools.valid)
        self._gold = pools.gold
        inside = pools.gold.sum(1)
        counts = np.where(
            pools.needed == 0, plan.unserved, np.where(inside == pools.needed, 1.0, plan.partial)
        )
        counts = np.where((pools.needed > 0) & (inside == 0), 0.0, counts)  # nothing to learn from
        self._counts = torch.tensor((counts * pools.reward).astype(np.float32))

    def _incidence(self, rng: np.random.Generator) -> tuple[Any, Any, list[Any], Any]:
        """Sizes, members, pairs by size, and log weights of the sets of one batch."""
        torch, table = self._torch, self._table
        picked, weights = [], []
        for size in range(LARGEST + 1):
            block = table.block(size)
            count = block.stop - block.start
            draws = count if size < 4 else min(count, self._plan.draws)
            picked.append(block.start + np.sort(rng.choice(count, draws, replace=False)))
            weights += [np.log(max(count, 1) / max(draws, 1))] * draws
        pairs = [
            torch.tensor(
                (table.members[p][:, self._rows] & table.members[p][:, self._columns]).astype(np.float32)
            )
            for p in picked[2:]
        ]
        rows = np.concatenate(picked)
        return (
            torch.tensor(table.sizes[rows]),
            torch.tensor(table.members[rows].astype(np.float32)),
            pairs,
            torch.tensor(np.array(weights, dtype=np.float32)),
        )

    def _targets(self, rows: Any, training: bool) -> Any:
        """(B, K): the gold tools of each pool, five drawn ones where there are more."""
        gold = self._gold[np.asarray(rows)].copy()  # a tensor of one element would be an index
        rng = self._rng if training else np.random.default_rng(1)
        for line in np.flatnonzero(gold.sum(1) > LARGEST):
            mine = np.flatnonzero(gold[line])
            gold[line, rng.permutation(mine)[LARGEST:]] = False
        return gold

    def __call__(self, rows: Any, unary: Any, pairs: Any, sizes: Any, training: bool) -> Any:
        """Mean over requests; ``unary`` (B, K), ``pairs`` (B, P, M - 1), ``sizes`` (B, M + 1)."""
        torch = self._torch
        of, members, incidence, weights = self._incidence(self._rng) if training else self._fixed
        values = unary.masked_fill(~self.valid[rows], _NEVER) @ members.T + sizes[:, of] + weights
        beside = [pairs[:, :, m] @ one.T for m, one in enumerate(incidence)]
        alone = torch.zeros(len(values), values.shape[1] - sum(b.shape[1] for b in beside))
        total = torch.logsumexp(values + torch.cat([alone, *beside], 1), 1)
        gold = self._targets(rows, training)
        count = torch.tensor(gold.sum(1))
        both = torch.tensor((gold[:, self._rows] & gold[:, self._columns]).astype(np.float32))
        chosen = torch.tensor(gold.astype(np.float32))
        matrix = (count.clamp(min=2) - 2)[:, None, None].expand(-1, pairs.shape[1], 1)
        reached = (unary * chosen).sum(1) + (pairs.gather(2, matrix).squeeze(2) * both).sum(1)
        reached = reached + sizes.gather(1, count[:, None]).squeeze(1)
        total = torch.where(count > 3, torch.logaddexp(total, reached), total)
        counts = self._counts[rows]
        return ((total - reached) * counts).sum() / counts.sum().clamp(min=1e-6)


def train_sets(
    pools: Pools, held: Pools, start: Weights, plan: Plan, progress: Progress = silent, *, anew: bool = True
) -> tuple[Weights, float]:
    """Weights with ``unary``, ``pair``, ``whole`` and the biases trained, and the held-out loss.

    ``anew`` makes new perceptrons for these features; otherwise those of
    ``start`` learn on.  Raises MissingExtra without torch.
    """
    torch = torch_of_extra()
    joined = join([pools, held])
    made = inputs(joined, start)
    n = len(pools.needed)
    parts = (made.unary[:n][pools.valid], made.pairs[:n].reshape(-1, made.pairs.shape[2]), made.whole[:n])
    rng = np.random.default_rng([plan.seed, 2])
    outputs = (1, LARGEST - 1, LARGEST + 1)
    names = ("unary", "pair", "whole")
    with torch.random.fork_rng():
        torch.manual_seed(plan.seed)
        starts = [
            fresh(rows, hidden, out, rng) if anew else getattr(start, name)
            for name, rows, hidden, out in zip(names, parts, plan.hidden[1:], outputs, strict=True)
        ]
        modules = torch.nn.ModuleDict(
            {name: _network(torch, one, plan.dropout) for name, one in zip(names, starts, strict=True)}
        )
        modules.register_parameter("base", torch.nn.Parameter(torch.tensor(float(start.base[1]))))
        modules.register_parameter("sizes", torch.nn.Parameter(torch.tensor(start.sizes.copy())))
        value = SetLoss(torch, joined, plan)
        unary, pairs, whole, first = (torch.tensor(getattr(made, f.name)) for f in fields(Inputs))

        def loss(rows: Any, training: bool) -> Any:
            at = torch.as_tensor(rows)
            alone = modules.base * first[at] + modules["unary"](unary[at]).squeeze(-1)
            sizes = modules.sizes + modules["whole"](whole[at])
            return value(at, alone, modules["pair"](pairs[at]), sizes, training)

        best = _fit(torch, modules, loss, (n, len(held.needed)), plan, "sets", progress)
    trained = Weights(
        first=start.first,
        **{name: _perceptron(modules[name]) for name in names},
        base=np.array([start.base[0], float(modules.base.detach())], dtype=np.float32),
        sizes=modules.sizes.detach().numpy().copy(),
        usual=usual_of(pools) if anew else start.usual,
        gate=start.gate,
    )
    return trained, best


def join(parts: Sequence[Data]) -> Data:
    """Lists or pools, one after the other."""
    kind = type(parts[0])
    return kind(*(_chained([getattr(part, one.name) for part in parts]) for one in fields(kind)))


def choose(data: Data, rows: np.ndarray) -> Data:
    """Some of the requests, by number or by mask."""
    at = np.flatnonzero(rows) if rows.dtype == bool else rows
    return type(data)(*(_picked(getattr(data, one.name), at) for one in fields(data)))


def _chained(columns: Sequence[Any]) -> Any:
    if isinstance(columns[0], np.ndarray):
        return np.concatenate(columns)
    return tuple(value for column in columns for value in column)


def _picked(column: Any, at: np.ndarray) -> Any:
    return column[at] if isinstance(column, np.ndarray) else tuple(column[i] for i in at)


def energies(weights: Weights, pools: Pools) -> Iterator[SetEnergy]:
    """What inference makes of each pool; those that pad it never join a set."""
    trust = trust_of(weights, pools.whole) * pools.described
    made = inputs(pools, weights, trust)
    size = pools.valid.shape[1]
    rows, columns = np.triu_indices(size, 1)
    counts = slope(weights, 1, trust)[:, None]
    unary = counts * made.first + trust[:, None] * weights.unary(made.unary)[..., 0]
    unary = np.where(pools.valid, unary, _NEVER).astype(np.float32)
    unknown = np.stack([unknown_sizes(sure) for sure in pools.confidence.tolist()])
    sizes = trust[:, None] * (weights.sizes + weights.whole(made.whole)) + (1 - trust)[:, None] * unknown
    for alone, features, bias, sure in zip(unary, made.pairs, sizes, trust, strict=True):
        pairs = np.zeros((LARGEST + 1, size, size), dtype=np.float32)
        pairs[2:, rows, columns] = pairs[2:, columns, rows] = sure * weights.pair(features).T
        yield SetEnergy(alone, pairs, bias.astype(np.float32))
