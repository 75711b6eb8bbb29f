"""``toolwise gateway``, ``log`` and ``traces``: what they say, and how they end."""

import json
import socket
import tomllib
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.serve.harness import SHELF, WATER, office
from toolwise.cli import gateway as command
from toolwise.records import ExposedTool, Exposure, Tool
from toolwise.serve.gateway.library import Library, Listing
from toolwise.serve.gateway.memory import Call, Caller, Memory
from toolwise.serve.gateway.settings import GatewaySettings

ANN = Caller("ann", "")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": {"a": office(tmp_path, "a", [SHELF])}}), encoding="utf-8")
    return path


def one_line(err: str) -> str:
    (line,) = err.strip().splitlines()
    assert line.startswith("toolwise: ")
    return line


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "does not exist; expected the mcpServers file"),
        ("{", "cannot be read"),
        ("[]", 'expected an object "mcpServers"'),
        ('{"mcpServers": {}}', "none of its 0 servers can be started"),
        ('{"mcpServers": {"a": {"command": "x", "disabled": true}}}', "none of its 1 servers"),
    ],
)
def test_a_configuration_that_cannot_be_used_is_one_line(
    run: Callable[..., Any], tmp_path: Path, content: str | None, words: str
):
    """A source that cannot be read ends with 3, as for every command."""
    if content is not None:
        (tmp_path / "mcp.json").write_text(content, encoding="utf-8")
    result = run("gateway", "--config", tmp_path / "mcp.json", "--state", tmp_path / "s")
    assert (result.code, result.out) == (3, "")
    assert words in one_line(result.err)


def test_a_wrong_server_is_left_out_and_its_secret_is_not_said(
    run: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The others are served."""
    entries = {"good": {"command": "x"}, "bad": {"args": [], "env": {"KEY": "sesame-open-now"}}}
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": entries}), encoding="utf-8")
    assert [server.name for server in command.read_servers(path)] == ["good"]


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--profile", "none"], 9, "there is no profile 'none'"),
        (["--policy", "none"], 7, "there is no policy called 'none'"),
        (["--settings", "none.toml"], 9, "none.toml cannot be read"),
        (["--http", "0.0.0.0:0"], 13, "would be open to everybody"),
        (["--http", "192.0.2.1:9"], 13, "cannot be served"),
    ],
)
def test_what_keeps_it_from_starting_is_one_line(
    run: Callable[..., Any], tmp_path: Path, config: Path, options: list[str], code: int, words: str
):
    """The exit code says what kind of thing is wrong."""
    if "192.0.2.1:9" in options:
        settings = tmp_path / "s.toml"
        settings.write_text(f'[tokens.a]\nsha256 = "{"0" * 64}"', encoding="utf-8")
        options = [*options, "--settings", str(settings)]
    result = run("gateway", "--config", config, "--state", tmp_path / "s", *options)
    assert (result.code, result.out) == (code, "")
    assert words in one_line(result.err)


def test_a_port_that_is_taken_is_one_line(run: Callable[..., Any], tmp_path: Path, config: Path):
    """It is the gateway that cannot start: 13."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        result = run("gateway", "--config", config, "--state", tmp_path / "s", "--http", address)
    assert result.code == 13
    assert f"{address} cannot be served: Address already in use" in one_line(result.err)


def test_a_state_folder_that_cannot_be_used_is_one_line(
    run: Callable[..., Any], tmp_path: Path, config: Path
):
    """A file in its place."""
    (tmp_path / "s").touch()
    result = run("gateway", "--config", config, "--state", tmp_path / "s")
    assert result.code == 13
    assert "Choose another folder with --state" in one_line(result.err)


@pytest.mark.parametrize("options", [[], ["--config", "x", "--http", "8765"]])
def test_wrong_usage_is_told(run: Callable[..., Any], options: list[str]):
    """No configuration, an address without a host."""
    assert run("gateway", *options).code == 2


def test_the_missing_extra_is_named(run: Callable[..., Any], config: Path, monkeypatch: pytest.MonkeyPatch):
    """With the line that installs it."""
    monkeypatch.setattr(command, "find_spec", lambda name: None if name == "mcp" else object())
    result = run("gateway", "--config", config)
    assert result.code == 10
    assert 'pip install "toolwise[gateway]"' in one_line(result.err)


def test_the_state_folder_hangs_on_the_path_of_the_configuration(tmp_path: Path):
    """One folder per file, under the home folder; two files of one name have two."""
    one, two = (command.default_state(tmp_path / folder / "mcp.json") for folder in ("x", "y"))
    assert one.parent == Path.home() / ".toolwise" / "gateway"
    assert one.name.startswith("mcp-")
    assert one != two


def test_a_token_is_made_with_its_entry(run: Callable[..., Any]):
    """The token is the only thing on stdout, its hash belongs to it, and two are never the same."""
    result = run("gateway", "token", "ann")
    token = result.out.strip()
    settings = GatewaySettings.model_validate(tomllib.loads(result.err))
    assert settings.tokens["ann"].sha256 == sha256(token.encode()).hexdigest()
    assert settings.caller_of(token) == "ann"
    assert settings.tokens["ann"].scopes == {"read"}
    assert run("gateway", "token", "ann").out != result.out
    assert run("gateway", "token", "no such name").code == 2


def test_held_tools_are_listed_and_approved(run: Callable[..., Any], tmp_path: Path):
    """With their new description, hidden characters escaped; an approved one is held no more."""
    memory = Memory(tmp_path)
    library = Library(tmp_path, memory)
    library.build([Listing("a", [WATER, SHELF])]).selector.close()
    changed = WATER | {"description": "Water\u202e the plants and everything else."}
    library.build([Listing("a", [changed, SHELF])]).selector.close()
    memory.close()
    listed = run("gateway", "held", "--state", tmp_path)
    assert "a/water_plants" in listed.out
    assert "Water\\u202e the plants" in listed.out
    assert "1 changed, 0 approved" in listed.err
    other = run("gateway", "held", "--state", tmp_path, "--approve", "a/list_shelves")
    assert "a/list_shelves is not held back" in other.err
    assert "1 changed, 1 approved" in run("gateway", "held", "--state", tmp_path, "--approve-all").err
    assert "0 changed" in run("gateway", "held", "--state", tmp_path).err


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Two answers and three calls."""
    folder = tmp_path / "state"
    memory = Memory(folder)
    Library(folder, memory).build([Listing("a", [WATER, SHELF])]).selector.close()
    shown = (ExposedTool("a/water_plants", "a__water_plants", "a", 0.5, 3, "", Tool("a/water_plants", "w")),)
    first = memory.exposed(ANN, Exposure("", "water the \u202eplants", False, "", shown, (), 30), 100, 5.0)
    memory.called(ANN, Call("a/water_plants", 3, {"x": 1}, "ok", "", 7.0), first)
    memory.called(ANN, Call("a/none", None, {}, "refused", "out of reach", 0.0), None)
    memory.exposed(ANN, Exposure("", "dance", True, "nothing fits", (), (), 0), 100, 5.0)
    memory.close()
    return folder


def test_the_newest_events_are_printed(run: Callable[..., Any], state: Path):
    """Answers and calls in one order, texts escaped; as JSON whole."""
    shown = run("log", "tail", state).out
    assert "water the \\u202eplants" in shown
    assert "nothing (nothing fits)" in shown
    assert "a/none refused (out of reach)" in shown
    rows = [json.loads(line) for line in run("log", "tail", state, "--json").out.splitlines()]
    assert sorted(row["event"] for row in rows) == ["answer", "answer", "call", "call"]
    assert len(run("log", "tail", state, "--last", 1, "--json").out.splitlines()) == 1


def test_the_log_is_summed_up(run: Callable[..., Any], state: Path):
    """Tokens saved, refusals, latency, tools that nobody used."""
    found = json.loads(run("log", "stats", state, "--json").out)
    assert (found["answers"], found["tokens_shown"], found["tokens_saved"]) == (2, 30, 170)
    assert found["refusals"] == {"refused: out of reach": 1}
    assert (found["tools"], found["never_shown"]) == (2, ["a/list_shelves"])
    assert found["never_called"] == ["a/list_shelves"]
    shown = run("log", "stats", state).out
    assert "tokens saved     170 of 200 (85.0%)" in shown
    assert "never called     1 of 2 tools: a/list_shelves" in shown


def test_traces_are_written(run: Callable[..., Any], state: Path, tmp_path: Path):
    """One line per answer."""
    into = tmp_path / "traces.jsonl"
    result = run("traces", "export", state, "--into", into)
    assert (result.code, result.out) == (0, "")
    assert "2 traces" in result.err
    lines = [json.loads(line) for line in into.read_text(encoding="utf-8").splitlines()]
    assert [line["outcome"] for line in lines] == ["success", None]


@pytest.mark.parametrize("words", [("log", "tail"), ("log", "stats"), ("traces", "export")])
def test_a_folder_without_a_log_is_one_line(run: Callable[..., Any], tmp_path: Path, words: tuple[str, ...]):
    """And stays as it is."""
    more = ["--into", tmp_path / "out"] if "export" in words else []
    result = run(*words, tmp_path / "none", *more)
    assert (result.code, result.out) == (13, "")
    assert "holds no log of a gateway" in one_line(result.err)
    assert list(tmp_path.iterdir()) == []
