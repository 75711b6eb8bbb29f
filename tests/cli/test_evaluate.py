"""``toolwise eval`` and ``toolwise compare`` over the demo index, in process."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.conftest import DEMO
from toolwise.cli import main
from toolwise.evaluate.jsonl import read_run

REQUESTS = DEMO.parent / "requests.jsonl"


class Result(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run ``toolwise`` with arguments."""

    def command(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["toolwise", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        return Result(int(stop.value.code or 0), *capsys.readouterr())

    return command


def save(path: Path, *rows: dict[str, Any]) -> Path:
    """A JSONL file."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_eval_prints_every_default_metric(run: Run, demo_index: Path) -> None:
    """Metric, mean, interval, n; where the levels came from; nothing on stderr."""
    result = run("eval", demo_index, "--queries", REQUESTS)
    lines = result.out.splitlines()
    assert (result.code, result.err) == (0, "")
    assert lines[0].split() == ["metric", "mean", "95", "%", "interval", "n"]
    printed = {line.split()[0] for line in lines[1:-2]}
    assert printed >= {
        "ndcg@5",
        "comp@max",
        "rvr@5",
        "unneeded-risk@5",
        "exact",
        "exposed-tokens",
        "abstain-recall",
    }
    assert lines[-1].startswith("12 requests; levels as audited in the index; ")


def test_eval_json_and_run_file_agree(run: Run, demo_index: Path, tmp_path: Path) -> None:
    """The metrics asked for, in order; the run holds rankings, sets and sizes of all twelve requests."""
    out = tmp_path / "mine.jsonl"
    result = run(
        "eval", demo_index, "--queries", REQUESTS, "--metrics", "set-size,mrr", "--run", out, "--json"
    )
    report = json.loads(result.out)
    assert report["queries"] == 12
    assert [line["metric"] for line in report["metrics"]] == ["set-size", "mrr"]
    answers = read_run(out).answers
    assert len(answers) == 12
    rows = [json.loads(line) for line in REQUESTS.read_text(encoding="utf-8").splitlines()]
    sizes = [len(answers[row["id"]].selected or ()) for row in rows if row["tools"]]
    assert report["metrics"][0]["mean"] == pytest.approx(sum(sizes) / len(sizes))
    assert report["metrics"][0]["n"] == len(sizes) == 11
    assert all(answer.tokens is not None for answer in answers.values())


def test_eval_is_repeatable(run: Run, demo_index: Path) -> None:
    """The same numbers, intervals included."""
    once = run("eval", demo_index, "--queries", REQUESTS, "--json").out
    assert run("eval", demo_index, "--queries", REQUESTS, "--json").out == once


def test_eval_answers_within_candidates_and_workspaces(run: Run, demo_index: Path, tmp_path: Path) -> None:
    """The row's own candidates go first, then its workspace, then the whole index."""
    text = "draft an email to Ida"
    queries = save(
        tmp_path / "q.jsonl",
        {
            "id": "own",
            "query": text,
            "tools": ["mail/search"],
            "candidates": ["mail/search"],
            "workspace": "w",
        },
        {"id": "shared", "query": text, "tools": ["mail/draft_email"], "workspace": "w"},
        {"id": "whole", "query": text, "tools": ["mail/draft_email"]},
    )
    spaces = tmp_path / "w.json"
    spaces.write_text('[{"id": "w", "tools": ["mail/draft_email", "hr/get_salary"]}]', encoding="utf-8")
    out = tmp_path / "r.jsonl"
    result = run("eval", demo_index, "--queries", queries, "--workspaces", spaces, "--run", out)
    assert (result.code, result.err) == (0, "")
    answers = read_run(out).answers
    assert set(answers["own"].tools) == {"mail/search"}
    assert set(answers["shared"].tools) <= {"mail/draft_email", "hr/get_salary"}
    assert set(answers["shared"].selected or ()) <= {"mail/draft_email", "hr/get_salary"}
    assert len(answers["whole"].tools) > 2
    assert "resamples of 1 workspace" in result.out


def test_eval_warns_of_what_lowers_the_numbers(run: Run, demo_index: Path, tmp_path: Path) -> None:
    """Gold and library tools that are not in the index, and workspaces that are not given."""
    queries = save(
        tmp_path / "q.jsonl",
        {"id": "a", "query": "x", "tools": ["no/tool"], "candidates": ["other/tool", "mail/search"]},
        {"id": "b", "query": "x", "tools": ["mail/search"], "workspace": "w"},
    )
    result = run("eval", demo_index, "--queries", queries, "--metrics", "recall@5")
    assert result.code == 0
    assert "not in the index, so missed: 1 gold tool\n  'no/tool'\n" in result.err
    assert "not in the index: 1 tool of the requests' libraries" in result.err
    assert "though a workspace is named: 1 request" in result.err


@pytest.mark.parametrize("command", ["eval", "tune"])
def test_tools_that_the_index_lacks_are_named_with_the_nearest(
    run: Run, demo_index: Path, tmp_path: Path, command: str
) -> None:
    """Three of them; where it has none of all the requests' tools, numbers would mean nothing."""
    row = {"id": "a", "query": "find mail", "tools": ["mail/serch", "x/1", "x/2", "x/3", "x/4"]}
    good = {"id": "b", "query": "find mail", "tools": ["mail/search"]}
    result = run(command, demo_index, "--queries", save(tmp_path / "q.jsonl", row, good))
    assert result.code == 0
    head, first, *rest = result.err.splitlines()[:5]
    assert head == "not in the index, so missed: 5 gold tools"
    assert first.startswith("  'mail/serch'; did you mean 'mail/search'")
    assert rest == ["  'x/1'", "  'x/2'", "  and 2 more"]
    none = run(command, demo_index, "--queries", save(tmp_path / "q.jsonl", row))
    assert (none.code, none.out) == (11, "")
    assert "did you mean 'mail/search'" in none.err
    assert "has none of the tools that the requests name" in none.err
    unserved = save(tmp_path / "q.jsonl", row | {"tools": []}, good)
    assert "not in the index" not in run(command, demo_index, "--queries", unserved).err


def test_eval_uses_the_labels_given(run: Run, demo_index: Path, tmp_path: Path) -> None:
    """With every tool labelled 1 nothing is risky; the output names the file."""
    ids = [json.loads(line)["id"] for line in DEMO.read_text(encoding="utf-8").splitlines()]
    labels = save(tmp_path / "safe.jsonl", *({"id": i, "risk_level": 1} for i in ids))
    report = json.loads(
        run("eval", demo_index, "--queries", REQUESTS, "--risk", labels, "--metrics", "rvr@5", "--json").out
    )
    assert report["metrics"][0]["mean"] == 0.0
    assert report["levels"] == f"levels as labelled in {labels}"
    audited = run("eval", demo_index, "--queries", REQUESTS, "--metrics", "rvr@5", "--json").out
    assert json.loads(audited)["metrics"][0]["mean"] > 0


def test_method_and_policy_change_rankings_and_sets(run: Run, demo_index: Path) -> None:
    """A stricter policy exposes less."""

    def highest(policy: str) -> float:
        result = run(
            *("eval", demo_index, "--queries", REQUESTS, "--policy", policy),
            *("--metrics", "exposed-sum-risk", "--json", "--method", "bm25"),
        )
        return float(json.loads(result.out)["metrics"][0]["mean"])

    assert highest("strict") < highest("open")


@pytest.fixture
def runs(run: Run, demo_index: Path, tmp_path: Path) -> list[Path]:
    """A TREC run, a JSONL run and the output of ``select``, of the demo requests."""
    paths = [tmp_path / name for name in ("lexical.trec", "hybrid.jsonl", "answers.jsonl")]
    run("eval", demo_index, "--queries", REQUESTS, "--method", "bm25", "--run", paths[0], "--json")
    run("eval", demo_index, "--queries", REQUESTS, "--run", paths[1], "--json")
    paths[2].write_text(run("select", demo_index, "--from", REQUESTS).out, encoding="utf-8")
    return paths


def test_compare_reads_every_kind_of_run(run: Run, runs: list[Path]) -> None:
    """One line a metric and run; the baseline and the correction on stderr."""
    result = run("compare", *runs, "--qrels", REQUESTS, "--metrics", "ndcg@5,comp@5")
    assert result.code == 0
    lines = [line.split() for line in result.out.splitlines()[1:]]
    assert [line[:2] for line in lines] == [
        ["ndcg@5", "hybrid"],
        ["comp@5", "hybrid"],
        ["ndcg@5", "answers"],
        ["comp@5", "answers"],
    ]
    assert "baseline: lexical; " in result.err
    assert "p Holm over 4 comparisons" in result.err


def test_compare_takes_the_metrics_that_its_files_allow(run: Run, runs: list[Path], tmp_path: Path) -> None:
    """Sets where all runs deliver, risk where there are labels."""

    def compared(*arguments: object) -> set[str]:
        result = run("compare", *arguments, "--qrels", REQUESTS, "--json")
        return {line["metric"] for line in json.loads(result.out)}

    assert compared(*runs) == {"ndcg@5", "recall@5", "recall@10", "comp@5", "comp@max", "mrr"}
    assert "exact" in compared(*runs[1:])
    labels = save(tmp_path / "l.jsonl", {"id": "mail/search", "risk_level": 1})
    assert "unneeded-risk@5" in compared(*runs, "--risk", labels)


def test_compare_json_is_strict_json(run: Run, runs: list[Path], tmp_path: Path) -> None:
    """What is not told is null, not NaN."""
    one = save(tmp_path / "one.jsonl", {"id": "late-parcel", "query": "x", "tools": ["orders/get_order"]})
    result = run("compare", *runs[:2], "--qrels", one, "--metrics", "mrr,comp@5", "--json")
    lines = json.loads(result.out, parse_constant=pytest.fail)
    assert [line["p"] for line in lines] == [None, None]
    assert lines[0]["mcnemar"] is None
    assert lines[1]["mcnemar"] == 1.0


def test_compare_refuses_runs_that_leave_a_workspace(run: Run, runs: list[Path], tmp_path: Path) -> None:
    """The run, the request and the stray tool are named."""
    rows = [json.loads(line) for line in REQUESTS.read_text(encoding="utf-8").splitlines()]
    queries = save(tmp_path / "q.jsonl", *(row | {"workspace": "w"} for row in rows))
    spaces = tmp_path / "w.json"
    spaces.write_text('[{"id": "w", "tools": ["mail/search"]}]', encoding="utf-8")
    result = run("compare", *runs[:2], "--qrels", queries, "--workspaces", spaces)
    assert (result.code, result.out) == (11, "")
    assert "run 'lexical' answers query" in result.err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("eval", "{index}"), 2, "--queries"),
        (("eval", "{index}", "--queries", "{tmp}/none"), 11, "cannot be read"),
        (("eval", "{tmp}/none", "--queries", "{requests}"), 4, "holds no index"),
        (("eval", "{index}", "--queries", "{requests}", "--metrics", "ndgc@5"), 11, "Did you mean 'ndcg'?"),
        (("eval", "{index}", "--queries", "{requests}", "--policy", "lax"), 7, "'lax'"),
        (("eval", "{index}", "--queries", "{requests}", "--risk", "{requests}"), 11, "requests.jsonl:1: "),
        (("eval", "{index}", "--queries", "{requests}", "--run", "{tmp}/no/r"), 11, "cannot be written"),
        (("compare", "{requests}", "--qrels", "{requests}"), 11, "requests.jsonl:1: "),
        (("compare", "--qrels", "{requests}"), 2, "RUN"),
    ],
)
def test_a_users_mistake_ends_in_one_clear_line_and_a_code(
    run: Run, demo_index: Path, tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    """No traceback, nothing on stdout, the facts on stderr."""
    filled = [a.format(index=demo_index, tmp=tmp_path, requests=REQUESTS) for a in arguments]
    result = run(*filled)
    assert (result.code, result.out) == (code, "")
    assert words in result.err
    assert "Traceback" not in result.err


def test_a_workspace_that_is_not_in_the_file_is_refused(run: Run, demo_index: Path, tmp_path: Path) -> None:
    """The wrong file would give wrong numbers."""
    queries = save(tmp_path / "q.jsonl", {"id": "a", "query": "x", "tools": [], "workspace": "w9"})
    spaces = tmp_path / "w.json"
    spaces.write_text("[]", encoding="utf-8")
    result = run("eval", demo_index, "--queries", queries, "--workspaces", spaces)
    assert result.code == 11
    assert "query 'a' is of workspace 'w9'" in result.err


def test_one_run_is_no_comparison(run: Run, runs: list[Path]) -> None:
    """Two or more are."""
    result = run("compare", runs[0], "--qrels", REQUESTS)
    assert result.code == 11
    assert "two or more" in result.err
