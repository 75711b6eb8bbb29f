"""Rerankers that score a request and a tool together.

:class:`PairSystem` puts the head of an inner ranking in the order of the
scores of a :class:`PairScorer`; the two adapters here find one by name or path.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from toolwise.bench.baselines.pool import DEPTH, rerank
from toolwise.bench.data import Task
from toolwise.bench.system import Ranking, System
from toolwise.encode.text import query_text, tool_text
from toolwise.errors import EncoderError, MissingExtra
from toolwise.protocols import Floats
from toolwise.records import Query, Tool

_PATH_STARTS = ("/", "./", "../", "~", "\\")


class PairScorer(Protocol):
    """Score texts for one request.

    Laws: finite; a score depends on the request and that text alone; higher is better.
    """

    def score(self, request: str, texts: Sequence[str]) -> Floats:
        """One score per text (K,)."""


class CrossEncoderScorer:
    """Any model that sentence-transformers' CrossEncoder loads: a folder (read offline) or a model's name.

    Code that comes with a model is never run.  Raises MissingExtra without the
    library, EncoderError for a model that cannot be loaded or gives no finite number.
    """

    def __init__(self, spec: str) -> None:
        if find_spec("sentence_transformers") is None:
            raise MissingExtra(
                "The cross-encoder needs sentence-transformers. "
                'Run: pip install "toolwise[sentence-transformers]"',
                extra="sentence-transformers",
            )
        self._spec = spec
        self._model = _load(spec)

    def score(self, request: str, texts: Sequence[str]) -> Floats:
        """The model's own scores (K,)."""
        if not texts:
            return np.zeros(0, np.float32)
        try:
            found = self._model.predict([(request, text) for text in texts], show_progress_bar=False)
        except Exception as error:  # whatever the model's own code raises
            raise EncoderError(f"the model {self._spec} fails with: {error}.", model=self._spec) from error
        scores = np.asarray(found, np.float32)
        if scores.shape != (len(texts),) or not np.isfinite(scores).all():
            raise EncoderError(
                f"the model {self._spec} gave scores of shape {scores.shape} for {len(texts)} pairs, or not "
                "finite ones; expected one number a pair. Use a model with one output.",
                model=self._spec,
            )
        return scores


def _load(spec: str) -> Any:
    from sentence_transformers import CrossEncoder

    local = Path(spec).expanduser()
    is_folder = local.is_dir()
    if not spec or (not is_folder and spec.startswith(_PATH_STARTS)):
        raise EncoderError(
            f"{spec!r} is no folder; expected one with a cross-encoder, or a model's name.", model=spec
        )
    try:
        return CrossEncoder(
            str(local) if is_folder else spec, trust_remote_code=False, local_files_only=is_folder
        )
    except Exception as error:  # the library raises errors of a dozen others
        raise EncoderError(
            f"the cross-encoder {spec} cannot be loaded: {error}. Give a folder with config.json, "
            "model.safetensors and a tokenizer.",
            model=spec,
        ) from error


@cache
def load_cross_encoder(spec: str) -> PairScorer:
    """A cross-encoder, loaded once."""
    return CrossEncoderScorer(spec)


@cache
def load_monot5(spec: str) -> PairScorer:
    """A MonoT5 model, loaded once."""
    from toolwise.learn.monot5 import MonoT5Scorer

    return MonoT5Scorer(spec)


class PairSystem:
    """An inner system's best tools, in the order of a pair scorer; equal scores by the inner rank."""

    def __init__(self, name: str, inner: System, load: Callable[[], PairScorer], depth: int = DEPTH) -> None:
        self.name = name
        self._inner, self._load, self._depth = inner, load, depth
        self._texts: dict[str, str] = {}

    def fit(self, tools: Sequence[Tool], train: Sequence[Task]) -> None:
        """Fit the inner system and load the model; it learns nothing here."""
        self._inner.fit(tools, train)
        self._scorer = self._load()
        self._texts = {tool.id: tool_text(tool) for tool in tools}

    def rank(self, query: Query, k: int) -> Ranking:
        """The inner ranking with its head reranked."""

        def order(head: Ranking) -> list[str]:
            scores = self._scorer.score(query_text(query.text), [self._texts[id_] for id_, _ in head])
            return [head[row][0] for row in np.argsort(-scores, kind="stable")]

        return rerank(self._inner, query, k, self._depth, order)
