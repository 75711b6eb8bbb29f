"""``toolwise log``: what a gateway remembers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolwise.cli.render import as_json as json_line
from toolwise.cli.render import cell, data, table

if TYPE_CHECKING:
    from toolwise.records import Json

app = typer.Typer(help="Read what a gateway has shown, and what was called.", no_args_is_help=True)

State = Annotated[Path, typer.Argument(metavar="DIR", help="State folder of the gateway.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
_MOST = 20


@app.callback()
def log() -> None:
    """Read what a gateway has shown, and what was called."""


@app.command("tail")
def tail(
    state: State,
    last: Annotated[int, typer.Option(min=1, metavar="N", help="How many of the newest events.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Print the newest answers and calls, oldest first."""
    from toolwise.serve.gateway.memory import Memory

    memory = Memory(state, make=False)
    events = sorted(
        ({"event": event, **row} for event, kind in _TABLES for row in memory.newest(kind, last)),
        key=lambda row: (row["at"], row["event"], row["number"]),
    )[-last:]
    memory.close()
    if as_json:
        for event in events:
            print(json_line(event))
        return
    grid = table("at", "who", "event", "what", "ms")
    for event in events:
        spent = f"{event['milliseconds']:.0f}"
        grid.add_row(event["at"][:19], cell(event["who"]), event["event"], cell(_said(event)), spent)
    data().print(grid)


_TABLES = (("answer", "exposures"), ("call", "calls"))


def _said(event: dict[str, Json]) -> str:
    if event["event"] == "answer":
        tools = ", ".join(shown[0] for shown in event["exposed"]) or f"nothing ({event['reason']})"
        return f"{event['request']} -> {tools}"
    detail = f" ({event['detail']})" if event["detail"] else ""
    return f"{event['tool']} {event['outcome']}{detail}"


@app.command("stats")
def stats(state: State, as_json: AsJson = False) -> None:
    """Print tokens saved, refusals, latency, and the tools that were never used.

    Tokens saved: over requests answered with tools, against showing the agent all tools within its reach.
    """
    from toolwise.serve.gateway.statistics import statistics

    found = statistics(state)
    if as_json:
        print(json_line(found))
        return
    console = data()
    console.print(f"since            {found['since'][:19] if found['since'] else 'nothing is remembered'}")
    console.print(
        f"answers          {found['answers']:,}: {found['answered']:,} with tools, "
        f"{found['nothing_fits']:,} where nothing fits, {found['refused']:,} where rules withhold all"
    )
    console.print(f"tokens saved     {_saved(found)}")
    console.print(f"ms per answer    {_spread(found['answer_ms'])}")
    console.print(f"ms per call      {_spread(found['call_ms'])}")
    console.print(f"calls            {_counts(found['calls'])}")
    reasons = dict(list(found["refusals"].items())[:_MOST])
    more = f" and {len(found['refusals']) - _MOST} more reasons" if len(found["refusals"]) > _MOST else ""
    console.print(f"not made         {cell(_counts(reasons))}{more}")
    for key, label in (("never_shown", "never shown"), ("never_called", "never called")):
        ids = found[key]
        more = f" and {len(ids) - _MOST} more" if len(ids) > _MOST else ""
        named = f": {', '.join(ids[:_MOST])}{more}" if ids else ""
        console.print(cell(f"{label:<16} {len(ids):,} of {found['tools']:,} tools{named}"))


def _saved(found: dict[str, Json]) -> str:
    """What answers with tools showed, against all that was within reach."""
    whole = found["tokens_within_reach"]
    if not whole:
        return "none: no request was answered with tools"
    each = "1 answer" if found["answered"] == 1 else f"{found['answered']:,} answers"
    return (
        f"{found['tokens_saved']:,} ({found['tokens_saved'] / whole:.1%}): {each} with tools showed "
        f"{found['tokens_shown']:,} of {whole:,}, the definitions of all tools within reach"
    )


def _spread(found: dict[str, float] | None) -> str:
    return f"{found['p50']:g} (p50), {found['p95']:g} (p95)" if found else "none"


def _counts(found: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in found.items()) or "none"
