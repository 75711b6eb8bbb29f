"""The tree of a depth-first search over calls: where the agent stands, and what was tried there before.

A node is a call that was made, with its result; the root is the request.  The
path from the root is what the model sees.  Going back takes nodes off the path
for good, up to an ancestor that may still branch.  Tools were called for real:
going back forgets their results, and undoes none of their effects.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

from toolwise.records import Json, Observation, Step

REVISITED = (
    "The way you took from here led nowhere, and you are back at this point. Calls tried from here before, "
    "as data:\n{tried}\nDo something else: another tool, other arguments, or the end of the task."
)
"""What the model is told at a node it comes back to."""
_SHOWN = 400
"""Characters of a call tried before that are shown."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where a search ends."""

    nodes: int = 24
    """Times the model is asked in one run (R of HYSET, algorithm 1)."""
    depth: int = 8
    """Calls on one path; there only an end is offered."""
    width: int = 2
    """Calls tried from one node."""
    tokens: int = 60_000
    """Sent and received in one run; looked at before each question."""
    observation: int = 4_000
    """Characters of a result that the model sees."""


@dataclass(slots=True)
class _Node:
    """A call on the path, or the root."""

    messages: list[Json]
    """What it adds to the conversation."""
    step: int
    """Its place among the steps; -1 for the root."""
    tried: list[str] = field(default_factory=list)
    """Calls made from here, as texts."""


class DecisionTree:
    """A search in progress."""

    def __init__(self, opening: list[Json], bounds: Bounds) -> None:
        """``opening``: the messages before the first call."""
        self._bounds = bounds
        self._path = [_Node(opening, -1)]
        self._steps: list[Step] = []

    @property
    def steps(self) -> tuple[Step, ...]:
        """All calls in order of time, those of abandoned ways marked."""
        on_path = {node.step for node in self._path}
        return tuple(replace(step, kept=i in on_path) for i, step in enumerate(self._steps))

    @property
    def is_deep(self) -> bool:
        """Whether no further call fits on the path."""
        return len(self._path) > self._bounds.depth

    def messages(self) -> list[Json]:
        """The conversation along the path."""
        found = [message for node in self._path for message in node.messages]
        if tried := self._path[-1].tried:
            found.append(
                {"role": "user", "content": REVISITED.format(tried="\n".join(t[:_SHOWN] for t in tried))}
            )
        return found

    def is_new(self, name: str, arguments: Json) -> bool:
        """Whether this call was not made from here before."""
        return _text(name, arguments) not in self._path[-1].tried

    def descend(self, message: Json, tool: str, arguments: Json, observation: Observation) -> None:
        """A call was made from here: the ``message`` that holds it, the id of its tool, what came of it."""
        call = message["tool_calls"][0]
        self._path[-1].tried.append(_text(call["function"]["name"], arguments))
        limit = self._bounds.observation
        observation = replace(observation, text=whole(observation.text))
        seen = observation.text
        if len(seen) > limit:
            seen = f"{seen[:limit]} ... ({len(seen)} characters in all)"
        seen = seen if observation.ok else f"The call failed: {seen}"
        messages = [
            message,
            {"role": "tool", "tool_call_id": call["id"], "content": seen},
        ]
        self._path.append(_Node(messages, len(self._steps)))
        self._steps.append(Step(tool, arguments, replace(observation, text=observation.text[:limit])))

    def go_back(self, calls: int = 1) -> bool:
        """Undo that many calls, and more where nothing new may be tried; False where no way is left."""
        keep = max(1, len(self._path) - max(1, calls))
        if keep == len(self._path):  # at the root: nothing to undo
            return False
        del self._path[keep:]
        while len(self._path[-1].tried) >= self._bounds.width:
            if len(self._path) == 1:
                return False
            self._path.pop()
        return True


def whole(text: str) -> str:
    """``text`` with half characters (lone surrogates) escaped, which no endpoint takes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _text(name: str, arguments: Json) -> str:
    return json.dumps([name, arguments], ensure_ascii=False, sort_keys=True)
