"""Speed of valuing every tool set of a pool, by pool and largest size; how often a beam finds the best set.

    python -m benchmarks.sets_kernel [--into results]

Times are minima of many repeats on one thread (the machine may be busy),
ratios within one run.  Energies are random in the form of HYSET: unit vectors of
16 dimensions and symmetric matrices, one per size, and normal scores; the pair
terms have a given spread beside that of the scores, which is 1.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from toolwise.bench.provenance import provenance, write
from toolwise.policy.constraints import Budget, CountCap, PerTool
from toolwise.protocols import Constraint, SetEnergy
from toolwise.sets.beam import WIDTH, beam
from toolwise.sets.decode import DECODERS, greedy_ranking
from toolwise.sets.kernel import completeness, softmax, subsets, values
from toolwise.sets.search import constrained
from toolwise.threads import frugal

POOLS = (10, 12, 14, 16, 18, 20, 22, 24)
SIZES = (2, 3, 4, 5)
WIDTHS = (4, 16, 64)
SPREADS = (0.1, 0.5, 2.0)
DRAWS = 200
DIMENSIONS = 16


def energy(rng: np.random.Generator, k: int, m: int, spread: float = 0.5, mean: bool = False) -> SetEnergy:
    """A random energy; every size has its own matrix, half of it common to all sizes."""
    z = rng.normal(size=(k, DIMENSIONS))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    matrices = rng.normal(size=(m + 1, DIMENSIONS, DIMENSIONS)) + rng.normal(size=(DIMENSIONS, DIMENSIONS))
    pairs = z @ (matrices + matrices.transpose(0, 2, 1)) @ z.T
    pairs *= spread / pairs.std()
    unary = rng.normal(size=k)
    return SetEnergy(unary.astype(np.float32), pairs.astype(np.float32), np.zeros(m + 1, np.float32), mean)


def fastest(work: Callable[[], object], seconds: float = 0.15) -> float:
    """Milliseconds of the fastest repeat within about ``seconds``."""
    best, end = np.inf, time.perf_counter() + seconds
    while (start := time.perf_counter()) < end:
        work()
        best = min(best, time.perf_counter() - start)
    return 1000 * float(best)


def rules(k: int) -> list[Constraint]:
    """Five rules that all bind."""
    levels = 1 + np.arange(k) % 5
    reasons = ("",) * k
    return [
        PerTool("deny", np.arange(k) == k // 2, reasons),
        PerTool("max-level", levels > 4, reasons),
        CountCap("cap", levels >= 3, 1, ""),
        CountCap("breadth", levels % 2 == 0, 2, ""),
        Budget("budget", 100 + 50 * (np.arange(k) % 4), 400),
    ]


def timed(rng: np.random.Generator, k: int, m: int) -> dict[str, float]:
    """Milliseconds of each step for one pool and largest size."""
    table, additive, mean = subsets(k, m), energy(rng, k, m), energy(rng, k, m, mean=True)
    found = values(additive, table)
    probabilities = softmax(found)
    bound = rules(k)
    return {
        "pool": k,
        "largest": m,
        "sets": len(found),
        "values": fastest(lambda: values(additive, table)),
        "values_mean": fastest(lambda: values(mean, table)),
        "softmax": fastest(lambda: softmax(found)),
        "completeness": fastest(lambda: completeness(probabilities, table)),
        "decode": fastest(lambda: DECODERS["expected-complete"](additive, table, None, 0.05)),
        "constrained": fastest(lambda: constrained(additive, table, bound, cost=0.02)),
        "greedy": fastest(lambda: greedy_ranking(additive, k)),
        "beam": fastest(lambda: beam(additive)),
    }


def exact(rng: np.random.Generator, k: int, m: int, spread: float, mean: bool) -> dict[str, object]:
    """How often a beam of each width finds the best of all sets of one to ``m``, over random energies."""
    table = subsets(k, m)
    hits = np.zeros(len(WIDTHS))
    shortfall = np.zeros(len(WIDTHS))
    for _ in range(DRAWS):
        drawn = energy(rng, k, m, spread, mean)
        best = float(values(drawn, table).max())
        gaps = np.array([best - beam(drawn, width=width)[1] for width in WIDTHS])
        hits += gaps <= 1e-4
        shortfall += np.maximum(gaps, 0)
    ms = [fastest(lambda w=width: beam(drawn, width=w), 0.05) for width in WIDTHS]  # type: ignore[misc]
    return {
        "pool": k,
        "largest": m,
        "sets": len(table.sizes),
        "spread": spread,
        "mean": mean,
        "enumeration_ms": fastest(lambda: values(drawn, table), 0.05),
        "widths": list(WIDTHS),
        "exact": (hits / DRAWS).tolist(),
        "shortfall": (shortfall / DRAWS).tolist(),
        "beam_ms": ms,
    }


def _times(rows: list[dict[str, float]]) -> str:
    steps = [name for name in rows[0] if name not in ("pool", "largest", "sets")]
    one = next(row for row in rows if (row["pool"], row["largest"]) == (20, 5))["values"]
    lines = [
        "Milliseconds (and `values` as a multiple of that of 20 candidates, sizes to 5):\n",
        f"| pool | largest | sets | {' | '.join(steps)} | ratio |",
        "|---:|---:|---:|" + "---:|" * (len(steps) + 1),
    ]
    for row in rows:
        cells = " | ".join(f"{row[step]:.3f}" for step in steps)
        lines.append(
            f"| {row['pool']} | {row['largest']} | {row['sets']:,} | {cells} | {row['values'] / one:.2f} |"
        )
    return "\n".join(lines)


def _beams(rows: list[dict[str, object]]) -> str:
    lines = [
        f"Beam: share of {DRAWS} random energies where the best of all sets is found, by width "
        f"({', '.join(map(str, WIDTHS))}), the mean value lost, and milliseconds against enumeration:\n",
        "| pool | largest | sets | alignment | pair spread | found | lost | beam ms | all sets ms |",
        "|---:|---:|---:|---|---:|---|---|---|---:|",
    ]
    for row in rows:
        found, lost, ms = (
            " / ".join(format(x, style) for x in row[name])  # type: ignore[attr-defined]
            for name, style in (("exact", ".0%"), ("shortfall", ".3f"), ("beam_ms", ".2f"))
        )
        lines.append(
            f"| {row['pool']} | {row['largest']} | {row['sets']:,} | {'mean' if row['mean'] else 'sum'} | "
            f"{row['spread']:g} | {found} | {lost} | {ms} | {row['enumeration_ms']:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", default="results")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    with frugal(0):
        times = [timed(rng, k, m) for m in SIZES for k in POOLS]
        print(_times(times), flush=True)
        beams = [
            exact(rng, k, m, spread, mean)
            for k, m in ((20, 5), (16, 8), (20, 8))
            for mean in (False, True)
            for spread in SPREADS
        ]
        print(_beams(beams), flush=True)
    write(
        options.into,
        "sets_kernel",
        {"provenance": provenance(("python", "-m", "benchmarks.sets_kernel")), "times": times, "beam": beams},
        f"{_times(times)}\n\n{_beams(beams)}",
        "One thread of 2 shared cores; minima of repeats. `decode` is values, softmax, completeness and "
        "choice; `constrained` the same under five rules, with reasons; `greedy` ranks the whole pool; "
        f"`beam` keeps {WIDTH} sets of each size. Energies are random; trained ones may be easier or harder.",
    )


if __name__ == "__main__":
    main()
