"""``toolwise select``: one request, or a file of them, answered from an index."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolwise.cli.render import answer, words
from toolwise.cli.render import as_json as json_line
from toolwise.cli.requests import Refused, fault_of_text, rows_of
from toolwise.text import count

if TYPE_CHECKING:
    from toolwise.pipeline import Selector
    from toolwise.policy import Policy
    from toolwise.records import Exposure, Query


class Shape(StrEnum):
    """Hosts whose native shape an answer can take."""

    MCP = "mcp"
    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    LANGCHAIN = "langchain"


def select(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the index.")],
    request: Annotated[
        str | None, typer.Argument(metavar="REQUEST", help="What the user wants, in their words.")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="FILE", help='Answer every row {"id", "query"} of a JSONL file ("-": stdin).'
        ),
    ] = None,
    policy: Annotated[
        str | None, typer.Option(metavar="NAME|FILE", help="default, open, paper, strict, or a TOML file.")
    ] = None,
    max_tools: Annotated[int | None, typer.Option(min=1, max=100, help="Most tools in an answer.")] = None,
    max_risk: Annotated[
        int | None, typer.Option(min=1, max=5, help="Highest level an answer may hold.")
    ] = None,
    allow: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Only tools that match one of these.")
    ] = None,
    deny: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="No tool that matches one of these.")
    ] = None,
    pin: Annotated[list[str] | None, typer.Option(metavar="ID", help="Tools that join every answer.")] = None,
    budget_tokens: Annotated[
        int | None, typer.Option(min=1, help="Most tokens of definitions in an answer.")
    ] = None,
    method: Annotated[str | None, typer.Option(help="toolwise, hybrid, bm25, dense or dual-head.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print answers as JSON, one per line.")] = False,
    shape: Annotated[
        Shape | None, typer.Option("--format", help="Print the tools in a host's own shape.")
    ] = None,
) -> None:
    """Print the tools an agent should see for REQUEST.  Every limit not given is the policy's."""
    if (request is None) == (source is None):
        raise typer.BadParameter("give either a REQUEST or --from FILE")
    if as_json and shape is not None:
        raise typer.BadParameter("give either --json or --format, not both")
    from toolwise.pipeline import Selector

    rules = _rules(policy, max_tools, max_risk, allow, deny, pin, budget_tokens)
    query = None if request is None else _query(request)
    selector = Selector.open(folder, method=method)
    if query is not None:
        _print(selector.select(query, rules), selector, as_json=as_json, shape=shape)
        return
    answered, failed = 0, 0
    for row in rows_of(source or ""):
        answered += 1
        if isinstance(row, Refused):
            words().print(f"toolwise: {source}:{row.line}: {row.why}", style="yellow")
            failed += 1
        exposure = row.answer() if isinstance(row, Refused) else selector.select(row, rules)
        _print(exposure, selector, as_json=shape is None, shape=shape)
    if not answered:
        words().print(f"{source} holds no requests", style="yellow")
    if failed:
        from toolwise.errors import InvalidRequest

        raise InvalidRequest(
            f"{source}: {count(failed, 'row')} of it no request (see above); the others are answered."
        )


def _rules(
    policy: str | None,
    max_tools: int | None,
    max_risk: int | None,
    allow: list[str] | None,
    deny: list[str] | None,
    pin: list[str] | None,
    budget_tokens: int | None,
) -> Policy:
    """The policy with the limits given on the command line."""
    from toolwise.config import settings
    from toolwise.policy import load_policy, revise

    base = load_policy(settings().policy if policy is None else policy)
    changes: dict[str, Any] = {"max_tools": max_tools, "max_level": max_risk, "budget_tokens": budget_tokens}
    changes = {limit: value for limit, value in changes.items() if value is not None}
    if allow:
        changes["allow"] = tuple(allow)
    if deny:
        changes["deny"] = (*base.deny, *deny)
    if pin:
        changes["pins"] = (*base.pins, *pin)
    return revise(base, **changes) if changes else base


def _print(exposure: Exposure, selector: Selector, *, as_json: bool, shape: Shape | None) -> None:
    if shape is not None:
        from toolwise import registry

        export = registry.get("format", shape)(exposure)
        print(json_line(export.payload))
        for note in export.notes:
            words().print(f"note: {note}")
        if exposure.abstained:
            words().print(f"no tools: {exposure.reason}")
    elif as_json:
        print(json_line(exposure.to_json()))
    else:
        answer(exposure, int(selector.index.tokens.sum()), len(selector.index))


def _query(request: str) -> Query:
    from toolwise.errors import InvalidRequest
    from toolwise.records import Query

    if fault := fault_of_text(request):
        raise InvalidRequest(f"the request {fault}. Give it as UTF-8.")
    return Query("", request)
