"""The rule that keeps private data, untrusted content and a way out apart (protocols.Constraint)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from toolwise.protocols import Bools, Floats, Ints
from toolwise.records import Capability, from_bits, to_bits
from toolwise.text import listed


def certain(_: int) -> frozenset[Capability]:
    """Nothing that a tool can do is a prediction."""
    return frozenset()


MOST_GUESSED = 5
"""Most tools that stand together for guesses to count: over more of them chances add up."""
_DOES = {
    Capability.PRIVATE: ("reads", "read", "private data"),
    Capability.UNTRUSTED: ("takes in", "take in", "untrusted content"),
    Capability.EXTERNAL: ("sends", "send", "outside"),
}


_AMONG: Bools = np.array(
    [[kind >> i & 1 for i in range(len(Capability))] for kind in range(1, 8)], dtype=bool
)
"""(7, 3): the sets of capabilities, none left out but the empty one."""
_WHOLE = to_bits(Capability, Capability)
_SIGNS = np.where(_AMONG.sum(axis=1) % 2, -1, 1).astype(np.float32)


@dataclass(frozen=True)
class NoFlow:
    """No members that only together hold all three capabilities: private, untrusted, external.

    A tool that holds all three by itself is priced by its level; it counts
    for nothing here, or it would keep every other tool out.

    Where capabilities are guessed, members are kept apart from a chance of ``limit`` on
    that they complete the flow.  With the capabilities of tools taken as independent,
    that chance is, by inclusion and exclusion over the sets C of capabilities, the sum of
    ``(-1)^|C|`` times the product over members of the chance that one adds nothing of C:
    it has none of C, or all three.
    """

    rule: str
    capabilities: Ints
    """(K,) bits."""
    ids: tuple[str, ...]
    predicted: Callable[[int], frozenset[Capability]] = certain
    chances: Floats | None = None
    """(K, 3): how likely each capability is; None: as ``capabilities`` says."""
    limit: float = 1.0

    def admits(self, sets: Bools) -> Bools:
        """Sets whose members do not complete the flow, nor are likely to."""
        admitted = ~self._complete(sets)
        if self._idle is not None:
            admitted &= self.chance(sets) < self.limit
        return admitted

    def _complete(self, sets: Bools) -> Bools:
        """(S,): whether the members of each set hold all three, those that do so alone left out."""
        parts = np.where(self.capabilities == _WHOLE, 0, self.capabilities)
        has = (parts[:, None] >> np.arange(len(Capability)) & 1).astype(np.float32)  # (K, 3)
        held = has.T @ sets.astype(np.float32).T > 0  # (3, S)
        found: Bools = np.logical_and.reduce(held)
        return found

    def chance(self, sets: Bools) -> Floats:
        """(S,): how likely the members of each set complete the flow, as far as capabilities are guessed."""
        if self._idle is None:
            return np.zeros(len(sets), dtype=np.float32)
        none: Floats = np.exp(self._idle.T @ sets.astype(np.float32).T)  # (7, S)
        found: Floats = 1 + _SIGNS @ none
        return found

    @cached_property
    def _idle(self) -> Floats | None:
        """(K, 7): log of the chance that a tool adds nothing of a set of capabilities; None: no guesses."""
        if self.chances is None or self.limit >= 1:
            return None
        lacks = np.where(_AMONG, 1 - self.chances[:, None, :], 1).prod(axis=2)  # (K, 7)
        adds_nothing = np.clip(lacks + self.chances.prod(axis=1)[:, None], 1e-6, 1)
        adds_nothing[self.capabilities == _WHOLE] = 1
        found: Floats = np.log(adds_nothing).astype(np.float32)
        return found

    def explain(self, member: int, beside: Sequence[int] = ()) -> str:
        """Which part of the flow it is, and which tools are the others; a mere prediction is marked.

        Where only guesses complete it: what it is likeliest to do, who is likeliest to do the rest, the
        chance of the whole with it, and the limit.
        """
        places = [member, *(i for i in beside if i != member)]
        joined = np.zeros((1, len(self.capabilities)), dtype=bool)
        joined[0, places] = True
        chance = float(self.chance(joined)[0])
        if self.chances is None or chance <= 0 or self._complete(joined)[0]:
            return self._explain_known(member, beside)
        adds = self.chances - self.chances.prod(axis=1)[:, None]  # (K, 3): and does not do all three
        adds[self.capabilities == _WHOLE] = 0
        own = int(np.argmax(adds[member]))
        parts = {member: [self._guess(member, own)]}
        for kind in range(len(Capability)):
            likeliest = places[int(np.argmax(adds[places, kind]))]
            if kind != own and adds[likeliest, kind] > 0:
                parts.setdefault(likeliest, []).append(self._guess(likeliest, kind))
        does = " and ".join(parts.pop(member))
        named = [f"{self.ids[i]} ({' and '.join(others)})" for i, others in parts.items()]
        company = listed(named) or "the others"
        return (
            f"it {does}; together with {company} it might let private data leave: the chance with all that "
            f"is there is {chance:.2f}, and less than {self.limit:g} is allowed"
        )

    def _guess(self, member: int, kind: int) -> str:
        """What a tool does, or may do with its chance."""
        chance = 0.0 if self.chances is None else float(self.chances[member, kind])
        each = tuple(Capability)[kind]
        does, do, what = _DOES[each]
        if each in from_bits(int(self.capabilities[member]), Capability):
            return f"{does} {what}{' (predicted)' if each in self.predicted(member) else ''}"
        return f"may {do} {what} ({chance:.2f})"

    def _explain_known(self, member: int, beside: Sequence[int]) -> str:
        own = from_bits(int(self.capabilities[member]), Capability)
        part = self._part(member, own, " (predicted)") or "stands beside them"
        others: dict[int, set[Capability]] = {}
        for lacking in (each for each in Capability if each not in own):
            place = next((i for i in beside if i != member and lacking in self._of(i)), None)
            if place is not None:
                others.setdefault(place, set()).add(lacking)
        named = [f"{self.ids[i]} ({self._part(i, does, ', predicted')})" for i, does in others.items()]
        return f"it {part}; together with {listed(named) or 'the others'} it would let private data leave"

    def _of(self, member: int) -> frozenset[Capability]:
        can = from_bits(int(self.capabilities[member]), Capability)
        return frozenset() if len(can) == len(Capability) else can

    def _part(self, member: int, can: Collection[Capability], mark: str) -> str:
        guessed = self.predicted(member)
        said = ((c, f"{_DOES[c][0]} {_DOES[c][2]}") for c in Capability if c in can)
        return " and ".join(f"{does}{mark if c in guessed else ''}" for c, does in said)
