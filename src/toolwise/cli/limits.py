"""What a policy's limits mean for an index, said where they do nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from toolwise.cli.render import words

if TYPE_CHECKING:
    from toolwise.policy import Policy


def warn_of_idle_globs(policy: Policy, ids: Sequence[str]) -> None:
    """Name on stderr each deny and allow pattern that no tool id of the index matches: likely a slip."""
    from toolwise.policy import matches

    for limit, globs in (("deny", policy.deny), ("allow", policy.allow)):
        idle = [glob for glob in dict.fromkeys(globs) if not matches(ids, [glob]).any()]
        for glob in idle if len(ids) else ():
            words().print(f"{limit} {glob!r} matches no tool of the index", style="yellow")
