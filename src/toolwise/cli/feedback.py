"""``toolwise train feedback``: an agent tries tool sets for real, a judge says how it went."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolwise.cli.gateway import read_servers
from toolwise.cli.render import progress_bar, words
from toolwise.cli.requests import Refused, rows_of
from toolwise.errors import InvalidRequest, MissingExtra
from toolwise.records import Json, Level
from toolwise.text import count
from toolwise.whole_file import replace_file

if TYPE_CHECKING:
    from toolwise.catalog.mcp_config import ServerConfig
    from toolwise.learn.feedback import Outcome
    from toolwise.learn.spending import Line, Meter
    from toolwise.pipeline import Selector
    from toolwise.policy import Policy
    from toolwise.protocols import Agent
    from toolwise.records import Exposure, Query

ANSWERS = "feedback.sqlite"
"""Runs and votes, kept beside the index so that nothing is paid for twice."""

_WHY = {
    "level": "hold a tool above --max-risk",
    "budget": "are left: the budget is spent; the same command goes on there",
    "server": "failed while a server was away",
    "refused": "the endpoint did not take",
    "votes": "got no well-formed vote",
}


def feedback(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the index that holds the tools.")],
    requests: Annotated[Path, typer.Option(metavar="FILE", help='JSONL of {"id", "query"}.')],
    config: Annotated[
        Path, typer.Option(metavar="FILE", help="The mcpServers file; its servers are started and called.")
    ],
    model: Annotated[str, typer.Option(metavar="M", help="Model of the chat endpoint that acts.")],
    into: Annotated[Path, typer.Option(metavar="FILE", help="JSONL file of traces to write.")],
    judge: Annotated[
        str, typer.Option(metavar="M", help="Model that judges; the acting one if not given.")
    ] = "",
    votes: Annotated[int, typer.Option(min=1, max=15, help="Votes of the judge on each run.")] = 3,
    policy: Annotated[str, typer.Option(metavar="NAME|FILE", help="Policy that the sets keep to.")] = "",
    max_risk: Annotated[
        int, typer.Option(min=1, max=5, help="Highest level of a tool that may be called for real.")
    ] = int(Level.LOW),
    method: Annotated[str | None, typer.Option(help="How the sets are chosen, as for select.")] = None,
    nodes: Annotated[int, typer.Option(min=1, help="Times the model is asked for one request.")] = 24,
    depth: Annotated[int, typer.Option(min=1, help="Calls on one way.")] = 8,
    most_calls: Annotated[
        int | None, typer.Option(min=1, help="Stop after so many answers of models.")
    ] = None,
    most_tokens: Annotated[int | None, typer.Option(min=1, help="Stop after so many tokens.")] = None,
    most_cost: Annotated[
        float | None, typer.Option(min=0, help="Stop at this cost, by the prices of the settings.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a summary as JSON on stdout.")] = False,
) -> None:
    """Have an agent serve requests with the tools selected for them, for real; write traces of it."""
    for package, extra in (("mcp", "gateway"), ("httpx2", "openai")):
        if find_spec(package) is None:
            raise MissingExtra(
                f'Execution feedback needs {package}. Run: pip install "toolwise[{extra}]"', extra=extra
            )
    from toolwise.learn.agent import DfsdtAgent
    from toolwise.learn.decision_tree import Bounds
    from toolwise.learn.spending import Budget, Line, Meter
    from toolwise.pipeline import Selector

    meter = Meter(Budget(most_calls, most_tokens, most_cost))
    agent = DfsdtAgent(Line(model, meter), Bounds(nodes=nodes, depth=depth))
    line = Line(judge or model, meter)
    servers, wanted = read_servers(config), _requests(requests)
    if not into.absolute().parent.is_dir():
        raise InvalidRequest(f"{into.parent} is no folder; {into.name} is to be written there.", into=into)
    with Selector.open(folder, method=method) as selector:
        exposures = _sets(selector, servers, wanted, _policy(policy, max_risk))
    _warn(exposures, servers, max_risk)
    outcomes = _tried(exposures, servers, agent, (line, votes), (folder / ANSWERS, into), max_risk)
    found = _summary(outcomes, len(exposures), meter)
    if as_json:
        print(json.dumps(found))
    _say(found, into)


def _requests(path: Path) -> list[Query]:
    rows = list(rows_of(str(path)))
    for row in rows:
        if isinstance(row, Refused):
            words().print(f"{path}:{row.line} is left out: {row.why}", style="yellow")
    found = [row for row in rows if not isinstance(row, Refused)]
    if not found:
        raise InvalidRequest(f'{path} holds no request; expected lines of {{"id", "query"}}.', source=path)
    return found


def _policy(name: str, max_risk: int) -> Policy:
    """The policy named, or that of the settings; no level above ``max_risk``."""
    from toolwise.config import settings
    from toolwise.policy import load_policy, revise

    base = load_policy(name or settings().policy)
    return revise(base, max_level=min(max_risk, base.max_level or max_risk))


def _sets(
    selector: Selector, servers: Sequence[ServerConfig], wanted: Sequence[Query], policy: Policy
) -> list[Exposure]:
    """The set of each request, out of the tools of these servers."""
    names = {server.name for server in servers}
    within = [a.tool.id for a in selector.index.tools(selector.index.ids) if a.tool.server in names]
    if not within:
        raise InvalidRequest(
            f"no tool of the index is of the servers {', '.join(sorted(names))}. Index that configuration.",
            servers=sorted(names),
        )
    return [selector.select(query, policy, within=within) for query in wanted]


def _warn(exposures: Sequence[Exposure], servers: Sequence[ServerConfig], max_risk: int) -> None:
    console = words()
    ids = sorted({tool.id for exposure in exposures for tool in exposure.tools})
    console.print(
        f"tools are called for real, up to level {max_risk}: {', '.join(ids) or 'none'}; what they do is not "
        "undone, and what they return goes to the model",
        style="yellow",
    )
    withheld = {held.id for exposure in exposures for held in exposure.withheld if held.level > max_risk}
    if withheld:
        held = count(len(withheld), "tool")
        console.print(f"withheld as above level {max_risk}: {held}; --max-risk decides")
    console.print(f"{count(len(exposures), 'request')}, {count(len(servers), 'server')}")


def _tried(
    exposures: Sequence[Exposure],
    servers: Sequence[ServerConfig],
    agent: Agent,
    judging: tuple[Line, int],
    files: tuple[Path, Path],
    max_risk: int,
) -> list[Outcome]:
    """The outcomes in order; ``files``: the one that keeps runs and votes, and the traces."""
    from toolwise.audit.answers import Answers
    from toolwise.learn.feedback import Feedback
    from toolwise.learn.judge import Judge
    from toolwise.serve.environment import Environment

    answers = Answers(files[0])
    needed = {tool.id: tool.tool for exposure in exposures for tool in exposure.tools}
    names = {tool.server for tool in needed.values()}
    outcomes: list[Outcome] = []
    try:
        with (
            Environment(
                [server for server in servers if server.name in names], needed.values()
            ) as environment,
            progress_bar() as progress,
        ):
            for name, why in environment.away.items():
                words().print(f"server {name!r} is away: {why}", style="yellow")
            made = Feedback(
                agent, Judge(judging[0], answers, judging[1]), environment, answers, max_level=max_risk
            )
            for outcome in made.over(exposures, progress):
                outcomes.append(outcome)  # one by one: an interrupt leaves those that are there
    finally:
        if outcomes:
            _write(outcomes, files[1])
    return outcomes


def _write(outcomes: Sequence[Outcome], into: Path) -> None:
    """The traces of the outcomes that are decided; the file is replaced as a whole."""
    from toolwise.learn.feedback import trace

    rows = [trace(outcome) for outcome in outcomes if outcome.reward is not None]
    replace_file(into, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def _summary(outcomes: Sequence[Outcome], asked: int, meter: Meter) -> dict[str, Json]:
    rewards = [outcome.reward for outcome in outcomes if outcome.reward is not None]
    verdicts = Counter(o.ruling.verdict for o in outcomes if o.reward is not None and o.ruling is not None)
    return {
        "requests": asked,
        "traces": len(rewards),
        "known": sum(outcome.kept for outcome in outcomes),
        "verdicts": dict(sorted(verdicts.items())),
        "mean": sum(rewards) / len(rewards) if rewards else None,
        "undecided": dict(sorted(Counter(o.undecided for o in outcomes if o.undecided).items())),
        "calls": meter.usage.calls,
        "tokens": meter.tokens,
        "cost": meter.cost,
        "spent": meter.spent(),
    }


def _say(found: dict[str, Any], into: Path) -> None:
    console = words()
    verdicts = ", ".join(f"{number} {verdict}" for verdict, number in found["verdicts"].items()) or "none"
    known = count(found["known"], "run")
    console.print(f"{count(found['traces'], 'trace')} in {into} ({verdicts}); known from before: {known}")
    for why, number in found["undecided"].items():
        console.print(f"{number} of {count(found['requests'], 'request')} {_WHY[why]}", style="yellow")
    cost = "" if found["cost"] is None else f", cost {found['cost']:.2f}"
    console.print(f"{count(found['calls'], 'call')}, {count(found['tokens'], 'token')}{cost}")
