"""The log as training traces."""

import json
from pathlib import Path

import pytest

from toolwise.errors import GatewayError
from toolwise.learn.rewards import read_traces
from toolwise.records import ExposedTool, Exposure, Tool, Withheld
from toolwise.serve.gateway.memory import Call, Caller, Memory
from toolwise.serve.gateway.statistics import statistics
from toolwise.serve.gateway.traces import export_traces, logged_traces, outcome

ANN = Caller("ann", "")


def shown(text: str, *ids: str) -> Exposure:
    tools = tuple(ExposedTool(id_, id_, "a", 0.5, 1, "", Tool(id_, id_)) for id_ in ids)
    return Exposure("", text, not ids, "", tools, (), 10)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    memory = Memory(tmp_path)

    def call(tool: str, outcome: str, exposure: int | None) -> None:
        memory.called(ANN, Call(tool, 1, {}, outcome, "why" if outcome == "refused" else "", 4.0), exposure)

    first = memory.exposed(ANN, shown("water the plants", "a/water", "a/list"), 100, 2.0)
    call("a/water", "error", first)
    call("a/water", "ok", first)
    call("a/list", "unavailable", first)
    second = memory.exposed(ANN, shown("read the mail", "a/mail", "a/list"), 100, 2.0)
    call("a/mail", "invalid", second)
    call("a/list", "ok", second)
    memory.exposed(ANN, shown("dance"), 100, 2.0)
    call("a/pinned", "ok", None)
    third = memory.exposed(ANN, shown("wipe it", "a/wipe"), 100, 2.0)
    call("a/wipe", "refused", third)
    memory.close()
    return tmp_path


@pytest.mark.parametrize(
    ("called", "expected"),
    [
        ([], None),
        ([("x", True)], "success"),
        ([("x", False), ("x", True)], "success"),
        ([("x", True), ("x", False)], "failure"),
        ([("x", True), ("y", False)], "partial"),
        ([("x", False), ("y", False)], "failure"),
    ],
)
def test_the_last_call_of_each_tool_decides(called: list[tuple[str, bool]], expected: str | None):
    """All ok is success, none is failure, some is partial, no call says nothing."""
    assert outcome([{"id": id_, "ok": ok} for id_, ok in called]) == expected


def test_a_log_becomes_traces(state: Path):
    """Calls that say nothing about their tool are left out; calls of pinned tools belong to no request."""
    assert logged_traces(state) == [
        {
            "request": "water the plants",
            "exposed": ["a/water", "a/list"],
            "called": [{"id": "a/water", "ok": False}, {"id": "a/water", "ok": True}],
            "outcome": "success",
        },
        {
            "request": "read the mail",
            "exposed": ["a/mail", "a/list"],
            "called": [{"id": "a/mail", "ok": False}, {"id": "a/list", "ok": True}],
            "outcome": "partial",
        },
        {"request": "dance", "exposed": [], "called": [], "outcome": None},
        {"request": "wipe it", "exposed": ["a/wipe"], "called": [], "outcome": None},
    ]


def test_learning_reads_what_is_exported(state: Path, tmp_path: Path):
    """Every line is a trace to it; two of the four have no outcome."""
    into = tmp_path / "traces.jsonl"
    assert export_traces(state, into) == (4, 2)
    log = read_traces(into)
    assert (log.problems, log.undecided) == ((), 2)
    assert [(trace.text, sorted(trace.gold), trace.reward) for trace in log.traces] == [
        ("water the plants", ["a/water"], 1.0),
        ("read the mail", ["a/list"], 0.5),
    ]
    assert [json.loads(line) for line in into.read_text(encoding="utf-8").splitlines()] == logged_traces(
        state
    )


def test_a_folder_without_a_log_is_an_error(tmp_path: Path):
    """And no file is written."""
    with pytest.raises(GatewayError, match="holds no log"):
        export_traces(tmp_path / "none", tmp_path / "out.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_the_log_in_numbers(state: Path):
    """Counted by hand from the rows above; without an index no tool is known to be unused."""
    found = statistics(state)
    assert (found["answers"], found["answered"], found["nothing_fits"], found["refused"]) == (4, 3, 1, 0)
    assert [found[f"tokens_{of}"] for of in ("within_reach", "shown", "saved")] == [300, 30, 270]
    assert found["calls"] == {"error": 1, "invalid": 1, "ok": 3, "refused": 1, "unavailable": 1}
    assert found["answer_ms"] == {"p50": 2.0, "p95": 2.0}
    assert found["call_ms"] == {"p50": 4.0, "p95": 4.0}
    assert found["refusals"] == {"invalid: ": 1, "refused: why": 1}
    assert (found["tools"], found["never_called"]) == (0, [])


def test_only_answers_with_tools_save_tokens(tmp_path: Path):
    """Two of five answers have tools: 10 of 100 and 10 of 250 tokens; two fit nothing, one is withheld."""
    memory = Memory(tmp_path)
    held = (Withheld("a/wipe", 0.5, 5, "named-level", "of level 5"),)
    memory.exposed(ANN, shown("water the plants", "a/water"), 100, 1.0)
    memory.exposed(ANN, shown("list the shelves", "a/list"), 250, 2.0)
    for milliseconds in (3.0, 4.0):
        memory.exposed(ANN, shown("dance"), 250, milliseconds)
    memory.exposed(ANN, Exposure("", "wipe", True, "withheld", (), held, 0), 250, 95.0)
    memory.called(ANN, Call("a/water", 1, {}, "ok", "", 10.0), 1)
    memory.called(ANN, Call("a/water", 1, {}, "error", "", 30.0), 1)
    memory.called(ANN, Call("a/water", 1, {}, "invalid", "/x", 0.1), 1)
    first = next(memory.rows("exposures"))["at"]
    memory.close()
    found = statistics(tmp_path)
    assert (found["answers"], found["answered"], found["nothing_fits"], found["refused"]) == (5, 2, 2, 1)
    assert [found[f"tokens_{of}"] for of in ("within_reach", "shown", "saved")] == [350, 20, 330]
    assert found["answer_ms"] == {"p50": 3.0, "p95": 76.8}  # 4 + 0.8 * (95 - 4)
    assert found["call_ms"] == {"p50": 20.0, "p95": 29.0}  # 10 + 0.95 * 20; invalid ones never left
    assert found["refusals"] == {"invalid: /x": 1}
    assert found["since"] == first
