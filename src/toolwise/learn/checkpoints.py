"""A training on disk: weights and the optimiser's moments as safetensors, the rest as JSON."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from toolwise.errors import EncoderError

_STATE = "state.json"
_WEIGHTS = "weights.safetensors"
_MOMENTS = "moments.safetensors"


@dataclass(slots=True)
class State:
    """What a training has reached."""

    key: str
    """Hash of plan and data: a checkpoint belongs to one training."""
    epochs: int = 0
    best: int = 0
    """The epoch whose weights are kept, from 1."""
    losses: list[float] = field(default_factory=list)
    """Mean loss of each epoch."""
    measured: list[dict[str, float]] = field(default_factory=list)
    """Held-out measures before training and after each epoch; empty where nothing is held out."""


def save_checkpoint(folder: Path, state: State, network: Any, optimiser: Any) -> None:
    """Write the checkpoint beside the old one, then put it in its place.

    One that is whole is there at any time: where this is stopped between two
    names, :func:`recover` gives the old one its name back.
    """
    from safetensors.torch import save_file

    recover(folder)
    fresh, old = _beside(folder)
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    save_file({k: v.contiguous() for k, v in network.state_dict().items()}, str(fresh / _WEIGHTS))
    moments = {
        f"{index}.{name}": value.contiguous()
        for index, values in optimiser.state_dict()["state"].items()
        for name, value in values.items()
    }
    save_file(moments, str(fresh / _MOMENTS))
    (fresh / _STATE).write_text(json.dumps(asdict(state)), encoding="utf-8")
    if folder.is_dir():
        folder.rename(old)
    fresh.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def recover(folder: Path) -> None:
    """Put the old checkpoint back where a save was stopped before the new one had its name."""
    _, old = _beside(folder)
    if old.is_dir() and not folder.exists():
        old.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _beside(folder: Path) -> tuple[Path, Path]:
    """Where a checkpoint is written, and where the one before it waits."""
    return folder.with_name(folder.name + ".new"), folder.with_name(folder.name + ".old")


def load_checkpoint(folder: Path, key: str, network: Any, optimiser: Any) -> State:
    """Put weights and moments back.  Raises EncoderError where they are damaged or of another training."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        state = State(**json.loads((folder / _STATE).read_text(encoding="utf-8")))
        weights, moments = load_file(str(folder / _WEIGHTS)), load_file(str(folder / _MOMENTS))
    except (OSError, ValueError, TypeError, SafetensorError) as error:
        raise EncoderError(f"the checkpoint {folder} is damaged: {error}. Remove it.", path=folder) from error
    if state.key != key:
        raise EncoderError(
            f"the checkpoint {folder} is of a training with other settings or data. "
            "Give the same ones, or remove it to start anew.",
            path=folder,
        )
    network.load_state_dict(weights)
    values: dict[int, dict[str, Any]] = {}
    for name, value in moments.items():
        index, _, moment = name.partition(".")
        values.setdefault(int(index), {})[moment] = value
    groups = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": values, "param_groups": groups})
    return state
