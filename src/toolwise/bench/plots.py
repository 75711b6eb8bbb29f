"""Results as pictures (extra ``[bench]``): bars, relevance against exposure, latency against quality."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolwise.bench.frontier import COVERED, DIALS, EXPOSED, Best
from toolwise.errors import MissingExtra
from toolwise.records import Json

if TYPE_CHECKING:
    from toolwise.tuning import Point

_LAMBDA = re.compile(r"\+lam([0-9.]+)")


def draw(results: Mapping[str, Json], into: Path) -> list[Path]:
    """Write PNG and SVG files named after the suite.  Raises MissingExtra without matplotlib."""
    plt = _pyplot()
    into.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for name, figure in _figures(plt, results):
        for ending in ("png", "svg"):
            path = into / f"{results['suite']}-{name}.{ending}"
            figure.savefig(
                path, dpi=110, bbox_inches="tight", metadata=None if ending == "png" else {"Date": None}
            )
            written.append(path)
        plt.close(figure)
    return written


def draw_frontier(
    found: Sequence[Point], best: Sequence[Point], present: Point, advised: Point, path: Path
) -> None:
    """Write coverage against unneeded risk as PNG or SVG, by the name of ``path``.

    Raises MissingExtra without matplotlib.
    """
    plt = _pyplot()
    figure, axis = plt.subplots(figsize=(6, 4))
    axis.scatter([p.risky for p in found], [100 * p.coverage for p in found], s=10, color="0.75")
    axis.plot([p.risky for p in best], [100 * p.coverage for p in best], marker="o", label="frontier")
    for point, name, mark in ((present, "present", "s"), (advised, "recommended", "*")):
        axis.scatter(point.risky, 100 * point.coverage, marker=mark, s=90, label=name, zorder=3)
    axis.set_xlabel("unneeded tools of level 3+ per request")
    axis.set_ylabel("requests whose tools are all there, %")
    axis.legend(fontsize=8)
    figure.savefig(
        path, dpi=110, bbox_inches="tight", metadata=None if path.suffix == ".png" else {"Date": None}
    )
    plt.close(figure)


def _pyplot() -> Any:
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        raise MissingExtra(
            'drawing needs matplotlib. Run: pip install "toolwise[bench]"', extra="bench"
        ) from error
    matplotlib.use("agg")
    matplotlib.rcParams["svg.hashsalt"] = "toolwise"
    from matplotlib import pyplot

    return pyplot


def _figures(plt: Any, results: Mapping[str, Json]) -> Iterator[tuple[str, Any]]:
    cases = [case for case in results["cases"] if any("metrics" in s for s in case["systems"])]
    if not cases:
        return
    metric = results["metrics"][0]
    yield "bars", _bars(plt, cases, metric)
    if "unneeded-risk@5" in results["metrics"]:
        yield (
            "exposure",
            _scatter(plt, cases, "unneeded-risk@5", "comp@5", "unneeded tools of level 3+ in the top 5"),
        )
    if any(case.get("crossings") for case in cases):
        yield "frontier", _frontiers(plt, [case for case in cases if case.get("crossings")])
    yield "latency", _latency(plt, cases, metric)
    if any(_LAMBDA.search(s["system"]) for case in cases for s in case["systems"]):
        yield "lambda", _curves(plt, cases, "rvr@5", metric)


def _frontiers(plt: Any, cases: list[Json]) -> Any:
    """Coverage against unneeded risk of delivered sets, with intervals; toolwise's dials as a curve."""
    figure, axes = plt.subplots(len(EXPOSED), len(cases), figsize=(4.6 * len(cases), 8), squeeze=False)
    for line, exposed in zip(axes, EXPOSED, strict=True):
        for axis, case in zip(line, cases, strict=True):
            able = [s for s in case["systems"] if COVERED in s.get("metrics", {})]
            ours = [s for s in able if DIALS.match(s["system"])]
            curve = Best.of([(_mean(s, exposed) or 0.0, _mean(s, COVERED) or 0.0) for s in ours]).points
            axis.plot([x for x, _ in curve], [100 * y for _, y in curve], color="0.2", label="toolwise")
            for system in able:
                mine = DIALS.match(system["system"])
                _point(axis, system, exposed, "0.2" if mine else None, "" if mine else system["system"])
            axis.set_title(case["name"], fontsize=9)
            axis.set_xlabel(f"unneeded tools of level {'4' if exposed[-1] == '4' else '3'}+", fontsize=8)
            axis.set_ylabel("requests whose tools are all there, %", fontsize=8)
    axes[0][0].legend(fontsize=6)
    figure.tight_layout()
    return figure


def _point(axis: Any, system: Mapping[str, Json], exposed: str, colour: str | None, label: str) -> None:
    """A mean with its 95 % intervals both ways."""
    across, up = system["metrics"][exposed], system["metrics"][COVERED]

    def spread(value: Mapping[str, Json], scale: float) -> list[list[float]]:
        low, high = (value["mean"] if value[end] is None else value[end] for end in ("low", "high"))
        return [[scale * max(0.0, value["mean"] - low)], [scale * max(0.0, high - value["mean"])]]

    axis.errorbar(
        across["mean"],
        100 * up["mean"],
        xerr=spread(across, 1),
        yerr=spread(up, 100),
        marker="o",
        markersize=4,
        linewidth=0.8,
        color=colour,
        label=label or None,
    )


def _curves(plt: Any, cases: list[Json], x: str, y: str) -> Any:
    """A line per system over its values of lambda, which its names hold as ``+lam0.1``."""
    figure, axes = plt.subplots(1, len(cases), figsize=(5 * len(cases), 3.8), squeeze=False)
    for axis, case in zip(axes[0], cases, strict=True):
        for name, points in sorted(_lines(case, x, y).items()):
            axis.plot([p[1] for p in points], [p[2] for p in points], marker="o", label=name)
            for lam, across, up in points:
                axis.annotate(f"{lam:g}", (across, up), fontsize=6, xytext=(3, 3), textcoords="offset points")
        axis.set_title(case["name"], fontsize=9)
        axis.set_xlabel(f"{x}, %", fontsize=8)
        axis.set_ylabel(f"{y}, %", fontsize=8)
        axis.legend(fontsize=7)
    figure.tight_layout()
    return figure


def _lines(case: Json, x: str, y: str) -> dict[str, list[tuple[float, float, float]]]:
    """Points (lambda, x, y) in per cent by name without the lambda, in order of lambda."""
    lines: dict[str, list[tuple[float, float, float]]] = {}
    for system in case["systems"]:
        found, across, up = _LAMBDA.search(system["system"]), _mean(system, x), _mean(system, y)
        if found and across is not None and up is not None:
            point = (float(found[1]), 100 * across, 100 * up)
            lines.setdefault(_LAMBDA.sub("", system["system"]), []).append(point)
    return {name: sorted(points) for name, points in lines.items()}


def _mean(system: Mapping[str, Json], metric: str) -> float | None:
    found = system.get("metrics", {}).get(metric)
    return None if found is None else float(found["mean"])


def _bars(plt: Any, cases: list[Json], metric: str) -> Any:
    systems = list(dict.fromkeys(s["system"] for case in cases for s in case["systems"]))
    figure, axis = plt.subplots(figsize=(max(7, 1.3 * len(cases)), 4))
    width = 0.85 / len(systems)
    for place, name in enumerate(systems):
        by_case = [{s["system"]: s for s in case["systems"]}.get(name, {}) for case in cases]
        heights = [100 * (_mean(s, metric) or 0.0) for s in by_case]
        axis.bar([x + place * width for x in range(len(cases))], heights, width, label=name)
    axis.set_xticks(
        [x + 0.4 for x in range(len(cases))], [case["name"] for case in cases], rotation=30, ha="right"
    )
    axis.set_ylabel(f"{metric}, %")
    axis.legend(fontsize=7, ncol=4, loc="upper center", bbox_to_anchor=(0.5, 1.25))
    return figure


def _scatter(plt: Any, cases: list[Json], x: str, y: str, label: str) -> Any:
    figure, axes = plt.subplots(1, len(cases), figsize=(4 * len(cases), 3.6), squeeze=False)
    for axis, case in zip(axes[0], cases, strict=True):
        for system in case["systems"]:
            across, up = _mean(system, x), _mean(system, y)
            if across is not None and up is not None:
                axis.scatter(across, 100 * up)
                axis.annotate(
                    system["system"],
                    (across, 100 * up),
                    fontsize=7,
                    xytext=(3, 3),
                    textcoords="offset points",
                )
        axis.set_title(case["name"], fontsize=9)
        axis.set_xlabel(label, fontsize=8)
        axis.set_ylabel(f"{y}, %", fontsize=8)
    figure.tight_layout()
    return figure


def _latency(plt: Any, cases: list[Json], metric: str) -> Any:
    figure, axis = plt.subplots(figsize=(7, 4))
    systems = list(dict.fromkeys(s["system"] for case in cases for s in case["systems"]))
    for name in systems:
        points = [
            (s["cpu_ms"], _mean(s, metric))
            for case in cases
            for s in case["systems"]
            if s["system"] == name and _mean(s, metric) is not None
        ]
        if points:
            across = sum(p[0] for p in points) / len(points)
            up = 100 * sum(p[1] or 0.0 for p in points) / len(points)
            axis.scatter(max(across, 1e-3), up)
            axis.annotate(
                name, (max(across, 1e-3), up), fontsize=7, xytext=(3, 3), textcoords="offset points"
            )
    axis.set_xscale("log")
    axis.set_xlabel("CPU ms per request, mean over cases")
    axis.set_ylabel(f"{metric}, %, mean over cases")
    return figure
