"""``toolwise audit flows``: how private data could get out."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolwise.cli.audit.app import app
from toolwise.cli.render import as_json as json_line
from toolwise.cli.render import cell, data, table, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolwise.audit.flows import Flow, Flows
    from toolwise.records import Json


@app.command("flows")
def flows(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the index.")],
    limit: Annotated[int, typer.Option(min=1, help="Most flows of each kind that are listed.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per flow.")] = False,
) -> None:
    """List what together reads private data, takes in strangers' words and sends outside.

    One tool first, then one server, two servers, three.
    """
    from toolwise.audit.flows import Flows, Reach
    from toolwise.auditing import tools_of

    found = Flows(tools_of(folder))
    shown = [flow for reach in Reach for flow in islice(found.of(reach), limit)]
    if as_json:
        for flow in shown:
            print(json_line(_contract(flow)))
    elif shown:
        grid = table("through", "capability", "tool", "because", "others")
        for flow in shown:
            for row in _rows(flow):
                grid.add_row(*row)
        data().print(grid)
    _say(found, limit)


def _contract(flow: Flow) -> dict[str, Json]:
    return {
        "reach": flow.reach,
        "servers": list(flow.servers),
        "tools": list(flow.tools),
        "legs": [
            {"capability": leg.capability, "tool": leg.tool, "because": leg.because, "others": leg.others}
            for leg in flow.legs
        ],
    }


def _rows(flow: Flow) -> Iterator[tuple[str, ...]]:
    """One row per named tool, with what it is named for."""
    through = f"{flow.reach}: {' + '.join(server or '(no server)' for server in flow.servers)}"
    for tool in flow.tools:
        legs = [leg for leg in flow.legs if leg.tool == tool]
        because = dict.fromkeys(leg.because for leg in legs)
        others = ", ".join(str(leg.others) for leg in legs)
        yield (
            cell(through),
            ", ".join(leg.capability for leg in legs),
            cell(tool),
            cell("; ".join(because)),
            others,
        )
        through = ""


def _say(found: Flows, limit: int) -> None:
    from toolwise.audit.flows import Reach

    counts = {reach: found.count(reach) for reach in Reach}
    if not any(counts.values()):
        words().print("no flow: no tools of up to three servers have all three capabilities")
        return
    words().print("; ".join(f"{n:,} through {reach}" for reach, n in counts.items()))
    if any(n > limit for n in counts.values()):
        words().print(f"at most {limit} of each are listed; --limit lists more")
