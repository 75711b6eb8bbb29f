"""A sentence encoder under training: a transformer, its tokenizer, mean or first-token pooling."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from toolwise.encode.text import query_text, tool_text
from toolwise.errors import EncoderError, MissingExtra
from toolwise.protocols import Floats
from toolwise.records import Tool, as_mapping

READ_TOKENS = 256
"""Tokens of a text that are read outside training, as the onnx encoder reads them."""
CHUNK = 32
"""Texts of alike lengths that go through the transformer together."""
_POOLING = Path("1_Pooling") / "config.json"


def torch_of_extra() -> Any:
    """The torch module.  Raises MissingExtra where torch or transformers is not installed."""
    try:
        import torch
        import transformers  # noqa: F401  (both come with the extra)
    except ImportError as error:
        raise MissingExtra(
            'training needs torch and transformers: pip install "toolwise[train]"', extra="train"
        ) from error
    return torch


class TextModel:
    """Texts to unit vectors of D dimensions, with gradients or without.

    ``folder`` holds ``config.json``, ``model.safetensors`` and
    ``tokenizer.json``, and may hold sentence-transformers'
    ``1_Pooling/config.json``.  Raises MissingExtra without torch, EncoderError
    where a file is missing.
    """

    def __init__(self, folder: Path, device: str = "cpu") -> None:
        torch = torch_of_extra()
        from tokenizers import Tokenizer
        from transformers import AutoModel

        for name in ("config.json", "model.safetensors", "tokenizer.json"):
            if not (folder / name).is_file():
                raise EncoderError(
                    f"{folder} holds no {name}; expected an encoder as sentence-transformers saves it.",
                    path=folder / name,
                )
        self._torch = torch
        self._folder = folder
        self.device = device
        self.network = AutoModel.from_pretrained(str(folder), local_files_only=True).float().to(device)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        pad = self._tokenizer.padding or {}
        self._tokenizer.enable_padding(pad_id=pad.get("pad_id", 0), pad_token=pad.get("pad_token", "[PAD]"))
        self.first_token = _reads_first_token(folder / _POOLING)

    def embed(self, texts: Sequence[str], tokens: int, rough: bool = False) -> Any:
        """Unit vectors (N, D) of the first ``tokens`` tokens of each text, with gradients in training.

        ``rough``: the transformer multiplies in bfloat16, which is more than
        twice as fast where the processor has it.
        """
        torch = self._torch
        self._tokenizer.enable_truncation(tokens)
        order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
        parts = [
            self._chunk([texts[row] for row in order[start : start + CHUNK]], rough)
            for start in range(0, len(order), CHUNK)
        ]
        back = torch.empty(len(order), dtype=torch.long)
        back[torch.tensor(order)] = torch.arange(len(order))
        return torch.cat(parts)[back.to(self.device)]

    def _chunk(self, texts: list[str], rough: bool) -> Any:
        torch = self._torch
        encodings = self._tokenizer.encode_batch(texts)
        ids = torch.tensor([e.ids for e in encodings], device=self.device)
        mask = torch.tensor([e.attention_mask for e in encodings], device=self.device)
        with torch.autocast(self.device.partition(":")[0], torch.bfloat16, enabled=rough):
            states = self.network(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        weight = mask.unsqueeze(-1).float()
        pooled = states[:, 0] if self.first_token else (states * weight).sum(1) / weight.sum(1)
        return torch.nn.functional.normalize(pooled, dim=1)

    def encode(self, texts: Sequence[str], rough: bool = False) -> Floats:
        """Unit vectors (N, D), dropout off."""
        torch = self._torch
        if not texts:
            return np.zeros((0, self.network.config.hidden_size), np.float32)
        training = self.network.training
        self.network.eval()
        with torch.inference_mode():
            found: Floats = self.embed(texts, READ_TOKENS, rough).cpu().numpy()
        self.network.train(training)
        return found

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        """Texts of requests -> (Q, D)."""
        return self.encode([query_text(text) for text in texts])

    def encode_tools(self, tools: Sequence[Tool]) -> Floats:
        """Tools, by their searchable text -> (N, D)."""
        return self.encode([tool_text(tool) for tool in tools])

    def save(self, into: Path) -> None:
        """Write a folder that this class, transformers and the onnx export read."""
        into.mkdir(parents=True, exist_ok=True)
        self.network.save_pretrained(str(into), safe_serialization=True)
        (into / "tokenizer.json").write_bytes((self._folder / "tokenizer.json").read_bytes())
        if (self._folder / _POOLING).is_file():
            (into / _POOLING).parent.mkdir(exist_ok=True)
            (into / _POOLING).write_bytes((self._folder / _POOLING).read_bytes())


def _reads_first_token(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        return as_mapping(json.loads(path.read_text(encoding="utf-8"))).get("pooling_mode_cls_token") is True
    except ValueError as error:
        raise EncoderError(f"{path} is not JSON: {error}. Correct or remove it.", path=path) from error
