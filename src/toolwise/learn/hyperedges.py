"""Training of HYSET as published, and of its comparators on the same data (HYSET, section 2.4, eq. 8 to 11).

    examples = set_examples(libraries, encoder, PAPER.largest)
    trained = train_sets(examples, PAPER)
    trained.hyperedges()                     # Z, {M_m}, P for toolwise.sets

The paper's main text leaves optimiser, learning rate, batch size, eta and
lambda to a supplement; :data:`PAPER` holds what was chosen on development
requests, and says which is which.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from toolwise.errors import EncoderError
from toolwise.learn.execution_feedback import REFRESH, ROLLOUTS, SUBSET, Reward, RewardBook
from toolwise.learn.hyperedge_pools import NEIGHBOURS, SHARES, Example, Pools
from toolwise.learn.set_decoding import recall
from toolwise.learn.set_examples import SetExamples
from toolwise.learn.set_networks import DeepSets, Hyperedges, SetNetwork, SetTransformer
from toolwise.learn.text_model import torch_of_extra
from toolwise.protocols import Floats, Ints, Progress, silent
from toolwise.sets.hyperedge_weights import HyperedgeWeights, Interaction, Pooling

STAGE = "train"


@dataclass(frozen=True, slots=True)
class Plan:
    """How a set scorer is trained."""

    design: str = "hyset"
    """One of :data:`DESIGNS`."""
    largest: int = 5
    """M: tools of the largest set (published)."""
    pool: int = 64
    """K_neg: sets of a candidate pool, gold included (published)."""
    shares: tuple[float, float, float] = SHARES
    """Uniform, in-batch and hard negatives (published)."""
    neighbours: int = NEIGHBOURS
    eta: float = 0.1
    """Weight of the execution feedback; without a reward callback it counts nothing."""
    decay: float = 1e-3
    """lambda: weight of the squared norms of the matrices."""
    scale: float = 1.0
    """P starts as this multiple of the identity: training starts from the frozen encoder's cosines."""
    rate: float = 1e-3
    """Adam's step at its highest: a linear rise over the first tenth of the steps, then a cosine to zero."""
    batch: int = 64
    epochs: int = 12
    patience: int = 3
    """Epochs without a better Recall@5 on development requests after which training ends."""
    refresh: int = REFRESH
    rewarded: int = SUBSET
    rollouts: int = ROLLOUTS
    seed: int = 0


PAPER = Plan()

_Build = Callable[[Any, Floats, int, int], SetNetwork]
DESIGNS: Mapping[str, _Build] = {
    "hyset": Hyperedges,
    "shared-m": lambda torch, table, width, m: Hyperedges(torch, table, width, m, shared=True),
    "identity-m": lambda torch, table, width, m: Hyperedges(torch, table, width, m, identity=True),
    "no-f-set": lambda torch, table, width, m: SetNetwork(torch, table, width),
    "uniform-pooling": lambda torch, table, width, m: Hyperedges(torch, table, width, m, uniform=True),
    "deepsets": lambda torch, table, width, m: DeepSets(torch, table, width),
    "set-transformer": lambda torch, table, width, m: SetTransformer(torch, table, width),
}
"""Scorers by name: the published one, its ablations, and the comparators of section 3.3."""

INTERACTIONS: Mapping[str, tuple[Interaction, Pooling]] = {
    "hyset": ("sized", "attention"),
    "shared-m": ("shared", "attention"),
    "identity-m": ("identity", "attention"),
    "no-f-set": ("none", "attention"),
    "uniform-pooling": ("sized", "uniform"),
}
"""What the designs with hyperedge weights are at inference."""


@dataclass(slots=True)
class Log:
    """What a training did."""

    losses: list[float] = field(default_factory=list)
    """Mean loss per request and epoch, the penalty left out."""
    dev: list[float] = field(default_factory=list)
    """Recall@5 on development requests before training and after each epoch; empty without any."""
    best: int = 0
    """The epoch whose weights are kept, from 1."""
    steps: int = 0
    seconds: float = 0.0
    peak_mb: float = 0.0
    """Greatest resident size of the process so far; 0 where the system does not tell."""
    parameters: int = 0
    asked: int = 0
    """Rewards asked for."""
    left_out: int = 0
    """Requests without a gold set of 1 to M tools."""


@dataclass(frozen=True, slots=True)
class Trained:
    """A trained scorer with the tools its table holds."""

    network: SetNetwork
    ids: tuple[str, ...]
    plan: Plan
    log: Log

    def hyperedges(self, encoder: str = "") -> HyperedgeWeights:
        """Z, {M_m} and P for inference; ``encoder`` is the fingerprint of the request vectors' encoder.

        Raises EncoderError for the comparators, which have no matrices.
        """
        if self.plan.design not in INTERACTIONS:
            raise EncoderError(
                f"{self.plan.design!r} is no hyperedge scorer; those are {', '.join(INTERACTIONS)}.",
                design=self.plan.design,
            )
        table, projection = (
            value.detach().numpy().astype(np.float32)
            for value in (self.network.table, self.network.projection)
        )
        matrices = np.zeros((self.plan.largest + 1, table.shape[1], table.shape[1]), np.float32)
        if isinstance(self.network, Hyperedges):
            matrices[2:] = self.network.matrices().detach().numpy()
        interaction, pooling = INTERACTIONS[self.plan.design]
        return HyperedgeWeights(self.ids, table, projection, matrices, interaction, pooling, encoder)


def train_sets(
    examples: SetExamples, plan: Plan = PAPER, reward: Reward | None = None, progress: Progress = silent
) -> Trained:
    """Train the scorer that ``plan`` names; ``reward`` judges sets by the row of a request.

    The same examples and plan give the same weights on the same machine.
    Raises MissingExtra without torch, EncoderError for an unknown design,
    EvaluationError for a reward outside 0 to 1.
    """
    torch = torch_of_extra()
    if plan.design not in DESIGNS:
        raise EncoderError(
            f"there is no set scorer called {plan.design!r}; there are {', '.join(DESIGNS)}.",
            design=plan.design,
        )
    start = time.perf_counter()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(plan.seed)
        network = DESIGNS[plan.design](torch, examples.tools, examples.requests.shape[1], plan.largest)
    with torch.no_grad():
        network.projection *= plan.scale
    run = _Run(network, examples, plan, reward)
    run.epochs(progress)
    run.log.seconds = time.perf_counter() - start
    run.log.peak_mb = _peak_mb()
    return Trained(network, examples.ids, plan, run.log)


class _Run:
    """One training under way."""

    def __init__(self, network: SetNetwork, examples: SetExamples, plan: Plan, reward: Reward | None) -> None:
        self.network, self.examples, self.plan = network, examples, plan
        self.torch = network.torch
        self.generator = np.random.default_rng(plan.seed)
        self.pools = Pools(examples.negatives, plan.largest, plan.pool, plan.shares, plan.neighbours)
        self.requests = self.torch.from_numpy(examples.requests)
        self.optimiser = self.torch.optim.Adam(network.parameters(), lr=plan.rate)
        self.per_epoch = max(1, round(len(examples.train) / plan.batch))
        self.book = self._book(reward)
        self.log = Log(parameters=sum(p.numel() for p in network.parameters()), left_out=examples.left_out)

    def _book(self, reward: Reward | None) -> RewardBook | None:
        if reward is None or self.plan.eta <= 0:
            return None
        drawn = np.random.default_rng((self.plan.seed, 1))
        plan = self.plan
        return RewardBook(
            reward,
            len(self.examples.requests),
            drawn,
            refresh=plan.refresh,
            subset=plan.rewarded,
            rollouts=plan.rollouts,
        )

    def epochs(self, progress: Progress) -> None:
        """Train, keep the weights of the best epoch."""
        kept = self._weights()
        best = -1.0
        if self.examples.dev:
            self.log.dev.append(self._recall())
        for epoch in range(1, self.plan.epochs + 1):
            progress(STAGE, epoch - 1, self.plan.epochs)
            self.pools.refresh(self.network.table.detach().numpy(), self.examples.train)
            self.log.losses.append(self._epoch())
            if not self.examples.dev:
                self.log.best, kept = epoch, self._weights()
                continue
            self.log.dev.append(self._recall())
            if self.log.dev[-1] > best:
                best, self.log.best, kept = self.log.dev[-1], epoch, self._weights()
            elif epoch - self.log.best >= self.plan.patience:
                break
        progress(STAGE, self.plan.epochs, self.plan.epochs)
        self._restore(kept)
        if self.book is not None:
            self.log.asked = self.book.asked

    def _recall(self) -> float:
        one = self.examples
        return recall(self.network, one.requests, one.dev, one.libraries, self.plan.largest)

    def _weights(self) -> list[Any]:
        return [p.detach().clone() for p in self.network.parameters()]

    def _restore(self, kept: Sequence[Any]) -> None:
        with self.torch.no_grad():
            for parameter, value in zip(self.network.parameters(), kept, strict=True):
                parameter.copy_(value)

    def _epoch(self) -> float:
        order = self.generator.permutation(len(self.examples.train))
        total = 0.0
        for part in np.array_split(order, self.per_epoch):
            if self.book is not None and self.book.due(self.log.steps):
                self._ask(self.book)
            total += self._step([self.examples.train[place] for place in part.tolist()])
        return total / len(order)

    def _scored(self, batch: Sequence[Example]) -> tuple[Ints, Any]:
        """Pools of a minibatch (B, K, M) and their values (B, K)."""
        members = self.pools.draw(batch, self.generator)
        requests = self.requests[[example.row for example in batch]]
        return members, self.network.energy(requests, self.torch.from_numpy(members))

    def _step(self, batch: Sequence[Example]) -> float:
        for group in self.optimiser.param_groups:
            group["lr"] = self.plan.rate * _schedule(self.log.steps, self.per_epoch * self.plan.epochs)
        members, values = self._scored(batch)
        chances = values.log_softmax(1)
        loss = -chances[:, 0].sum()
        if self.book is not None:
            loss = loss + self.plan.eta * self._self_training(self.book, batch, members, chances)
        seen = float(loss.detach())
        self.optimiser.zero_grad()
        (loss + self.plan.decay * self.network.penalty()).backward()
        self.optimiser.step()
        self.network.renormalise()
        self.log.steps += 1
        return seen

    def _self_training(self, book: RewardBook, batch: Sequence[Example], members: Ints, chances: Any) -> Any:
        """L_self (eq. 9): the model's own best set and its reward are constants of the step."""
        chosen = chances.detach().argmax(1)
        rewards = [
            book.get(example.row, _set(members[place, pick])) if example.row in book.rewarded else 0.0
            for place, (example, pick) in enumerate(zip(batch, chosen.tolist(), strict=True))
        ]
        weights = chances.new_tensor(rewards)
        return -(weights * chances.gather(1, chosen[:, None]).squeeze(1)).sum()

    def _ask(self, book: RewardBook) -> None:
        """One round: the current best set of every rewarded request is executed."""
        mine = [example for example in self.examples.train if example.row in book.rewarded]
        with self.torch.no_grad():
            for start in range(0, len(mine), self.plan.batch):
                batch = mine[start : start + self.plan.batch]
                members, values = self._scored(batch)
                for place, pick in enumerate(values.argmax(1).tolist()):
                    book.ask(batch[place].row, _set(members[place, pick]))


def _set(places: Ints) -> tuple[int, ...]:
    return tuple(int(row) for row in places if row >= 0)


def _schedule(step: int, steps: int) -> float:
    """Share of the learning rate: a linear rise over a tenth, then half a cosine."""
    warm = max(1, steps // 10)
    if step < warm:
        return (step + 1) / warm
    return 0.5 * (1 + float(np.cos(np.pi * (step - warm) / max(1, steps - warm))))


def _peak_mb() -> float:
    try:
        import resource
    except ImportError:  # not on Windows
        return 0.0
    unit = 1024**2 if sys.platform == "darwin" else 1024  # bytes there, kilobytes elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
