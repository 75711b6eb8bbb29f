"""A training on disk that may be stopped at any time."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

from toolwise.errors import EncoderError
from toolwise.learn.checkpoints import State, load_checkpoint, recover, save_checkpoint


def parts(value: float) -> tuple[Any, Any]:
    """A network of one weight, and an optimiser that has taken a step."""
    network = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(network.weight, value)
    optimiser = torch.optim.AdamW(network.parameters(), lr=0.0, weight_decay=0.0)
    network(torch.ones(1, 1)).sum().backward()
    optimiser.step()
    return network, optimiser


def saved(folder: Path, epochs: int) -> None:
    """A checkpoint after so many epochs, its weight the same number."""
    save_checkpoint(folder, State("k", epochs=epochs), *parts(float(epochs)))


def loaded(folder: Path) -> tuple[int, float]:
    """Epochs and weight of a checkpoint."""
    network, optimiser = parts(-1.0)
    state = load_checkpoint(folder, "k", network, optimiser)
    return state.epochs, float(network.weight.detach())


def test_the_last_save_is_what_is_loaded(tmp_path: Path):
    """And nothing else is left beside it."""
    saved(tmp_path / "c", 1)
    saved(tmp_path / "c", 2)
    assert loaded(tmp_path / "c") == (2, 2.0)
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


@pytest.mark.parametrize("at", [1, 2])
def test_a_save_that_is_stopped_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int):
    """Before the old checkpoint gave up its name, and before the new one had it."""
    folder = tmp_path / "c"
    saved(folder, 1)
    rename, turns = Path.rename, iter(range(1, 9))

    def stopped(self: Path, target: Path) -> Path:
        if next(turns) == at:
            raise KeyboardInterrupt
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", stopped)
        with pytest.raises(KeyboardInterrupt):
            saved(folder, 2)
    recover(folder)
    assert loaded(folder) == (1, 1.0)
    saved(folder, 3)
    assert loaded(folder) == (3, 3.0)
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_a_damaged_checkpoint_is_named(tmp_path: Path):
    """With what to do about it."""
    saved(tmp_path / "c", 1)
    (tmp_path / "c" / "weights.safetensors").write_bytes(b"no")
    with pytest.raises(EncoderError, match=r"is damaged: .* Remove it"):
        loaded(tmp_path / "c")
