"""What a policy says to no effect, and entries that do nothing on an index: likely a slip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolwise.policy.eligibility import is_glob, matches
from toolwise.policy.flow import MOST_GUESSED
from toolwise.policy.policy import FLOW_CHANCE, Policy
from toolwise.text import nearest

_ANY = "*"
_MOST_OFFERED = 20
"""Names for which the nearest known ones are looked up."""


def idle(policy: Policy, ids: Sequence[str]) -> tuple[str, ...]:
    """A sentence per limit that does nothing, and per entry that matches none of ``ids``; none for no ids."""
    known = frozenset(ids)
    said: list[str] = list(_limits(policy)) if known else []
    for limit, entry, literal in dict.fromkeys(_entries(policy)):
        if not known or entry == _ANY or entry in known:
            continue
        if not literal and is_glob(entry) and matches(ids, (entry,)).any():
            continue
        near = "" if is_glob(entry) or len(said) >= _MOST_OFFERED else nearest(entry, ids)
        said.append(f"{limit} {entry!r} matches no tool of the index{near}")
    return tuple(said)


def _limits(policy: Policy) -> Iterator[str]:
    if not policy.forbid_flows and policy.flow_chance != FLOW_CHANCE:
        yield "flow_chance does nothing without forbid_flows"
    if policy.forbid_flows and policy.flow_chance < 1 and policy.max_tools > MOST_GUESSED:
        yield (
            f"answers may hold {policy.max_tools} tools, so only what is said of tools counts for "
            f"forbid_flows; guesses (flow_chance) count in answers of up to {MOST_GUESSED}"
        )


def _entries(policy: Policy) -> Iterator[tuple[str, str, bool]]:
    """Limit, entry, and whether the entry is an id even where it has wildcards."""
    yield from (("deny", glob, False) for glob in policy.deny)
    yield from (("allow", glob, False) for glob in policy.allow)
    yield from (("pins", id_, True) for id_ in policy.pins)
    for glob, needed in policy.requires:
        yield "requires", glob, False
        yield "requires", needed, True
    yield from (("excludes", glob, False) for pair in policy.excludes for glob in pair)
