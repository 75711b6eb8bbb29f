"""How answers look in a terminal.  Data goes to stdout, words to stderr."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from toolwise.hygiene import as_in_json, escaped
from toolwise.text import count

if TYPE_CHECKING:
    from toolwise.protocols import Progress
    from toolwise.records import Exposure

_NARROWEST = 100
_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u2028\u2029]")
_STYLES = {1: "green", 2: "green", 3: "yellow", 4: "red", 5: "bold red"}


def cell(text: str, *, lines: bool = False) -> str:
    """Text of a definition for a table: :func:`toolwise.hygiene.escaped`, and nothing in it is markup."""
    return escape(escaped(text, lines=lines))


def as_json(value: object) -> str:
    """``value`` as JSON on one line, for whoever splits lines and for terminals that obey C1 controls."""
    text = json.dumps(value, ensure_ascii=False)
    return _UNSAFE_IN_JSON.sub(lambda match: as_in_json(match[0]), text)


class Words(Console):
    """A console that prints texts on one line each, nothing in them obeyed by the terminal."""

    def print(self, *objects: Any, **options: Any) -> None:
        """As rich does, texts escaped."""
        super().print(*(escaped(o) if isinstance(o, str) else o for o in objects), **options)


def words() -> Words:
    """The console for words: stderr, nothing interpreted as markup."""
    return Words(stderr=True, markup=False, highlight=False, soft_wrap=True)


class _Spoken(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        words().print(record.getMessage(), style="yellow")


@contextmanager
def spoken() -> Iterator[None]:
    """Say warnings of the selector on stderr while a command runs."""
    log, handler = logging.getLogger("toolwise.pipeline"), _Spoken(logging.WARNING)
    log.addHandler(handler)
    before, log.propagate = log.propagate, False
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.propagate = before


def data() -> Console:
    """The console for tables on stdout; at least 100 columns where it is no terminal."""
    width = None if sys.stdout.isatty() else _NARROWEST
    return Console(width=width, highlight=False)


def level_text(level: int) -> str:
    """A level in its colour."""
    return f"[{_STYLES[level]}]L{level}[/]"


def table(*columns: str) -> Table:
    """A plain table: no lines, cells fold rather than vanish."""
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for column in columns:
        grid.add_column(column, overflow="fold", no_wrap=column in ("level", "score", "tokens"))
    return grid


def answer(exposure: Exposure, whole_tokens: int, whole_tools: int) -> None:
    """One answer for a person; ``whole_*`` say what exposing the whole index would have cost."""
    console = data()
    console.print(f"[bold]{cell(exposure.query)}[/bold]")
    console.print(cell(exposure.reason))
    if exposure.tools:
        grid = table("tool", "score", "level", "reason")
        for tool in exposure.tools:
            reason = tool.reason.partition("; ")
            grid.add_row(
                cell(tool.id),
                f"{tool.score:.2f}",
                level_text(tool.level),
                cell(f"{reason[0]}; {reason[2]}"),
            )
        console.print(grid)
    if exposure.withheld:
        grid = table("withheld", "level", "rule", "why")
        for held in exposure.withheld:
            grid.add_row(cell(held.id), level_text(held.level), cell(held.rule), cell(held.reason))
        console.print(grid)
    if exposure.tools:
        saved = 1 - exposure.tokens / whole_tokens
        console.print(
            f"[dim]{count(exposure.tokens, 'token')} of definitions instead of {whole_tokens:,} "
            f"for all {count(whole_tools, 'tool')}: {saved:.1%} saved[/dim]"
        )
    console.print()


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A progress bar on stderr, shown in terminals only."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        tasks: dict[str, object] = {}

        def listen(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.update(tasks[stage], completed=done, total=total)  # type: ignore[arg-type]

        yield listen
