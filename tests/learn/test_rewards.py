"""Logged traces as training sets with rewards."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from tests.builders import WordEncoder, tool
from toolwise.errors import InvalidRequest, SourceNotFound
from toolwise.learn.hyperedges import PAPER, train_sets
from toolwise.learn.rewards import (
    LoggedTrace,
    TraceRewards,
    outcome_reward,
    parse_traces,
    read_traces,
    training_traces,
)
from toolwise.learn.set_examples import set_examples
from toolwise.learn.traces import of_traces


def line(
    request: str = "refund", called: object = ("a", "b"), outcome: object = "success", **more: object
) -> str:
    """One trace."""
    return json.dumps(
        {"request": request, "exposed": ["a", "b", "c"], "called": called, "outcome": outcome} | more
    )


def trace(text: str, gold: str, reward: float) -> LoggedTrace:
    """A trace whose tools are single letters."""
    return LoggedTrace(text, frozenset("abc"), frozenset(gold), reward)


@pytest.mark.parametrize(
    ("outcome", "reward"),
    [
        ("success", 1.0),
        ("Solved ", 1.0),
        ("partial", 0.5),
        ("error", 0.0),
        (0.25, 0.25),
        (True, 1.0),
        (None, None),
    ],
)
def test_an_outcome_has_a_reward(outcome: object, reward: float | None):
    """Words, numbers and truth values, as documented."""
    assert outcome_reward(outcome) == reward


@pytest.mark.parametrize("outcome", ["great", 1.5, -0.1, float("nan"), []])
def test_another_outcome_is_refused(outcome: object):
    """Nothing is guessed."""
    with pytest.raises(InvalidRequest):
        outcome_reward(outcome)


def test_a_call_that_failed_serves_nobody():
    """Its tool is not in the set of the trace."""
    found = parse_traces([line(called=["a", {"id": "b", "ok": False}, {"id": "c"}])]).traces
    assert found[0].gold == {"a", "c"}
    assert found[0].exposed == {"a", "b", "c"}


def test_a_broken_line_loses_no_other():
    """Each is named by its number; traces without an outcome are counted."""
    lines = ["{", line(), "", line(outcome=None), "[]", line(called="a"), line(called=[3]), line(outcome="?")]
    found = parse_traces(lines)
    assert len(found.traces) == 1
    assert found.undecided == 1
    assert [problem.split(":")[0] for problem in found.problems] == [f"line {n}" for n in (1, 5, 6, 7, 8)]


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    """The error holds the path."""
    with pytest.raises(SourceNotFound, match=r"none[.]jsonl"):
        read_traces(tmp_path / "none.jsonl")


def test_a_file_is_read(tmp_path: Path):
    """Line by line."""
    (tmp_path / "t.jsonl").write_text(line() + "\n" + line("mail"), encoding="utf-8")
    assert [t.text for t in read_traces(tmp_path / "t.jsonl").traces] == ["refund", "mail"]


def test_the_best_trace_of_a_request_is_learned_from():
    """Greatest reward, then fewest tools, then the first; failures alone teach no set."""
    traces = [
        trace("x", "abc", 1.0),
        trace("x", "ab", 1.0),
        trace("x", "a", 0.5),
        trace("y", "a", 0.0),
        trace("z", "", 1.0),
        trace("w", "c", 0.5),
    ]
    assert training_traces(traces) == (traces[1], traces[4], traces[5])


def test_workspaces_keep_their_requests_apart():
    """The same words in two workspaces are two requests."""
    found = parse_traces([line(workspace="one"), line(workspace="two")]).traces
    assert len(training_traces(found)) == 2


def test_a_set_earns_what_its_tools_are_known_to_achieve():
    """The best trace whose tools are all in the set."""
    rewards = TraceRewards(["x", "y"], ["a", "b", "c"], [trace("x", "ab", 1.0), trace("x", "c", 0.25)])
    assert rewards(0, (0, 1)) == 1.0
    assert rewards(0, (0, 1, 2)) == 1.0
    assert rewards(0, (0, 2)) == 0.25
    assert rewards(0, (0,)) == 0.0
    assert rewards(1, (0, 1, 2)) == 0.0


def test_a_log_is_enough_to_train_on():
    """Traces to libraries, to arrays, to weights, the outcomes being the execution feedback."""
    pytest.importorskip("torch", reason="the [train] extra is not installed")
    pytest.importorskip("transformers", reason="the [train] extra is not installed")
    words = ["".join(pair) for pair in product("bcdfg", "aeiou")]
    tools = [tool(f"s/{word}") for word in words]
    lines = [
        line(f"{words[i]} {words[i + 1]}", [f"s/{words[i]}", f"s/{words[i + 1]}"], outcome)
        for i in range(24)
        for outcome in ("success", "error")
    ]
    log = parse_traces(lines).traces
    own = of_traces(tools, training_traces(log))
    examples = set_examples(own.libraries, WordEncoder(words), 5, dev_share=0.0)
    rewards = TraceRewards(examples.texts, examples.ids, log)
    found = train_sets(examples, replace(PAPER, pool=16, batch=8, epochs=4, refresh=0), rewards)
    assert len(examples.train) == 24
    assert rewards(examples.train[0].row, examples.train[0].gold) == 1.0
    assert found.log.asked > 0
    assert found.log.losses[-1] < found.log.losses[0]


def test_only_line_feeds_end_a_trace(tmp_path: Path):
    """A mark of byte order, and signs that end a line elsewhere, stand in files of honest writers."""
    row = {"request": "refund\u2028order\u0085now", "exposed": [], "called": [], "outcome": 1}
    text = "\ufeff" + json.dumps(row, ensure_ascii=False) + "\r\n" + line("mail") + "\n"
    (tmp_path / "t.jsonl").write_bytes(text.encode("utf-8"))
    found = read_traces(tmp_path / "t.jsonl")
    assert [t.text for t in found.traces] == [row["request"], "mail"]
    assert found.problems == ()
