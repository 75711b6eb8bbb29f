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

from toolwise.bench.cases import Case, Suite
from toolwise.policy.policy import CAUTION, ECONOMY
from toolwise.records import Json

DIALS: Final = re.compile(r"toolwise:.*caution=")
COVERED: Final = "coverage"
EXPOSED: Final = ("exposed-unneeded", "exposed-unneeded4")
"""Unneeded tools of level 3 or more, and of level 4 or more, per request."""
SETTINGS: Final = (
    *((0.0, 0.0), (CAUTION, ECONOMY), (0.1, 0.02), (0.2, 0.04), (0.4, 0.04), (0.8, 0.04), (1.0, 0.1)),
)
"""Caution and economy: nothing of either, those of the policy, and more and more caution."""

Curve = Sequence[tuple[float, float]]
"""Points (exposure, coverage)."""


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


def crossings(systems: Sequence[Mapping[str, Json]]) -> list[dict[str, Json]]:
    """Each system that delivers sets against the curve of toolwise's dials; none where there is no curve."""
    measured = [s for s in systems if COVERED in s.get("metrics", {})]
    ours = [s for s in measured if DIALS.match(s["system"])]
    if not ours or any(metric not in s["metrics"] for s in measured for metric in EXPOSED):
        return []
    found = []
    for exposed in EXPOSED:
        best = Best.of([(_mean(s, exposed), _mean(s, COVERED)) for s in ours])
        for system in measured:
            if system in ours:
                continue
            across, up = _mean(system, exposed), _mean(system, COVERED)
            found.append(
                {
                    "system": system["system"],
                    "metric": exposed,
                    "exposed": across,
                    "covered": up,
                    "covered_there": best.covered(across),
                    "exposed_there": best.exposed(up),
                }
            )
    return found


def _mean(system: Mapping[str, Json], metric: str) -> float:
    return float(system["metrics"][metric]["mean"])


def crossings_table(found: Sequence[Mapping[str, Json]]) -> str:
    """The crossings as a Markdown table."""
    lines = [
        "Against the curve of toolwise's dials (between its points in proportion; `-`: out of its reach):",
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
            _ratio(row["covered_there"], row["covered"]),
            f"{row['exposed']:.3f}",
            _cell(row["exposed_there"], 1, 3),
            _ratio(row["exposed_there"], row["exposed"]),
        ]
        lines.append(f"| {row['system']} | unneeded {level} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(value: float | None, scale: float, digits: int) -> str:
    return "-" if value is None else f"{scale * value:.{digits}f}"


def _ratio(ours: float | None, theirs: float) -> str:
    return "-" if ours is None or not theirs else f"{ours / theirs:.2f}"


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
        *("top5:hybrid", "rule5:hybrid"),
        *("top5:default+rel@static", "top5:default@static", "rule5:default@static"),
        *("hyset", "rule:hyset", "top5:hyset", "rule5:hyset"),
        *(f"toolwise:caution={caution:g}+economy={economy:g}" for caution, economy in SETTINGS),
        *(f"toolwise:policy=open+caution={caution:g}+economy=0" for caution in (0.0, 0.1, 0.3)),
        *(
            f"toolwise:encoder=tuned+caution={caution:g}+economy={economy:g}"
            for caution, economy in (*SETTINGS[:2], *SETTINGS[3:6])
        ),
    ),
    empty_gold=True,
    notes="""## Rows

`top5:X` delivers the first five of a ranking; `rule5:X` the first five that the rule filter of the
risk-aware reranking paper admits (deployment mode: nothing fills up); `rule:X` what the filter leaves of a
set that X delivers itself. `hyset` is HYSET as published, learned per case; `default@static` the dual head
with predicted risk, `+rel` its relevance head alone. `toolwise:...` is the policy `default` (or the one
named) with these dials; its weights learned from mcp_tasks train alone, whatever the case; with
`encoder=tuned` the packaged table is tuned on the training requests of the case, from which `hyset` and the
dual head learn too. Its COMP@5 ranks by the probability of a complete set, before any policy.

`exposed-...` are of delivered sets: unneeded tools of level 3+ (`4`: 4+) per request, share of level 3+
(`rvr`) and 4+ (`srr`), share of the needed risky tools that were delivered (`needed`), requests whose tools
only together complete a toxic flow by the labels (`toxic`). `abstain-recall`: of the requests that nothing
serves, those answered by nothing; `abstain-wrong`: of the others.""",
)
