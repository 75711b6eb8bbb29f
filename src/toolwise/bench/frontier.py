"""The suite ``frontier``: whole gold sets delivered against the risk that nobody needed.

Systems that bound risk in some way, and toolwise at several settings of its two
dials, deliver sets; the dials draw a curve, and every other system is set
against that curve: at its own exposure, and at its own coverage.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from toolwise.bench.cases import Case, Suite
from toolwise.evaluate import Metric, Row
from toolwise.evaluate.bootstrap import Doubles, resampled
from toolwise.policy.policy import CAUTION, ECONOMY
from toolwise.records import Json

DIALS: Final = re.compile(r"toolwise:.*caution=")
COVERED: Final = "coverage"
EXPOSED: Final = ("exposed-unneeded", "exposed-unneeded4")
"""Unneeded tools of level 3 or more, and of level 4 or more, per request."""
RIVAL: Final = "langgraph-bigtool"
"""The best rival on mcp_tasks dev, where all were measured: by COMP@5, then NDCG@5, then name."""
SETTINGS: Final = (
    *((0.0, 0.0), (CAUTION, ECONOMY), (0.1, 0.02), (0.2, 0.04), (0.4, 0.04), (0.8, 0.04), (1.0, 0.1)),
)
"""Caution and economy: nothing of either, those of the policy, and more and more caution."""

OPEN: Final = (0.0, 0.1, 0.3, 0.5, 0.8)
"""Caution under the policy that has no caps and forbids no flow."""

Curve = Sequence[tuple[float, float]]
"""Points (exposure, coverage)."""
NOTHING: Final = (0.0, 0.0)
"""The point of delivering nothing, from which any curve may start."""


@dataclass(frozen=True, slots=True)
class Best:
    """The points of a curve that no other of it beats, exposure and coverage rising."""

    points: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, points: Curve) -> Best:
        """Of any points."""
        kept: list[tuple[float, float]] = []
        for exposed, covered in sorted(points, key=lambda p: (p[0], -p[1])):
            if not kept or covered > kept[-1][1]:
                kept.append((exposed, covered))
        return cls(tuple(kept))

    def covered(self, exposed: float) -> float | None:
        """Coverage at an exposure: between points in proportion, beyond the last its own; None before all."""
        return _between(self.points, exposed)

    def exposed(self, covered: float) -> float | None:
        """The least exposure of a coverage; None where no point covers so much."""
        turned = tuple((-c, -e) for e, c in reversed(self.points))
        found = _between(turned, -covered)
        return None if found is None else -found


def _between(points: Sequence[tuple[float, float]], x: float) -> float | None:
    """The value at ``x`` of the line through ``points`` (rising), the last one's beyond them; None before."""
    if not points or x < points[0][0]:
        return None
    for (left, low), (right, high) in pairwise(points):
        if left <= x < right:
            return low + (high - low) * (x - left) / (right - left)
    return points[-1][1]


def crossings(
    systems: Sequence[Mapping[str, Json]],
    rows: Mapping[str, Sequence[Row]] | None = None,
    clusters: Mapping[str, str] | None = None,
    resamples: int = 2_000,
) -> list[dict[str, Json]]:
    """Each system that delivers sets against the curve of toolwise's dials; none where there is no curve.

    With the ``rows`` of every system (by name), both ratios have 95 % intervals by a
    bootstrap over requests, or over the ``clusters`` of them: each resample has a curve
    of its own, and all systems are read on the same requests.
    """
    measured = [s for s in systems if COVERED in s.get("metrics", {})]
    ours = [s for s in measured if DIALS.match(s["system"])]
    theirs = [s for s in measured if s not in ours]
    if not ours or any(metric not in s["metrics"] for s in measured for metric in EXPOSED):
        return []
    found = []
    for exposed in EXPOSED:
        points = [(_mean(s, exposed), _mean(s, COVERED)) for s in ours]
        best, reach = Best.of(points), Best.of([NOTHING, *points])
        bounds = _bounds(exposed, ours, theirs, rows or {}, clusters, resamples)
        for place, system in enumerate(theirs):
            across, up = _mean(system, exposed), _mean(system, COVERED)
            found.append(
                {
                    "system": system["system"],
                    "metric": exposed,
                    "exposed": across,
                    "covered": up,
                    "covered_there": reach.covered(across),
                    "exposed_there": best.exposed(up),
                    **(bounds[place] if bounds else {}),
                }
            )
    return found


def _bounds(
    exposed: str,
    ours: Sequence[Mapping[str, Json]],
    theirs: Sequence[Mapping[str, Json]],
    rows: Mapping[str, Sequence[Row]],
    clusters: Mapping[str, str] | None,
    resamples: int,
) -> list[dict[str, Json]]:
    """The intervals of both ratios for each of ``theirs``; nothing where rows are missing.

    Coverage above all of the curve is bought by no exposure, so the ratio is without end (None).
    """
    names = [s["system"] for s in (*ours, *theirs)]
    if any(name not in rows for name in names):
        return []
    metrics = [Metric.parse(exposed), Metric.parse(COVERED)]
    drawn = resampled([rows[n] for n in names], metrics, np.random.default_rng(0), clusters, resamples)
    ratios = np.full((len(drawn), len(theirs), 2), np.nan)
    for line, means in zip(ratios, drawn, strict=True):
        points = [(x, y) for x, y in means[: len(ours)].tolist()]
        best, reach = Best.of(points), Best.of([NOTHING, *points])
        for cell, (across, up) in zip(line, means[len(ours) :].tolist(), strict=True):
            there, least = reach.covered(across) or 0.0, best.exposed(up)
            cell[0] = there / up if up else np.nan
            cell[1] = np.inf if least is None else least / across if across else np.nan
    return [
        {"times": _interval(ratios[:, place, 0]), "exposed_times": _interval(ratios[:, place, 1])}
        for place in range(len(theirs))
    ]


def _interval(drawn: Doubles) -> list[float | None] | None:
    """The middle 95 % of what resamples say; None where they say nothing, an end without end None."""
    told = drawn[~np.isnan(drawn)]
    if not len(told):
        return None
    ends = np.quantile(told, [0.025, 0.975], method="inverted_cdf")  # no sums: some may be infinite
    return [float(end) if np.isfinite(end) else None for end in ends]


def _mean(system: Mapping[str, Json], metric: str) -> float:
    return float(system["metrics"][metric]["mean"])


def crossings_table(found: Sequence[Mapping[str, Json]]) -> str:
    """The crossings as a Markdown table."""
    lines = [
        "Against the curve of toolwise's dials, which starts where nothing is delivered (between its points "
        "in proportion; `-`: out of its reach; 95 % intervals of ratios by a bootstrap over requests, whole "
        "workspaces where there are some):",
        "",
        "| system | exposure | its coverage | toolwise's at that exposure | times | its exposure "
        "| toolwise's at that coverage | times |",
        "|---|---|" + "---:|" * 6,
    ]
    for row in found:
        level = "4+" if row["metric"].endswith("4") else "3+"
        cells = [
            f"{100 * row['covered']:.1f}",
            _cell(row["covered_there"], 100, 1),
            _ratio(row["covered_there"], row["covered"]) + _spread(row.get("times")),
            f"{row['exposed']:.3f}",
            _cell(row["exposed_there"], 1, 3),
            _ratio(row["exposed_there"], row["exposed"]) + _spread(row.get("exposed_times")),
        ]
        lines.append(f"| {row['system']} | unneeded {level} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(value: float | None, scale: float, digits: int) -> str:
    return "-" if value is None else f"{scale * value:.{digits}f}"


def _ratio(ours: float | None, theirs: float) -> str:
    return "-" if ours is None or not theirs else f"{ours / theirs:.2f}"


def _spread(ends: Sequence[float | None] | None) -> str:
    return "" if ends is None else " [" + ", ".join("-" if e is None else f"{e:.2f}" for e in ends) + "]"


_LABELS = "levels: the labels, for all systems; flags: the audit"
_AUDIT = "levels and flags: the audit, for all systems; the labels only measure"
_WORKSPACE = "library: the workspace"

FRONTIER = Suite(
    "frontier",
    (
        Case("ultratool", "ultratool", "test", f"name and description only; {_LABELS}", folds=5),
        *(
            Case(f"mcp_tasks {split}{name}", "mcp_tasks", split, f"{_WORKSPACE}; {note}", **more)
            for split in ("dev", "test")
            for name, note, more in (
                ("", _LABELS, {"train": ("train",)}),
                (" audited", _AUDIT, {"train": ("train",), "audited": True}),
            )
        ),
        *(
            Case(f"sealtools {part}", "sealtools", f"test_{part}", _LABELS, train=("dev",))
            for part in ("in", "out")
        ),
    ),
    (
        *("coverage", "comp@5", *EXPOSED, "exposed-rvr", "exposed-srr", "exposed-max-risk", "set-size"),
        *("exposed-toxic", "exposed-needed", "abstain-recall", "abstain-wrong"),
    ),
    (
        *("top5:hybrid", "rule5:hybrid", f"top5:{RIVAL}", f"rule5:{RIVAL}"),
        *("top5:default+rel@static", "top5:default@static", "rule5:default@static"),
        *("hyset", "rule:hyset", "top5:hyset", "rule5:hyset"),
        *(f"toolwise:caution={caution:g}+economy={economy:g}" for caution, economy in SETTINGS),
        *(f"toolwise:policy=open+caution={caution:g}+economy=0" for caution in OPEN),
        *(
            f"toolwise:past=train+caution={caution:g}+economy={economy:g}"
            for caution, economy in (*SETTINGS[:2], *SETTINGS[3:6])
        ),
    ),
    empty_gold=True,
    notes=f"""## Rows

`{RIVAL}` is the best of the other tool retrievers (`make peers`) on mcp_tasks dev by COMP@5, then
NDCG@5, with the vectors that all systems here have; `semantic-router` equals it and comes later by name.
`top5:X` delivers the first five of a ranking; `rule5:X` the first five that the rule filter of the
risk-aware reranking paper admits (deployment mode: nothing fills up); `rule:X` what the filter leaves of a
set that X delivers itself. `hyset` is HYSET as published, learned per case; `default@static` the dual head
with predicted risk, `+rel` its relevance head alone. `toolwise:...` is the policy `default` (or the one
named) with these dials; its weights learned from mcp_tasks train alone, whatever the case; with
`past=train` the index has learned from the training requests of its tools what `toolwise train experience`
learns from traces; `hyset` and the dual head learn from the same requests. Where no training request is
of the library's tools (`mcp_tasks`) there is nothing to learn.
Its COMP@5 ranks by the probability of a complete set, before any policy.

`exposed-...` are of delivered sets: unneeded tools of level 3+ (`4`: 4+) per request, share of level 3+
(`rvr`) and 4+ (`srr`), share of the needed risky tools that were delivered (`needed`), requests whose tools
only together complete a toxic flow by the labels (`toxic`). `abstain-recall`: of the requests that nothing
serves, those answered by nothing; `abstain-wrong`: of the others.

The curve joins all settings of toolwise in a case; those of the policy `open`, which has no caps and forbids
no flow, stay below others by caution alone (see `toxic`).

The dev and test parts of mcp_tasks have few workspaces, so intervals over whole workspaces say little there;
`frontier-folds.md` has those of cross-validation over the training workspaces.""",
)
