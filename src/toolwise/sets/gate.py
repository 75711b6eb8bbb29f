"""Whether any tool of a library serves: what the set scorer doubts, and what is nearer elsewhere.

A request is often near to a tool that works on the right thing and does something else with it: one to delete
an article, to those that list and show articles.  The operations elsewhere that are nearest to it tell what
it wants done, in the verbs that people use for that as well as in those of tools' names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache, cached_property
from typing import Final

import numpy as np

from toolwise.audit.verbs import Action
from toolwise.protocols import Bools, Floats, Ints, SetEnergy
from toolwise.retrieve.elsewhere import STANDING, Elsewhere, operations
from toolwise.sets.facts import NO_ACTION, action_of
from toolwise.sets.features import UNARY, WHOLE, View
from toolwise.sets.kernel import softmax, subsets, values
from toolwise.text import split_identifier

WANTED: Final = (
    *(f"wants_{action.name.lower()}" for action in Action),
    *("wants_no_known_action", "wanted_here", "wanted_of_leader", "wanted_offered"),
)
"""Names of what :func:`wanted` tells."""
GATE: Final = (
    *("doubt", "confidence", "leader", "runner_up", "third", "named"),
    *WHOLE,
    *STANDING,
    *WANTED,
    "floor",
)
"""Names of the features."""
NEARBY: Final = 20.0
"""What a cosine counts in the log weight of an operation's vote.  Chosen out of fold, of 10 and 20."""
SURE: Final = 0.9
"""Chance from which a gate is heard though the whole name of a tool is said."""
_MOST = 5.0
"""Confidence beyond which more says no more."""
_NOBODY = -20.0
"""The first score of nobody."""
_UNKNOWN = -1.0
"""What stands for a feature that nothing is known of."""


def gate_features(
    energy: SetEnergy, first: Floats, view: View, elsewhere: Elsewhere, cosines: Floats, floor: float
) -> Floats:
    """(G,), columns as in :data:`GATE`.

    ``first`` (K,) are the candidates' first scores, ``cosines`` (R,) the request's to ``elsewhere``;
    ``floor`` is the cosine from which the encoder's vectors convince, and tells one encoder from another.
    """
    unserved = float(softmax(values(energy, subsets(len(first), len(energy.pairs) - 1)))[0])
    doubt = np.log((unserved + 1e-6) / (1 - unserved + 1e-6))
    leaders = np.sort(np.append(first, [_NOBODY] * 3))[::-1][:3]
    named = view.unary[:, UNARY.index("name_said")].max()
    own = [doubt, min(view.evidence.confidence, _MOST), *leaders, named]
    told = (
        view.whole,
        elsewhere.standing(cosines, float(view.evidence.plain.max())),
        wanted(cosines, elsewhere.offered, first, view.actions),
    )
    found = np.concatenate([np.array(own, np.float32), *told, [floor]], dtype=np.float32)
    return np.nan_to_num(found, nan=_UNKNOWN)


def wanted(cosines: Floats, offered: Bools, first: Floats, actions: Ints) -> Floats:
    """What a request wants done, and how well the library does that, as :data:`WANTED` names it.

    ``cosines`` (R,) are its own to operations elsewhere, which vote for their action by exp(NEARBY * cosine),
    ``offered`` (R,) says which of them the library offers; ``first`` and ``actions`` (K,) are of the
    candidates.  First the share of the votes for each action; then how near the best candidate of each action
    comes to the best of all, as exp(first - best), averaged by these shares; then the share of the best
    candidate's own action; then the share of the votes that offered operations cast.
    """
    votes = np.exp(np.float32(NEARBY) * (cosines - cosines.max()))
    shares = votes @ _performed() / votes.sum()
    served = np.zeros(NO_ACTION + 1, np.float32)
    np.maximum.at(served, actions, np.exp(first - first.max()))
    leader = shares[actions[int(np.argmax(first))]]
    known = votes[offered].sum() / votes.sum()
    return np.array([*shares, shares @ served, leader, known], dtype=np.float32)


def tempered(gate: Gate, features: Floats) -> float:
    """What a gate says of ``features`` (G,), or 0 where a tool's whole name is said and it is not ``SURE``.

    "Create a ticket for Ida" is to find ``create_ticket``, though names of people look like those of services
    that are not there, of which most requests speak that nothing serves.
    """
    said = gate(features)
    return 0.0 if features[GATE.index("named")] >= 1 and said < SURE else said


@cache
def _performed() -> Floats:
    """(R, A + 1): which action each operation performs; the last column is none that its name tells."""
    actions = [action_of(split_identifier(operation.name))[0] for operation in operations()]
    found: Floats = np.eye(NO_ACTION + 1, dtype=np.float32)[actions]
    return found


@dataclass(frozen=True, eq=False)
class Gate:
    """Boosted trees: T of them, of N nodes at most; node 0 is the root."""

    feature: Ints
    """(T, N): the feature that a node asks for; -1 where it is a leaf."""
    threshold: Floats
    """(T, N): up to it the way goes left."""
    left: Ints
    """(T, N): the next node."""
    right: Ints
    """(T, N)"""
    value: Floats
    """(T, N): what a leaf adds to the log odds."""
    base: Floats
    """(1,): log odds before any tree."""

    def __call__(self, features: Floats) -> float:
        """(G,) -> the probability that no tool serves."""
        asked, threshold, further = self._nodes
        at = np.arange(len(self.feature)) * self.feature.shape[1]
        for _ in range(self._depth):
            right = features.take(asked.take(at)) > threshold.take(at)
            at = further.take(2 * at + right)
        odds = float(self.base[0]) + float(self.value.ravel().take(at).sum(dtype=np.float64))
        return 1 / (1 + float(np.exp(-np.clip(odds, -40, 40))))

    @cached_property
    def _nodes(self) -> tuple[Ints, Floats, Ints]:
        """All nodes in one row (T * N,): the feature, the threshold, and where left and right lead (2 T N,).

        A leaf leads to itself.
        """
        trees, nodes = self.feature.shape
        leaf = self.feature < 0
        first, own = nodes * np.arange(trees)[:, None], np.arange(nodes)
        ways = [np.where(leaf, own, one) + first for one in (self.left, self.right)]
        return (
            np.where(leaf, 0, self.feature).ravel().astype(np.int64),
            self.threshold.ravel(),
            np.stack(ways, axis=-1).ravel().astype(np.int64),
        )

    @cached_property
    def _depth(self) -> int:
        """Steps from any root to the farthest leaf; children stand behind their parents."""
        trees, nodes = self.feature.shape
        depth = np.zeros((trees, nodes), dtype=np.int64)
        for node in range(nodes):
            inner = np.flatnonzero(self.feature[:, node] >= 0)
            for child in (self.left[inner, node], self.right[inner, node]):
                depth[inner, child] = depth[inner, node] + 1
        return int(depth.max(initial=0))

    def tensors(self) -> dict[str, np.ndarray]:
        """By name."""
        return {field.name: np.ascontiguousarray(getattr(self, field.name)) for field in fields(self)}

    @classmethod
    def of(cls, tensors: Mapping[str, np.ndarray]) -> Gate:
        """From tensors by name.  Raises KeyError for a missing one, ValueError for trees without an end."""
        found = cls(**{field.name: tensors[field.name] for field in fields(cls)})
        kinds = (found.feature.dtype.kind, found.left.dtype.kind, found.right.dtype.kind)
        if found.feature.ndim != 2 or not found.feature.size or kinds != ("i", "i", "i"):
            raise ValueError("the trees of its gate are none")
        inner = found.feature >= 0
        node = np.arange(found.feature.shape[1])
        whole = (
            all(one.shape == found.feature.shape for one in (found.threshold, found.left, found.right))
            and found.value.shape == found.feature.shape
            and found.base.shape == (1,)
            and found.feature.max(initial=-1) < len(GATE)
            and all(np.isfinite(one).all() for one in (found.threshold, found.value, found.base))
            and all(((one > node) & (one < len(node)))[inner].all() for one in (found.left, found.right))
        )
        if not whole:
            raise ValueError("the trees of its gate are none")
        return found
