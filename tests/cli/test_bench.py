"""``toolwise bench run``: what is wrong is said before anything runs."""

import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from toolwise.bench import data
from toolwise.cli import bench
from toolwise.config import Settings


@pytest.fixture
def no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of data sets with nothing in it."""
    for module in ("toolwise.config", "toolwise.bench.data"):
        monkeypatch.setattr(f"{module}.settings", lambda: Settings(data=tmp_path / "empty"))
    return tmp_path / "empty"


@pytest.fixture
def some_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every data set seems to be here, and no suite may run."""

    def fail(*arguments: object, **options: object) -> None:
        raise AssertionError("a suite runs")

    monkeypatch.setattr(data, "available", lambda name: True)
    monkeypatch.setattr("toolwise.bench.run.run_suite", fail)


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("retrieval", "--systems", "bm25,magic"), 9, "no system called 'magic'; there are random, bm25"),
        (("robust", "--systems", "+magic"), 9, "no system called 'magic'"),
        (("retrieval", "--systems", "dense:"), 9, "'dense:'"),
        (
            ("retrieval", "--seeds", "a"),
            2,
            "whole numbers of 0 or more between commas",
        ),
        (("retrieval", "--seeds", ""), 2, "--seeds"),
        (("retrieval", "--seeds", "0,-1"), 2, "--seeds"),
        (("retrieval", "--limit", "-1"), 2, "Invalid value for '--limit'"),
        (("retrieval", "--budget", "-1"), 2, "Invalid value for '--budget'"),
        (("retrieval", "--into", "{file}"), 2, "is a file"),
        (("retrieval", "--cases", "magic"), 11, "no case called 'magic'"),
        (("retreival",), 11, "no suite called 'retreival'"),
    ],
)
@pytest.mark.usefixtures("some_data")
def test_a_mistake_is_named_before_anything_runs(
    run: Run, tmp_path: Path, options: tuple[str, ...], code: int, said: str
) -> None:
    """In one line and with its exit code."""
    file = tmp_path / "file"
    file.touch()
    result = run("bench", "run", *(option.format(file=file) for option in options))
    assert (result.code, result.out) == (code, "")
    assert said in result.err


@pytest.mark.parametrize("suite", ["retrieval", "latency"])
def test_without_any_data_the_folder_is_named(run: Run, no_data: Path, tmp_path: Path, suite: str) -> None:
    """And the variable that names another; nothing is written."""
    result = run("bench", "run", suite, "--into", tmp_path / "results")
    assert (result.code, result.out) == (11, "")
    assert f"are not in {no_data}. Name the folder that holds them in TOOLWISE_DATA" in result.err
    assert not (tmp_path / "results").exists()


@pytest.mark.usefixtures("some_data")
def test_without_matplotlib_the_report_is_written(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 0, and a word on how to get the plots."""
    entry = {"system": "bm25", "metrics": {"ndcg@5": {"mean": 1.0, "low": 1.0, "high": 1.0, "n": 1}}}
    case = {
        **{"name": "c", "note": "", "requests": 1, "tools": 2, "training": 0, "differences": []},
        **{"shared_gold_sets": 0, "left_out_of_training": 0, "data_set": "d", "split": "test"},
        "systems": [{**entry, "cpu_ms": 1.0, "index_s": 0.1, "requests": 1}],
    }
    results = {"suite": "abstain", "metrics": ["ndcg@5"], "limit": 0, "cases": [case], "skipped": []}
    monkeypatch.setattr("toolwise.bench.run.run_suite", lambda *arguments, **options: results)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("bench", "run", "abstain", "--systems", "bm25", "--into", tmp_path)
    assert result.code == 0
    assert 'no plots: drawing needs matplotlib. Run: pip install "toolwise[bench]"' in result.err
    assert json.loads((tmp_path / "abstain.json").read_text(encoding="utf-8"))["suite"] == "abstain"
    assert (tmp_path / "abstain.md").is_file()


def test_seeds_are_read() -> None:
    """Blanks around them are passed over."""
    assert bench._seeds("0, 1,20") == (0, 1, 20)
