"""The learned annotator: level, capabilities and permissions with calibrated probabilities, in numpy.

What it was trained on, what it is worth and what it gets wrong stands in the
model card beside its weights (``weights/heads/README.md``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

from toolwise.audit.features import Grams, ngrams, table
from toolwise.audit.head_weights import (
    ENCODERS,
    FLAGS,
    OUTPUTS,
    PACKAGED,
    THRESHOLDS,
    VECTOR_SCALE,
    HeadWeights,
    load,
)
from toolwise.encode.load import load_encoder
from toolwise.errors import AnnotatorError
from toolwise.protocols import Bools, Encoder, Floats
from toolwise.records import Capability, Evidence, Level, Permission, Tool, Verdict

_NAME: Final = "head"
_BLOCK: Final = 64
"""Rows multiplied at a time, the last block padded: a row's result does not depend on its company."""
_BATCH: Final = 1_024
_TELLING: Final = 2
"""Words that are named as evidence."""
_LETTER: Final = re.compile(r"[^\W\d_]")
_LATIN: Final = re.compile(r"[A-Za-z\u00c0-\u024f]")
_LEAST_LATIN: Final = 0.5
_READ: Final = 600


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the head thinks of N tools."""

    at_least: Floats
    """(N, 4): the probability of level 2, 3, 4, 5 or more; never rises along a row."""
    flags: Floats
    """(N, 8): the probability of each capability, then of each permission."""
    levels: np.ndarray[tuple[int], np.dtype[np.int64]]
    """(N,): the level decided on, 1 to 5."""
    known: Bools
    """(N,): False where the head does not know enough of the tool's words to judge it."""
    telling: tuple[tuple[str, ...], ...]
    """N: the words of each tool that speak most for its level, with where they stand."""

    @property
    def risk(self) -> Floats:
        """(N, 5): the probability of each level; rows sum to 1."""
        edges = np.ones((len(self.at_least), THRESHOLDS + 2), np.float32)
        edges[:, 1:-1], edges[:, -1] = self.at_least, 0
        return -np.diff(edges, axis=1)


class HeadAnnotator:
    """Judges tools by what was learned from labelled tools of other servers.

    ``encoder`` is ``static`` (packaged, the default) or ``minilm`` (where
    toolwise-minilm is installed).
    ``weights`` is another file of weights, then for any encoder's specification.

    ``level`` is None where it knows none of the words, or the text is in another script than it learned.
    Raises AnnotatorError for an unknown encoder, damaged weights or weights for
    other vectors than the encoder's; MissingExtra and EncoderError as the encoder does.
    """

    name = _NAME

    def __init__(self, encoder: str = "static", *, weights: Path | None = None) -> None:
        if encoder not in ENCODERS and weights is None:
            raise AnnotatorError(
                f"there are no packaged weights of the head for the encoder {encoder!r}; there are for "
                f"{', '.join(ENCODERS)}. Give one of them, or a file of weights.",
                encoder=encoder,
            )
        path = PACKAGED / f"{encoder}.safetensors" if weights is None else Path(weights)
        self._encoder, self._weights = _encoder(encoder), _loaded(path)
        _match(self._weights, self._encoder, path)

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the encoder whose vectors it reads: an index with the same can share them."""
        return self._encoder.fingerprint

    def annotate(self, tools: Sequence[Tool], vectors: Floats | None = None) -> list[Verdict]:
        """One verdict per tool, in order; ``vectors`` (N, D) saves encoding them again."""
        found: list[Verdict] = []
        for start in range(0, len(tools), _BATCH):
            batch = tools[start : start + _BATCH]
            given = None if vectors is None else vectors[start : start + _BATCH]
            found += _verdicts(self.estimate(batch, given), self._weights)
        return found

    def risk(self, tools: Sequence[Tool], vectors: Floats | None = None) -> Floats:
        """The probability of each level 1 to 5 -> (N, 5), rows sum to 1; deterministic."""
        return self.estimate(tools, vectors).risk

    def estimate(self, tools: Sequence[Tool], vectors: Floats | None = None) -> Estimate:
        """The probabilities of N tools; ``vectors`` (N, D) are those of the same encoder."""
        if vectors is None:
            vectors = self._encoder.encode_tools(tools)
        grams = ngrams(tools)
        logits = scores(self._weights, vectors, table(tools), grams)
        return _estimate(logits, self._weights, grams, _known(tools, vectors, grams, self._weights))


@cache
def _encoder(specification: str) -> Encoder:
    return load_encoder(specification)


@cache
def _loaded(path: Path) -> HeadWeights:
    return load(path)


def _match(weights: HeadWeights, encoder: Encoder, path: Path) -> None:
    if weights.fingerprint not in ("", encoder.fingerprint):
        raise AnnotatorError(
            f"{path} was trained on vectors of {weights.fingerprint}; the encoder here is "
            f"{encoder.fingerprint}. Install the encoder it was made for, or train it again: "
            "python -m toolwise.learn.risk_head.",
            path=path,
            found=encoder.fingerprint,
            expected=weights.fingerprint,
        )


def scores(weights: HeadWeights, vectors: Floats, facts: Floats, grams: Sequence[Grams]) -> Floats:
    """Logits of the K outputs before calibration -> (N, K); vectors (N, D), facts (N, F)."""
    given = np.concatenate([vectors * VECTOR_SCALE, facts], axis=1, dtype=np.float32)
    total = np.zeros((len(given), OUTPUTS), np.float32)
    for start in range(0, len(given), _BLOCK):
        block = np.zeros((_BLOCK, given.shape[1]), np.float32)
        rows = given[start : start + _BLOCK]
        block[: len(rows)] = rows
        total[start : start + _BLOCK] = _perceptrons(weights, block)[: len(rows)]
    for some in grams:
        total += _linear(weights, some)
    return total


def _perceptrons(weights: HeadWeights, block: Floats) -> Floats:
    """The mean of the ensemble -> (B, K)."""
    hidden = np.maximum(block @ weights.hidden + weights.hidden_bias[:, None], 0)  # (E, B, H)
    mean: Floats = (hidden @ weights.output + weights.output_bias[:, None]).mean(axis=0, dtype=np.float32)
    return mean


def _linear(weights: HeadWeights, grams: Grams) -> Floats:
    """What one kind of n-grams adds -> (N, K)."""
    total = np.zeros((len(grams.starts) - 1, OUTPUTS), np.float32)
    filled = np.flatnonzero(grams.counts)
    if len(filled):
        each = weights.grams[grams.buckets].astype(np.float32) * grams.values[:, None]
        total[filled] = np.add.reduceat(each, grams.starts[filled], axis=0) * weights.gram_scale
    return total


def _estimate(logits: Floats, weights: HeadWeights, grams: Sequence[Grams], known: Bools) -> Estimate:
    calibrated = np.clip(weights.slope * logits + weights.offset, -30, 30)
    chances = (1 / (1 + np.exp(-calibrated))).round(5).astype(np.float32)
    at_least: Floats = np.minimum.accumulate(chances[:, :THRESHOLDS], axis=1)
    expected = 1 + at_least.sum(axis=1)
    levels = 1 + np.searchsorted(weights.cuts, expected, side="right").astype(np.int64)
    return Estimate(
        at_least, chances[:, THRESHOLDS:], levels, known, tuple(_telling(grams, levels, known, weights))
    )


def _known(tools: Sequence[Tool], vectors: Floats, grams: Sequence[Grams], weights: HeadWeights) -> Bools:
    """Where at least one word was met in training and most letters are of the script that was learned."""
    met = np.zeros(len(tools), bool)
    for some in grams:
        if some.kind in ("name", "description"):
            seen = weights.grams[some.buckets].any(axis=1)
            filled = np.flatnonzero(some.counts)
            if len(filled):
                met[filled] |= np.logical_or.reduceat(seen, some.starts[filled])
    legible = np.array([_legible(tool) for tool in tools], bool)
    known: Bools = met & legible & vectors.any(axis=1)
    return known


def _legible(tool: Tool) -> bool:
    letters = _LETTER.findall(f"{tool.name[:_READ]} {tool.text.description[:_READ]}")
    return len(_LATIN.findall("".join(letters))) >= _LEAST_LATIN * max(len(letters), 1)


def _telling(
    grams: Sequence[Grams],
    levels: np.ndarray[tuple[int], np.dtype[np.int64]],
    known: Bools,
    weights: HeadWeights,
) -> Iterator[tuple[str, ...]]:
    """The words that speak most for a tool's level (of level 1: against any other)."""
    wide = weights.grams.astype(np.float32) * weights.gram_scale
    up = np.concatenate([-wide[:, :1], wide[:, :THRESHOLDS].cumsum(axis=1)], axis=1)  # (BUCKETS, 5), by level
    words = [some for some in grams if some.spelt]
    weigh = [some.values * up[some.buckets, np.repeat(levels - 1, some.counts)] for some in words]
    for row in range(len(levels)):
        best: dict[str, float] = {}
        for some, weight in zip(words, weigh, strict=True) if known[row] else ():
            start, end = some.starts[row], some.starts[row + 1]
            for place in np.argsort(-weight[start:end], kind="stable")[:_TELLING].tolist():
                if weight[start + place] > 0:
                    best.setdefault(
                        f'"{some.spelt[start + place]}" in the {some.kind}', float(weight[start + place])
                    )
        yield tuple(sorted(best, key=lambda word: (-best[word], word))[:_TELLING])


def _verdicts(estimate: Estimate, weights: HeadWeights) -> Iterator[Verdict]:
    set_ = estimate.flags >= weights.flag_cuts
    for row, level in enumerate(estimate.levels.tolist()):
        if not estimate.known[row]:
            yield Verdict()
            continue
        flags = [flag for flag, is_set in zip(FLAGS, set_[row], strict=True) if is_set]
        yield Verdict(
            Level(level),
            frozenset(flag for flag in flags if isinstance(flag, Permission)),
            frozenset(flag for flag in flags if isinstance(flag, Capability)),
            (
                *_of_level(estimate, row, level, weights.improbable),
                *_of_flags(flags, estimate.flags[row]),
            ),
            chances=tuple(round(chance, 2) for chance in estimate.flags[row, : len(Capability)].tolist()),
        )


def _of_level(estimate: Estimate, row: int, level: int, improbable: Floats) -> Iterator[Evidence]:
    """Why at least this level, and which level is as good as ruled out."""
    chances = [1.0, *estimate.at_least[row].tolist()]
    words = " and ".join(estimate.telling[row])
    because = f"learned: {words}" if words else "learned from tools like it"
    told = max(level, 2)  # of level 1, the lowest, it tells how unlikely more is
    yield Evidence(f"level>={level}", _NAME, f"{because} (level {told} or more: {chances[told - 1]:.2f})")
    for above in range(level + 1, 6):
        if chances[above - 1] < improbable[above - 2]:
            why = f"learned: level {above} or more is improbable ({chances[above - 1]:.2f})"
            yield Evidence(f"level<={above - 1}", _NAME, why)
            return


def _of_flags(flags: Sequence[Capability | Permission], chances: Floats) -> Iterator[Evidence]:
    for flag in flags:
        kind = "capability" if isinstance(flag, Capability) else "permission"
        yield Evidence(f"{kind}:{flag}", _NAME, f"learned ({chances[FLAGS.index(flag)]:.2f})")
