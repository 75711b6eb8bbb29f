"""The operating points of a policy on labelled requests: what caution and economy bring and cost.

Every request is considered once and decided at every setting; considering is
nearly all of the work.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np
from numpy.typing import NDArray

from toolwise.evaluate import Task
from toolwise.pipeline import Selector
from toolwise.policy import Policy, revise
from toolwise.protocols import Ints, Progress, silent
from toolwise.records import UNKNOWN_LEVEL, Capability, Level, Query, ToolSet, to_bits

DIALS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
"""Settings of either dial that are looked at."""
WRONG = 0.05
"""Share of answerable requests that may be answered by nothing at the recommended point."""

_WHOLE = to_bits(Capability, Capability)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One request at one setting."""

    covered: bool
    """All gold tools are in the answer; for a request that nothing serves, the answer is empty."""
    exact: bool
    size: int
    risky: int
    """Tools of level 3 or more that are not gold."""
    severe: int
    """Tools of level 4 or more that are not gold."""
    highest: int
    """Highest level in the answer; 0 where it is empty."""
    toxic: bool
    """Two tools or more that only together read private data, take in untrusted content and send outside."""


@dataclass(frozen=True, slots=True)
class Point:
    """One setting over all requests."""

    caution: float
    economy: float
    requests: int
    """Requests that something serves: the base of all shares but ``abstains``."""
    coverage: float
    exact: float
    size: float
    risky: float
    """Unneeded tools of level 3 or more per request."""
    severe: float
    """Unneeded tools of level 4 or more per request."""
    highest: float
    toxic: float
    wrong: float
    """Share of these requests answered by nothing."""
    abstains: float | None
    """Share of the requests that nothing serves that are answered by nothing; None where there are none."""


def points(
    selector: Selector,
    tasks: Sequence[Task],
    policy: Policy,
    *,
    libraries: Sequence[Collection[str] | None] | None = None,
    levels: Mapping[str, int] | None = None,
    cautions: Iterable[float] = DIALS,
    economies: Iterable[float] = DIALS,
    progress: Progress = silent,
) -> list[Point]:
    """Every setting of both dials, the policy's own among them; in order of caution, then economy.

    ``libraries`` holds the ids that may answer each request (None: all); ``levels`` are labels by id, in
    place of the index's own where given (a tool without one counts as level 3).
    """
    settings = sorted({(c, e) for c in (*cautions, policy.caution) for e in (*economies, policy.economy)})
    rules = {(c, e): revise(policy, caution=c, economy=e) for c, e in settings}
    level_of = _levels(selector, levels)
    found: dict[tuple[float, float], list[Outcome]] = {setting: [] for setting in settings}
    for number, task in enumerate(tasks, start=1):
        library = None if libraries is None else libraries[number - 1]
        considered = selector.consider(Query(task.id, task.text), policy, within=library)
        for setting, revised in rules.items():
            answer = selector.decide(considered, revised)
            found[setting].append(_outcome(answer, selector.index.capabilities, task.gold, level_of))
        progress("requests", number, len(tasks))
    served = np.array([bool(task.gold) for task in tasks], dtype=bool)
    return [_point(*setting, found[setting], served) for setting in settings]


def _levels(selector: Selector, labels: Mapping[str, int] | None) -> Callable[[str], int]:
    if labels is not None:
        return lambda id_: labels.get(id_, int(UNKNOWN_LEVEL))
    index = selector.index
    return lambda id_: int(index.levels[index.row(id_)])


def _outcome(
    answer: ToolSet, capabilities: Ints, gold: frozenset[str], level_of: Callable[[str], int]
) -> Outcome:
    """``capabilities`` (N,) of the index, as bits."""
    ids = [candidate.id for candidate in answer.chosen]
    levels = [level_of(id_) for id_ in ids]
    unneeded = [level for id_, level in zip(ids, levels, strict=True) if id_ not in gold]
    can = [int(capabilities[candidate.row]) for candidate in answer.chosen]
    parts = [bits for bits in can if bits != _WHOLE]
    return Outcome(
        covered=gold <= set(ids) if gold else not ids,
        exact=gold == set(ids),
        size=len(ids),
        risky=sum(level >= Level.MEDIUM for level in unneeded),
        severe=sum(level >= Level.HIGH for level in unneeded),
        highest=max(levels, default=0),
        toxic=reduce(or_, parts, 0) == _WHOLE,
    )


def _point(caution: float, economy: float, outcomes: Sequence[Outcome], served: NDArray[np.bool_]) -> Point:
    def mean(values: Iterable[float], among: NDArray[np.bool_]) -> float:
        kept = np.fromiter(values, dtype=np.float64, count=len(outcomes))[among]
        return float(kept.mean()) if len(kept) else 0.0

    return Point(
        caution=caution,
        economy=economy,
        requests=int(served.sum()),
        coverage=mean((o.covered for o in outcomes), served),
        exact=mean((o.exact for o in outcomes), served),
        size=mean((o.size for o in outcomes), served),
        risky=mean((o.risky for o in outcomes), served),
        severe=mean((o.severe for o in outcomes), served),
        highest=mean((o.highest for o in outcomes), served),
        toxic=mean((o.toxic for o in outcomes), served),
        wrong=mean((o.size == 0 for o in outcomes), served),
        abstains=None if served.all() else mean((o.size == 0 for o in outcomes), ~served),
    )


def frontier(found: Sequence[Point]) -> list[Point]:
    """The points that no other beats in coverage without more unneeded risk, by rising risk."""
    best: list[Point] = []
    for point in sorted(found, key=lambda p: (p.risky, -p.coverage, p.size, p.caution, p.economy)):
        if not best or point.coverage > best[-1].coverage:
            best.append(point)
    return best


def recommended(found: Sequence[Point], *, most_risky: float | None = None, wrong: float = WRONG) -> Point:
    """The point of greatest use among those with few wrong abstentions and little unneeded risk.

    Use is coverage plus, where there are requests that nothing serves, the share of them answered by
    nothing; each tool of the mean answer costs .02 of it.  Where no point keeps the limits, those with the
    fewest wrong abstentions are compared.
    """
    able = [p for p in found if p.wrong <= wrong and (most_risky is None or p.risky <= most_risky)]
    if not able:
        least = min(p.wrong for p in found)
        able = [p for p in found if p.wrong == least]
    return max(able, key=lambda p: (round(_use(p), 9), -p.risky, -p.caution, -p.economy))


def _use(point: Point) -> float:
    return point.coverage + (point.abstains or 0.0) - 0.02 * point.size
