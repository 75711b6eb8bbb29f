"""The risk-aware reranker as systems of the bench.

A name reads ``FORM+STEP+...@ENCODER``.  Forms: ``encoder`` (its cosine),
``paper`` and ``default`` (both heads, see :mod:`toolwise.rerank.dual_head`;
lambda is 0.1).  Steps: ``rel`` (the relevance head alone: lambda 0), ``lam0.05``
(another lambda), ``graph`` (ToolGraph over all edges), ``cooccurrence``,
``semantic``, ``permission``, ``risk`` (the graph with that type of edge alone),
``rule`` (the rule filter, benchmark mode), ``top100`` (only the encoder's first
hundred tools are scored).  ENCODER is a specification, or ``untuned``:
all-MiniLM-L6-v2 as it comes, in ``.weights/minilm``.

What is learned is kept for the process, so that systems that differ in a step
share heads.  The labels of a data set teach the risk heads, each on four of
five folds of the tools, and a tool is scored by the head that did not see its
label; graph and filter go by the labels themselves, as audited metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeVar

import numpy as np

from toolwise import registry
from toolwise.audit import audit
from toolwise.bench import data
from toolwise.bench.cases import Group
from toolwise.bench.data import Task
from toolwise.bench.system import Ranking
from toolwise.errors import RegistryError, ToolwiseError
from toolwise.learn.dual_head import UNKNOWN, DefaultPlan, Lesson, train_relevance, train_risk
from toolwise.learn.dual_head_paper import PaperPlan, train_paper
from toolwise.protocols import Encoder, Floats, Ints
from toolwise.records import UNKNOWN_LEVEL, Permission, Query, Tool, to_bits
from toolwise.rerank.dual_head import LAM, DefaultHeads, Heads
from toolwise.rerank.rule_filter import BROAD_CATEGORIES, RISKY_LEVEL, filter_rows
from toolwise.rerank.toolgraph import ALL_EDGES, Edge, ToolGraph, build_graph

T = TypeVar("T")
FORMS = ("encoder", "paper", "default")
ENCODERS = {"untuned": "onnx:.weights/minilm"}
FOLDS = 5
"""Folds of the tools for the risk heads."""
_SHORT = 100
_ANNOTATORS = ("rules", "hints", "languages")
_FILTERED = 100
"""Ranks that the rule filter looks at."""


@dataclass(frozen=True)
class Plan:
    """What a name asks for."""

    form: str
    encoder: str
    lam: float = LAM
    edges: frozenset[Edge] = frozenset()
    rule: bool = False
    short: bool = False

    @classmethod
    def parse(cls, name: str) -> Plan | None:
        """The plan of a name; None where it is of another family.  Raises RegistryError for a wrong step."""
        head, mark, encoder = name.partition("@")
        form, *steps = head.split("+")
        if form not in FORMS or not mark or not encoder:
            return None
        edges = frozenset(Edge(step) for step in steps if step in set(Edge))
        lams = [float(step[3:]) for step in steps if step[:3] == "lam" and _is_number(step[3:])]
        known = {"rel", "graph", "rule", "top100", *Edge}
        wrong = [s for s in steps if s not in known and not (s[:3] == "lam" and _is_number(s[3:]))]
        if wrong:
            raise RegistryError(
                f"{name!r} has a step {wrong[0]!r}; the steps are {', '.join(sorted(known))} and lamX.",
                name=name,
            )
        return cls(
            form,
            ENCODERS.get(encoder, encoder),
            0.0 if "rel" in steps else (lams or [LAM])[0],
            ALL_EDGES if "graph" in steps else edges,
            "rule" in steps,
            "top100" in steps,
        )


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


_kept: dict[Hashable, object] = {}


def _once(key: Hashable, make: Callable[[], T]) -> T:
    """What ``make`` returned for this key the first time."""
    if key not in _kept:
        _kept[key] = make()
    return _kept[key]  # type: ignore[return-value]


def _digest(*parts: object) -> str:
    return sha256(repr(parts).encode()).hexdigest()


def fold_of(tool: Tool) -> int:
    """The fold of a tool: by its description, so that tools described alike are never parted."""
    return int(sha256((tool.text.description or tool.name).encode()).hexdigest(), 16) % FOLDS


def neighbours(data_set: str, task: Task, k: int = 5) -> tuple[str, ...]:
    """The untuned encoder's first ``k`` tools for a request; none where it cannot be loaded."""
    library = data.libraries(data_set)[task.library] if data_set == "mcp_tasks" else data.tools(data_set)
    try:
        system = RiskSystem("encoder@untuned", 0, {})
        system.fit(library, ())
    except ToolwiseError:
        return ()
    return tuple(id_ for id_, _ in system.rank(task.query, k))


class RiskSystem:
    """One configuration over a frozen encoder."""

    def __init__(self, name: str, seed: int, labels: Mapping[str, int]) -> None:
        plan = Plan.parse(name)
        if plan is None:
            raise RegistryError(
                f"{name!r} is no FORM+STEP@ENCODER with a form of {', '.join(FORMS)}.", name=name
            )
        self.name = name
        self._plan, self._seed, self._labels = plan, seed, labels
        self._heads: Sequence[Heads] = ()
        self._sets: tuple[tuple[str, ...], ...] = ()

    def learn(self, training: Sequence[Group]) -> None:
        """Heads, and what tools occur together."""
        self._sets = tuple(task.gold for group in training for task in group.tasks if task.gold)
        if self._plan.form != "encoder":
            asked = [(g.library, [(t.query.text, t.gold) for t in g.tasks]) for g in training]
            taught = [[self._labels.get(tool.id) for tool in group.tools] for group in training]
            key = _digest(self._plan.form, self._plan.encoder, self._seed, asked, taught)
            self._heads = _once(key, lambda: self._trained(training))

    def fit(self, tools: Sequence[Tool], train: Sequence[Task]) -> None:
        """Vectors, risk, graph and marks of a library."""
        self._ids = [tool.id for tool in tools]
        library = _digest([(tool.id, tool.content_hash) for tool in tools])
        key = (library, self._plan.encoder)
        self._vectors: Floats = _once(key, lambda: self._encoder().encode_tools(tools))
        self._permissions = _once(library, lambda: _permissions(tools))
        self._levels = np.array([self._labels.get(id_, UNKNOWN_LEVEL) for id_ in self._ids], np.int64)
        self._risk = self._risk_of(tools)
        if self._plan.edges:
            related = (*key, _digest(sorted(self._plan.edges), self._sets))
            self._graph: ToolGraph = _once(related, self._related)

    def rank(self, query: Query, k: int) -> Ranking:
        """Tools by their score after every step of the name."""
        vector = self._encoder().encode_queries([query.text])
        rows = np.arange(len(self._ids))
        if self._plan.short:
            rows = np.sort(np.argsort(-(vector @ self._vectors.T)[0], kind="stable")[:_SHORT])
        scores = self._scores(vector, rows)
        if self._plan.edges:
            graph = self._graph.induced(rows) if self._plan.short else self._graph
            scores = graph.smooth(scores)
        order = rows[np.argsort(-scores, kind="stable")]
        if self._plan.rule:
            order = self._filtered(order)
        return [(self._ids[row], -float(place)) for place, row in enumerate(order[: max(k, 0)].tolist())]

    def _encoder(self) -> Encoder:
        from toolwise.bench.systems import encoder

        return encoder(self._plan.encoder)

    def _scores(self, vector: Floats, rows: Ints) -> Floats:
        tools = self._vectors[rows] if self._plan.short else self._vectors
        if not self._heads:
            return np.asarray((vector @ tools.T)[0], np.float32)
        heads = self._heads[0]
        scores = heads.score(heads.relevance(vector, tools), self._risk[rows], self._plan.lam)  # (1, N)
        return np.asarray(scores[0], np.float32)

    def _filtered(self, order: Ints) -> Ints:
        head, tail = order[:_FILTERED], order[_FILTERED:]
        counts = np.array([int(bits).bit_count() for bits in self._permissions[head].tolist()])
        risky = self._levels[head] >= RISKY_LEVEL
        accepted, rejected = filter_rows(risky, counts >= BROAD_CATEGORIES, self._vectors[head])
        return np.concatenate([head[accepted + rejected], tail])

    def _risk_of(self, tools: Sequence[Tool]) -> Floats:
        """Predicted risk (N,) of each tool by the head that did not see its label."""
        if not self._heads:
            return np.zeros(len(tools), np.float32)
        folds = np.array([fold_of(tool) for tool in tools])
        every = np.stack([heads.risk(self._vectors) for heads in self._heads])  # (folds, N)
        found: Floats = every[folds, np.arange(len(tools))]
        return found

    def _related(self) -> ToolGraph:
        rows = {id_: row for row, id_ in enumerate(self._ids)}
        sets = [[rows[id_] for id_ in ids if id_ in rows] for ids in self._sets]
        return build_graph(self._vectors, sets, self._permissions, self._levels, self._plan.edges)

    def _trained(self, training: Sequence[Group]) -> Sequence[Heads]:
        lessons = [self._lesson(group) for group in training]
        if self._plan.form == "paper":
            return train_paper(lessons, PaperPlan(seed=self._seed, folds=FOLDS))
        plan = DefaultPlan(seed=self._seed, folds=FOLDS)
        tools = np.concatenate([lesson.tools for lesson in lessons])
        levels = np.concatenate([lesson.levels for lesson in lessons])
        held = np.concatenate([lesson.held for lesson in lessons])
        named = [[tool.id for tool in group.tools] for group in training]
        key = _digest(self._plan.encoder, self._seed, named, levels.tolist())
        risky = _once(
            key, lambda: train_risk(tools, levels, held, plan)
        )  # the same in every fold of requests
        relevance = train_relevance(lessons, plan)
        return [DefaultHeads(*relevance, head) for head in risky]

    def _lesson(self, group: Group) -> Lesson:
        rows = {tool.id: row for row, tool in enumerate(group.tools)}
        tasks = [task for task in group.tasks if not rows.keys().isdisjoint(task.gold)]
        return Lesson(
            self._encoder().encode_tools(group.tools),
            self._encoder().encode_queries([task.query.text for task in tasks]),
            [sorted(rows[id_] for id_ in task.gold if id_ in rows) for task in tasks],
            np.array([self._labels.get(tool.id, UNKNOWN) for tool in group.tools], np.int64),
            np.array([fold_of(tool) for tool in group.tools], np.int64),
        )


def _permissions(tools: Sequence[Tool]) -> Ints:
    """Permission categories (N,) as bits, by the audit."""
    verdicts = audit(tools, [registry.get("annotator", name)() for name in _ANNOTATORS])
    return np.array([to_bits(verdict.permissions, Permission) for verdict in verdicts], np.int64)
