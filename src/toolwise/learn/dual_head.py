"""Train the two heads of the risk-aware reranker on a frozen encoder's vectors (extra ``[train]``).

:func:`train_default` makes the form ``default`` of
:mod:`toolwise.rerank.dual_head`: softmax cross-entropy of a request's gold
tools among its whole library, ordinal cross-entropy for risk, and a
calibration of relevance on a tenth of the requests.  The published form is
trained by :mod:`toolwise.learn.dual_head_paper`, on the same lessons.

A head must not be asked about a label it was shown.  With ``held``, the fold of
each tool, one risk head per fold is trained, each on the labels outside its own
fold; the relevance head is the same for all, for the two share no parameter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolwise.errors import EncoderError, MissingExtra
from toolwise.protocols import Floats, Ints
from toolwise.rerank.dual_head import DefaultHeads, Perceptron

UNKNOWN = 0
"""The level of a tool whose label nobody knows, or that must not be learned from."""
HIDDEN = 64
LEAST_SLOPE = 0.25
ENOUGH_LIBRARIES = 10
"""Libraries from which whole ones are held out to stop by; with fewer, requests are."""


@dataclass(frozen=True)
class Lesson:
    """The training requests of one library of N tools, as vectors."""

    tools: Floats
    """(N, D) unit rows."""
    queries: Floats
    """(Q, D) unit rows."""
    gold: Sequence[Sequence[int]]
    """The rows of the tools that each request needs, one or more."""
    levels: Ints
    """(N,) 1 to 5, 0 where the label is not to be learned from."""
    held: Ints
    """(N,) the fold of each tool, 0 where there are none."""


@dataclass(frozen=True)
class DefaultPlan:
    """The settings of the default form."""

    seed: int = 0
    epochs: int = 60
    """At most: the best by the loss on held-out requests is kept, the untrained encoder among them.  The
    form was first tried on folds of UltraTool; rate and stopping were then chosen on training workspaces
    of mcp_tasks and folds of sealtools dev, by workspace and gold set: with a fixed number of epochs
    unseen workspaces fell below the encoder.
    """
    batch: int = 64
    rate: float = 3e-4
    patience: int = 5
    """Epochs without a better loss before training stops."""
    scale: float = 20.0
    """Logits per cosine at the start."""
    validation: float = 0.1
    risk_epochs: int = 20
    risk_rate: float = 3e-3
    risk_decay: float = 1e-2
    risk_dropout: float = 0.2
    folds: int = 1


def torch_for_heads() -> Any:
    """torch, or MissingExtra."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtra(
            'training heads needs torch: pip install "toolwise[train]"', extra="train"
        ) from error
    return torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Within it torch computes on one thread: steps this small only wait for one another."""
    torch = torch_for_heads()
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def usable(lessons: Sequence[Lesson]) -> list[Lesson]:
    """Lessons with requests and more than one tool.  Raises EncoderError where there are none."""
    found = [lesson for lesson in lessons if len(lesson.queries) and len(lesson.tools) > 1]
    if not found:
        raise EncoderError(
            "there is no request to train heads on; expected libraries with requests and gold."
        )
    return found


def parted(lessons: Sequence[Lesson], share: float, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Requests to train on and to validate with, as (lesson, request) rows."""
    every = np.array([(at, q) for at, lesson in enumerate(lessons) for q in range(len(lesson.queries))])
    order = rng.permutation(len(every))
    held = max(1, round(share * len(every))) if len(every) > 1 else 0
    return every[np.sort(order[held:])], every[np.sort(order[:held])]


def as_array(tensor: Any) -> Floats:
    """A tensor as float32."""
    return np.asarray(tensor.detach().cpu().numpy(), np.float32)


def train_default(lessons: Sequence[Lesson], plan: DefaultPlan | None = None) -> list[DefaultHeads]:
    """The heads of the default form; one pair per fold.  Raises MissingExtra, or EncoderError."""
    plan = plan or DefaultPlan()
    lessons = usable(lessons)
    residual, scale, calibration = train_relevance(lessons, plan)
    tools = np.concatenate([lesson.tools for lesson in lessons])
    levels = np.concatenate([lesson.levels for lesson in lessons])
    held = np.concatenate([lesson.held for lesson in lessons])
    risky = train_risk(tools, levels, held, plan)
    return [DefaultHeads(residual, scale, calibration, head) for head in risky]


@one_thread()
def train_relevance(
    lessons: Sequence[Lesson], plan: DefaultPlan | None = None
) -> tuple[Floats, Floats, Floats]:
    """P (D, D), the scale (1,) and the calibration (2,).  Raises MissingExtra, or EncoderError."""
    torch, plan = torch_for_heads(), plan or DefaultPlan()
    lessons = usable(lessons)
    rng = np.random.default_rng(plan.seed)
    train, validation = _apart(lessons, plan.validation, rng)
    judged = validation if len(validation) else train
    dim = lessons[0].tools.shape[1]
    residual = torch.zeros(dim, dim, requires_grad=True)
    log_scale = torch.tensor([float(np.log(plan.scale))], requires_grad=True)
    groups = [
        {"params": [residual], "lr": plan.rate},
        {"params": [log_scale], "lr": 5 * plan.rate},
    ]
    optimiser = torch.optim.Adam(groups)
    best, at_best, kept = float("inf"), 0, (as_array(residual), np.exp(as_array(log_scale)))
    for epoch in range(plan.epochs + 1):
        if epoch:
            for at, requests in _batches(train, plan.batch, rng):
                optimiser.zero_grad()
                _loss(torch, lessons[at], requests, residual, log_scale).backward()
                optimiser.step()
        with torch.no_grad():
            losses = [
                (len(rows), float(_loss(torch, lessons[at], rows, residual, log_scale)))
                for at, rows in _batches(judged, len(judged), np.random.default_rng(0))
            ]
        loss = sum(count * value for count, value in losses) / len(judged)
        if loss < best:
            best, at_best = loss, epoch
            kept = (as_array(residual).copy(), np.exp(as_array(log_scale)))
        elif epoch - at_best >= plan.patience:
            break
    return *kept, _calibration(lessons, judged, *kept)


def _loss(torch: Any, lesson: Lesson, requests: Ints, residual: Any, log_scale: Any) -> Any:
    """Softmax cross-entropy of the gold tools among the whole library."""
    queries, tools = torch.from_numpy(lesson.queries[requests]), torch.from_numpy(lesson.tools)
    logits = (queries + queries @ residual) @ tools.T * log_scale.exp()
    wanted = torch.from_numpy(_targets(lesson, requests))
    return -(logits.log_softmax(1) * wanted).sum(1).mean()


def _apart(lessons: Sequence[Lesson], share: float, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Like :func:`parted`, but whole libraries are held out where there are ten or more.

    What is learned of one's own tools says little about the tools of others.
    """
    if len(lessons) < ENOUGH_LIBRARIES:
        return parted(lessons, share, rng)
    out = set(rng.permutation(len(lessons))[: round(share * len(lessons))].tolist())
    every = np.array([(at, q) for at, lesson in enumerate(lessons) for q in range(len(lesson.queries))])
    held = np.array([at in out for at in every[:, 0].tolist()])
    return every[~held], every[held]


def _batches(requests: Ints, size: int, rng: np.random.Generator) -> list[tuple[int, Ints]]:
    """Requests of one lesson at a time, in random order: (lesson, rows)."""
    found = []
    for at in np.unique(requests[:, 0]).tolist():
        rows = rng.permutation(requests[requests[:, 0] == at, 1])
        found += [(at, rows[start : start + size]) for start in range(0, len(rows), size)]
    return [found[place] for place in rng.permutation(len(found)).tolist()]


def _targets(lesson: Lesson, requests: Ints) -> Floats:
    """(B, N): an equal share for every gold tool."""
    wanted = np.zeros((len(requests), len(lesson.tools)), np.float32)
    for line, request in enumerate(requests.tolist()):
        wanted[line, list(lesson.gold[request])] = 1 / len(set(lesson.gold[request]))
    return wanted


def _calibration(lessons: Sequence[Lesson], requests: Ints, residual: Floats, scale: Floats) -> Floats:
    """Slope and offset that make the log of a softmax share the logit of being needed (Platt scaling)."""
    shares, needed = [], []
    for at in np.unique(requests[:, 0]).tolist():
        lesson, rows = lessons[at], requests[requests[:, 0] == at, 1]
        queries = lesson.queries[rows].astype(np.float64)
        logits = (queries + queries @ residual) @ lesson.tools.T * scale
        logits -= logits.max(axis=1, keepdims=True)
        shares.append((logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))).ravel())
        needed.append((_targets(lesson, rows) > 0).ravel())
    return fit_platt(np.concatenate(shares), np.concatenate(needed))


def fit_platt(logits: NDArray[np.float64], truth: NDArray[np.bool_]) -> Floats:
    """Slope and offset (2,) of the logistic regression of ``truth`` (M,) on ``logits`` (M,).

    The slope stays at :data:`LEAST_SLOPE` or above, so that calibration never changes an order.

    Damped Newton steps from the identity; a step that does not lower the loss is halved.
    """

    def loss(at: NDArray[np.float64]) -> float:
        z = logits * at[0] + at[1]
        return float((np.logaddexp(0, z) - truth * z).sum() + 1e-3 * ((at - (1, 0)) ** 2).sum())

    at = np.array([1.0, 0.0])
    now = loss(at)
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(logits * at[0] + at[1], -60, 60)))
        error, weight = p - truth, p * (1 - p)
        gradient = np.array([error @ logits, error.sum()]) + 2e-3 * (at - (1, 0))
        cross = weight @ logits
        hessian = np.array([[weight @ logits**2, cross], [cross, weight.sum()]]) + 2e-3 * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        for _ in range(30):
            if at[0] - step[0] >= LEAST_SLOPE and loss(at - step) < now:
                break
            step = step / 2
        else:
            break
        at = at - step
        now = loss(at)
    return at.astype(np.float32)


@one_thread()
def train_risk(tools: Floats, levels: Ints, held: Ints, plan: DefaultPlan | None = None) -> list[Perceptron]:
    """Ordinal risk heads (four outputs, P(r > 1..4)), one per fold, each on the labels outside its fold.

    ``tools`` (N, D), ``levels`` (N,) with 0 for no label, ``held`` (N,) folds.
    Raises MissingExtra without torch, EncoderError where a head would have no label to learn from.
    """
    torch, plan = torch_for_heads(), plan or DefaultPlan()
    folds = range(plan.folds)
    kept = [np.flatnonzero((levels != UNKNOWN) & ((held != j) | (plan.folds == 1))) for j in folds]
    if min(map(len, kept)) == 0:
        raise EncoderError("there is no risk label to train on; expected tools with levels 1 to 5.")
    return [_ordinal(torch, tools, levels, rows, plan, plan.seed + 1000 * j) for j, rows in enumerate(kept)]


def _ordinal(torch: Any, tools: Floats, levels: Ints, rows: Ints, plan: DefaultPlan, seed: int) -> Perceptron:
    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    dim = tools.shape[1]
    layers = [
        torch.empty(shape).uniform_(-bound, bound, generator=generator).requires_grad_()
        for shape, bound in (
            ((HIDDEN, dim), dim**-0.5),
            ((HIDDEN,), dim**-0.5),
            ((4, HIDDEN), HIDDEN**-0.5),
            ((4,), HIDDEN**-0.5),
        )
    ]
    inputs = torch.from_numpy(tools)
    above = torch.from_numpy((levels[:, None] > np.arange(1, 5)).astype(np.float32))
    optimiser = torch.optim.AdamW(layers, plan.risk_rate, weight_decay=plan.risk_decay)
    for _ in range(plan.risk_epochs):
        order = rng.permutation(rows)
        for start in range(0, len(order), plan.batch):
            batch = torch.from_numpy(order[start : start + plan.batch])
            hidden = (inputs[batch] @ layers[0].T + layers[1]).relu()
            alive = torch.rand(hidden.shape, generator=generator) >= plan.risk_dropout
            logits = (hidden * alive / (1 - plan.risk_dropout)) @ layers[2].T + layers[3]
            optimiser.zero_grad()
            torch.nn.functional.binary_cross_entropy_with_logits(logits, above[batch]).backward()
            optimiser.step()
    return Perceptron(*(as_array(layer) for layer in layers))
