"""``toolwise train encoder``, run as a user runs it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.tiny_model import save_tiny
from toolwise.cli import app
from toolwise.encode.load import load_encoder
from toolwise.errors import MissingExtra

RUN = CliRunner()
NAMES = ("apple", "tiger", "piano", "lemon")


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """An index of four tools."""
    rows = [{"id": f"t/{n}", "name": n, "description": f"Everything about the {n}."} for n in NAMES]
    (tmp_path / "tools.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    made = RUN.invoke(app, ["index", str(tmp_path / "tools.jsonl"), "--into", str(tmp_path / "index")])
    assert made.exit_code == 0, made.output
    return tmp_path / "index"


def requests(folder: Path) -> Path:
    """Two requests for each tool, one of a tool that the index lacks and one of none."""
    rows = [
        {"id": f"{n}{i}", "query": f"{i} what of {n}", "tools": [f"t/{n}"]} for n in NAMES for i in (0, 1)
    ]
    rows += [{"id": "x", "query": "x", "tools": ["t/none"]}, {"id": "y", "query": "y", "tools": []}]
    (folder / "requests.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return folder / "requests.jsonl"


def test_a_static_encoder_comes_out(index: Path, tmp_path: Path):
    """The folder is an encoder; the measures are printed and the requests that say nothing are counted."""
    pytest.importorskip("torch", reason="the [train] extra is not installed")
    pytest.importorskip("transformers", reason="the [train] extra is not installed")
    command = [
        "train",
        "encoder",
        str(index),
        "--requests",
        str(requests(tmp_path)),
        "--held",
        "0.25",
        "--json",
    ]
    done = RUN.invoke(app, [*command, "--into", str(tmp_path / "own")])
    assert done.exit_code == 0, done.output
    assert set(json.loads(done.stdout)) == {"before", "after"}
    assert "2 of 10 requests left out" in done.stderr
    assert f"static:{tmp_path / 'own'}" in done.stderr
    assert load_encoder(f"static:{tmp_path / 'own'}").dim == 256


def test_a_transformer_comes_out_as_onnx(index: Path, tmp_path: Path):
    """The folder that was named as base is tuned and exported; the index can be made again with it."""
    pytest.importorskip("onnxscript", reason="the [train] extra is not installed")
    base = save_tiny(tmp_path / "base", [*NAMES, "what", "of", "about", "the", "everything"], 128)
    command = ["train", "encoder", str(index), "--requests", str(requests(tmp_path)), "--base", str(base)]
    done = RUN.invoke(app, [*command, "--epochs", "1", "--held", "0", "--into", str(tmp_path / "own")])
    assert done.exit_code == 0, done.output
    assert load_encoder(f"onnx:{tmp_path / 'own'}").dim == 128
    sources = [str(tmp_path / "tools.jsonl"), "--into", str(index), "--rebuild"]
    made = RUN.invoke(app, ["index", *sources, "--encoder", f"onnx:{tmp_path / 'own'}"])
    assert made.exit_code == 0, made.output


def test_without_torch_the_extra_is_named(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Nothing is written."""
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    command = ["train", "encoder", str(index), "--requests", str(requests(tmp_path))]
    done = RUN.invoke(app, [*command, "--into", str(tmp_path / "own")])
    assert isinstance(done.exception, MissingExtra)
    assert not (tmp_path / "own").exists()
