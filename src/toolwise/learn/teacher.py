"""The teacher: a tuned MiniLM's sentence vectors and the mean state of each token of another vocabulary."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from toolwise.errors import EncoderError, MissingExtra
from toolwise.protocols import Floats, Progress, silent

MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""``model.safetensors`` of sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0)."""
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
MAX_TOKENS = 160
BATCH = 64


@dataclass(frozen=True, slots=True)
class Taught:
    """What the teacher says of N texts, for a vocabulary of V tokens and D dimensions."""

    sentences: Floats
    """(N, D) unit vectors."""
    states: Floats
    """(V, D) sum of the last hidden states of each token's pieces over all texts."""
    seen: Floats
    """(V,) how many pieces went into each sum."""


PINNED = {"model.safetensors": MINILM_SHA256, "tokenizer.json": TOKENIZER_SHA256}


def verify(folder: Path, names: Iterable[str] = tuple(PINNED)) -> None:
    """Check the pinned hashes of some files.  Raises EncoderError where one is missing or another."""
    for name in names:
        path, expected = folder / name, PINNED[name]
        if not path.is_file():
            raise EncoderError(f"{path} does not exist; expected all-MiniLM-L6-v2 in {folder}.", path=path)
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if found != expected:
            raise EncoderError(
                f"{path} has sha256 {found}, expected {expected}. Use the original all-MiniLM-L6-v2 files.",
                path=path,
            )


class Teacher:
    """all-MiniLM-L6-v2, or one tuned from it, in a local folder.

    ``half``: it multiplies in bfloat16, twice as fast where the processor has it.
    Raises MissingExtra without torch and transformers.
    """

    def __init__(self, folder: Path, half: bool = False) -> None:
        try:
            import torch
            from tokenizers import Tokenizer
            from transformers import AutoModel
        except ImportError as error:
            raise MissingExtra(
                'training needs torch: pip install "toolwise[train]"', extra="train"
            ) from error
        self._torch, self._half = torch, half
        self._model = AutoModel.from_pretrained(str(folder), local_files_only=True).eval()
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.enable_padding()

    def _forward(self, encodings: Sequence[Any]) -> tuple[Any, Any]:
        """Last states (B, T, D) and unit mean vectors (B, D)."""
        torch = self._torch
        ids = torch.tensor([e.ids for e in encodings])
        mask = torch.tensor([e.attention_mask for e in encodings])
        states = self._states(ids, mask)
        weight = mask.unsqueeze(-1).float()
        mean = (states * weight).sum(1) / weight.sum(1)
        return states, torch.nn.functional.normalize(mean, dim=1)

    def _states(self, ids: Any, mask: Any) -> Any:
        """Last states (B, T, D)."""
        torch = self._torch
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=self._half):
            return self._model(input_ids=ids, attention_mask=mask).last_hidden_state.float()

    def teach(self, texts: Sequence[str], vocabulary: Any, progress: Progress = silent) -> Taught:
        """Sentence vectors of ``texts`` and state sums per token of ``vocabulary`` (a slim ``Tokenizer``)."""
        torch = self._torch
        size, dim = vocabulary.get_vocab_size(), self._model.config.hidden_size
        sentences = np.zeros((len(texts), dim), np.float32)
        states, seen = torch.zeros(size, dim), torch.zeros(size)
        order = sorted(range(len(texts)), key=lambda row: (len(texts[row]), row))
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            batch = [texts[row] for row in rows]
            pieces = self._tokenizer.encode_batch(batch)
            hidden, mean = self._forward(pieces)
            sentences[rows] = mean.numpy()
            for line, (piece, slim) in enumerate(zip(pieces, vocabulary.encode_batch(batch), strict=True)):
                owners, places = _aligned(piece, slim)
                states.index_add_(0, torch.from_numpy(owners), hidden[line, places])
                seen.index_add_(0, torch.from_numpy(owners), torch.ones(len(owners)))
            progress("teacher", start + len(rows), len(texts))
        return Taught(sentences, states.numpy(), seen.numpy())

    def alone(self, tokens: Sequence[str], progress: Progress = silent) -> Floats:
        """(V, D) mean state of each token's own pieces when it stands alone between the special tokens."""
        found = np.zeros((len(tokens), self._model.config.hidden_size), np.float32)
        vocabulary = self._tokenizer.get_vocab()
        for start in range(0, len(tokens), 512):
            part = tokens[start : start + 512]
            pieces = self._tokenizer.encode_batch([token.removeprefix("##") for token in part])
            ids = [_own_ids(token, piece, vocabulary) for token, piece in zip(part, pieces, strict=True)]
            found[start : start + len(part)] = self._mean_inner(ids)
            progress("tokens", start + len(part), len(tokens))
        return found

    def _mean_inner(self, ids: list[list[int]]) -> Floats:
        torch = self._torch
        width = max(map(len, ids))
        padded = torch.tensor([row + [0] * (width - len(row)) for row in ids])
        mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in ids])
        states = self._states(padded, mask)
        inner = mask.clone()
        inner[:, 0] = 0
        inner[torch.arange(len(ids)), mask.sum(1) - 1] = 0
        weight = inner.unsqueeze(-1).float()
        result: Floats = ((states * weight).sum(1) / weight.sum(1).clamp(min=1)).numpy()
        return result


def _own_ids(token: str, piece: Any, vocabulary: dict[str, int]) -> list[int]:
    """The input of one token: itself where the teacher knows it, else its pieces."""
    if token in vocabulary:
        return [vocabulary["[CLS]"], vocabulary[token], vocabulary["[SEP]"]]
    return [i for i, attended in zip(piece.ids, piece.attention_mask, strict=True) if attended]


def _aligned(piece: Any, slim: Any) -> tuple[Any, Any]:
    """Slim token ids and the positions of the teacher's pieces that lie in them (equal lengths)."""
    starts = np.array([start for start, _ in slim.offsets], np.int64)
    ids = np.array(slim.ids, np.int64)
    real = ~np.array(piece.special_tokens_mask, bool) & np.array(piece.attention_mask, bool)
    places = np.flatnonzero(real)
    if not len(starts) or not len(places):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    at = np.array([piece.offsets[place][0] for place in places], np.int64)
    owner = np.searchsorted(starts, at, side="right") - 1
    return ids[np.maximum(owner, 0)], places
