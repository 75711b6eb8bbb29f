"""Tuning a sentence encoder: with torch, that it learns, resumes and stops."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.tiny_model import save_tiny
from toolwise.errors import EncoderError, MissingExtra
from toolwise.learn.data import Library, Request
from toolwise.learn.draws import Drawing
from toolwise.learn.encoder import REPORT, Plan, Sources, Tuning, learned, pace, strange, tune
from toolwise.learn.text_model import TextModel
from toolwise.records import Tool, ToolText

WORDS = "cloud river stone apple tiger piano lemon rocket candle anchor".split()
SAID = "sky water rock fruit cat music sour space light ship".split()
PLAN = Plan(
    epochs=2, rate=3e-3, warm_up=0.0, words=True, main=Drawing(requests=4), aside=Drawing(requests=3, tools=4)
)


def library(name: str = "toy") -> Library:
    """Ten tools, each of one word; a request for each in another word, and one for two of them."""
    tools = tuple(Tool(f"t/{w}", w, text=ToolText(f"{w} {w}")) for w in WORDS)
    requests = [Request(f"{s} {s}", (row,)) for row, s in enumerate(SAID)]
    return Library(name, tools, (*requests, Request("sky water", (0, 1))))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random transformer over the toy words."""
    return save_tiny(tmp_path_factory.mktemp("base"), [*WORDS, *SAID, "."], 32)


def weights(folder: Path) -> dict[str, np.ndarray]:
    """The saved weights of an encoder."""
    from safetensors.numpy import load_file

    return load_file(str(folder / "model.safetensors"))


def test_the_rate_rises_and_falls():
    """Ten steps, a fifth of them warm-up: half, full, then down by an eighth each."""
    found = [pace(step, 10, 0.2) for step in range(10)]
    assert found == pytest.approx([0.5, 1, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8])


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """The error holds the line that installs it."""
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"toolwise\[train\]"):
        TextModel(tmp_path)


def test_a_folder_without_a_model_is_refused(tmp_path: Path):
    """The missing file is named."""
    pytest.importorskip("transformers", reason="the [train] extra is not installed")
    with pytest.raises(EncoderError, match=r"holds no config\.json"):
        TextModel(tmp_path)


def test_a_vector_is_the_mean_of_the_token_states(base: Path):
    """Computed here from the transformer itself; order and neighbours change nothing."""
    import torch

    model = TextModel(base)
    found = model.encode(["sky water rock", "cat"])
    ids = torch.tensor([[2, 14, 15, 16, 3]])
    with torch.inference_mode():
        mean = model.network.eval()(input_ids=ids).last_hidden_state[0].mean(0).numpy()
    assert found[0] == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)
    assert model.encode(["cat", "sky water rock"])[1] == pytest.approx(found[0], abs=1e-5)


def test_pooling_of_the_first_token_is_followed(base: Path, tmp_path: Path):
    """Where sentence-transformers' file asks for it."""
    import shutil

    folder = shutil.copytree(base, tmp_path / "first")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}', encoding="utf-8")
    assert TextModel(folder).first_token
    assert not np.allclose(TextModel(folder).encode(["cat"]), TextModel(base).encode(["cat"]))


def test_it_learns_what_the_words_do_not_say(base: Path, tmp_path: Path):
    """Requests and tools share no word: from near chance to nearly all found, and the report says so."""
    sources = Sources((library(),), (library("beside"),), (library("held"),))
    state = tune(base, sources, tmp_path, replace(PLAN, epochs=30, patience=30))
    assert state.measured[0]["ndcg"] < 0.6
    assert max(row["ndcg"] for row in state.measured) > 0.9
    assert state.losses[-1] < state.losses[0]
    made = json.loads((tmp_path / "training.json").read_text(encoding="utf-8"))
    assert made["best_epoch"] == state.best
    assert made["data"]["main"] == {"toy": 11}
    assert not (tmp_path / "checkpoint").exists()


def test_a_stopped_training_ends_with_the_same_weights(base: Path, tmp_path: Path):
    """One epoch, a new process' worth of objects, the second epoch: equal to two epochs in one go."""
    sources = Sources((library(),), (library("beside"),))
    tune(base, sources, tmp_path / "whole", PLAN)

    def stop(stage: str, done: int, total: int) -> None:
        if stage == "epoch 2":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(base, sources, tmp_path / "parts", PLAN, stop)
    assert (tmp_path / "parts" / "checkpoint").is_dir()
    heard: list[str] = []
    tune(base, sources, tmp_path / "parts", PLAN, lambda stage, done, total: heard.append(stage))
    assert set(heard) == {"epoch 2"}
    whole, parts = weights(tmp_path / "whole"), weights(tmp_path / "parts")
    assert whole.keys() == parts.keys()
    for name in whole:
        assert np.array_equal(whole[name], parts[name]), name


def test_a_checkpoint_of_another_training_is_refused(base: Path, tmp_path: Path):
    """Other settings make another training."""
    sources = Sources((library(),))
    tuning = Tuning(TextModel(base), sources, PLAN, tmp_path)
    tuning._epoch(0, lambda stage, done, total: None)
    tuning._keep()
    with pytest.raises(EncoderError, match="other settings or data"):
        tune(base, sources, tmp_path, replace(PLAN, seed=1))


def test_it_stops_when_the_held_out_measure_no_longer_rises(base: Path, tmp_path: Path):
    """With a rate of zero nothing changes: two epochs without a gain are enough."""
    sources = Sources((library(),), (), (library("held"),))
    state = tune(base, sources, tmp_path, replace(PLAN, epochs=9, rate=0.0, patience=2))
    assert state.epochs == 2


def test_token_vectors_stay_unless_they_are_to_learn(base: Path, tmp_path: Path):
    """The first matrix of the model is the same bytes after training; another is not."""
    tune(base, Sources((library(),)), tmp_path, replace(PLAN, words=False))
    before, after = weights(base), weights(tmp_path)
    assert np.array_equal(
        before["embeddings.word_embeddings.weight"], after["embeddings.word_embeddings.weight"]
    )
    name = "encoder.layer.0.output.dense.weight"
    assert not np.array_equal(before[name], after[name])


def test_accumulated_blocks_move_the_weights_together(base: Path, tmp_path: Path):
    """All blocks of an epoch in one step: as many steps of the optimiser as epochs."""
    tuning = Tuning(TextModel(base), Sources((library(),)), replace(PLAN, accumulate=99), tmp_path)
    tuning.run()
    steps = {float(values["step"]) for values in tuning._optimiser.state_dict()["state"].values()}
    assert steps == {2.0}


def test_an_encoder_that_was_trained_on_what_is_held_out_is_refused(tmp_path: Path):
    """Also where that was before it learned on; one that says nothing of its training is taken as it is."""
    strange(tmp_path, ["mcp_tasks/w01"])
    told = {"data": {"main": {"small/a": 3}}, "before": {"data": {"main": {"mcp_tasks/w01": 2}}}}
    (tmp_path / REPORT).write_text(json.dumps(told), encoding="utf-8")
    assert learned(tmp_path) == {"small/a", "mcp_tasks/w01"}
    strange(tmp_path, ["mcp_tasks/w02"])
    with pytest.raises(EncoderError, match=r"mcp_tasks/w01.*same fold"):
        strange(tmp_path, ["mcp_tasks/w02", "mcp_tasks/w01"])


def test_nothing_to_learn_from_is_an_error(base: Path, tmp_path: Path):
    """A library without requests teaches nothing."""
    with pytest.raises(EncoderError, match="no request to train on"):
        tune(base, Sources((replace(library(), requests=()),)), tmp_path, PLAN)
