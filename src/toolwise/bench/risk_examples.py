"""What an agent would be shown: six requests, the delivered sets of several systems, and their levels.

After Table 8 of the risk-aware reranking paper.  The requests are the first
three of UltraTool's first fold that need a tool of level 3 or more, and the
first three that need none while the untuned encoder's first five hold one.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolwise.bench import data
from toolwise.bench.cases import Part, tasks_of
from toolwise.bench.data import Task
from toolwise.bench.risk import neighbours
from toolwise.bench.risk_suites import ULTRATOOL
from toolwise.bench.system import Learning, System
from toolwise.bench.systems import make
from toolwise.errors import ToolwiseError
from toolwise.protocols import Progress
from toolwise.records import Json, Level

SHOWN = 5
_EACH = 3


def examples(systems: Sequence[str], limit: int, progress: Progress) -> tuple[dict[str, Json], str]:
    """The sets of every system for the chosen requests, as results and as Markdown."""
    case = ULTRATOOL[1]
    part = case.parts()[0]
    levels = data.levels(case.data_set)
    chosen = _chosen(tasks_of(part.groups), levels)[: limit or None]
    rows: list[dict[str, Json]] = []
    for number, name in enumerate(systems):
        progress("risk-examples", number, len(systems))
        try:
            system = make(name, 0, levels)
            _taught(system, case.grouped(part.train), part)
        except ToolwiseError as error:
            rows.append({"system": name, "error": error.message})
            continue
        rows += [_row(name, task, system, levels) for task in chosen]
    progress("risk-examples", len(systems), len(systems))
    return {"suite": "risk-examples", "rows": rows}, "\n\n".join(_table(task, rows) for task in chosen)


def _taught(system: System, training: Sequence[Json], part: Part) -> None:
    if isinstance(system, Learning):
        system.learn(training)
    system.fit(part.groups[0].tools, part.train)


def _chosen(tasks: Sequence[Task], levels: dict[str, int]) -> list[Task]:
    def risky(ids: Sequence[str]) -> bool:
        return any(levels[id_] >= Level.MEDIUM for id_ in ids)

    needing = [task for task in tasks if risky(task.gold)]
    tempted = (task for task in tasks if not risky(task.gold) and risky(neighbours("ultratool", task)))
    return [*needing[:_EACH], *(task for _, task in zip(range(_EACH), tempted, strict=False))]


def _row(name: str, task: Task, system: System, levels: dict[str, int]) -> dict[str, Json]:
    ids = [id_ for id_, _ in system.rank(task.query, SHOWN)]
    kept = len(set(ids) & set(task.gold))
    return {
        "system": name,
        "request": task.query.id,
        "tools": ids,
        "levels": [levels[id_] for id_ in ids],
        "kept": kept,
        "gold": list(task.gold),
    }


def _table(task: Task, rows: Sequence[dict[str, Json]]) -> str:
    lines = [f"**{task.query.id}**: {' '.join(str(task.row['query']).split())}", ""]
    lines += ["| system | gold kept | levels | tools (gold in bold) |", "|---|---:|---|---|"]
    for row in rows:
        if "error" in row:
            lines.append(f"| {row['system']} | | | {row['error'].splitlines()[0]} |")
        elif row["request"] == task.query.id:
            names = ", ".join(f"**{id_}**" if id_ in row["gold"] else id_ for id_ in row["tools"])
            levels = " ".join(map(str, row["levels"]))
            lines.append(f"| {row['system']} | {row['kept']} of {len(row['gold'])} | {levels} | {names} |")
    return "\n".join(lines)
