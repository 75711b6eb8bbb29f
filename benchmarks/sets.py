"""The suite ``sets`` case by case, kept after every system: HYSET, its ablations and its comparators.

    python -m benchmarks.sets                              # everything, three seeds: hours on two cores
    python -m benchmarks.sets --cases "sealtools in" --systems hyset,budget:per-tool --seeds 0 --limit 300

Writes ``results/sets/sets.json`` and ``sets.md``.  What was measured before with
the same case, system, seeds and limit is kept unless ``--again`` is given.
Needs the extra ``train``.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from toolwise.bench.cases import Case
from toolwise.bench.provenance import provenance, write
from toolwise.bench.report import tables
from toolwise.bench.run import run_case
from toolwise.bench.set_suite import SETS
from toolwise.bench.sets.training import MOST
from toolwise.encode.load import load_encoder
from toolwise.records import Json

INTO = Path("results") / "sets"
NOTES = f"""HYSET and all that learns beside it is trained on at most {MOST:,} requests per case or fold,
drawn with the seed; requests with more than five gold tools are left out of training and kept in the test.
Training stops by Recall@5 on a tenth of the training requests, held out by whole gold sets
(`hyset-by-request`: by single requests). `budget:NAME` delivers at least as many tools as `hyset` for the
same request: its own set, filled up from its own ranking. `threshold:hybrid` is cut by a score threshold that
gives `hyset`'s mean size on those held-out requests. The baselines `mmr`, `facility-location` and
`cardinality` rank with the hybrid. Seeds and limits of each system are in `sets.json`."""


def main() -> None:
    options = _options()
    seeds = tuple(int(seed) for seed in options.seeds.split(","))
    known = _known()
    cases = [case for case in SETS.cases if not options.cases or case.name in options.cases.split(",")]
    systems = options.systems.split(",") if options.systems else list(SETS.systems)
    for case in cases:
        for system in systems:
            key = {"seeds": list(seeds), "limit": options.limit}
            before = _entry(known, case.name, system)
            if before is not None and before["run"] == key and "error" not in before and not options.again:
                continue
            _measure(known, case, system, key)
            _save(known)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", default="")
    parser.add_argument("--systems", default="")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--again", action="store_true")
    return parser.parse_args()


def _known() -> dict[str, Json]:
    path = INTO / "sets.json"
    return (
        {c["name"]: c for c in json.loads(path.read_text(encoding="utf-8"))["cases"]}
        if path.is_file()
        else {}
    )


def _entry(known: Mapping[str, Json], case: str, system: str) -> Json:
    return next((e for e in known.get(case, {}).get("systems", []) if e["system"] == system), None)


def _measure(known: dict[str, Json], case: Case, system: str, run: dict[str, Json]) -> None:
    """One system on one case, put in the place of what was there; the fullest run describes the case."""
    found = run_case(SETS, case, [system], run["seeds"], run["limit"])
    entry = {**found["systems"][0], "run": run}
    others = [e for e in known.get(case.name, {}).get("systems", []) if e["system"] != system]
    order = [*SETS.systems, *(e["system"] for e in [*others, entry] if e["system"] not in SETS.systems)]
    rows = sorted([*others, entry], key=lambda e: order.index(e["system"]))
    head = max([known.get(case.name, found), found], key=lambda one: one["requests"])
    known[case.name] = {**head, "systems": rows, "differences": []}
    shown = {k: round(v["mean"], 3) for k, v in entry.get("metrics", {}).items()}
    print(case.name, system, entry.get("error") or shown, f"{entry.get('index_s', 0):.0f} s", flush=True)


def _save(known: Mapping[str, Json]) -> None:
    order = [case.name for case in SETS.cases]
    cases = sorted(known.values(), key=lambda case: order.index(case["name"]))
    results = {"suite": "sets", "metrics": list(SETS.metrics), "cases": cases, "skipped": []}
    origin = provenance(
        ("python", "-m", "benchmarks.sets", *sys.argv[1:]), load_encoder("static").fingerprint
    )
    write(INTO, "sets", {"provenance": origin, **results}, tables(results), NOTES)


if __name__ == "__main__":
    main()
