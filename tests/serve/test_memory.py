"""What the gateway remembers."""

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from toolwise.errors import GatewayError
from toolwise.records import ExposedTool, Exposure, Tool, Withheld
from toolwise.serve.gateway import approvals
from toolwise.serve.gateway.approvals import Approved
from toolwise.serve.gateway.memory import Call, Caller, Memory
from toolwise.serve.gateway.state_file import DATABASE

ANN = Caller("ann", "s1")


WATER = ExposedTool("a/water", "a__water", "a", 0.5, 1, "", Tool("a/water", "water"))
WIPE = Withheld("a/wipe", 0.5, 5, "named-level", "of level 5")


def answer(text: str = "water the plants", tokens: int = 10) -> Exposure:
    return Exposure("", text, True, "nothing fits", (), (), tokens)


def at(start: datetime, hours: list[float]) -> Callable[[], datetime]:
    """A clock that shows the last of ``hours`` after ``start``."""
    return lambda: start + timedelta(hours=hours[-1])


def test_values_of_arguments_are_not_remembered(tmp_path: Path):
    """Names stay, values become kinds, down to a depth and a length."""
    memory = Memory(tmp_path)
    given = {"path": "/home/ann/diary", "lines": [1, 2.5, None, True], "deep": {"key": "hunter2"}}
    memory.called(ANN, Call("a/read", 1, given, "ok", "", 1.0), None)
    (row,) = memory.rows("calls")
    assert row["arguments"] == {
        "path": "(str)",
        "lines": ["(int)", "(float)", None, "(bool)"],
        "deep": {"key": "(str)"},
    }
    memory.close()
    assert b"hunter2" not in (tmp_path / DATABASE).read_bytes()


def test_values_are_kept_where_the_settings_say_so(tmp_path: Path):
    """``keep_arguments`` keeps them as they are."""
    memory = Memory(tmp_path, keep_arguments=True)
    memory.called(ANN, Call("a/read", 1, {"path": "x"}, "ok", "", 1.0), None)
    assert [row["arguments"] for row in memory.rows("calls")] == [{"path": "x"}]
    memory.close()


def test_answers_and_calls_are_counted(tmp_path: Path):
    """Tokens saved are those of reachable tools that an answer with tools did not show."""
    memory = Memory(tmp_path)
    number = memory.exposed(ANN, Exposure("", "x", False, "", (WATER,), (WIPE,), 10), 100, 2.0)
    memory.exposed(ANN, Exposure("", "wipe", True, "withheld", (), (WIPE,), 0), 100, 2.0)
    memory.exposed(ANN, answer(tokens=0), 100, 2.0)
    memory.called(ANN, Call("a/x", 1, {}, "ok", "", 1.0), number)
    memory.called(ANN, Call("a/y", 1, {}, "refused", "approval", 1.0), None)
    totals = memory.totals()
    assert totals.answers == {"answered": 1, "refused": 1, "nothing_fits": 1}
    assert (totals.tokens_saved, totals.calls) == (90, {"ok": 1, "refused": 1})
    assert [row["exposure"] for row in memory.rows("calls")] == [number, None]
    assert [row["tool"] for row in memory.newest("calls", 1)] == ["a/y"]
    with pytest.raises(ValueError, match="no table 'approvals'"):
        list(memory.rows("approvals"))
    memory.close()


def test_a_changed_definition_waits_for_approval(tmp_path: Path):
    """First sight approves; another definition drifts until it is approved, and then the old one is not."""
    memory = Memory(tmp_path)
    assert memory.approve_new({"a/x": "1"}) == ()
    first = memory.stamp()
    assert memory.approve_new({"a/x": "2", "a/y": "1"}) == ("a/x",)
    assert memory.unapproved({"a/x": "1"}) == ()
    memory.approve(["a/x"], {"a/x": "2"}, by="operator")
    assert memory.stamp() != first
    assert memory.approve_new({"a/x": "2"}) == ()
    assert memory.unapproved({"a/x": "1"}) == ("a/x",)
    memory.close()


def test_a_server_that_keeps_renaming_its_tools_is_no_longer_trusted_on_sight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """What is kept of it has an end, what it was approved for stands, and other servers are not touched."""
    monkeypatch.setattr(approvals, "MOST_GONE", 3)
    memory = Memory(tmp_path)
    known = {"a/x": "1", "b/y": "1"}
    memory.approve_new(known)
    for number in range(3):
        assert memory.approve_new(known | {f"a/{number}": "1"}) == ()
    assert memory.approve_new(known | {"a/3": "1"}) == ("a/3",)
    rows = memory.stamp()[0]
    assert memory.approve_new(known | {"a/4": "1"}) == ("a/4",)
    assert memory.approve_new(known | {"a/0": "2"}) == ("a/0",)
    assert memory.stamp()[0] == rows
    assert memory.approve_new(known | {"a/b/x": "1"}, {"a/b", "b"}) == ()
    assert memory.approve_new({"b/z": "1", "a/x": "2", "a/2": "1"}) == ("a/x",)
    memory.approve(["a/4"], {"a/4": "1"}, by="operator")
    assert memory.unapproved({"a/4": "1"}) == ()
    memory.close()


def test_two_gateways_share_one_file(tmp_path: Path):
    """Rows of both are there, and an approval by one is known to the other."""
    one, two = Memory(tmp_path), Memory(tmp_path)
    one.approve_new({"a/x": "1"})
    assert two.approve_new({"a/x": "2"}) == ("a/x",)
    for memory in (one, two):
        memory.exposed(ANN, answer(), 1, 1.0)
    assert len(list(one.rows("exposures"))) == 2
    one.close()
    two.close()


def test_what_is_old_is_forgotten(tmp_path: Path):
    """Rows older than the days that are kept go; approvals stay."""
    memory = Memory(tmp_path)
    memory.approve_new({"a/x": "1"})
    memory.exposed(ANN, answer("old"), 1, 1.0)
    memory._connection.execute("UPDATE exposures SET at = '2001-01-01T00:00:00.000+00:00'")
    memory.exposed(ANN, answer("new"), 1, 1.0)
    memory.forget(90)
    assert [row["request"] for row in memory.rows("exposures")] == ["new"]
    assert memory.unapproved({"a/x": "2"}) == ("a/x",)
    memory.close()


def test_what_gets_old_meanwhile_is_forgotten_too(tmp_path: Path):
    """On a write, an hour after the last time at the soonest; what it came to stays counted."""
    start, hours = datetime(2026, 11, 30, tzinfo=UTC), [0.0]
    memory = Memory(tmp_path, clock=at(start, hours))
    memory.forget(1)
    memory.exposed(ANN, Exposure("", "old", False, "", (WATER,), (), 10), 100, 1.0)
    memory.called(ANN, Call("a/water", 1, {}, "ok", "", 1.0), 1)

    def kept() -> list[str]:
        return [row["request"] for row in memory.rows("exposures")]

    before = memory.totals()
    hours.append(23.6)
    memory.exposed(ANN, answer("new"), 1, 1.0)  # too early for the old one, and the hour begins anew
    hours.append(24.4)
    memory.exposed(ANN, answer("newer"), 1, 1.0)
    assert kept() == ["old", "new", "newer"]
    hours.append(24.7)
    memory.called(ANN, Call("a/water", 1, {}, "error", "", 1.0), None)
    assert kept() == ["new", "newer"]
    assert [row["outcome"] for row in memory.rows("calls")] == ["error"]
    after = memory.totals()
    assert (before.answers, before.tokens_saved, before.calls) == ({"answered": 1}, 90, {"ok": 1})
    assert after.answers == {"answered": 1, "nothing_fits": 2}
    assert (after.tokens_saved, after.calls) == (90, {"ok": 1, "error": 1})
    memory.close()


def test_without_a_number_of_days_nothing_is_forgotten(tmp_path: Path):
    """Commands that only look, or approve, remove nothing."""
    start, hours = datetime(2026, 11, 30, tzinfo=UTC), [0.0]
    memory = Memory(tmp_path, clock=at(start, hours))
    memory.exposed(ANN, answer("old"), 1, 1.0)
    hours.append(24.0 * 5_000)
    memory.exposed(ANN, answer("new"), 1, 1.0)
    assert [row["request"] for row in memory.rows("exposures")] == ["old", "new"]
    memory.close()


def test_a_removal_that_fails_loses_no_row(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    """It is a warning, and the row that was written has its number."""
    start, hours = datetime(2026, 11, 30, tzinfo=UTC), [0.0]
    memory = Memory(tmp_path, clock=at(start, hours))
    memory.forget(1)
    memory._connection.execute("DROP TABLE forgotten")
    hours.append(2.0)
    assert memory.exposed(ANN, answer(), 1, 1.0) == 1
    assert "what is old is not forgotten" in caplog.text
    memory.close()


def test_forgotten_words_are_gone_from_the_file(tmp_path: Path):
    """Not only from its tables."""
    memory = Memory(tmp_path)
    memory.exposed(ANN, answer("the orchard of Ida Merrow"), 1, 1.0)
    memory._connection.execute("UPDATE exposures SET at = '2001-01-01T00:00:00.000+00:00'")
    memory.forget(90)
    memory.close()
    assert b"Ida Merrow" not in (tmp_path / DATABASE).read_bytes()


def test_an_approval_without_its_definition_says_so(tmp_path: Path):
    """As those of before definitions were kept: there is no index to take it from."""
    clock = at(datetime(2026, 11, 30, tzinfo=UTC), [0.0])
    memory = Memory(tmp_path, clock=clock)
    memory.approve_new({"a/x": "1", "a/y": "1"})
    expected = Approved("2026-11-30T00:00:00.000+00:00", "first seen", None)
    assert memory.approved(["a/x", "a/z"]) == {"a/x": expected}
    memory.close()


def test_a_log_that_takes_no_more_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    """A failed write is a warning: the call has been made and its result counts."""
    memory = Memory(tmp_path)
    memory._connection.execute("DROP TABLE calls")
    memory.called(ANN, Call("a/x", 1, {}, "ok", "", 1.0), None)
    assert "takes no more" in caplog.text
    memory.close()


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path):
    """A file in its place, a broken database, and a folder without one where none is to be made."""
    (tmp_path / "file").touch()
    with pytest.raises(GatewayError, match="Choose another folder with --state"):
        Memory(tmp_path / "file")
    (tmp_path / DATABASE).write_text("no database" * 100, encoding="utf-8")
    with pytest.raises(GatewayError, match="cannot be used"):
        Memory(tmp_path)
    with pytest.raises(GatewayError, match="holds no log of a gateway"):
        Memory(tmp_path / "none", make=False)
    assert not (tmp_path / "none").exists()


def test_a_failed_transaction_changes_nothing(tmp_path: Path):
    """An approval that fails midway leaves the old one."""
    memory = Memory(tmp_path)
    memory.approve_new({"a/x": "1"})
    with pytest.raises(sqlite3.Error):
        memory.approve(["a/x"], {"a/x": ["no text"]}, by="operator")  # type: ignore[dict-item]
    assert memory.unapproved({"a/x": "1"}) == ()
    memory.close()
