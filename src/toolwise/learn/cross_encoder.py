"""A small cross-encoder from the weights of all-MiniLM-L6-v2: request and tool are read together.

    python -m toolwise.learn.cross_encoder --minilm FOLDER --into FOLDER --steps N --seed 0

It learns from the requests that :mod:`toolwise.learn.data` permits.  A step
shows the model groups of one needed tool and others that are not, most of them
near in BM25's ranking of the request's own library, the rest at random, and
asks for the needed one: softmax cross-entropy within the group.  The folder
written is one that sentence-transformers' CrossEncoder and transformers read;
``training.json`` in it says how the weights were made.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from toolwise.encode.text import TEMPLATE, query_text, tool_text
from toolwise.errors import EncoderError, MissingExtra
from toolwise.learn.data import Library, libraries
from toolwise.learn.teacher import MINILM_SHA256, verify
from toolwise.protocols import Progress, silent
from toolwise.records import Query
from toolwise.retrieve import Bm25Retriever, build_bm25

MAX_TOKENS = 160
HARD_DEPTH = 30
"""BM25 ranks that hard negatives are drawn from."""
MOST_PAIRS = 2000
"""Pairs of request and needed tool that one library gives, so that no large data set drowns the others."""


@dataclass(frozen=True)
class Plan:
    """How long and how to train."""

    steps: int = 1500
    seed: int = 0
    groups: int = 4
    """Requests of a step."""
    hard: int = 5
    """Negatives of a group from BM25's ranking."""
    random: int = 2
    """Negatives of a group from the whole library."""
    rate: float = 1e-4
    """Greatest learning rate; it rises over the first tenth of the steps and then falls to 0."""
    new_rate: float = 1e-2
    """The same for the output layer, which starts from nothing and reads small vectors (norm about 1)."""
    device: str = "cpu"
    """Where torch computes; only ``cpu`` gives the same weights again."""


@dataclass(frozen=True, slots=True)
class Group:
    """A request, a tool it needs (first) and tools it does not, as texts."""

    request: str
    texts: tuple[str, ...]


class Sampler:
    """Groups out of libraries, drawn with a generator of its own."""

    def __init__(self, found: Sequence[Library], plan: Plan) -> None:
        self._plan = plan
        self._rng = np.random.default_rng(plan.seed)
        self._libraries = [library for library in found if library.requests and len(library.tools) > 1]
        if not self._libraries:
            raise EncoderError("there is no request to train on; expected libraries with requests.")
        self._texts = [[tool_text(tool) for tool in library.tools] for library in self._libraries]
        self._bm25 = [
            Bm25Retriever(build_bm25(library.tools), [tool.id for tool in library.tools])
            for library in self._libraries
        ]
        self._pairs = [
            (which, *pair) for which, library in enumerate(self._libraries) for pair in self._of(library)
        ]

    def __iter__(self) -> Iterator[Group]:
        """Groups without end: every pair of request and needed tool once before any comes twice."""
        while True:
            for pair in self._rng.permutation(len(self._pairs)):
                yield self.group(*self._pairs[pair])

    def _of(self, library: Library) -> list[tuple[int, int]]:
        pairs = [(row, gold) for row, request in enumerate(library.requests) for gold in request.gold]
        chosen = self._rng.permutation(len(pairs))[:MOST_PAIRS]
        return [pairs[place] for place in sorted(chosen)]

    def group(self, which: int, row: int, gold: int) -> Group:
        """The needed tool ``gold`` of request ``row`` of a library, and negatives."""
        request = self._libraries[which].requests[row]
        texts = self._texts[which]
        ranked = self._bm25[which].retrieve(Query("", request.text), HARD_DEPTH + len(request.gold))
        hard = [c.row for c in ranked.candidates if c.row not in request.gold]
        others = [tool for tool in range(len(texts)) if tool not in request.gold]
        picked = dict.fromkeys([*self._some(hard, self._plan.hard), *self._some(others, len(others))])
        negatives = list(picked)[: self._plan.hard + self._plan.random]
        return Group(query_text(request.text), tuple(texts[tool] for tool in (gold, *negatives)))

    def _some(self, rows: Sequence[int], count: int) -> list[int]:
        chosen = self._rng.permutation(len(rows))[:count]
        return [rows[place] for place in chosen]


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise MissingExtra('training needs torch: pip install "toolwise[train]"', extra="train") from error
    return torch


def start(folder: Path, seed: int) -> tuple[Any, Any]:
    """A model with one output and its tokenizer from verified MiniLM files; the output layer is new.

    Raises MissingExtra without torch and transformers, EncoderError for other files.
    """
    torch = _torch()
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    verify(folder)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = AutoModelForSequenceClassification.from_pretrained(
            str(folder), num_labels=1, local_files_only=True
        )
    return model, AutoTokenizer.from_pretrained(str(folder), local_files_only=True)


def train(
    model: Any, tokenizer: Any, groups: Iterator[Group], plan: Plan, progress: Progress = silent
) -> list[float]:
    """Train in place for ``plan.steps``; the loss of each step.  The model ends on the CPU."""
    torch = _torch()
    model.to(plan.device)
    new = {id(weights) for weights in model.classifier.parameters()}
    rates = [
        {"params": [w for w in model.parameters() if id(w) not in new], "lr": plan.rate},
        {"params": list(model.classifier.parameters()), "lr": plan.new_rate},
    ]
    optimizer = torch.optim.AdamW(rates, weight_decay=0.01)
    rise = max(plan.steps // 10, 1)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / rise, (plan.steps - step) / max(plan.steps - rise, 1), 1.0)
    )
    losses: list[float] = []
    with torch.random.fork_rng(devices=[plan.device] if plan.device.startswith("cuda") else []):
        torch.manual_seed(plan.seed)
        model.train()
        for step in range(plan.steps):
            loss = _loss(model, tokenizer, [next(groups) for _ in range(plan.groups)])
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            losses.append(float(loss.detach()))
            progress("cross-encoder", step + 1, plan.steps)
    model.to("cpu").eval()
    return losses


def _loss(model: Any, tokenizer: Any, batch: Sequence[Group]) -> Any:
    """Mean cross-entropy of the first text of each group."""
    torch = _torch()
    inputs = tokenizer(
        [group.request for group in batch for _ in group.texts],
        [text for group in batch for text in group.texts],
        padding=True,
        truncation="longest_first",
        max_length=MAX_TOKENS,
        return_tensors="pt",
    ).to(model.device)
    scores = model(**inputs).logits[:, 0].split([len(group.texts) for group in batch])
    target = torch.zeros(1, dtype=torch.long, device=model.device)
    return torch.stack([torch.nn.functional.cross_entropy(row[None, :], target) for row in scores]).mean()


def save(model: Any, tokenizer: Any, into: Path, made: dict[str, Any]) -> None:
    """Write ``model.safetensors``, ``config.json``, the tokenizer and ``training.json``."""
    into.mkdir(parents=True, exist_ok=True)
    tokenizer.model_max_length = MAX_TOKENS
    model.save_pretrained(str(into), safe_serialization=True)
    tokenizer.save_pretrained(str(into))
    text = json.dumps(made, indent=2, sort_keys=True, ensure_ascii=False)
    (into / "training.json").write_text(text + "\n", encoding="utf-8")


def build(minilm: Path, into: Path, data: Path, plan: Plan, progress: Progress = silent) -> list[float]:
    """Train on the permitted data sets under ``data`` and save; the loss of each step."""
    model, tokenizer = start(minilm, plan.seed)
    found = libraries(data)
    losses = train(model, tokenizer, iter(Sampler(found, plan)), plan, progress)
    made = {
        "base": {"model": "all-MiniLM-L6-v2", "sha256": MINILM_SHA256},
        "libraries": len(found),
        "requests": sum(len(library.requests) for library in found),
        "plan": asdict(plan),
        "text": TEMPLATE,
        "loss": {"first": losses[:1], "last tenth": float(np.mean(losses[-max(len(losses) // 10, 1) :]))},
    }
    save(model, tokenizer, into, made)
    return losses


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and train."""
    from toolwise.config import settings

    parser = argparse.ArgumentParser(prog="python -m toolwise.learn.cross_encoder", description=__doc__)
    parser.add_argument("--minilm", type=Path, required=True, help="folder of all-MiniLM-L6-v2")
    parser.add_argument("--into", type=Path, required=True, help="folder to write")
    parser.add_argument("--data", type=Path, default=settings().data, help="folder of data sets")
    parser.add_argument("--steps", type=int, default=Plan.steps)
    parser.add_argument("--seed", type=int, default=Plan.seed)
    parser.add_argument("--device", default=Plan.device, help="cpu or cuda")
    given = parser.parse_args(arguments)
    plan = Plan(steps=given.steps, seed=given.seed, device=given.device)
    build(given.minilm, given.into, given.data, plan)


if __name__ == "__main__":
    main()
