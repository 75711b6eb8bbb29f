"""Caution and economy of the built-in policies, on requests of mcp_tasks.

    python -m benchmarks.dials [--folds FOLDER ... --weights FILE ...] [--limit N]

Writes ``dials.json`` and ``dials.md``: for settings of both dials under the policy
``default``, what the delivered sets hold and leave out; the chosen setting
answers at most 5 % of the answerable requests by nothing, keeps the recall of needed
risky tools within 10 % of the unfiltered sets', or where none does of what the rules of the policy
leave, and among those turns most of the requests
that nothing serves away, then covers most per tool.  With ``--folds`` on training workspaces
that the table of each folder, and the set scorer of the file beside it in the order of ``--weights``, never
saw, else on the dev split.  Levels are the audit's.
"""

from __future__ import annotations

import shutil
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from benchmarks.folds import workspaces
from toolwise.bench.data import Task, sample
from toolwise.bench.provenance import provenance, write
from toolwise.encode.load import load_encoder
from toolwise.indexing import index_catalogue
from toolwise.pipeline import Selector
from toolwise.policy import BUILT_IN, Policy
from toolwise.policy.policy import CAUTION, ECONOMY
from toolwise.records import Catalogue, Tool
from toolwise.sets.decide import gate_at
from toolwise.sets.default import weights_of
from toolwise.sets.kernel import completeness, softmax, subsets, values

CAUTIONS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
ECONOMIES = (0.0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3)
BY_CONFIDENCE = -1.0
GATES = (2.0, BY_CONFIDENCE, 0.6, 0.55, 0.5, 0.45, 0.43, 0.4, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1)
"""Probabilities that no tool serves from which none is shown (2: never; -1: as the selector has it, by the
retriever's confidence)."""
WRONG, LOST = 0.05, 0.1
"""Most answerable requests answered by nothing; most of the recall of needed risky tools that may be lost."""


@dataclass(frozen=True)
class Line:
    """One setting over all requests; shares of the answerable ones but for ``abstains``."""

    given: bool
    """Whether a gate asks first if anything serves; sets are then valued given that something does, the
    first tool free of economy."""
    gate: float
    caution: float
    economy: float
    covered: float
    size: float
    risky: float
    severe: float
    needed: float
    """Recall of needed tools of level 3 or more, over the requests that need one."""
    wrong: float
    abstains: float


@dataclass(frozen=True)
class Seen:
    """One request: what each setting chose, as rows of figures."""

    served: bool
    unserved: float
    """P(no tool serves)."""
    gate: float
    """From which none is shown, by the retriever's confidence."""
    figures: NDArray[np.float64]
    """(2, cautions, economies, 6): valued as a whole or given that something serves; covered, size, risky,
    severe, recall of needed risky tools (NaN where none is), empty."""
    free: float
    """That recall of the best five without rules and dials."""
    hybrid: float
    """That recall of the retriever's first five."""


def seen(selector: Selector, task: Task, policy: Policy) -> Seen:
    """Every setting on one request."""
    found = selector.consider(task.query, policy)
    risk = {c.id: int(selector.index.levels[selector.index.row(c.id)]) for c in found.pool}
    gold = frozenset(task.gold)
    risky_gold = {id_ for id_ in gold if selector.index.levels[selector.index.row(id_)] >= 3}
    shape = (2, len(CAUTIONS), len(ECONOMIES), 6)
    first = {c.id for c in selector.rank(task.query, policy.max_tools).candidates}
    top = len(risky_gold & first) / len(risky_gold) if risky_gold else np.nan
    if not found.pool or found.energy is None:
        nothing = np.array([not gold, 0, 0, 0, 0.0 if risky_gold else np.nan, 1], dtype=float)
        return Seen(bool(gold), 1.0, 0.0, np.broadcast_to(nothing, shape), 0.0 if risky_gold else np.nan, top)
    table = subsets(len(found.pool), policy.max_tools)
    whole = softmax(values(found.energy, table))
    part = whole.copy()
    part[0] = 0.0
    part /= max(float(part.sum()), 1e-300)
    admitted = np.logical_and.reduce([r.admits(table.members) for r in found.rules] or [table.sizes >= 0])
    dear = table.members @ np.array([max(0, risk[c.id] - 2) / 3 for c in found.pool])
    figures = np.empty(shape)
    for place, chances in enumerate((whole, part)):
        covered = completeness(chances, table)
        if place:
            covered /= max(float(covered.max()), 1e-300)
        for i, caution in enumerate(CAUTIONS):
            worth = np.where(admitted, covered - caution * dear, -np.inf)
            for j, economy in enumerate(ECONOMIES):
                net = worth - economy * table.sizes
                if place and worth[1:].max(initial=-np.inf) > worth[0]:
                    net[0] = -np.inf
                row = int(net.argmax())
                ids = {found.pool[p].id for p in np.flatnonzero(table.members[row])}
                figures[place, i, j] = _figures(ids, gold, risky_gold, risk)
    best = int(completeness(part, table).argmax())
    free = {found.pool[p].id for p in np.flatnonzero(table.members[best])}
    recall = len(risky_gold & free) / len(risky_gold) if risky_gold else np.nan
    gate = gate_at(found.confidence)
    return Seen(bool(gold), float(whole[0]), gate, figures, recall, top)


def _figures(
    ids: set[str], gold: frozenset[str], risky_gold: set[str], risk: dict[str, int]
) -> tuple[float, ...]:
    unneeded = [risk[id_] for id_ in ids - gold]
    return (
        float(gold <= ids if gold else not ids),
        len(ids),
        sum(level >= 3 for level in unneeded),
        sum(level >= 4 for level in unneeded),
        len(risky_gold & ids) / len(risky_gold) if risky_gold else np.nan,
        float(not ids),
    )


def measure(folds: Sequence[Path], weights: Sequence[Path], limit: int) -> Iterator[Seen]:
    """Every request, answered from its workspace by what never saw it."""
    scorers = dict(zip(map(str, folds), weights, strict=True))
    encoders = {load_encoder(f"static:{folder}").fingerprint: folder for folder in folds}
    for model, _, library, here in workspaces("static", folds):
        folder = encoders.get(model.fingerprint)
        weighted = scorers.get(str(folder))
        with (
            TemporaryDirectory(prefix="toolwise-dials-") as into,
            _selector(library, folder, weighted, Path(into)) as selector,
        ):
            for task in sample(here, limit):
                yield seen(selector, task, BUILT_IN["default"])


def _selector(library: Sequence[Tool], fold: Path | None, weights: Path | None, into: Path) -> Selector:
    index_catalogue(Catalogue(tuple(library)), into, encoder="static" if fold is None else f"static:{fold}")
    if weights is not None:
        own = weights_of(into)
        own.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(weights, own)
    return Selector.open(into, method="toolwise")


def lines(found: Sequence[Seen]) -> list[Line]:
    """Every setting: without a gate as a whole, with each gate given that something serves."""
    served = np.array([s.served for s in found])
    unserved, own = np.array([(s.unserved, s.gate) for s in found]).T
    every = np.stack([s.figures for s in found])  # (n, 2, cautions, economies, 6)
    none = np.array([0.0, 0, 0, 0, 0, 1])
    made = []
    for given, gates in ((False, GATES[:1]), (True, GATES)):
        for gate in gates:
            figures = every[:, int(given)].copy()
            shut = unserved >= (own if gate == BY_CONFIDENCE else gate)
            needs = ~np.isnan(figures[..., 4])
            figures[shut] = np.where(needs[shut][..., None] | (np.arange(6) != 4), none, np.nan)
            for i, caution in enumerate(CAUTIONS):
                for j, economy in enumerate(ECONOMIES):
                    able = np.nanmean(figures[served, i, j], axis=0)
                    abstains = float(figures[~served, i, j, 5].mean())
                    made.append(Line(given, gate, caution, economy, *map(float, able), abstains))
    return made


def chosen(found: Sequence[Line], recall: float) -> Line | None:
    """The setting of the criterion, given the unfiltered recall; None where none keeps both limits."""
    able = [f for f in found if f.wrong <= WRONG and f.needed >= (1 - LOST) * recall]
    return max(able, key=lambda f: (round(f.abstains, 2), f.covered / max(f.size, 1e-9)), default=None)


_NAMES = {2.0: "none", BY_CONFIDENCE: "by confidence"}


def _table(found: Sequence[Line], marks: dict[Line, str]) -> list[str]:
    head = "| | gate | caution | economy | covered % | size | unneeded 3+ | unneeded 4+ | needed risky % "
    out = [head + "| wrongly empty % | rightly empty % |", "|---|" + "---:|" * 10]
    for f in found:
        cells = [
            "-" if not f.given else _NAMES.get(f.gate, f"{f.gate:g}"),
            *(f"{f.caution:g}", f"{f.economy:g}", f"{100 * f.covered:.1f}", f"{f.size:.2f}"),
            *(f"{f.risky:.3f}", f"{f.severe:.3f}", f"{100 * f.needed:.1f}"),
            *(f"{100 * f.wrong:.1f}", f"{100 * f.abstains:.1f}"),
        ]
        out.append(f"| {marks.get(f, '')} | {' | '.join(cells)} |")
    return out


def main() -> None:
    """Write the results."""
    options = ArgumentParser(description=__doc__)
    options.add_argument("--folds", nargs="*", type=Path, default=[])
    options.add_argument("--weights", nargs="*", type=Path, default=[])
    options.add_argument("--limit", type=int, default=0, help="requests of a workspace at most (0: all)")
    options.add_argument("--into", default="results")
    given = options.parse_args()
    found = list(measure(given.folds, given.weights, given.limit))
    every = lines(found)
    free = float(np.nanmean([s.free for s in found]))
    top = float(np.nanmean([s.hybrid for s in found]))
    whole = [f for f in every if not f.given]
    gated = [f for f in every if f.given]
    ruled = next(f.needed for f in gated if f.gate > 1 and f.caution == f.economy == 0)
    picks = {
        "chosen against no policy": chosen(gated, free),
        "chosen against the policy's rules alone": chosen(gated, ruled),
    }
    marks = {line: name for name, line in picks.items() if line is not None}
    present = next(f for f in gated if (f.gate, f.caution, f.economy) == (BY_CONFIDENCE, CAUTION, ECONOMY))
    marks[present] = ", ".join(filter(None, (marks.get(present), "present")))
    served = sum(s.served for s in found)
    text = [
        f"{served} answerable requests of mcp_tasks {'train, out of fold' if given.folds else 'dev'}, "
        f"{len(found) - served} that nothing serves; static encoder, policy `default`, levels of the audit. "
        f"Recall of needed risky tools without policy: {100 * free:.1f} % of the best five by the scorer, "
        f"{100 * top:.1f} % of the retriever's first five; with the rules of the policy and no dials "
        f"{100 * ruled:.1f} %.",
        "",
        "Without a gate (`-`) the chance that nothing serves counts like any other; with one, nothing is "
        "shown from that chance on, and else sets are valued given that something serves, against the best "
        "of them, the first tool free of economy.",
        "",
        *_table([*marks, *(f for f in whole if f not in marks and f.caution in (0.0, 0.05))], marks),
        "",
        "With the gate by confidence:",
        "",
        *_table([f for f in gated if f.gate == BY_CONFIDENCE], marks),
        "",
        f"Gates, at caution {CAUTION:g} and economy {ECONOMY:g}:",
        "",
        *_table([f for f in gated if (f.caution, f.economy) == (CAUTION, ECONOMY)], marks),
    ]
    payload = {
        "provenance": provenance(("python -m benchmarks.dials", *sys.argv[1:])),
        "requests": {"served": served, "unserved": len(found) - served},
        "unfiltered": {"scorer": free, "retriever": top},
        "chosen": {name: None if line is None else asdict(line) for name, line in picks.items()},
        "lines": [asdict(f) for f in every],
    }
    write(given.into, "dials", payload, "\n".join(text))


if __name__ == "__main__":
    main()
