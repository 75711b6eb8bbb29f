"""``toolwise select``: one request, or a file of them, answered from an index."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolwise.cli.render import answer, words

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
    max_tools: Annotated[int | None, typer.Option(help="Most tools in an answer.")] = None,
    max_risk: Annotated[int | None, typer.Option(help="Highest level (1..5) an answer may hold.")] = None,
    allow: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="Only tools that match one of these.")
    ] = None,
    deny: Annotated[
        list[str] | None, typer.Option(metavar="GLOB", help="No tool that matches one of these.")
    ] = None,
    pin: Annotated[list[str] | None, typer.Option(metavar="ID", help="Tools that join every answer.")] = None,
    budget_tokens: Annotated[
        int | None, typer.Option(help="Most tokens of definitions in an answer.")
    ] = None,
    method: Annotated[str | None, typer.Option(help="Retriever: bm25, dense or hybrid.")] = None,
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
    selector = Selector.open(folder, method=method)
    if source is None:
        _print(selector.select(request or "", rules), selector, as_json=as_json, shape=shape)
        return
    failed = 0
    for row in _rows(source):
        if isinstance(row, _Refused):
            words().print(f"toolwise: {source}:{row.line}: {row.why}", style="yellow")
            failed += 1
        exposure = row.answer() if isinstance(row, _Refused) else selector.select(row, rules)
        _print(exposure, selector, as_json=shape is None, shape=shape)
    if failed:
        from toolwise.errors import InvalidRequest

        raise InvalidRequest(
            f"{source}: {failed} rows were no requests (see above); the others are answered."
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

    base = load_policy(policy or settings().policy)
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
        print(json.dumps(export.payload, ensure_ascii=False))
        for note in export.notes:
            words().print(f"note: {note}")
        if exposure.abstained:
            words().print(f"no tools: {exposure.reason}")
    elif as_json:
        print(json.dumps(exposure.to_json(), ensure_ascii=False))
    else:
        answer(exposure, int(selector.index.tokens.sum()), len(selector.index))


class _Refused:
    """A row of a request file that is no request."""

    def __init__(self, line: int, why: str, id_: str) -> None:
        self.line, self.why, self.id = line, why, id_

    def answer(self) -> Exposure:
        """An empty answer in its place, so that answers stay aligned with rows."""
        from toolwise.records import Exposure

        return Exposure(self.id, "", True, f"invalid request: {self.why}", (), (), 0)


def _rows(source: str) -> Iterator[Query | _Refused]:
    """Requests of a JSONL file, in order; blank lines are passed over."""
    from toolwise.errors import InvalidRequest
    from toolwise.records import Query

    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequest(
            f"{source} cannot be read: {error}. Expected a UTF-8 file of JSON objects, one per line.",
            source=source,
        ) from error
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            yield _Refused(number, f"not JSON: {error.msg}", "")
            continue
        if not isinstance(row, dict) or not isinstance(row.get("query"), str):
            id_ = row.get("id", "") if isinstance(row, dict) else ""
            yield _Refused(number, 'expected an object with a text "query"', str(id_))
        else:
            yield Query(str(row.get("id", number)), row["query"])
