"""Contrastive tuning of a static table on a user's own requests: about a minute on one core."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from toolwise.encode.static import PACKAGED, TABLE, TOKENIZER, StaticEncoder
from toolwise.errors import EncoderError
from toolwise.learn.batches import ToolBags, library_bags, tool_bags
from toolwise.learn.contrast import CHOSEN, Spaces, contrast
from toolwise.learn.encoder import Sources
from toolwise.learn.holdout import Measured, measure
from toolwise.learn.static_table import save
from toolwise.learn.text_model import torch_of_extra
from toolwise.protocols import Floats, Progress, silent

STEPS = 150


def widened(folder: Path) -> tuple[Floats, Floats]:
    """Unit vectors (V, D) and weights (V,) of the table in ``folder``; 0 for tokens that count nothing."""
    from safetensors.numpy import load_file

    table = load_file(str(folder / TABLE))
    rows = table["rows"].astype(np.float32) * table["scale"].astype(np.float32)[:, None]
    weights = np.linalg.norm(rows, axis=1)
    return rows / np.maximum(weights, 1e-9)[:, None], weights.astype(np.float32)


def tune_static(
    sources: Sources,
    into: Path,
    base: Path | None = None,
    steps: int = STEPS,
    seed: int = 0,
    progress: Progress = silent,
) -> tuple[Measured, Measured]:
    """Tune the table in ``base`` (None: the packaged one), write it to ``into``, measure before and after.

    Both measures are 0 where ``sources`` hold nothing out.  Raises MissingExtra
    without torch, EncoderError for sources without requests or a folder
    without a table.
    """
    torch_of_extra()
    folder = PACKAGED if base is None else base
    before = measure(StaticEncoder(folder), sources.held)
    tokenizer = json.loads((folder / TOKENIZER).read_text(encoding="utf-8"))
    vectors, weights = widened(folder)
    trained = _contrast(tokenizer, vectors, weights, sources, steps, seed, progress)
    save(into, tokenizer, *trained, floor=StaticEncoder(folder).floor)
    return before, measure(StaticEncoder(into), sources.held)


def _contrast(
    description: dict[str, Any],
    vectors: Floats,
    weights: Floats,
    sources: Sources,
    steps: int,
    seed: int,
    progress: Progress,
) -> tuple[Floats, Floats]:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(json.dumps(description))
    spaces = [space for space in (library_bags(tokenizer, one) for one in sources.main) if space.requests]
    servers: dict[str, list[ToolBags]] = {}
    tools = list({tool.id: tool for library in sources.main for tool in library.tools}.values())
    for tool, parts in zip(tools, tool_bags(tokenizer, tools), strict=True):
        servers.setdefault(tool.server, []).append(parts)
    groups = list(servers.values())
    if not spaces or not any(len(t.name) and len(t.description) for group in groups for t in group):
        raise EncoderError(
            "there is no request to train on; expected libraries with requests and described tools."
        )
    plan = replace(CHOSEN, steps=steps)
    return contrast(vectors, weights, Spaces(spaces), groups, seed, plan, progress)


def report(before: Measured, after: Measured) -> dict[str, dict[str, float]]:
    """Both measures as JSON values."""
    return {"before": asdict(before), "after": asdict(after)}
