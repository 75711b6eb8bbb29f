"""The gate of the set scorer out of fold: what it turns away, by what it knows and where it is shut.

    python -m benchmarks.gate --static-folds FOLDER ... --onnx-folds FOLDER ... --scorers FILE ...

Folders and files as for ``python -m toolwise.learn.gate``: each fold of the training workspaces is judged by
a gate that learned from the others.  Writes ``results/sets/gate.{json,md}``.  Needs the extra ``train``.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from toolwise.bench.provenance import provenance, write
from toolwise.config import settings
from toolwise.learn.gate import (
    BESIDE,
    COUNTS,
    OTHERS,
    REQUESTS,
    SMALL_LIBRARIES,
    Questions,
    asked_of_others,
    asked_out_of_fold,
    joined,
    train_gate,
)
from toolwise.learn.own_words import FOLDER, small_libraries
from toolwise.learn.sets_data import permitted
from toolwise.retrieve.elsewhere import STANDING
from toolwise.sets.decide import CERTAIN, FEW, LIKELY, MANY, SPOKEN, bar
from toolwise.sets.gate import GATE, SURE, WANTED, tempered

SHUT = (None, 0.2, 0.3, 0.4, 0.5, 0.6)
"""Bars; None is the product's."""
_CONFIDENCE = GATE.index("confidence")
_ELSEWHERE = [GATE.index(name) for name in (*STANDING, *WANTED)]


def blind(some: Questions) -> Questions:
    """Questions without anything about operations elsewhere."""
    features = some.features.copy()
    features[:, _ELSEWHERE] = 0
    return replace(some, features=features)


def judged(folds: Mapping[str, Sequence[Questions]], others: Questions) -> dict[str, np.ndarray]:
    """What gates that did not learn from a fold say of it, for each kind of encoder."""
    found: dict[str, list[np.ndarray]] = {kind: [] for kind in folds}
    for fold in range(len(next(iter(folds.values())))):
        kept = [part for parts in folds.values() for at, part in enumerate(parts) if at != fold]
        gate = train_gate(joined([*kept, others]))
        for kind, parts in folds.items():
            found[kind].append(np.array([tempered(gate, row) for row in parts[fold].features]))
    return {kind: np.concatenate(parts) for kind, parts in found.items()}


def shares(
    said: np.ndarray, some: Questions, of_what: str, shut: float | None
) -> tuple[float | None, float | None]:
    """Of served and of unserved requests, the share that is answered by nothing; None for none."""
    known = zip(some.tools.tolist(), some.features[:, _CONFIDENCE].tolist(), strict=True)
    away = said >= (np.array([bar(*one) for one in known]) if shut is None else shut)
    here = np.array(some.kinds) == of_what
    found = (away[here & (some.unserved == kind)] for kind in (False, True))
    served, unserved = (float(part.mean()) if len(part) else None for part in found)
    return served, unserved


def _cell(shut: float | None) -> str:
    return "the product's" if shut is None else f"{shut:g}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    for name in ("static-folds", "onnx-folds", "scorers"):
        parser.add_argument(f"--{name}", nargs="+", type=Path, required=True)
    parser.add_argument("--own", type=Path, default=FOLDER)
    options = parser.parse_args()
    library = (*permitted(settings().data), *small_libraries(options.own))
    kinds = {"static": options.static_folds, "onnx": options.onnx_folds}
    others = joined(asked_of_others(settings().data, options.scorers[0], BESIDE))
    folds = {
        kind: asked_out_of_fold(library, options.own, [f"{kind}:{one}" for one in folders], options.scorers)
        for kind, folders in kinds.items()
    }
    unaware = {kind: [blind(part) for part in parts] for kind, parts in folds.items()}
    said = {
        "with operations elsewhere": judged(folds, others),
        "without": judged(unaware, blind(others)),
    }
    rows: list[dict[str, Any]] = [
        {"gate": name, "encoder": kind, "of": of_what, "shut at": shut, "wrong": wrong, "right": right}
        for name, by_kind in said.items()
        for kind, some in by_kind.items()
        for of_what in COUNTS
        if of_what != OTHERS
        for shut in (SHUT if of_what in (REQUESTS, SMALL_LIBRARIES) else (None,))
        for wrong, right in [shares(some, joined(folds[kind]), of_what, shut)]
    ]
    lines = [
        "| gate | encoder | of | shut at | wrongly empty | rightly empty |",
        "|---|---|---|---:|---:|---:|",
    ]
    lines += [
        f"| {r['gate']} | {r['encoder']} | {r['of']} | {_cell(r['shut at'])} | {_percent(r['wrong'])} "
        f"| {_percent(r['right'])} |"
        for r in rows
    ]
    notes = (
        "mcp_tasks train by three folds of workspaces, seed 0, before any policy; requests that the set "
        "scorer is not believed for are left out. Shut from that chance on; the product's bar is "
        f"{CERTAIN:g} to {FEW} tools, and {LIKELY:g} from {MANY} on (lower where hardly any tool is near, "
        f"at least {SPOKEN:g} where words meet that rarely do; {SURE:g} where a tool's whole name is said). "
        "`names`: two or "
        "three words, partly of tools that are not there; `few servers`: one to three servers of a "
        "workspace (`toolwise/learn/gate.py`); `small libraries` and `operations`: our own writing "
        "(`training/`); `small talk`: what needs no tool anywhere."
    )
    made = {"provenance": provenance(("python", "-m", "benchmarks.gate", *sys.argv[1:]))}
    write("results/sets", "gate", {**made, "results": rows}, "\n".join(lines), notes)


if __name__ == "__main__":
    main()
