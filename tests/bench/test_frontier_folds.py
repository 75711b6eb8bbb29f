"""The folds of the suite ``frontier``: who answers for which workspace, with what."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.frontier_folds import folds_of, main, suite_of

from toolwise.audit.head_weights import PACKAGED as HEADS
from toolwise.audit.head_weights import load
from toolwise.bench import data
from toolwise.bench.cases import HEAD, Models
from toolwise.config import settings
from toolwise.encode.static import PACKAGED
from toolwise.errors import EvaluationError
from toolwise.learn.risk_head import write


def fold(folder: Path, *names: str) -> Path:
    """A folder with its list of workspaces, and a head by its name."""
    folder.mkdir()
    (folder / HEAD).touch()
    (folder / "held_out.json").write_text(json.dumps([f"mcp_tasks/{n}" for n in names]), encoding="utf-8")
    return folder


def test_the_first_fold_speaks_for_a_workspace(tmp_path: Path) -> None:
    """Held out twice it is answered once, by the table and the weights of the same place."""
    folders = [fold(tmp_path / "0", "w01", "w02"), fold(tmp_path / "1", "w02", "w03")]
    found = folds_of(folders, [tmp_path / "a", tmp_path / "b"])
    assert found == (
        (frozenset({"w01", "w02"}), Models(tmp_path / "0", tmp_path / "a")),
        (frozenset({"w03"}), Models(tmp_path / "1", tmp_path / "b")),
    )


def test_what_does_not_pair_up_is_refused(tmp_path: Path) -> None:
    """A folder without weights, and one without its list."""
    with pytest.raises(EvaluationError, match="1 folders and 0 weights"):
        folds_of([fold(tmp_path / "0", "w01")], [])
    (tmp_path / "0" / HEAD).unlink()
    with pytest.raises(EvaluationError, match=r"has no head\.safetensors.*risk_head"):
        folds_of([tmp_path / "0"], [tmp_path / "a"])
    (tmp_path / HEAD).touch()
    with pytest.raises(EvaluationError, match=r"has no held_out\.json"):
        folds_of([tmp_path], [tmp_path / "a"])


def test_no_workspace_is_answered_by_what_learned_from_it(tmp_path: Path) -> None:
    """Each part has its own models, its own workspaces, and training requests of others alone."""
    given = folds_of([fold(tmp_path / "0", "w01", "w05"), fold(tmp_path / "1", "w04")], [tmp_path / "a"] * 2)
    suite = suite_of(given, 30)
    assert not [name for name in suite.systems if "past=" in name]
    assert [case.audited for case in suite.cases] == [False, True]
    case = suite.cases[0]
    if not case.available():
        pytest.skip(f"mcp_tasks is not in {settings().data}")
    parts = case.parts(30, empty_gold=True)
    assert [part.models for part in parts] == [models for _, models in given]
    assert sum(len(group.tasks) for part in parts for group in part.groups) == 30
    for part, (held, _) in zip(parts, given, strict=True):
        assert {group.library for group in part.groups} <= held
        assert not held & {task.library for task in part.train}
        assert len({task.library for task in part.train}) > 10


def test_one_weights_file_for_each_folder(tmp_path: Path) -> None:
    """The command says so before anything is measured."""
    with pytest.raises((EvaluationError, SystemExit)):
        main(["--folds", str(fold(tmp_path / "0", "w01")), "--weights", "a", "b"])


def test_workspaces_are_judged_by_the_head_of_their_fold(tmp_path: Path) -> None:
    """The case that goes by the audit reads the head in the folder; the other one the labels."""
    table = tmp_path / "0"
    shutil.copytree(PACKAGED, table)
    (table / "held_out.json").write_text(json.dumps(["mcp_tasks/w01"]), encoding="utf-8")
    weights = load(HEADS / "static.safetensors")
    harmless = replace(weights, cuts=np.full(4, 9, np.float32), fingerprint="")
    write(harmless, table / HEAD)
    labels, audit = suite_of(folds_of([table], [tmp_path / "a"]), 30).cases
    if not labels.available():
        pytest.skip(f"mcp_tasks is not in {settings().data}")
    assert sorted(set(labels.levels().values())) == [1, 2, 3, 4, 5]
    found = audit.levels()
    tools = [tool for group in audit.groups() for tool in group.tools]
    usual = data.judged(tools)
    assert found.keys() == usual.keys()
    assert sum(found.values()) < sum(usual.values())  # its head finds everything harmless
    assert any(level == 1 < usual[id_] for id_, level in found.items())
