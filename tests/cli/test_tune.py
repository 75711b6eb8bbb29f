"""``toolwise tune`` in process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.conftest import DEMO

REQUESTS = DEMO.parent / "requests.jsonl"


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    """Four requests of the demo, one of which nothing serves."""
    rows = [json.loads(line) for line in REQUESTS.read_text(encoding="utf-8").splitlines()]
    served = [row for row in rows if row["tools"]][:3]
    none = [row for row in rows if not row["tools"]][:1]
    path = tmp_path / "requests.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in (*served, *none)), encoding="utf-8")
    return path


def test_the_frontier_is_a_table_and_the_advice_two_lines_of_a_policy(
    run: Run, demo_index: Path, queries: Path
) -> None:
    """The table on stdout marks the present setting and the recommended one; the lines are on stderr."""
    found = run("tune", demo_index, "--queries", queries)
    assert found.code == 0
    assert "caution" in found.out.splitlines()[0]
    assert "present" in found.out
    assert "recommended" in found.out
    assert "3 requests that something serves, 1 that nothing serves" in " ".join(found.err.split())
    assert "caution = " in found.err
    assert "economy = " in found.err


def test_json_holds_every_point(run: Run, demo_index: Path, queries: Path) -> None:
    """Points, frontier, present and recommended settings, nothing else on stdout."""
    found = run("tune", demo_index, "--queries", queries, "--policy", "open", "--json")
    answer = json.loads(found.out)
    settings = {(p["caution"], p["economy"]) for p in answer["points"]}
    assert answer["policy"] == "open"
    assert answer["present"] == [0.0, 0.0]
    assert tuple(answer["recommended"]) in settings
    assert {tuple(setting) for setting in answer["frontier"]} <= settings
    assert all(p["requests"] == 3 for p in answer["points"])


def test_labels_stand_in_for_the_levels_of_the_index(
    run: Run, demo_index: Path, queries: Path, tmp_path: Path
) -> None:
    """Where every tool is labelled harmless nothing unneeded is risky."""
    ids = [json.loads(line)["id"] for line in DEMO.read_text(encoding="utf-8").splitlines()]
    risk = tmp_path / "risk.jsonl"
    risk.write_text("".join(json.dumps({"id": id_, "risk_level": 1}) + "\n" for id_ in ids), encoding="utf-8")
    found = run("tune", demo_index, "--queries", queries, "--risk", risk, "--json")
    assert all(p["risky"] == 0 for p in json.loads(found.out)["points"])


def test_the_plot_is_written(run: Run, demo_index: Path, queries: Path, tmp_path: Path) -> None:
    """By the ending of its name."""
    pytest.importorskip("matplotlib")
    plot = tmp_path / "frontier.svg"
    assert run("tune", demo_index, "--queries", queries, "--plot", plot).code == 0
    assert "<svg" in plot.read_text(encoding="utf-8")


def test_an_unknown_policy_is_refused(run: Run, demo_index: Path, queries: Path) -> None:
    """With the exit code of policies."""
    assert run("tune", demo_index, "--queries", queries, "--policy", "none-such").code == 7


def test_a_plot_of_another_kind_is_refused_before_the_work(
    run: Run, demo_index: Path, queries: Path, tmp_path: Path
) -> None:
    """As wrong usage; and a file without requests is no file to tune on."""
    result = run("tune", demo_index, "--queries", queries, "--plot", tmp_path / "frontier.txt")
    assert (result.code, result.out) == (2, "")
    assert "neither a .png nor an .svg" in " ".join(result.err.replace("│", " ").split())
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    result = run("tune", demo_index, "--queries", empty)
    assert (result.code, result.out) == (11, "")
    assert "holds no queries" in result.err
