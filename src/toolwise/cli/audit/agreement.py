"""``toolwise audit agreement``: how far annotators, and a person's blinded sheet, agree on levels."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolwise.cli.audit.app import app
from toolwise.cli.render import as_json as json_line
from toolwise.cli.render import cell, data, table, words
from toolwise.text import count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from toolwise.audit.blind import Filled
    from toolwise.evaluate.agreement import Agreement
    from toolwise.records import AuditedTool, Json

_SHEET, _INDEX = "sheet", "index"
_SHOWN = 20
_APART = 2


@dataclass(frozen=True, slots=True)
class _Compared:
    alpha: float | None
    """Of all annotators together, without people and the sheet."""
    annotators: tuple[str, ...]
    n: int
    """Tools that two of them or more have judged."""
    pairs: tuple[tuple[str, str, Agreement], ...]


@app.command("agreement")
def agreement(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the index.")],
    sheet: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A filled-in sheet of `toolwise audit sample`, set against all."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print how far those who judged the tools agree: Krippendorff's alpha, shares, weighted kappa."""
    from toolwise.auditing import tools_of

    tools = tools_of(folder)
    votes = _votes(folder)
    filled = None if sheet is None else _filled(sheet, tools)
    compared = _compare(votes, tools, filled)
    apart = _apart(tools, filled)
    if as_json:
        print(json_line(_contract(compared, filled, apart)))
    elif compared.pairs:
        _show(compared)
    _say(folder, compared, filled, apart)
    if filled is not None and filled.faults:
        raise typer.Exit(6)


def _votes(folder: Path) -> dict[str, dict[str, int]]:
    """Levels by annotator and tool, on present definitions."""
    from toolwise.auditing import outcomes

    votes: dict[str, dict[str, int]] = {}
    for audited, outcome in outcomes(folder):
        for annotator, level in outcome.votes.items():
            votes.setdefault(annotator, {})[audited.tool.id] = int(level)
    return votes


def _filled(sheet: Path, tools: Sequence[AuditedTool]) -> Filled:
    from toolwise.audit.blind import from_sheet
    from toolwise.cli.audit.exchange import text_of

    return from_sheet(text_of(sheet, "sample"), [audited.tool for audited in tools], sheet.name)


def _compare(
    votes: Mapping[str, Mapping[str, int]], tools: Sequence[AuditedTool], filled: Filled | None
) -> _Compared:
    from toolwise.evaluate.agreement import agreement as of_two
    from toolwise.evaluate.agreement import as_votes, krippendorff_alpha
    from toolwise.records import PERSON

    machines = {annotator: levels for annotator, levels in votes.items() if annotator != PERSON}
    names, matrix = as_votes(machines)
    rated = sum(
        sum(id_ in levels for levels in machines.values()) >= 2 for id_ in set().union(*machines.values())
    )
    raters, columns = as_votes(votes)
    pairs = [
        (a, b, of_two(columns[:, i], columns[:, j])) for (i, a), (j, b) in combinations(enumerate(raters), 2)
    ]
    if filled is not None:
        said = {id_: int(level) for id_, level in filled.levels.items()}
        index = {audited.tool.id: int(audited.level) for audited in tools}
        for name, levels in ((_INDEX, index), *sorted(votes.items())):
            _, both = as_votes({"a": said, "b": levels}, list(said))
            pairs.append((_SHEET, name, of_two(both[:, 0], both[:, 1])))
    return _Compared(krippendorff_alpha(matrix), names, rated, tuple(pairs))


def _apart(tools: Sequence[AuditedTool], filled: Filled | None) -> list[tuple[str, int, int]]:
    """Tools whose level on the sheet and in the index are two or more apart, the gravest first."""
    levels = {} if filled is None else filled.levels
    found = [
        (audited.tool.id, int(levels[audited.tool.id]), int(audited.level))
        for audited in tools
        if audited.tool.id in levels and abs(levels[audited.tool.id] - audited.level) >= _APART
    ]
    return sorted(found, key=lambda row: (row[2] - row[1], row[0]))


def _contract(
    compared: _Compared, filled: Filled | None, apart: Sequence[tuple[str, int, int]]
) -> dict[str, Json]:
    told: dict[str, Json] = {
        "annotators": list(compared.annotators),
        "n": compared.n,
        "alpha": compared.alpha,
        "pairs": [
            {
                "first": first,
                "second": second,
                **{key: getattr(found, key) for key in ("n", "alpha", "exact", "within_one", "kappa")},
            }
            for first, second, found in compared.pairs
        ],
    }
    if filled is not None:
        told[_SHEET] = {
            "judged": len(filled.levels),
            "empty": filled.empty,
            "unknown": filled.unknown,
            "faults": [{"row": row, "why": why} for row, why in filled.faults],
            "apart": [{"id": id_, "sheet": ours, "index": theirs} for id_, ours, theirs in apart],
        }
    return told


def _show(compared: _Compared) -> None:
    grid = table("between", "and", "tools", "alpha", "exact", "within one", "kappa")
    for first, second, found in compared.pairs:
        numbers = (found.alpha, found.exact, found.within_one, found.kappa)
        grid.add_row(cell(first), cell(second), str(found.n), *map(_number, numbers))
    data().print(grid)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _say(
    folder: Path, compared: _Compared, filled: Filled | None, apart: Sequence[tuple[str, int, int]]
) -> None:
    if filled is not None:
        for row, why in filled.faults[:_SHOWN]:
            words().print(f"row {row}: {why}", style="yellow")
        for id_, ours, theirs in apart[:_SHOWN]:
            words().print(f"{id_}: level {ours} on the sheet, {theirs} in the index")
        if len(apart) > _SHOWN:
            words().print(f"... and {len(apart) - _SHOWN} more two levels or more apart")
        words().print(
            f"sheet: {count(len(filled.levels), 'tool')} judged, {filled.empty} without a level, "
            f"{filled.unknown} not in the index as it was, {count(len(filled.faults), 'row')} refused"
        )
    if len(compared.annotators) > 1:
        words().print(
            f"alpha of {', '.join(compared.annotators)} together: {_number(compared.alpha)} "
            f"({count(compared.n, 'tool')})"
        )
    else:
        words().print(
            "fewer than two annotators have judged these tools: "
            f"toolwise audit run {folder} --annotators rules,head"
        )
