"""The ``toolwise`` command: thin skins over indexing and the selector.

Exit codes: 0 done; 1 the system refused a file or the output; 2 wrong usage; 3
a source could not be read; 4 the index cannot be used; 5 the encoder cannot be
used; 6 the request makes no sense; 7 the policy is wrong; 8 the export failed;
9 a setting or component name is wrong; 10 an optional dependency is missing; 11
a metric, gold sets, a run or a split makes no sense; 12 a rival of the bench
failed; 13 the gateway cannot start or serve; 14 an annotator cannot be used; 130 interrupted.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

import typer

from toolwise.cli.app import app
from toolwise.cli.render import spoken
from toolwise.errors import ToolwiseError
from toolwise.hygiene import escaped

__all__ = ["app", "main"]

_UsageError: Any = typer.BadParameter.__mro__[1]  # typer exports the class only by its heirs


def main() -> None:
    """Run the command line; errors of the house become one line on stderr and an exit code."""
    sys.stdout, sys.stderr = _open(sys.stdout), _open(sys.stderr)
    sys.exit(_code())


def _open(stream: TextIO | None) -> TextIO:
    """``stream`` in UTF-8; where the command was started with it closed, one that leads nowhere."""
    if stream is None:
        return Path(os.devnull).open("w", encoding="utf-8")
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    return stream


def _code() -> int:
    """The exit code of one run.

    Typer's own runner answers a closed pipe with 1 and an interrupt without a
    word, so the command is invoked without it.
    """
    try:
        try:
            command = typer.main.get_command(app)
            with spoken(), command.make_context("toolwise", sys.argv[1:]) as context:
                context.command.invoke(context)
        finally:
            sys.stdout.flush()
    except typer.Exit as stop:
        return stop.exit_code
    except _UsageError as error:
        error.show()
        return int(error.exit_code)
    except ToolwiseError as error:
        return _failed(escaped(error.message, lines=True), error.exit_code)
    except SystemExit as stop:  # how rich answers a closed pipe
        if isinstance(stop.__context__, BrokenPipeError):
            return 0
        raise
    except BrokenPipeError:  # the reader of our output went away, as `head` does
        _drop_output()
        return 0
    except OSError as error:
        _drop_output()
        where = f"{error.filename}: " if error.filename is not None else ""
        return _failed(escaped(f"{where}{error.strerror or error}"), 1)
    except KeyboardInterrupt:
        return _failed("interrupted", 130)
    except ImportError as error:  # how compiled modules answer an interrupt while they are loaded
        if not isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):
            raise
        return _failed("interrupted", 130)
    return 0


def _failed(message: str, code: int) -> int:
    print(f"toolwise: {message}", file=sys.stderr)
    return code


def _drop_output() -> None:
    """Send what stdout still holds nowhere, so that the interpreter does not stumble over it at the end."""
    with suppress(OSError):  # no descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
