"""MonoT5 (Nogueira, Jiang, Pradeep and Lin, 2020): a T5 model asked whether a text is relevant."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from toolwise.errors import EncoderError, MissingExtra
from toolwise.protocols import Floats

YES, NO = "\u2581true", "\u2581false"
"""The first pieces of the two answers in T5's vocabulary."""
MAX_TOKENS = 512
BATCH = 16


def prompt(request: str, text: str) -> str:
    """The input the published models were trained on."""
    return f"Query: {request} Document: {text} Relevant:"


class MonoT5Scorer:
    """The log-probability of "true" against "false" by a T5 model in a folder (read offline) or of a name.

    Raises MissingExtra without torch and transformers, EncoderError for a model
    that cannot be loaded or whose vocabulary lacks the two answers.
    """

    def __init__(self, spec: str) -> None:
        try:
            import torch
            from transformers import AutoTokenizer, T5ForConditionalGeneration
        except ImportError as error:
            raise MissingExtra('MonoT5 needs torch: pip install "toolwise[train]"', extra="train") from error
        local = Path(spec).expanduser().is_dir()
        name = str(Path(spec).expanduser()) if local else spec
        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(name, local_files_only=local)
            self._model: Any = T5ForConditionalGeneration.from_pretrained(name, local_files_only=local).eval()
        except (OSError, ValueError) as error:
            raise EncoderError(
                f"the MonoT5 model {spec} cannot be loaded: {error}. Give a folder or a model's name.",
                model=spec,
            ) from error
        self._torch = torch
        known = self._tokenizer.get_vocab()
        if YES not in known or NO not in known:
            raise EncoderError(
                f"the vocabulary of {spec} lacks {YES!r} or {NO!r}; expected a T5 vocabulary.", model=spec
            )
        self._answers = [known[NO], known[YES]]

    def score(self, request: str, texts: Sequence[str]) -> Floats:
        """Log-probabilities of "true" (K,), at most 0."""
        found = [self._batch(request, texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)]
        return np.concatenate(found) if found else np.zeros(0, np.float32)

    def _batch(self, request: str, texts: Sequence[str]) -> Floats:
        torch = self._torch
        inputs = self._tokenizer(
            [prompt(request, text) for text in texts],
            padding=True,
            truncation=True,
            max_length=MAX_TOKENS,
            return_tensors="pt",
        )
        start = torch.full((len(texts), 1), self._model.config.decoder_start_token_id)
        with torch.inference_mode():
            logits = self._model(
                input_ids=inputs["input_ids"],
                attention_mask=inputs["attention_mask"],
                decoder_input_ids=start,
            ).logits[:, 0, self._answers]  # (B, 2)
        scores: Floats = torch.log_softmax(logits.float(), dim=1)[:, 1].numpy()
        return scores
