"""The command line in process."""

import io
import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from toolwise.cli import main


class Result(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run ``toolwise`` with arguments and, as text or bytes, what stands on stdin."""

    def command(*arguments: object, stdin: str | bytes = b"") -> Result:
        given = stdin if isinstance(stdin, bytes) else stdin.encode("utf-8")
        monkeypatch.setattr(sys, "argv", ["toolwise", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"))
        with pytest.raises(SystemExit) as stop:
            main()
        out, err = capsys.readouterr()
        return Result(int(stop.value.code or 0), out, err)

    return command
