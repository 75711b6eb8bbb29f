"""Rivals as processes: their virtual environments, and a conversation with each over a pipe."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from types import TracebackType
from typing import IO, Any, Self

from toolwise.bench.peers import RIVALS, Rival
from toolwise.config import environment
from toolwise.errors import PeerError
from toolwise.records import Tool

FOLDER = Path(".peers")
"""Where the virtual environments are, relative to the working directory."""

_ADAPTERS = Path(__file__).parent / "adapters"
_STAMP = "toolwise-requirements.txt"
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_PYTHON = {"PYTHONNOUSERSITE": "1", "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"}
_OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
_KEPT = ("HOME", "LANG", "LC_ALL", "PATH", "SYSTEMROOT", "TMPDIR")
_TABLE = "--table="
_LAST_LINES = 5
_INSTALL_S = 1200.0


@dataclass(frozen=True, slots=True)
class BuildCost:
    """What indexing cost: CPU and wall seconds, and the peak of resident memory in megabytes."""

    cpu_s: float
    wall_s: float
    peak_mb: float


@dataclass(frozen=True, slots=True)
class Found:
    """One answer: tool ids, best first, and the CPU seconds of the whole rival process."""

    ids: tuple[str, ...]
    cpu_s: float
    peak_mb: float


@dataclass(frozen=True, slots=True)
class Installed:
    """How installing one rival went; ``detail`` holds pip's last lines where it failed."""

    name: str
    ok: bool
    detail: str = ""


class PeerProcess:
    """A rival that runs: ``start``, ``build``, ``search``, ``close``; also a context manager.

    ``command`` starts an adapter (see ``adapters/peer_wire.py`` for what it
    speaks).  Each step has a limit in seconds.  Every failure is a PeerError
    with ``peer`` and, where the process said something, its last words.
    A rival that hung, died or broke the protocol is ended; one that only
    reports an error may be asked again.
    """

    def __init__(
        self, name: str, command: Sequence[str], *, build_s: float = 600.0, search_s: float = 60.0
    ) -> None:
        self.name = name
        self._command = tuple(command)
        self._build_s, self._search_s = build_s, search_s
        self._process: subprocess.Popen[str] | None = None
        self._words: IO[bytes] | None = None
        self._known: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, rival: str, folder: Path = FOLDER, *, table: Path | None = None, **limits: float
    ) -> PeerProcess:
        """The process of an installed rival.  Raises PeerError where the name is unknown or not installed.

        ``table`` is the folder of the static table for one that needs vectors (None: the packaged one).
        """
        row = _rival(rival)
        if not _is_installed(row, folder):
            raise PeerError(
                f"{rival} is not installed in {folder}; run `make peers`, or leave it out.", peer=rival
            )
        script = str(_ADAPTERS / row.adapter)
        named = [] if table is None else [f"{_TABLE}{table.absolute()}"]
        return cls(rival, [str(_python(folder / row.home)), script, *row.options, *named], **limits)

    def start(self) -> None:
        """Start the process; a second time does nothing."""
        if self._process is not None:
            return
        self._words = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the process
        try:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._words,
                encoding="utf-8",
                errors="replace",
                env=_environment(),
                start_new_session=True,
            )
        except OSError as error:
            self.close()
            raise PeerError(
                f"{self.name}: {self._command[0]} does not start ({error.strerror}). Install it again.",
                peer=self.name,
            ) from error

    def build(self, tools: Sequence[Tool]) -> BuildCost:
        """Have the rival index ``tools``; starts it where it does not run."""
        self.start()
        self._known = frozenset()
        answer = self._ask({"op": "build", "tools": [_row(tool) for tool in tools]}, self._build_s)
        if answer.get("ok") is not True:
            raise self._broken(f"answered {_short(answer)} to 'build', which lacks \"ok\": true")
        cost = BuildCost(*(self._number(answer, name) for name in ("cpu_s", "wall_s", "peak_mb")))
        self._known = frozenset(tool.id for tool in tools)
        return cost

    def search(self, query: str, k: int) -> Found:
        """At most ``k`` of the built tools for a request."""
        answer = self._ask({"op": "search", "query": query, "k": k}, self._search_s)
        ids = answer.get("ids")
        if not isinstance(ids, list) or not all(isinstance(one, str) for one in ids):
            raise self._broken(f"answered {_short(answer)} to 'search', which lacks a list of ids")
        if unknown := [one for one in ids if one not in self._known]:
            raise self._broken(f"answered with ids of no tool it was given: {_short(unknown)}")
        if len(ids) > k or len(set(ids)) < len(ids):
            raise self._broken(f"answered with {len(ids)} ids, {len(set(ids))} of them distinct, for k={k}")
        return Found(tuple(ids), self._number(answer, "cpu_s"), self._number(answer, "peak_mb"))

    def close(self) -> None:
        """End the process and whatever it started; a second time does nothing."""
        process, self._process = self._process, None
        if process is not None:
            _end(process)
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    _close_quietly(pipe)
        if self._words is not None:
            self._words.close()
            self._words = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, request: dict[str, Any], limit_s: float) -> dict[str, Any]:
        """Send one line and read one, killing the process when the limit is over."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise PeerError(f"{self.name} does not run; build its tools first.", peer=self.name)
        timer = Timer(limit_s, _end, [process])
        started = time.monotonic()
        timer.start()
        try:
            line = _exchange(process.stdin, process.stdout, json.dumps(request) + "\n")
        finally:  # an interrupt too: a timer that goes on keeps the interpreter alive
            timer.cancel()
        if line:
            return self._parsed(line)
        if time.monotonic() - started >= limit_s:
            raise self._broken(f"gave no answer to {request['op']!r} within {limit_s:g} s")
        raise self._broken(f"{_how_it_ended(process)} during {request['op']!r}")

    def _parsed(self, line: str) -> dict[str, Any]:
        try:
            answer = json.loads(line)
        except json.JSONDecodeError:
            answer = None
        if not isinstance(answer, dict):
            raise self._broken(f"answered {_short(line)}, which is not a JSON object")
        if "error" in answer:
            raise PeerError(f"{self.name} reports an error: {answer['error']}", peer=self.name)
        return answer

    def _number(self, answer: Mapping[str, Any], name: str) -> float:
        value = answer.get(name)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
            or value < 0
        ):
            raise self._broken(f"gave {name}={value!r}, which is no amount")
        return float(value)

    def _broken(self, what: str) -> PeerError:
        """Close the process and say what happened, with its last words."""
        words = _last_lines(self._words)
        self.close()
        said = f" Its last words:\n{words}" if words else ""
        return PeerError(f"{self.name} {what}.{said}", peer=self.name, said=words)


def install(names: Sequence[str], folder: Path = FOLDER) -> list[Installed]:
    """Install rivals, one virtual environment each, one after the other; what fails is reported, not raised.

    Variants of one rival share an environment.  An environment that already
    holds what ``RIVALS`` asks for is left alone.
    """
    return [_install(name, folder) for name in names]


def available(folder: Path = FOLDER) -> list[str]:
    """Names of the rivals that are installed as ``RIVALS`` asks."""
    return [name for name, rival in RIVALS.items() if _is_installed(rival, folder)]


def _install(name: str, folder: Path) -> Installed:
    try:
        rival = _rival(name)
    except PeerError as error:
        return Installed(name, False, str(error))
    if _is_installed(rival, folder):
        return Installed(name, True)
    home = folder / rival.home
    pip = [str(_python(home)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for command in ([sys.executable, "-m", "venv", str(home)], [*pip, *rival.requirements]):
        if failure := _failure(command):
            return Installed(name, False, failure)
    (home / _STAMP).write_text(_stamp(rival), encoding="utf-8")
    return Installed(name, True)


def _failure(command: Sequence[str]) -> str:
    """The last lines of a command that failed; empty where it went well."""
    try:
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", timeout=_INSTALL_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return ""
    lines = (done.stdout + done.stderr).strip().splitlines()[-_LAST_LINES:]
    return "\n".join(lines) or f"status {done.returncode}"


def _rival(name: str) -> Rival:
    if name not in RIVALS:
        raise PeerError(f"{name!r} is no rival; the rivals are {', '.join(RIVALS)}.", peer=name)
    return RIVALS[name]


def _python(home: Path) -> Path:
    return home.absolute() / "bin" / "python"


def _stamp(rival: Rival) -> str:
    return "\n".join(rival.requirements) + "\n"


def _is_installed(rival: Rival, folder: Path) -> bool:
    stamp = folder / rival.home / _STAMP
    return stamp.is_file() and stamp.read_text(encoding="utf-8") == _stamp(rival)


def _environment() -> dict[str, str]:
    """A small environment: no keys of providers, nothing to download, one thread."""
    kept = {name: value for name, value in environment().items() if name in _KEPT}
    return kept | dict.fromkeys(_THREADS, "1") | _OFFLINE | _PYTHON


def _row(tool: Tool) -> dict[str, Any]:
    return {
        "id": tool.id,
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
        "server": tool.server,
    }


def _exchange(into: IO[str], out: IO[str], line: str) -> str:
    with suppress(OSError):  # it died while it was written to; what it may have said still counts
        into.write(line)
        into.flush()
    return out.readline()


def _end(process: subprocess.Popen[str]) -> None:
    """Kill a process with all of its group, and wait for it."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # it is gone already
        process.kill()
    process.wait()


def _how_it_ended(process: subprocess.Popen[str]) -> str:
    try:
        return f"ended with status {process.wait(1.0)}"
    except subprocess.TimeoutExpired:
        return "closed its output"


def _close_quietly(pipe: IO[str]) -> None:
    with suppress(OSError):  # what was buffered for a dead process
        pipe.close()


def _last_lines(words: IO[bytes] | None) -> str:
    if words is None:
        return ""
    words.seek(0)
    return "\n".join(words.read().decode("utf-8", "replace").strip().splitlines()[-_LAST_LINES:])


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:200] + "..."
