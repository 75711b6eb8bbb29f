"""The harness over a data set small enough to count by hand."""

import json
from pathlib import Path

import pytest

from toolwise.bench import data
from toolwise.bench.report import tables
from toolwise.bench.run import run_suite
from toolwise.bench.suites import SUITES, Case, Suite
from toolwise.bench.systems import known, make
from toolwise.config import Settings
from toolwise.errors import RegistryError

TOOLS = {
    "mail/send": "Send an email to a person",
    "mail/list": "List the emails of a folder",
    "disk/delete": "Delete a file for good",
    "disk/read": "Read the text of a file",
    "map/route": "Find the way between two towns",
    "map/traffic": "Tell where the roads are jammed",
}
REQUESTS = [
    {"id": "q1", "query": "send an email", "tools": ["mail/send"], "workspace": "w1"},
    {"id": "q2", "query": "delete the file", "tools": ["disk/delete"], "workspace": "w1"},
    {"id": "q3", "query": "way between two towns", "tools": ["map/route"], "workspace": "w2"},
    {"id": "q4", "query": "knit a pullover", "tools": [], "workspace": "w2"},
]
WORKSPACES = [
    {"id": "w1", "tools": ["mail/send", "mail/list", "disk/delete", "disk/read"]},
    {"id": "w2", "tools": ["map/route", "map/traffic"]},
]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of data sets with one in it, called tiny."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    rows = [
        {"id": i, "name": i.partition("/")[2], "description": d, "parameters": {}} for i, d in TOOLS.items()
    ]
    levels = [{"id": i, "risk_level": 4 if i == "disk/delete" else 1} for i in TOOLS]
    for name, lines in (("tools", rows), ("queries.test", REQUESTS), ("risk_labels", levels)):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (folder / "workspaces.json").write_text(json.dumps(WORKSPACES), encoding="utf-8")
    monkeypatch.setattr(data, "settings", lambda: Settings(data=tmp_path))
    data.tools.cache_clear()
    yield tmp_path
    data.tools.cache_clear()


def suite(*metrics: str, empty_gold: bool = False) -> Suite:
    """A suite of the tiny data set and one that is not there."""
    cases = (Case("tiny", "tiny", "test", "made up"), Case("gone", "no-such-set", "test"))
    return Suite("small", cases, metrics, ("bm25",), empty_gold)


def test_every_request_is_answered_from_its_own_library(here: Path) -> None:
    """Two workspaces of four and two tools; all three answerable requests are plain for BM25."""
    results = run_suite(suite("ndcg@5", "recall@5"), ["bm25", "hybrid"])
    case = results["cases"][0]
    assert (case["requests"], case["tools"]) == (3, 3)
    bm25 = case["systems"][0]["metrics"]
    assert bm25["ndcg@5"] == {"mean": 1.0, "low": 1.0, "high": 1.0, "n": 3}
    assert results["skipped"] == ["gone: the data set no-such-set is not here"]


def test_risk_metrics_go_by_the_labels(here: Path) -> None:
    """One request of three needs the level 4 tool: NeedRisk-Recall is over that one alone."""
    case = run_suite(suite("needrisk-recall@5", "unneeded-risk@5"), ["bm25"])["cases"][0]
    values = case["systems"][0]["metrics"]
    assert values["needrisk-recall@5"]["mean"] == 1.0
    assert values["needrisk-recall@5"]["n"] == 1


def test_delivered_sets_are_measured_where_a_system_delivers_them(here: Path) -> None:
    """The whole of toolwise turns the unanswerable request away and bm25 delivers nothing to measure."""
    results = run_suite(suite("abstain-recall", "coverage", empty_gold=True), ["bm25", "toolwise"])
    case = results["cases"][0]
    assert case["requests"] == 4
    by_name = {entry["system"]: entry.get("metrics") for entry in case["systems"]}
    assert by_name["bm25"] == {}
    assert by_name["toolwise"]["abstain-recall"]["mean"] == 1.0
    assert by_name["toolwise"]["coverage"]["mean"] == 1.0


def test_a_system_that_fails_is_reported_and_the_others_are_measured(here: Path) -> None:
    """A cross-encoder without weights has its error in place of numbers."""
    results = run_suite(suite("ndcg@5"), ["bm25", "dense:onnx:no-such-folder"])
    good, bad = results["cases"][0]["systems"]
    assert good["metrics"]["ndcg@5"]["mean"] == 1.0
    assert "no-such-folder" in bad["error"]
    assert "no-such-folder" in tables(results)


def test_tables_show_means_intervals_and_what_was_skipped(here: Path) -> None:
    """One table per case, in per cent."""
    text = tables(run_suite(suite("ndcg@5"), ["bm25", "random"]))
    assert "## tiny" in text
    assert "| bm25 | 100.0 ±0.0 |" in text
    assert "Skipped: gone: the data set no-such-set is not here." in text


def test_results_are_json_and_the_same_again(here: Path) -> None:
    """But for the times."""
    first, second = (run_suite(suite("ndcg@5"), ["bm25", "random"], seeds=(0, 1)) for _ in range(2))
    for results in (first, second):
        for entry in results["cases"][0]["systems"]:
            entry["index_s"] = entry["cpu_ms"] = 0
    assert json.dumps(first) == json.dumps(second)


def test_every_system_of_every_suite_is_known() -> None:
    """No suite names a system that cannot be made; an unknown name is refused with the list."""
    for some in SUITES.values():
        for name in some.systems:
            assert name in known()
            make(name, 0, {})
    with pytest.raises(RegistryError, match=r"'magic'.*bm25"):
        make("magic", 0, {})


def test_requests_that_training_repeats_are_left_out_of_it(here: Path) -> None:
    """Of two training requests one repeats a test text; its gold set is reported as shared."""
    rows = [
        {"id": "t1", "query": "Send an  EMAIL", "tools": ["mail/send"], "workspace": "w1"},
        {"id": "t2", "query": "list my emails", "tools": ["mail/list"], "workspace": "w1"},
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (here / "tiny" / "queries.train.jsonl").write_text(text, encoding="utf-8")
    learning = Suite("small", (Case("tiny", "tiny", "test", train=("train",)),), ("ndcg@5",), ("bm25",))
    case = run_suite(learning, ["bm25"])["cases"][0]
    assert (case["training"], case["left_out_of_training"], case["shared_gold_sets"]) == (1, 1, 1)
