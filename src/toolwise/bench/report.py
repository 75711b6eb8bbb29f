"""Results as Markdown tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolwise.bench.frontier import crossings_table
from toolwise.records import Json

_COUNTS = ("set-size", "exposed-max-risk", "exposed-sum-risk", "exposed-tokens")


def tables(results: Mapping[str, Json]) -> str:
    """A table per case: systems down, metrics across, in per cent, with half of the 95 % interval."""
    parts = []
    for case in results["cases"]:
        parts.append(_table(case, results["metrics"]))
        if case.get("crossings"):
            parts.append(crossings_table(case["crossings"]))
        parts += [_subset(case, name, results["metrics"]) for name in case.get("subsets", {})]
    if results["skipped"]:
        parts.append("Skipped: " + "; ".join(results["skipped"]) + ".")
    if results.get("notes"):
        parts.append(results["notes"])
    return "\n\n".join(parts)


def _table(case: Mapping[str, Json], metrics: Sequence[str]) -> str:
    shown = [m for m in metrics if any(m in s.get("metrics", {}) for s in case["systems"])]
    head = f"## {case['name']}\n\n{case['requests']} requests, {case['tools']} tools"
    head += f"; {case['note']}" if case["note"] else ""
    head += f"; {case['folds']}-fold cross-validation by gold set." if case.get("folds") else "."
    if case["shared_gold_sets"]:
        head += (
            f" {case['shared_gold_sets']} gold sets occur in the {case['training']} training requests too."
        )
    lines = [
        f"| system | {' | '.join(shown)} | against the baseline | CPU ms |",
        "|---|" + "---:|" * (len(shown) + 2),
    ]
    against = {d["system"]: d for d in case["differences"]}
    for system in case["systems"]:
        if "error" in system:
            lines.append(
                f"| {system['system']} | {system['error'].splitlines()[0]} |" + " |" * (len(shown) + 1)
            )
            continue
        cells = [_cell(m, system["metrics"].get(m)) for m in shown]
        cells += [_difference(against.get(system["system"])), f"{system['cpu_ms']:.2f}"]
        part = f" (n={system['requests']})" if system["requests"] < case["requests"] else ""
        lines.append(f"| {system['system']}{part} | {' | '.join(cells)} |")
    return f"{head}\n\n" + "\n".join(lines)


def _subset(case: Mapping[str, Json], name: str, metrics: Sequence[str]) -> str:
    """The same metrics over a part of the requests."""
    found = {s["system"]: s["subsets"][name] for s in case["systems"] if name in s.get("subsets", {})}
    shown = [m for m in metrics if any(m in values for values in found.values())]
    lines = [f"| system | {' | '.join(shown)} |", "|---|" + "---:|" * len(shown)]
    lines += [
        f"| {system} | {' | '.join(_cell(m, values.get(m)) for m in shown)} |"
        for system, values in found.items()
    ]
    head = f"### {case['name']}: {name}\n\n{case['subsets'][name]} requests."
    return f"{head}\n\n" + "\n".join(lines)


def _cell(metric: str, value: Mapping[str, Json] | None) -> str:
    if value is None:
        return ""
    scale = 1 if metric.partition("@")[0] in _COUNTS or "unneeded" in metric else 100
    digits = 2 if scale == 1 else 1
    mean = f"{scale * value['mean']:.{digits}f}"
    if value["low"] is None or value["high"] is None:
        return mean
    return f"{mean} ±{scale * (value['high'] - value['low']) / 2:.{digits}f}"


def _difference(found: Mapping[str, Json] | None) -> str:
    if found is None:
        return ""
    p = "" if found["p_holm"] is None else f", p {found['p_holm']:.3f}"
    return f"{100 * found['difference']:+.1f}{p}"
