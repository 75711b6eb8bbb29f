"""The harness over a data set small enough to count by hand."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from toolwise.bench import data, run
from toolwise.bench.data import Task
from toolwise.bench.report import tables
from toolwise.bench.risk import Plan
from toolwise.bench.run import run_suite
from toolwise.bench.suites import SUITES, Case, Group, Suite
from toolwise.bench.system import Ranking
from toolwise.bench.systems import known, make
from toolwise.config import Settings
from toolwise.errors import RegistryError
from toolwise.records import Query, Tool

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
    """An encoder without weights has its error in place of numbers."""
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
            assert name in known() or name.partition(":")[2] or Plan.parse(name) is not None
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


class Memory:
    """Ranks the gold tools of what it learned first; remembers what it was given."""

    name = "memory"
    learned: list[tuple[str, tuple[str, ...]]]

    def learn(self, training: Sequence[Group]) -> None:
        """Remember requests by their library."""
        self.learned = [(g.library, tuple(t.query.id for t in g.tasks)) for g in training]
        self._seen = {id_ for group in training for task in group.tasks for id_ in task.gold}

    def fit(self, tools: Sequence[Tool], train: Sequence[Task]) -> None:
        """Remember the library."""
        self._ids = [tool.id for tool in tools]

    def rank(self, query: Query, k: int) -> Ranking:
        """Tools seen in training, then the others."""
        order = sorted(self._ids, key=lambda id_: (id_ not in self._seen, id_))
        return [(id_, -float(place)) for place, id_ in enumerate(order[:k])]


def test_in_cross_validation_a_fold_is_answered_by_what_the_others_taught(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four requests in two folds: each fresh system learns two, answers the other two, and no more."""
    made: list[Memory] = []

    def fresh(*arguments: object) -> Memory:
        made.append(Memory())
        return made[-1]

    monkeypatch.setattr(run, "make", fresh)
    case = Case("tiny", "tiny", "test", folds=2)
    results = run_suite(Suite("small", (case,), ("recall@5",), ()), ["memory"])
    found = results["cases"][0]
    assert (found["folds"], found["requests"], found["training"]) == (2, 3, 2)
    learned = [sorted(id_ for _, ids in system.learned for id_ in ids) for system in made]
    assert sorted(learned[0] + learned[1]) == ["q1", "q2", "q3", "q4"]
    assert "2-fold cross-validation by gold set" in tables(results)


def test_a_limit_takes_requests_from_the_test_and_not_from_training(here: Path) -> None:
    """One request is asked; the fold it is in learns from the other fold's two."""
    parts = Case("tiny", "tiny", "test", folds=2).parts(limit=1)
    assert sum(len(g.tasks) for part in parts for g in part.groups) == 1
    assert [len(part.train) for part in parts] == [2, 2]


def test_subsets_get_numbers_and_tables_of_their_own(here: Path) -> None:
    """One request of three needs the tool of level 4; a subset without requests is not shown."""
    subsets = (
        ("high-risk", lambda task, train: "disk/delete" in task.gold),
        ("none", lambda task, train: False),
    )
    small = Suite("small", (Case("tiny", "tiny", "test", subsets=subsets),), ("ndcg@5", "rvr@5"), ())
    results = run_suite(small, ["bm25"])
    case = results["cases"][0]
    assert case["subsets"] == {"high-risk": 1}
    assert case["systems"][0]["subsets"]["high-risk"]["ndcg@5"]["n"] == 1
    assert "### tiny: high-risk\n\n1 requests." in tables(results)
