"""How answers look in a terminal.  Data goes to stdout, words to stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from toolwise.protocols import Progress
    from toolwise.records import Exposure

_NARROWEST = 100
_STYLES = {1: "green", 2: "green", 3: "yellow", 4: "red", 5: "bold red"}


def words() -> Console:
    """The console for words: stderr, nothing interpreted as markup."""
    return Console(stderr=True, markup=False, highlight=False, soft_wrap=True)


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
    console.print(f"[bold]{escape(exposure.query)}[/bold]")
    console.print(escape(exposure.reason))
    if exposure.tools:
        grid = table("tool", "score", "level", "reason")
        for tool in exposure.tools:
            reason = tool.reason.partition("; ")
            grid.add_row(
                escape(tool.id),
                f"{tool.score:.2f}",
                level_text(tool.level),
                escape(f"{reason[0]}; {reason[2]}"),
            )
        console.print(grid)
    if exposure.withheld:
        grid = table("withheld", "level", "rule", "why")
        for held in exposure.withheld:
            grid.add_row(escape(held.id), level_text(held.level), held.rule, escape(held.reason))
        console.print(grid)
    if exposure.tools:
        saved = 1 - exposure.tokens / whole_tokens
        console.print(
            f"[dim]{exposure.tokens:,} tokens of definitions instead of {whole_tokens:,} "
            f"for all {whole_tools:,} tools: {saved:.1%} saved[/dim]"
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
