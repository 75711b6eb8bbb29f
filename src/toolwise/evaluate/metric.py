"""Metrics as values that parse and print back: ``Metric.parse("ndcg@5")`` is printed ``ndcg@5``.

Grammar: ``NAME`` or ``NAME@K``, K a whole number from 1, or ``max`` for comp
alone.  One table names every metric with its kernel; a new metric is one line
there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches

from toolwise.errors import EvaluationError
from toolwise.evaluate import delivered, exposure, ranking
from toolwise.evaluate.exposure import Flags, Levels
from toolwise.evaluate.privilege import asks_for_privilege

MAX = "max"
"""The cut-off of ``comp@max``: as many places as the gold set has tools, at least 5."""
_SMALLEST_MAX = 5
_GRAMMAR = re.compile(r"(?P<name>[a-z0-9-]+)(?:@(?P<k>[1-9]\d{0,6}|max))?")


@dataclass(frozen=True, slots=True)
class Case:
    """One query with its gold set and its answer, as a metric sees them."""

    ranked: tuple[str, ...]
    delivered: tuple[str, ...]
    gold: frozenset[str]
    levels: Levels
    text: str
    tokens: int
    flags: Flags = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Kind:
    """What a metric's name stands for."""

    measure: Callable[[Case, int], float | None]
    """Case and cut-off -> value; None where the metric says nothing about the query."""
    needs: frozenset[str] = frozenset()
    """Of ``levels``, ``texts``, ``sets`` (delivered ones), ``flags`` and ``tokens``."""
    cutoff: bool = True
    """Whether the name takes ``@k``."""
    binary: bool = False
    """Whether every value is 0 or 1, so that McNemar's test applies."""
    unanswerable: bool = False
    """Whether queries with empty gold count too."""


def _needs(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _opr(case: Case, k: int) -> float | None:
    return None if asks_for_privilege(case.text) else exposure.risk_share(case.ranked, case.levels, k, 4)


_LEVELS, _SET, _EXPOSED = _needs("levels"), _needs("sets"), _needs("sets levels")
KINDS: dict[str, Kind] = {
    "ndcg": Kind(lambda c, k: ranking.ndcg(c.ranked, c.gold, k)),
    "recall": Kind(lambda c, k: ranking.recall(c.ranked, c.gold, k)),
    "comp": Kind(lambda c, k: ranking.completeness(c.ranked, c.gold, k), binary=True),
    "mrr": Kind(lambda c, _: ranking.reciprocal_rank(c.ranked, c.gold), cutoff=False),
    "rvr": Kind(lambda c, k: exposure.risk_share(c.ranked, c.levels, k, 3), _LEVELS),
    "srr": Kind(lambda c, k: exposure.risk_share(c.ranked, c.levels, k, 4), _LEVELS),
    "sndcg": Kind(lambda c, k: exposure.safe_ndcg(c.ranked, c.gold, c.levels, k) or 0.0, _LEVELS),
    "sndcg-defined": Kind(lambda c, k: exposure.safe_ndcg(c.ranked, c.gold, c.levels, k), _LEVELS),
    "safe-rvr": Kind(lambda c, k: exposure.safe_rvr(c.ranked, c.gold, c.levels, k), _LEVELS),
    "needrisk-hit": Kind(
        lambda c, k: exposure.need_risk_hit(c.ranked, c.gold, c.levels, k), _LEVELS, binary=True
    ),
    "needrisk-recall": Kind(lambda c, k: exposure.need_risk_recall(c.ranked, c.gold, c.levels, k), _LEVELS),
    "unneeded-risk": Kind(lambda c, k: exposure.unneeded_risk(c.ranked, c.gold, c.levels, k, 3), _LEVELS),
    "unneeded-risk4": Kind(lambda c, k: exposure.unneeded_risk(c.ranked, c.gold, c.levels, k, 4), _LEVELS),
    "opr": Kind(_opr, _needs("levels texts")),
    "set-size": Kind(lambda c, _: float(len(c.delivered)), _SET, cutoff=False),
    "set-precision": Kind(lambda c, _: delivered.precision(c.delivered, c.gold), _SET, cutoff=False),
    "set-f1": Kind(lambda c, _: delivered.f1(c.delivered, c.gold), _SET, cutoff=False),
    "exact": Kind(lambda c, _: delivered.exact(c.delivered, c.gold), _SET, cutoff=False, binary=True),
    "coverage": Kind(lambda c, _: delivered.coverage(c.delivered, c.gold), _SET, cutoff=False, binary=True),
    "exposed-max-risk": Kind(lambda c, _: delivered.max_risk(c.delivered, c.levels), _EXPOSED, cutoff=False),
    "exposed-sum-risk": Kind(lambda c, _: delivered.sum_risk(c.delivered, c.levels), _EXPOSED, cutoff=False),
    "exposed-rvr": Kind(lambda c, _: delivered.risk_share(c.delivered, c.levels, 3), _EXPOSED, cutoff=False),
    "exposed-srr": Kind(lambda c, _: delivered.risk_share(c.delivered, c.levels, 4), _EXPOSED, cutoff=False),
    "exposed-unneeded": Kind(
        lambda c, _: delivered.unneeded_risk(c.delivered, c.gold, c.levels, 3), _EXPOSED, cutoff=False
    ),
    "exposed-unneeded4": Kind(
        lambda c, _: delivered.unneeded_risk(c.delivered, c.gold, c.levels, 4), _EXPOSED, cutoff=False
    ),
    "exposed-needed": Kind(
        lambda c, _: delivered.need_risk_recall(c.delivered, c.gold, c.levels), _EXPOSED, cutoff=False
    ),
    "exposed-toxic": Kind(
        lambda c, _: delivered.toxic(c.delivered, c.flags), _needs("sets flags"), cutoff=False, binary=True
    ),
    "exposed-tokens": Kind(lambda c, _: float(c.tokens), _needs("sets tokens"), cutoff=False),
    # Of the queries that something serves, those answered by nothing.
    "abstain-wrong": Kind(lambda c, _: float(not c.delivered), _SET, cutoff=False, binary=True),
    # Of the queries answered by nothing, those that nothing serves; of these, those answered by nothing.
    "abstain-precision": Kind(
        lambda c, _: None if c.delivered else float(not c.gold),
        _SET,
        cutoff=False,
        unanswerable=True,
    ),
    "abstain-recall": Kind(
        lambda c, _: None if c.gold else float(not c.delivered),
        _SET,
        cutoff=False,
        binary=True,
        unanswerable=True,
    ),
}


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric with its cut-off.  Raises EvaluationError for a name or cut-off that does not exist."""

    name: str
    k: int | str | None = None
    """Only the first k tools count; ``max`` in ``comp@max``; None where the whole answer counts."""

    def __post_init__(self) -> None:
        if self.name not in KINDS:
            near = get_close_matches(self.name, KINDS, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise _refused(f"there is no metric called {self.name!r}.{hint}", self)
        if not KINDS[self.name].cutoff and self.k is not None:
            raise _refused(f"{self}: {self.name} takes no cut-off; write {self.name!r}.", self)
        if KINDS[self.name].cutoff and not _is_cutoff(self.name, self.k):
            raise _refused(f"{self}: {self.name} needs a cut-off, as in {f'{self.name}@5'!r}.", self)

    @classmethod
    def parse(cls, text: str) -> Metric:
        """The metric that prints as ``text``.  Raises EvaluationError, with the list of metrics."""
        match = _GRAMMAR.fullmatch(text)
        if match is None:
            raise _refused(f"{text!r} is no metric; expected NAME or NAME@K, as in 'ndcg@5'.", text)
        k = match["k"]
        return cls(match["name"], int(k) if k is not None and k != MAX else k)

    def __str__(self) -> str:
        return self.name if self.k is None else f"{self.name}@{self.k}"

    @property
    def kind(self) -> Kind:
        """What the name stands for."""
        return KINDS[self.name]

    def of(self, case: Case) -> float | None:
        """The value for one query; None where the metric says nothing about it."""
        if not case.gold and not self.kind.unanswerable:
            return None
        k = max(_SMALLEST_MAX, len(case.gold)) if self.k == MAX else self.k
        return self.kind.measure(case, k if isinstance(k, int) else 0)


def metric_names() -> tuple[str, ...]:
    """Every metric as it is written: ``ndcg@K``, ``comp@max``, ``mrr``."""
    plain = [f"{name}@K" if kind.cutoff else name for name, kind in KINDS.items()]
    return (*plain[: plain.index("comp@K") + 1], "comp@max", *plain[plain.index("comp@K") + 1 :])


def parse_metrics(texts: Iterable[str]) -> tuple[Metric, ...]:
    """Metrics in the order given, repeated ones once.  Raises EvaluationError."""
    found = tuple(dict.fromkeys(Metric.parse(text.strip()) for text in texts if text.strip()))
    if not found:
        raise _refused("no metric was named.", None)
    return found


def _is_cutoff(name: str, k: int | str | None) -> bool:
    if isinstance(k, str):
        return k == MAX and name == "comp"
    return k is not None and k >= 1


def _refused(message: str, metric: object) -> EvaluationError:
    return EvaluationError(f"{message} The metrics are {', '.join(metric_names())}.", metric=str(metric))
