"""What a scripted model says, to act and to judge."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.audit.endpoint import Endpoint, Reply, says
from toolwise.learn.agent import FINISH, GIVE_UP
from toolwise.records import Observation


def calls(name: str, id_: str = "c1", **arguments: Any) -> Reply:
    """The model calls a function."""
    return raw_call(name, json.dumps(arguments), id_)


def raw_call(name: str, arguments: Any, id_: str = "c1") -> Reply:
    """The same with arguments as they are given."""
    call = {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
    message = {"content": None, "tool_calls": [call]}
    return 200, {
        "choices": [{"message": message}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10},
    }


def finishes(answer: str) -> Reply:
    """The model answers."""
    return calls(FINISH, answer=answer)


def gives_up(**arguments: int) -> Reply:
    """The model leaves its way."""
    return calls(GIVE_UP, **arguments)


def votes(verdict: str, because: str = "as told") -> Reply:
    """The judge's word."""
    return says({"verdict": verdict, "because": because})


def is_judge(request: Mapping[str, Any]) -> bool:
    """Whether a request is to the judge: it is offered no functions."""
    return "tools" not in request


def play(there: Endpoint, acting: list[Reply], judging: list[Reply]) -> None:
    """Answer the agent and the judge by their own lines in turn; the last one of each stays."""
    acts, rules = list(acting), list(judging)

    def answer(request: dict[str, Any]) -> Reply:
        left = rules if is_judge(request) else acts
        return left.pop(0) if len(left) > 1 else left[0]

    there.answer = answer


class World:
    """An environment of Python functions by id of the tool; remembers what was called."""

    def __init__(self, **tools: Callable[..., Any]) -> None:
        self.tools = {name.replace("__", "/"): tool for name, tool in tools.items()}
        self.called: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, tool: str, arguments: Mapping[str, Any], /) -> Observation:
        """The result as text; an Observation as it is."""
        self.called.append((tool, dict(arguments)))
        found = self.tools[tool](**arguments)
        return found if isinstance(found, Observation) else Observation(str(found))
