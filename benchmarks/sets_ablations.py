"""What set scorers do under other conditions than the main table's, part by part.

    python -m benchmarks.sets_ablations unseen categories domain shots      # as in the paper's Table 3
    python -m benchmarks.sets_ablations sweeps decisions distractors cost   # as in its sections 3.5 and 3.6
    python -m benchmarks.sets_ablations --systems hyset,dense --seeds 0,1,2 --limit 300 unseen

Writes ``results/sets/ablations.json`` and ``ablations.md``; a part replaces
what was there under its name.  Needs the extra ``train``.  The ablations of
the paper's Table 2 are systems of ``benchmarks.sets``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.set_conditions import (
    CATEGORIES,
    Condition,
    crossing,
    few_shot,
    held_out_categories,
    held_out_tools,
    plain,
    with_distractors,
)
from toolwise.bench.provenance import provenance, write
from toolwise.bench.sets.systems import HysetSystem, Options
from toolwise.bench.sets.training import MOST, Data, examples_of, trained
from toolwise.bench.system import Learning, Selecting, System
from toolwise.bench.systems import make
from toolwise.encode.load import load_encoder
from toolwise.evaluate import Answer, Qrels, Run, evaluate, means
from toolwise.evaluate import Task as Judged
from toolwise.learn.execution_feedback import Reward
from toolwise.learn.hyperedges import PAPER, Plan, Trained, train_sets
from toolwise.records import Json

INTO = Path("results") / "sets"
METRICS = ("comp@5", "comp@3", "recall@5", "ndcg@5", "exact", "coverage", "set-precision", "set-size")
COUNTS = ("set-size",)
NOTES = f"""`hyset` uses at most {MOST:,} of the training requests, drawn with the seed; `dense` and
`hybrid` learn nothing. The encoder is the packaged table, which has learned from the training split of
mcp_tasks and from the dev requests of Seal-Tools."""


@dataclass(frozen=True)
class Setting:
    """What a part is run with."""

    systems: tuple[str, ...]
    seeds: tuple[int, ...]
    limit: int


def measured(system: System, condition: Condition) -> dict[str, float]:
    """Means of :data:`METRICS` (those of sets where it delivers some), and milliseconds per request."""
    if isinstance(system, Learning):
        system.learn(condition.train)
    answers: dict[str, Answer] = {}
    spent = 0.0
    for group in condition.test:
        system.fit(group.tools, tuple(task for one in condition.train for task in one.tasks))
        start = time.process_time()
        for task in group.tasks:
            chosen = tuple(system.select(task.query)) if isinstance(system, Selecting) else None
            answers[task.query.id] = Answer(tuple(system.rank(task.query, 20)), chosen)
        spent += time.process_time() - start
    tasks = [task for group in condition.test for task in group.tasks]
    qrels = Qrels.of(Judged(task.query.id, task.query.text, frozenset(task.gold)) for task in tasks)
    run = Run(answers)
    wanted = [metric for metric in METRICS if run.delivers or "@" in metric]
    found = {str(metric): mean.value for metric, mean in means(evaluate(qrels, run, wanted)).items()}
    return {**found, "cpu-ms": 1000 * spent / max(1, len(tasks))}


def mean_of(found: Sequence[dict[str, float]]) -> dict[str, float]:
    """The mean of each number over seeds."""
    return {key: float(np.mean([one[key] for one in found])) for key in found[0]}


def compared(
    conditions: Iterable[Condition], setting: Setting, build: Callable[[str, int, Condition], System]
) -> list[Json]:
    """A row per condition and system."""
    rows: list[Json] = []
    for condition in conditions:
        for name in setting.systems:
            found = [measured(build(name, seed, condition), condition) for seed in setting.seeds]
            rows.append({"condition": condition.name, "system": name, **condition.counts(), **mean_of(found)})
            print(condition.name, name, {k: round(v, 3) for k, v in mean_of(found).items()}, flush=True)
    return rows


def _plain(name: str, seed: int, condition: Condition) -> System:
    """A system as the bench makes it; HYSET under the strict protocol where the condition bars tools."""
    if name == "hyset" and condition.barred:
        options = Options(never_negative=condition.barred)
        return HysetSystem(name, "static", replace(PAPER, seed=seed), options)
    return make(name, seed, {})


def unseen(setting: Setting) -> list[Json]:
    """Held-out tools of toollens: as they are, and kept out of every negative as well."""
    conditions = [held_out_tools(setting.limit, strict=strict) for strict in (False, True)]
    return compared(conditions, setting, _plain)


def categories(setting: Setting) -> list[Json]:
    """Held-out categories, with 0, 1, 5 and 10 labelled requests of each, and all."""
    conditions = [held_out_categories(CATEGORIES, shots, setting.limit) for shots in (0, 1, 5, 10, None)]
    return compared(
        [*conditions, held_out_categories(CATEGORIES, 0, setting.limit, strict=True)], setting, _plain
    )


def domain(setting: Setting) -> list[Json]:
    """Trained on one data set, tested on another."""
    pairs = [
        ("toolbench", "toollens"),
        ("toollens", "toolbench"),
        ("toollens", "sealtools"),
        ("mcp_tasks", "toollens"),
    ]
    return compared([crossing(*pair, setting.limit) for pair in pairs], setting, _plain)


def shots(setting: Setting) -> list[Json]:
    """Workspaces of mcp_tasks dev with 0, 1, 5, 10 labelled requests of each, and all but those tested."""
    return compared([few_shot(count, setting.limit) for count in (0, 1, 5, 10, None)], setting, _plain)


def distractors(setting: Setting) -> list[Json]:
    """The library of toollens among tools of toucan_mcp, which training never sees."""
    sizes = (0, 2_000, 6_000, 13_236)
    return compared([with_distractors(size, setting.limit) for size in sizes], setting, _plain)


def _simulated(golds: dict[int, frozenset[int]]) -> Reward:
    """The execution of sets, simulated: 1 where the gold tools are all in it, else the share that is."""
    return lambda request, members: len(golds[request] & set(members)) / len(golds[request])


def sweeps(setting: Setting) -> list[Json]:
    """Each of eta (simulated execution), lambda and pool size, one at a time, on toollens scenes."""
    condition = plain("toollens scenes", setting.limit)
    plans: list[tuple[str, Plan]] = [
        *(
            (f"eta {eta:g}, simulated execution", replace(PAPER, eta=eta, refresh=0))
            for eta in (0.0, 0.1, 0.5, 1.0)
        ),
        *((f"lambda {decay:g}", replace(PAPER, decay=decay)) for decay in (0.0, 1e-3, 1e-1, 10.0)),
        *((f"pool of {pool}", replace(PAPER, pool=pool)) for pool in (16, 64, 128)),
    ]
    rows = []
    for name, plan in plans:
        found = []
        for seed in setting.seeds:
            found.append(_swept(condition, replace(plan, seed=seed), feedback=name.startswith("eta")))
        rows.append({"condition": name, "system": "hyset", **condition.counts(), **mean_of(found)})
        print(name, {k: round(v, 3) for k, v in rows[-1].items() if isinstance(v, float)}, flush=True)
    return rows


class _Given(HysetSystem):
    """HYSET with a training of its own."""

    given: Trained

    def training(self) -> Trained:
        return self.given


def _swept(condition: Condition, plan: Plan, *, feedback: bool) -> dict[str, float]:
    options = Options()
    system = _Given("hyset", "static", plan, options)
    examples = examples_of(Data.of(condition.train), "static", plan.largest, plan.seed, options.most)
    golds = {one.row: frozenset(one.gold) for one in examples.train}
    rollouts = replace(plan, rollouts=10_000_000)
    system.given = train_sets(examples, rollouts, _simulated(golds) if feedback else None)
    return measured(system, condition)


def decisions(setting: Setting) -> list[Json]:
    """How often the best set is the beginning of the greedy ranking, and how large it is."""
    rows = []
    for name in ("toollens scenes", "sealtools in", "toolbench"):
        condition = plain(name, setting.limit)
        for seed in setting.seeds:
            system = HysetSystem("hyset", "static", replace(PAPER, seed=seed))
            system.learn(condition.train)
            agreed, sizes, golds = [], [], []
            for group in condition.test:
                system.fit(group.tools, ())
                for task in group.tasks:
                    best = system.select(task.query)
                    agreed.append({id_ for id_, _ in system.rank(task.query, len(best))} == set(best))
                    sizes.append(len(best))
                    golds.append(len(task.gold))
            share = {f"size {s}": float(np.mean([n == s for n in sizes])) for s in range(1, 6)}
            gold = {f"gold {s}": float(np.mean([n == s for n in golds])) for s in range(1, 6)}
            rows.append({"condition": name, "seed": seed, "agree": float(np.mean(agreed)), **share, **gold})
            print(rows[-1], flush=True)
    return rows


def cost(setting: Setting) -> list[Json]:
    """Training time, memory and parameters of every design, by library and requests."""
    rows = []
    for name in ("toollens scenes", "toolbench"):
        data = Data.of(plain(name, setting.limit).train)
        for design in ("hyset", "shared-m", "identity-m", "no-f-set", "deepsets", "set-transformer"):
            start = time.process_time()
            found = trained(data, "static", replace(PAPER, design=design, epochs=3, patience=3, seed=0))
            log = found.log
            seconds = time.process_time() - start
            kept = {"parameters": log.parameters, "steps": log.steps, "peak_mb": log.peak_mb}
            rows.append(
                {"condition": name, "system": design, "tools": len(found.ids), **kept, "cpu_s": seconds}
            )
            print(rows[-1], flush=True)
    return rows


PARTS: dict[str, Callable[[Setting], list[Json]]] = {
    part.__name__: part for part in (unseen, categories, domain, shots, distractors, sweeps, decisions, cost)
}


def table(rows: Sequence[dict[str, Json]]) -> str:
    """Rows as Markdown, shares in per cent."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    return "\n".join([*lines, *(f"| {' | '.join(_cell(c, row.get(c)) for c in columns)} |" for row in rows)])


def _cell(column: str, value: Json) -> str:
    if not isinstance(value, float):
        return "" if value is None else str(value)
    share = column not in COUNTS and column not in ("cpu-ms", "cpu_s", "peak_mb")
    return f"{100 * value:.1f}" if share else f"{value:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=[], help=", ".join(PARTS))
    parser.add_argument("--systems", default="hyset,dense,hybrid")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--limit", type=int, default=300)
    given = parser.parse_args()
    setting = Setting(tuple(given.systems.split(",")), tuple(map(int, given.seeds.split(","))), given.limit)
    path = INTO / "ablations.json"
    known = json.loads(path.read_text(encoding="utf-8"))["parts"] if path.is_file() else {}
    for name in given.parts or PARTS:
        rows = PARTS[name](setting)
        known[name] = {"seeds": list(setting.seeds), "limit": setting.limit, "rows": rows}
        _write(known)


def _write(known: dict[str, Json]) -> None:
    sections = []
    for name in (name for name in PARTS if name in known):
        part = known[name]
        seeds = ", ".join(map(str, part["seeds"]))
        head = f"## {name}\n\n{(PARTS[name].__doc__ or '').strip()}"
        head += f" Seeds {seeds}; at most {part['limit']} requests."
        sections.append(f"{head}\n\n{table(part['rows'])}")
    origin = provenance(
        ("python", "-m", "benchmarks.sets_ablations", *sys.argv[1:]), load_encoder("static").fingerprint
    )
    write(INTO, "ablations", {"provenance": origin, "parts": known}, "\n\n".join(sections), NOTES)


if __name__ == "__main__":
    main()
