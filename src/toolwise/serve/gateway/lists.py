"""What stands in a list: the tools of a profile, pinned and found ones; the policy holds over each list."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
from mcp_types import Tool

from toolwise.policy import matches, revise
from toolwise.serve.gateway import surface
from toolwise.serve.gateway.guard import Reach
from toolwise.serve.gateway.settings import Profile

_log = logging.getLogger(__name__)


def shown(reach: Reach, ids: Sequence[str]) -> list[Tool]:
    """Tools as an agent sees them in a list."""
    return [surface.listed(reach.names[a.tool.id], a) for a in reach.view.selector.index.tools(ids)]


def profile_ids(reach: Reach, profile: Profile) -> tuple[str, ...]:
    """The tools of a profile: named ones, then those that its tasks need."""
    index = reach.view.selector.index
    by_name = matches(index.ids, profile.tools) & reach.rows if profile.tools else np.zeros(len(index), bool)
    chosen = dict.fromkeys(index.ids[row] for row in np.flatnonzero(by_name))
    policy = revise(reach.policy, max_tools=profile.size)
    answers = [
        [tool.id for tool in reach.view.selector.select(task, policy, within=reach.ids).tools]
        for task in profile.tasks
    ]
    places = max(map(len, answers), default=0)
    wanted = dict.fromkeys(
        answer[place] for place in range(places) for answer in answers if place < len(answer)
    )
    listed = (*chosen, *[id_ for id_ in wanted if id_ not in chosen][: profile.size])
    kept = reach.view.selector.together(listed, reach.policy)
    if len(kept) < len(listed):
        left = ", ".join(id_ for id_ in listed if id_ not in kept)
        _log.warning("a profile is shown without %s: the policy does not admit them beside the others", left)
    return kept


def beside(reach: Reach, wanted: Sequence[str]) -> tuple[str, ...]:
    """Those of ``wanted``, most wanted first, that the policy admits together: pins, then others by id."""
    if not wanted:
        return ()
    kept = reach.view.selector.together(wanted, reach.policy)
    pins = tuple(id_ for id_ in kept if id_ in reach.pins)
    if len(pins) < len(reach.pins):
        left = ", ".join(id_ for id_ in reach.pins if id_ not in pins)
        _log.warning("%s not listed: the policy does not admit these pins beside the others", left)
    return (*pins, *sorted(set(kept) - set(pins)))
