"""What arguments of calls hold is with the server alone: not in the log, its JSON, traces or metrics."""

import json
import logging
from pathlib import Path

import anyio
import pytest

from tests.serve.harness import SHELF, call, client, found, office, outcomes, running, tool
from toolwise.cli import main
from toolwise.serve.gateway.metrics import exposition
from toolwise.serve.gateway.state_file import DATABASE
from toolwise.serve.gateway.traces import logged_traces

pytestmark = pytest.mark.anyio

SECRET = "hunter2-is-the-word"
TOOLS = [
    SHELF,
    tool("printer_fails"),
    tool("printer_refuses"),
    tool("printer_nonsense"),
    tool("printer_slow"),
    tool("delete_all_records"),
    tool("printer_dies"),
]


async def session(folder: Path) -> tuple[list[tuple[str, str]], str]:
    """Calls with a secret that end in every way there is; gives the outcomes and the metrics."""
    async with running(folder, {"a": office(folder, "a", TOOLS)}, call_timeout=1) as gateway:
        async with client(gateway) as agent:
            await found(agent, "list the shelves of the archive room")
            await call(agent, "a__list_shelves", floor=1, note=SECRET)
            await call(agent, "a__list_shelves", floor=SECRET)
            await call(agent, "a__list_shelves", floor=1, **{SECRET + "@example.org": 1})
            for name in ("fails", "refuses", "nonsense", "none"):
                await call(agent, f"a__printer_{name}", key=SECRET, deep={"list": [{"word": SECRET}]})
            await call(agent, "a__delete_all_records", key=SECRET)
            await call(agent, "a__printer_slow", key=SECRET)
            with anyio.move_on_after(0.3):
                await call(agent, "a__printer_slow", key=SECRET)
            await call(agent, "a__printer_dies", key=SECRET)
        return outcomes(gateway), exposition(gateway).decode()


async def test_arguments_end_with_the_call(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
):
    """Whatever the outcome: the state folder, warnings, output and metrics know names and kinds."""
    caplog.set_level(logging.INFO)
    ends, metrics = await session(tmp_path)
    assert {outcome for _, outcome in ends} >= {"ok", "error", "invalid", "refused", "unavailable"}
    state = tmp_path / "state"
    kept = [path for path in state.rglob("*") if path.is_file()]
    assert state / DATABASE in kept
    assert [path for path in kept if SECRET.encode() in path.read_bytes()] == []
    assert SECRET not in metrics
    ours = [r.getMessage() for r in caplog.records if r.name.startswith("toolwise")]
    assert not any(SECRET in message for message in ours)
    said = capfd.readouterr()
    assert SECRET not in said.out + said.err
    assert SECRET not in json.dumps(logged_traces(state))


def test_commands_say_names_and_kinds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """``log tail`` and ``log stats``, for people and as JSON."""
    anyio.run(session, tmp_path)

    def said(*words: str) -> str:
        monkeypatch.setattr("sys.argv", ["toolwise", "log", words[0], str(tmp_path / "state"), *words[1:]])
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code
        captured = capsys.readouterr()
        assert SECRET not in captured.out + captured.err
        return captured.out

    assert "a/printer_refuses error (code -32000)" in " ".join(said("tail", "--last", "99").split())
    said("stats")
    said("stats", "--json")
    rows = [json.loads(line) for line in said("tail", "--json").splitlines()]
    assert {"floor": "(int)", "note": "(str)"} in [row.get("arguments") for row in rows]


async def test_the_file_is_for_its_owner(tmp_path: Path):
    """In a folder that others may read, too."""
    (tmp_path / "state").mkdir(mode=0o755)
    async with running(tmp_path, {"a": office(tmp_path, "a", [SHELF])}):
        assert (tmp_path / "state" / DATABASE).stat().st_mode & 0o077 == 0
        for path in (tmp_path / "state").glob(f"{DATABASE}-*"):
            assert path.stat().st_mode & 0o077 == 0
