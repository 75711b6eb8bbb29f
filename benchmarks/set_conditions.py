"""Training and test requests of the ablations: what is held out, mixed in or left to another data set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from toolwise.bench import data
from toolwise.bench.cases import Case, Group
from toolwise.bench.data import Task
from toolwise.bench.set_suite import SETS

CATEGORIES = ("Finance", "Weather", "Music", "Sports")
"""Categories of toolbench that are held out."""
TESTED = 25
"""Requests of each workspace that are tested after few-shot training."""
HELD_OUT = 0.1
"""Share of toollens' gold tools that are held out."""


@dataclass(frozen=True)
class Condition:
    """What is learned from and what is tested."""

    name: str
    train: tuple[Group, ...]
    test: tuple[Group, ...]
    barred: frozenset[str] = frozenset()
    """Tools kept out of every negative."""

    def counts(self) -> dict[str, int]:
        """Requests and tools."""
        return {
            "training": sum(len(group.tasks) for group in self.train),
            "requests": sum(len(group.tasks) for group in self.test),
            "tools": max(len(group.tools) for group in self.test),
        }


def _case(name: str) -> Case:
    return next(case for case in SETS.cases if case.name == name)


def _sampled(case: Case, tasks: Sequence[Task], limit: int) -> tuple[Group, ...]:
    return tuple(case.grouped(data.sample([task for task in tasks if task.gold], limit)))


def _apart(train: Iterable[Task], test: Iterable[Task]) -> list[Task]:
    """Training requests whose id and text are not tested."""
    texts = {task.query.text.casefold() for task in test}
    return [task for task in train if task.query.text.casefold() not in texts]


def plain(name: str, limit: int) -> Condition:
    """A case of the suite as it is."""
    case = _case(name)
    part = case.parts(limit)[0]
    tested = [task for group in part.groups for task in group.tasks]
    return Condition(name, tuple(case.grouped(_apart(part.train, tested))), part.groups)


def held_out_tools(limit: int, *, strict: bool) -> Condition:
    """Of toollens, without a tenth of its gold tools; tested are the test requests that need one of them."""
    case = _case("toollens")
    train, test = case.training(), data.tasks("toollens", "test")
    gold = sorted({id_ for task in train for id_ in task.gold})
    count = round(HELD_OUT * len(gold))
    out = {gold[place] for place in np.random.default_rng(0).permutation(len(gold))[:count]}
    kept = [task for task in _apart(train, test) if not out & set(task.gold)]
    needing = [task for task in test if out & set(task.gold)]
    name = "held-out tools, in no negative" if strict else "held-out tools"
    barred = frozenset(out) if strict else frozenset[str]()
    return Condition(name, tuple(case.grouped(kept)), _sampled(case, needing, limit), barred)


def held_out_categories(
    names: Sequence[str], shots: int | None, limit: int, *, strict: bool = False
) -> Condition:
    """Of toolbench, without requests that need a tool of ``names`` but for ``shots`` of each (None: all)."""
    case = _case("toolbench")
    rows = data.rows(data.folder("toolbench") / "tools.jsonl")
    category = {row["id"]: row.get("category") for row in rows}
    train, test = case.training(), data.tasks("toolbench", "test")

    def within(task: Task) -> list[str]:
        return [name for name in names if any(category[id_] == name for id_ in task.gold)]

    source = _apart(train, test)
    outside = [task for task in source if not within(task)]
    drawn = np.random.default_rng(0)
    inside: list[Task] = []
    for name in names:
        mine = [task for task in source if within(task)[:1] == [name]]
        order = drawn.permutation(len(mine))
        inside += [mine[place] for place in order[: len(mine) if shots is None else shots]]
    needing = [task for task in test if within(task)]
    shown = "all" if shots is None else str(shots)
    out = frozenset(id_ for id_, found in category.items() if found in names) if strict else frozenset[str]()
    title = f"held-out categories, {shown} labelled each" + (", in no negative" if strict else "")
    return Condition(title, tuple(case.grouped([*outside, *inside])), _sampled(case, needing, limit), out)


def crossing(source: str, target: str, limit: int) -> Condition:
    """Trained on one data set, tested on another."""
    cases = {"toollens": "toollens scenes", "sealtools": "sealtools in"}
    learned = Case(source, source, "test", train=_splits(source))
    tested = _case(cases.get(target, target))
    groups = tested.parts(limit)[0].groups
    test = [task for group in groups for task in group.tasks]
    train = _apart([task for task in learned.training() if task.gold], test)
    return Condition(f"{source} to {target}", tuple(learned.grouped(train)), groups)


def _splits(source: str) -> tuple[str, ...]:
    return {"toolbench": ("train", "official"), "sealtools": ("dev",)}.get(source, ("train",))


def few_shot(shots: int | None, limit: int) -> Condition:
    """The training split of mcp_tasks and ``shots`` requests of each dev workspace (None: the rest)."""
    case = _case("mcp_tasks dev")
    train = [task for task in case.training() if task.gold]
    asked = [task for task in data.tasks("mcp_tasks", "dev") if task.gold]
    drawn = np.random.default_rng(0)
    test: list[Task] = []
    for name in sorted({task.library for task in asked}):
        mine = [task for task in asked if task.library == name]
        order = [mine[place] for place in drawn.permutation(len(mine))]
        test += order[:TESTED]
        rest = order[TESTED:]
        train += rest if shots is None else rest[:shots]
    title = f"{'all' if shots is None else shots} labelled requests of the workspace"
    return Condition(title, tuple(case.grouped(train)), _sampled(case, test, limit))


def with_distractors(count: int, limit: int) -> Condition:
    """The case toollens scenes, the tested library widened by ``count`` tools of toucan_mcp."""
    found = plain("toollens scenes", limit)
    more = sorted(data.tools("toucan_mcp"), key=lambda tool: tool.content_hash)[:count] if count else []
    known = {tool.id for group in found.test for tool in group.tools}
    test = tuple(
        replace(
            group,
            tools=tuple(
                sorted([*group.tools, *(t for t in more if t.id not in known)], key=lambda tool: tool.id)
            ),
        )
        for group in found.test
    )
    return replace(found, name=f"{max(len(group.tools) for group in test):,} tools", test=test)
