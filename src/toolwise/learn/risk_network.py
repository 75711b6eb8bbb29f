"""The network of a risk head and its training: perceptrons and n-grams together, in torch.

Loss: binary cross-entropy of each output, levels against the share of votes,
so that a tool the annotators were split over says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from toolwise.audit.features import BUCKETS, ngrams, table
from toolwise.audit.head_weights import OUTPUTS, VECTOR_SCALE
from toolwise.errors import MissingExtra
from toolwise.protocols import Floats, Ints
from toolwise.records import Tool


@dataclass(frozen=True, slots=True)
class Settings:
    """What cross-validation over training workspaces chose."""

    members: int = 2
    """Networks of the ensemble."""
    units: int = 384
    epochs: int = 15
    batch: int = 128
    rate: float = 3e-3
    """Of the perceptron; one cycle up and down (Smith, 2018)."""
    gram_rate: float = 1e-3
    decay: float = 0.3
    gram_decay: float = 1.0
    input_dropout: float = 0.1
    dropout: float = 0.5
    gram_dropout: float = 0.2


CHOSEN = Settings()


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the network reads of N tools."""

    dense: Floats
    """(N, D + F): the vector, scaled, then the facts."""
    buckets: Ints
    """(T,): every n-gram, tool after tool."""
    values: Floats
    """(T,)"""
    starts: Ints
    """(N + 1,)"""

    def bag(self, rows: Ints) -> tuple[Ints, Ints, Floats]:
        """Buckets, starts and values of the n-grams of the tools in ``rows``."""
        counts = self.starts[rows + 1] - self.starts[rows]
        ends = np.cumsum(counts)
        first = ends - counts
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(self.starts[rows] - first, counts)
        return self.buckets[places], first, self.values[places]


def inputs(tools: Sequence[Tool], vectors: Floats) -> Inputs:
    """The inputs of ``tools`` with ``vectors`` (N, D)."""
    kinds = ngrams(tools)
    owner = np.concatenate([np.repeat(np.arange(len(tools)), kind.counts) for kind in kinds])
    order = np.argsort(owner, kind="stable")
    return Inputs(
        np.concatenate([vectors * VECTOR_SCALE, table(tools)], axis=1, dtype=np.float32),
        np.concatenate([kind.buckets for kind in kinds])[order],
        np.concatenate([kind.values for kind in kinds])[order],
        np.searchsorted(owner[order], np.arange(len(tools) + 1)).astype(np.int64),
    )


@dataclass(frozen=True, slots=True)
class Layers:
    """The trained ensemble, shaped as in :class:`~toolwise.audit.head_weights.HeadWeights`."""

    hidden: Floats
    hidden_bias: Floats
    output: Floats
    output_bias: Floats
    grams: Floats
    """(BUCKETS, K)"""

    def logits(self, given: Inputs, rows: Ints) -> Floats:
        """Logits of the tools in ``rows`` -> (R, K)."""
        hidden = np.maximum(given.dense[rows] @ self.hidden + self.hidden_bias[:, None], 0)
        total = (hidden @ self.output + self.output_bias[:, None]).mean(axis=0)
        buckets, first, values = given.bag(rows)
        counts = np.diff(np.append(first, len(buckets)))
        filled = np.flatnonzero(counts)
        if len(filled):
            total[filled] += np.add.reduceat(self.grams[buckets] * values[:, None], first[filled], axis=0)
        return np.asarray(total, np.float32)


def inverse_frequencies(given: Inputs, rows: Ints) -> Floats:
    """log((1 + N) / (1 + tools that hold it)) / 4 of each bucket -> (BUCKETS,): rare n-grams count more."""
    buckets, first, _ = given.bag(rows)
    owner = np.repeat(np.arange(len(rows)), np.diff(np.append(first, len(buckets))))
    held = np.unique(owner * np.int64(BUCKETS) + buckets) % BUCKETS
    counts = np.bincount(held, minlength=BUCKETS)
    return (np.log((1 + len(rows)) / (1 + counts)) / 4).astype(np.float32)


def train(given: Inputs, targets: Floats, rows: Ints, settings: Settings, seed: int) -> Layers:
    """The ensemble trained on the tools in ``rows``; targets (N, K).

    Raises MissingExtra without torch.
    """
    try:
        import torch
    except ImportError as error:
        raise MissingExtra(
            'training needs torch, which is not installed. Run: pip install "toolwise[train]"', extra="train"
        ) from error
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # the sums of several threads come out in any order
    try:
        with torch.random.fork_rng(devices=[]):
            weight = inverse_frequencies(given, rows)
            members = [
                _member(given, targets, rows, weight, settings, seed * 1_000 + place)
                for place in range(settings.members)
            ]
    finally:
        torch.set_num_threads(threads)
    hidden, hidden_bias, output, output_bias, grams = map(np.stack, zip(*members, strict=True))
    return Layers(hidden, hidden_bias, output, output_bias, grams.mean(axis=0))


def _member(
    given: Inputs, targets: Floats, rows: Ints, weight: Floats, settings: Settings, seed: int
) -> tuple[Floats, ...]:
    import torch
    from torch.nn import functional

    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    net, grams = _network(given.dense.shape[1], targets[rows].mean(axis=0), settings)
    groups = [
        {"params": net.parameters(), "lr": settings.rate, "weight_decay": settings.decay},
        {"params": grams.parameters(), "lr": settings.gram_rate, "weight_decay": settings.gram_decay},
    ]
    optimizer = torch.optim.AdamW(groups)
    steps = -(-len(rows) // settings.batch) * settings.epochs
    peaks = [settings.rate, settings.gram_rate]
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, peaks, total_steps=steps)
    for _ in range(settings.epochs):
        drawn = random.permutation(rows)
        for start in range(0, len(drawn), settings.batch):
            some = drawn[start : start + settings.batch]
            buckets, first, values = given.bag(some)
            kept = (random.random(len(values)) >= settings.gram_dropout) / (1 - settings.gram_dropout)
            told = torch.from_numpy((values * weight[buckets] * kept).astype(np.float32))
            bag = grams(torch.from_numpy(buckets), torch.from_numpy(first), per_sample_weights=told)
            logits = net(torch.from_numpy(given.dense[some])) + bag
            loss = functional.binary_cross_entropy_with_logits(
                logits, torch.from_numpy(targets[some]), reduction="sum"
            ) / len(some)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return _arrays(net, grams, weight)


def _network(width: int, rates: Floats, settings: Settings) -> tuple[Any, Any]:
    """A perceptron that starts near the base rates (K,), and a bag of n-grams that starts at zero."""
    import torch
    from torch import nn

    net = nn.Sequential(
        nn.Dropout(settings.input_dropout),
        nn.Linear(width, settings.units),
        nn.ReLU(),
        nn.Dropout(settings.dropout),
        nn.Linear(settings.units, OUTPUTS),
    )
    grams = nn.EmbeddingBag(BUCKETS, OUTPUTS, mode="sum")
    with torch.no_grad():
        net[-1].weight.mul_(0.1)
        net[-1].bias.copy_(torch.logit(torch.from_numpy(np.clip(rates, 1e-3, 1 - 1e-3))))
        grams.weight.zero_()
    return net, grams


def _arrays(net: Any, grams: Any, weight: Floats) -> tuple[Floats, ...]:
    """Weights as they are read: matrices act from the right, the n-grams with their frequency in them."""
    layers = [net[1].weight.T, net[1].bias, net[4].weight.T, net[4].bias]
    found = [layer.detach().numpy().astype(np.float32, copy=True) for layer in layers]
    return (*found, grams.weight.detach().numpy() * weight[:, None])
