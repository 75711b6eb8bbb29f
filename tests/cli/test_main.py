"""How the command ends: exit codes, closed pipes, interrupts, encodings, and the system's refusals."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from toolwise.store import Index


def started(*arguments: object, stdout: int, **variables: str) -> "subprocess.CompletedProcess[bytes]":
    """``toolwise`` as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "toolwise", *map(str, arguments)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        env={**os.environ, **variables},
        check=False,
    )


@pytest.mark.parametrize("arguments", [("show", "{index}", "--json"), ("show", "{index}"), ("--help",)])
def test_a_reader_that_went_away_is_no_error(demo_index: Path, arguments: tuple[str, ...]) -> None:
    """Exit code 0 and no word, with the reading end closed before the first byte."""
    reading, writing = os.pipe()
    os.close(reading)
    done = started(*(a.format(index=demo_index) for a in arguments), stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("arguments", [("show", "{index}", "--json"), ("--version",)])
def test_a_full_disk_is_one_line(demo_index: Path, arguments: tuple[str, ...]) -> None:
    """Exit code 1, whether the output is long or still in the buffer at the end."""
    with Path("/dev/full").open("wb") as full:
        done = started(*(a.format(index=demo_index) for a in arguments), stdout=full.fileno())
    assert (done.returncode, done.stderr) == (1, b"toolwise: No space left on device\n")


def test_output_is_utf_8_whatever_the_terminal_says(demo_index: Path) -> None:
    """A request in Japanese where Python was told to write latin-1."""
    done = started(
        *("select", demo_index, "日本語", "--json"), stdout=subprocess.PIPE, PYTHONIOENCODING="latin-1"
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout.decode("utf-8"))["query"] == "日本語"


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_closed_streams_are_no_error(demo_index: Path, closed: str) -> None:
    """What would be said there is dropped."""
    command = f"{sys.executable} -m toolwise select {demo_index} 'draft an email' {closed}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "toolwise: interrupted\n"),
        (
            PermissionError(13, "Permission denied", "tools.json"),
            1,
            "toolwise: tools.json: Permission denied\n",
        ),
        (OSError("disk on fire\x1b[2J"), 1, "toolwise: disk on fire\\x1b[2J\n"),
    ],
)
def test_an_interrupt_and_the_systems_refusal_are_one_line(
    run: Run, monkeypatch: pytest.MonkeyPatch, raised: BaseException, code: int, said: str
) -> None:
    """No traceback, and the documented exit code."""

    def refuse(folder: Path) -> Index:
        raise raised

    monkeypatch.setattr(Index, "open", refuse)
    assert run("show", "anywhere") == (code, "", said)


INTERRUPTED_AT_THE_START = """
import os, signal, sys

class Finder:
    def find_spec(self, name, *_):
        if name == "toolwise.cli":
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # tests may run where it is ignored
sys.meta_path.insert(0, Finder())
from toolwise.__main__ import main
main()
"""


def test_an_interrupt_while_the_command_is_loaded_ends_it_without_a_word() -> None:
    """As one later does: 130, and no traceback of imports."""
    done = subprocess.run([sys.executable, "-c", INTERRUPTED_AT_THE_START], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_an_interrupt_that_broke_an_import_is_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled modules answer it with an error of their own."""

    def fail(folder: Path) -> Index:
        raise ImportError("initialization failed") from KeyboardInterrupt()

    monkeypatch.setattr(Index, "open", fail)
    assert run("show", "anywhere") == (130, "", "toolwise: interrupted\n")


def test_a_fault_of_the_program_is_not_hidden(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody foresaw comes with its traceback."""

    def fail(folder: Path) -> Index:
        raise ZeroDivisionError

    monkeypatch.setattr(Index, "open", fail)
    with pytest.raises(ZeroDivisionError):
        run("show", "anywhere")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("select",), 2, "Missing argument 'DIR'"),
        (("selct",), 2, "Did you mean 'select'?"),
        (("show", "x", "--nope"), 2, "No such option: --nope"),
        ((), 2, "Usage: toolwise"),
    ],
)
def test_wrong_usage_is_2_with_the_usage(run: Run, arguments: tuple[str, ...], code: int, said: str) -> None:
    """As typer words it."""
    result = run(*arguments)
    assert result.code == code
    assert said in result.out + result.err


def test_help_is_0(run: Run) -> None:
    """Of the whole and of a command."""
    assert run("--help").code == run("select", "--help").code == 0
