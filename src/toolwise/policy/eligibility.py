"""Rules that judge one tool at a time: which rows of an index a policy could ever expose."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import translate

import numpy as np

from toolwise.policy.policy import Policy
from toolwise.protocols import Bools, Ints
from toolwise.records import Permission, to_bits

_WILDCARD = re.compile(r"[*?\[]")


def matches(ids: Sequence[str], globs: Iterable[str]) -> Bools:
    """Which ``ids`` (N,) match one of ``globs``.  Case counts; a glob equal to an id matches it literally."""
    globs = tuple(globs)
    if "*" in globs:
        return np.ones(len(ids), dtype=bool)
    if not globs:
        return np.zeros(len(ids), dtype=bool)
    literal = frozenset(globs)
    pattern = re.compile("|".join(map(translate, globs)))
    return np.fromiter(
        (i in literal or pattern.match(i) is not None for i in ids), dtype=bool, count=len(ids)
    )


def is_glob(entry: str) -> bool:
    """Whether an entry of a policy has wildcards."""
    return _WILDCARD.search(entry) is not None


def named(policy: Policy) -> frozenset[str]:
    """The ids a policy names one by one: allow entries and pins without a wildcard, or pins as they are."""
    return frozenset(policy.pins) | {glob for glob in policy.allow if not is_glob(glob)}


class Eligibility:
    """For each rule that judges tools one by one, the rows (N,) that break it."""

    def __init__(self, policy: Policy, ids: Sequence[str], levels: Ints, permissions: Ints) -> None:
        self.broken: dict[str, Bools] = {}
        exact = named(policy)
        self._add("deny", matches(ids, policy.deny))
        if "*" not in policy.allow:
            by_pin = np.fromiter((i in policy.pins for i in ids), dtype=bool, count=len(ids))
            self._add("allow", ~(matches(ids, policy.allow) | by_pin))
        if policy.max_level is not None:
            self._add("max-level", levels > policy.max_level)
        if policy.named_level is not None:
            by_name = np.fromiter((i in exact for i in ids), dtype=bool, count=len(ids))
            self._add("named-level", (levels >= policy.named_level) & ~by_name)
        if policy.forbidden_permissions:
            forbidden = to_bits(policy.forbidden_permissions, Permission)
            self._add("permissions", (permissions & forbidden) > 0)
        self.rows: Bools = ~np.logical_or.reduce([np.zeros(len(ids), dtype=bool), *self.broken.values()])

    def _add(self, rule: str, broken: Bools) -> None:
        if broken.any():
            self.broken[rule] = broken

    def first_broken(self, row: int) -> str | None:
        """The first rule the tool at ``row`` breaks, in the order above."""
        return next((rule for rule, broken in self.broken.items() if broken[row]), None)
