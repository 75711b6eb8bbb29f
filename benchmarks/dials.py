"""Dials, cap and limit of flows of the built-in policies, on training workspaces that nothing learned from.

    python -m benchmarks.dials --folds FOLDER ... --weights FILE ... [--limit N]

Folders and files as for ``benchmarks.frontier_folds``.  Writes ``results/dials.{json,md}``: for settings of
caution and economy under the policy ``default``, with one to three tools of level 4 or more allowed, and
for chances of a flow from which it keeps tools apart, what delivered sets hold and expose.  Levels and flags
are the audit's; the labels measure.  The setting to choose answers at most 5 % of the answerable requests by
nothing, keeps the recall of needed risky tools within 10 % of the retriever's first five, and delivers at
most a quarter of their toxic combinations; of those that do, it exposes the least unneeded risk, to a
hundredth of a tool of level 3+ and of level 4+ together, and of equals covers most.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from benchmarks.frontier_folds import folds_of, suite_of
from toolwise.bench.cases import Case
from toolwise.bench.data import Task, flags, levels
from toolwise.bench.frontier_systems import DialSystem, TopSystem
from toolwise.bench.provenance import provenance, write
from toolwise.bench.system import Selecting, System
from toolwise.bench.systems import make
from toolwise.evaluate import delivered
from toolwise.policy import BUILT_IN
from toolwise.policy.policy import CAUTION, ECONOMY, FLOW_CHANCE
from toolwise.records import Capability, Level

COUNTS = (1, 2, 3)
CAUTIONS = (0.0, 0.01, 0.02, 0.03, 0.1)
ECONOMIES = (0.0, 0.01, 0.02, 0.03)
FLOWS = (None, 1.0, 0.1, 0.08, 0.07, 0.06)
"""Chance from which a flow is kept out; 1: by what is said of tools alone; None: none is."""
LIMIT = 1_500
WRONG, LOST, TOXIC = 0.05, 0.1, 0.25
"""Most answerable requests answered by nothing; most of the recall of needed risky tools that may be lost;
most toxic combinations, for each of the retriever's first five."""


@dataclass(frozen=True)
class Setting:
    """How many tools of level 4 or more the policy allows, from which chance on no flow, and its dials."""

    count: int
    flow: float | None
    caution: float
    economy: float


@dataclass(frozen=True)
class Line:
    """What is delivered at one setting: means over requests, shares of 1."""

    covered: float
    size: float
    unneeded3: float
    unneeded4: float
    needed: float
    """Recall of needed tools of level 3 or more, over the requests that need one."""
    wrong: float
    """Answerable requests that get nothing."""
    right: float
    """Requests that nothing serves and that get nothing."""
    toxic: float
    """Requests whose tools only together complete a flow, by the labels."""


SETTINGS = tuple(Setting(*values) for values in product(COUNTS, FLOWS, CAUTIONS, ECONOMIES))
PRESENT = Setting(BUILT_IN["default"].caps[0].count, FLOW_CHANCE, CAUTION, ECONOMY)


def answers(case: Case, limit: int, folder: Path) -> Iterator[tuple[Task, list[list[str]]]]:
    """Each request with what every setting delivers, after these the retriever's first five."""
    kept = {
        (count, flow): _policy(folder / f"cap-{count}-{flow}.toml", count, flow)
        for count, flow in product(COUNTS, FLOWS)
    }
    names = [
        f"toolwise:policy={kept[s.count, s.flow]}+caution={s.caution}+economy={s.economy}" for s in SETTINGS
    ]
    for part in case.parts(limit, 0, empty_gold=True):
        first = TopSystem("first", make(f"hybrid:{part.models.encoder}", 0, {}))
        systems: tuple[System, ...] = (*(DialSystem(name, {}, part.models) for name in names), first)
        for group in part.groups:
            for system in systems:
                system.fit(group.tools, ())
            for task in group.tasks:
                yield (
                    task,
                    [list(system.select(task.query)) for system in systems if isinstance(system, Selecting)],
                )


def _policy(path: Path, count: int, flow: float | None) -> Path:
    cap = f"caps = [{{ level = {int(Level.HIGH)}, count = {count} }}]"
    rule = "forbid_flows = false" if flow is None else f"flow_chance = {flow}"
    path.write_text(f'extends = "default"\n{cap}\n{rule}\n', encoding="utf-8")
    return path


def figures(
    ids: Sequence[str], task: Task, risk: Mapping[str, int], can: Mapping[str, frozenset[Capability]]
) -> tuple[float, ...]:
    """The fields of a line for one request; NaN where it says nothing of one."""
    toxic = delivered.toxic(ids, can)
    if not task.gold:
        return (*[np.nan] * 6, float(not ids), toxic)
    recall = delivered.need_risk_recall(ids, task.gold, risk)
    return (
        delivered.coverage(ids, task.gold),
        len(ids),
        delivered.unneeded_risk(ids, task.gold, risk, 3),
        delivered.unneeded_risk(ids, task.gold, risk, 4),
        np.nan if recall is None else recall,
        float(not ids),
        np.nan,
        toxic,
    )


def chosen(found: Mapping[Setting, Line], first: Line) -> Setting | None:
    """The setting of the criterion, ``first`` being the retriever's first five; None for none."""
    able = [
        setting
        for setting, line in found.items()
        if line.wrong <= WRONG
        and line.needed >= (1 - LOST) * first.needed
        and line.toxic <= TOXIC * first.toxic
    ]
    return min(able, key=lambda s: (_exposed(found[s]), -found[s].covered), default=None)


def _exposed(line: Line) -> float:
    return round(line.unneeded3 + line.unneeded4, 2)


def table(found: Mapping[Setting, Line], marks: Mapping[Setting, str]) -> list[str]:
    """As Markdown; marked settings first."""
    head = "| | tools of level 4+ | flow from | caution | economy | covered % | size | unneeded 3+ "
    more = "| unneeded 4+ | needed risky % | wrongly empty % | rightly empty % | toxic % |"
    out = [head + more, "|---|" + "---:|" * 12]
    for setting in dict.fromkeys([*marks, *found]):
        line = found[setting]
        cells = [
            *(
                str(setting.count),
                "never" if setting.flow is None else f"{setting.flow:g}",
                f"{setting.caution:g}",
                f"{setting.economy:g}",
            ),
            *(f"{100 * line.covered:.1f}", f"{line.size:.2f}", f"{line.unneeded3:.3f}"),
            *(f"{line.unneeded4:.3f}", f"{100 * line.needed:.1f}"),
            *(f"{100 * line.wrong:.1f}", f"{100 * line.right:.1f}", f"{100 * line.toxic:.1f}"),
        ]
        out.append(f"| {marks.get(setting, '')} | {' | '.join(cells)} |")
    return out


def main() -> None:
    """Measure and write."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--folds", nargs="+", type=Path, required=True)
    parser.add_argument("--weights", nargs="+", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=LIMIT, help=f"requests ({LIMIT}; 0: all)")
    parser.add_argument("--into", default="results")
    given = parser.parse_args()
    case = next(c for c in suite_of(folds_of(given.folds, given.weights), given.limit).cases if c.audited)
    assert isinstance(case, Case)
    risk, can = levels("mcp_tasks"), flags("mcp_tasks")
    rows: list[list[tuple[float, ...]]] = []
    with TemporaryDirectory(prefix="toolwise-dials-") as folder:
        for task, sets in answers(case, given.limit, Path(folder)):
            rows.append([figures(ids, task, risk, can) for ids in sets])
    every: NDArray[np.float64] = np.nanmean(np.array(rows), axis=0)  # (settings + 1, fields)
    *lines, first = (Line(*map(float, row)) for row in every)
    found = dict(zip(SETTINGS, lines, strict=True))
    pick = chosen(found, first)
    marks = {PRESENT: "present"} if PRESENT in found else {}
    if pick is not None:
        marks[pick] = ", ".join(filter(None, (marks.get(pick), "chosen")))
    text = [
        f"{len(rows)} requests, {case.note}; static tables. The retriever's first five: "
        f"{100 * first.covered:.1f} % covered, {first.unneeded3:.3f} unneeded tools of level 3+ and "
        f"{first.unneeded4:.3f} of level 4+, {100 * first.needed:.1f} % of the needed risky ones, "
        f"{100 * first.toxic:.1f} % toxic.",
        "",
        *table(found, marks),
    ]
    payload = {
        "provenance": provenance(("python", "-m", "benchmarks.dials", *sys.argv[1:])),
        "requests": len(rows),
        "retriever": asdict(first),
        "chosen": None if pick is None else asdict(pick),
        "lines": [{**asdict(setting), **asdict(line)} for setting, line in found.items()],
    }
    write(given.into, "dials", payload, "\n".join(text))


if __name__ == "__main__":
    main()
