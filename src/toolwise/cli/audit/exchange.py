"""``toolwise audit export`` and ``import``: judgements as a sheet that people fill in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolwise.cli.audit.app import app
from toolwise.cli.audit.run import changes, say_changes
from toolwise.cli.render import as_json as json_line
from toolwise.cli.render import words
from toolwise.text import count
from toolwise.whole_file import replace_file

if TYPE_CHECKING:
    from toolwise.audit.sheet import Fault
    from toolwise.judging import Accepted

_SHOWN = 20
_SUFFIXES = (".csv", ".jsonl")


def _sheet_path(path: Path) -> Path:
    if path.suffix.lower() not in _SUFFIXES:
        raise typer.BadParameter(f"{path.name} is neither a .csv nor a .jsonl file.")
    return path


_Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the index.")]
_File = Annotated[Path, typer.Argument(metavar="FILE", help="A .csv or .jsonl file.", callback=_sheet_path)]


@app.command("export")
def export(
    folder: _Folder,
    into: Annotated[
        Path, typer.Option(metavar="FILE", help="The .csv or .jsonl file to write.", callback=_sheet_path)
    ],
    queue: Annotated[bool, typer.Option("--queue", help="Only the tools that wait for a person.")] = False,
) -> None:
    """Write what the audit says of each tool into a sheet, to be judged by people and imported."""
    from toolwise.audit.sheet import to_csv, to_jsonl
    from toolwise.judging import sheet

    lines = sheet(folder, only_waiting=queue)
    if into.suffix.lower() == ".csv":
        # Spreadsheets read UTF-8 by its mark alone.
        replace_file(into, "\ufeff" + to_csv(lines))
    else:
        replace_file(into, "".join(f"{line}\n" for line in to_jsonl(lines)))
    words().print(
        f"{count(len(lines), 'tool')} in {into}; a row counts where `who` is filled in: "
        f"toolwise audit import {folder} {into}"
    )


@app.command("import")
def import_(
    folder: _Folder,
    file: _File,
    who: Annotated[
        str, typer.Option(help="Whose judgement an unsigned row is, where it differs from the index.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON on stdout.")] = False,
) -> None:
    """Take the rows of a sheet as the judgements of the people they name."""
    from toolwise.audit.sheet import from_csv, from_jsonl
    from toolwise.judging import accept

    text = text_of(file, "export")
    read: Callable[..., object] = from_csv if file.suffix.lower() == ".csv" else from_jsonl
    report = accept(folder, read(text), who=who.strip())  # type: ignore[arg-type]
    if as_json:
        print(json_line(_contract(report)))
    _say(report)
    if report.refused:
        raise typer.Exit(6)


def text_of(file: Path, command: str) -> str:
    """The text of a sheet made by ``toolwise audit`` ``command``.  Raises InvalidRequest."""
    from toolwise.errors import InvalidRequest

    try:
        return file.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InvalidRequest(
            f"{file} cannot be read: {why}. Expected a sheet made by `toolwise audit {command}`.",
            source=str(file),
        ) from error


def _contract(report: Accepted) -> dict[str, object]:
    return {
        "taken": list(report.taken),
        "known": list(report.known),
        "passed_over": report.passed_over,
        "refused": [{"line": f.line, "id": f.id, "why": f.why} for f in report.refused],
        "changed": changes(report.changed),
    }


def _say(report: Accepted) -> None:
    for fault in report.refused[:_SHOWN]:
        words().print(_told(fault), style="yellow")
    if len(report.refused) > _SHOWN:
        words().print(f"... and {len(report.refused) - _SHOWN} more refused; --json lists them all")
    say_changes(report.changed)
    words().print(
        f"{count(len(report.taken), 'judgement')} taken, {len(report.known)} stood already, "
        f"{count(report.passed_over, 'row')} passed over (nobody's name in `who`), "
        f"{len(report.refused)} refused"
    )


def _told(fault: Fault) -> str:
    name = f" {fault.id}:" if fault.id else ""
    return f"line {fault.line}:{name} {fault.why}"
