"""Heads for one index from its own requests, judged on requests they did not see."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from toolwise.errors import EncoderError
from toolwise.learn.dual_head import DefaultPlan, Lesson, train_default
from toolwise.learn.dual_head_paper import PaperPlan, train_paper
from toolwise.learn.holdout import aside, judge
from toolwise.protocols import Floats, Ints
from toolwise.rerank.dual_head import Heads

FORMS = ("default", "paper")


@dataclass(frozen=True)
class Taught:
    """Heads and how well they rank, the relevance head alone, on held-out requests."""

    heads: Heads
    before: float
    """NDCG@5 of the encoder's cosine."""
    after: float
    """NDCG@5 of ``f_rel``."""
    trained: int
    held: int


def teach(lesson: Lesson, form: str = "default", held: float = 0.2, seed: int = 0) -> Taught:
    """Train on ``1 - held`` of the requests and judge on the others; equal requests are never on both sides.

    Raises MissingExtra without torch, EncoderError for an unknown form or fewer than two different ones.
    """
    if form not in FORMS:
        raise EncoderError(f"there is no form {form!r} of heads; expected {' or '.join(FORMS)}.", form=form)
    out, kept = _apart(lesson, held, seed)
    shown = _part(lesson, kept)
    heads: Heads = (
        train_paper([shown], PaperPlan(seed=seed))[0]
        if form == "paper"
        else train_default([shown], DefaultPlan(seed=seed))[0]
    )
    asked = _part(lesson, out)
    before = _ndcg(asked.queries @ asked.tools.T, asked)
    after = _ndcg(heads.relevance(asked.queries, asked.tools), asked)
    return Taught(heads, before, after, len(kept), len(out))


def _apart(lesson: Lesson, share: float, seed: int) -> tuple[Ints, Ints]:
    """Rows to judge by and rows to train on; requests with the same vector stay together."""
    same = [vector.tobytes() for vector in np.round(lesson.queries, 4) + 0.0]  # + 0.0: no -0.0
    counts = Counter(same)
    if len(counts) < 2:
        raise EncoderError(
            f"the encoder tells {len(counts)} requests apart: expected two or more, one to judge by.",
            requests=len(counts),
        )
    total = len(same)
    wanted = max(min(counts.values()), min(max(1, round(share * total)), total - 1))
    out = aside(same, wanted, np.random.default_rng(seed))
    held = np.isin(np.arange(total), sorted(out))
    return np.flatnonzero(held), np.flatnonzero(~held)


def _part(lesson: Lesson, rows: Ints) -> Lesson:
    return replace(lesson, queries=lesson.queries[rows], gold=[lesson.gold[row] for row in rows.tolist()])


def _ndcg(scores: Floats, asked: Lesson) -> float:
    """Mean NDCG@5 of scores (Q, N); ties by row."""
    ranked = np.argsort(-scores, axis=1, kind="stable").tolist()
    return float(np.mean([judge(line, gold)[0] for line, gold in zip(ranked, asked.gold, strict=True)]))
