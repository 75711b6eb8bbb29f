"""The learned risk heads: cross-validation by workspace and library, dev, test, calibration, hints, speed.

    python -m benchmarks.heads [--into results] [--seeds 0 1 2] [--minilm FOLDER] [--test]

Needs ``toolwise[train]``.  ``--minilm`` is a folder with all-MiniLM-L6-v2 as
ONNX: untuned, it has seen no text of these tools.  ``--test`` reads the test
workspaces too; that is done once per released configuration.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from toolwise.audit import audit
from toolwise.audit.head import HeadAnnotator
from toolwise.audit.head_weights import ENCODERS, FLAGS, PACKAGED, THRESHOLDS
from toolwise.audit.hints import HintAnnotator
from toolwise.audit.resolve import resolve
from toolwise.audit.rules import RuleAnnotator
from toolwise.bench.data import available, folder, tools
from toolwise.bench.provenance import provenance, write
from toolwise.config import settings
from toolwise.encode.load import load_encoder
from toolwise.learn.risk_calibration import auc, calibration
from toolwise.learn.risk_head import (
    IMPROBABLE,
    Decisions,
    cross_validate,
    decide_held_out,
    flag_scores,
    kinds,
    level_scores,
    measure,
)
from toolwise.learn.risk_labels import Labelled, joined, labelled, of_split, own
from toolwise.learn.risk_network import CHOSEN, inputs
from toolwise.records import UNKNOWN_LEVEL, Tool, Verdict

Scores = dict[str, float]
LEVELS = range(1, 6)
SHOWN = (
    *("kappa", "exact", "within_one", "auc_3", "auc_4", "recall_4", "precision_4", "under_rated"),
    *("capabilities", "permissions"),
)
DELETING = ("delete", "remove", "drop", "purge", "clear", "destroy", "reset", "clean", "wipe", "terminate")


def everything() -> Labelled:
    """All that heads learn from."""
    return joined([labelled(settings().data), own()])


def rules_of(data: Labelled) -> list[Verdict]:
    return RuleAnnotator().annotate(data.tools)


def levels_of(verdicts: Sequence[Verdict]) -> np.ndarray:
    return np.array([int(v.level or UNKNOWN_LEVEL) for v in verdicts])


def flags_of(verdicts: Sequence[Verdict]) -> np.ndarray:
    return np.array([[flag in v.capabilities | v.permissions for flag in FLAGS] for v in verdicts], bool)


def score_verdicts(verdicts: Sequence[Verdict], data: Labelled) -> Scores:
    levels = level_scores(data.levels, levels_of(verdicts))
    return levels | flag_scores(data.targets[:, THRESHOLDS:] > 0, flags_of(verdicts))


def standing(rules: np.ndarray, made: Decisions) -> np.ndarray:
    """The levels that :func:`toolwise.audit.resolve.resolve` comes to from both votes."""
    chances = np.concatenate([np.ones((len(rules), 1)), made.chances[:, :THRESHOLDS]], axis=1)
    above = np.arange(1, 6)[None] > made.levels[:, None]
    denied = (chances < np.array([0, *IMPROBABLE])) & above
    ceiling = np.where(denied.any(1), denied.argmax(1), 5)
    stands = np.minimum(rules, ceiling)
    return np.where(stands >= 4, np.maximum(stands, made.levels), made.levels)


def combinations(rules: np.ndarray, made: Decisions, data: Labelled) -> dict[str, Scores]:
    ways: dict[str, np.ndarray] = {
        "rules alone": rules,
        "head alone": made.levels,
        "highest of both": np.maximum(rules, made.levels),
        "mean of both, rounded up": np.ceil((rules + made.levels) / 2).astype(int),
        "head, unless the rules say 4 or more and it is not improbable (resolve)": standing(rules, made),
    }
    return {name: level_scores(data.levels, levels) for name, levels in ways.items()}


def held_third(data: Labelled) -> np.ndarray:
    """Rows of the training workspaces that the word lists were not developed on."""
    spaces = json.loads((folder("mcp_tasks") / "workspaces.json").read_text(encoding="utf-8"))
    names = {w["id"] for w in [w for w in spaces if w["split"] == "train"][2::3]}
    return np.flatnonzero([space in names for space in data.workspaces])


def mean(found: Sequence[Scores]) -> Scores:
    return {key: float(np.mean([one[key] for one in found])) for key in found[0]}


def kept_in(folder: Path | None, key: Sequence[object], work: Callable[[], np.ndarray]) -> np.ndarray:
    """What ``work`` computes, from a folder of kept arrays where it is there: a long run can go on."""
    if folder is None:
        return work()
    path = folder / f"{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.npy"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        np.save(path, work())
    return np.load(path, allow_pickle=False)


def held_out(encoder: str, seed: int, kept: Path | None) -> np.ndarray:
    """Logits of every tool by networks that saw none of its workspace or library (one job of a pool)."""
    data = everything()
    model = load_encoder(encoder)
    key = (model.fingerprint, [tool.content_hash for tool in data.tools])
    vectors = kept_in(kept, key, lambda: model.encode_tools(data.tools))
    given = inputs(data.tools, vectors)
    return kept_in(kept, (*key, repr(CHOSEN), seed), lambda: cross_validate(given, data, CHOSEN, seed))


def cross_validation(data: Labelled, runs: Sequence[Decisions]) -> dict[str, object]:
    """Scores by seed, their means, the means on the held third, combinations with the rules, calibration."""
    rules, third = levels_of(rules_of(data)), held_third(data)
    both = [combinations(rules, made, data) for made in runs]
    both_third = [combinations(rules[third], made.part(third), data.part(third)) for made in runs]
    return {
        "seeds": [measure(made, data) for made in runs],
        "mean": mean([measure(made, data) for made in runs]),
        "held third": mean([measure(made.part(third), data.part(third)) for made in runs]),
        "combined": {name: mean([one[name] for one in both]) for name in both[0]},
        "combined, held third": {name: mean([one[name] for one in both_third]) for name in both[0]},
        "confusion": confusion(data.levels, runs[0].levels),
        "calibration": calibration(data.levels >= 4, runs[0].chances[:, 2]),
        "calibration of flags": calibration(
            (data.targets[:, THRESHOLDS:] > 0).ravel(), runs[0].chances[:, THRESHOLDS:].ravel()
        ),
    }


def confusion(truth: np.ndarray, said: np.ndarray) -> list[list[int]]:
    return [[int(((truth == a) & (said == b)).sum()) for b in LEVELS] for a in LEVELS]


def unseen(data: Labelled, encoders: Sequence[str]) -> dict[str, object]:
    """Packaged heads on workspaces nothing was trained on, the rules, and what resolve makes of both."""
    rules = rules_of(data)
    found: dict[str, object] = {"rules": score_verdicts(rules, data)}
    for encoder in encoders:
        head = HeadAnnotator(encoder)
        estimate = head.estimate(data.tools)
        learned = head.annotate(data.tools)
        made = Decisions(
            np.concatenate([estimate.at_least, estimate.flags], axis=1), levels_of(learned), flags_of(learned)
        )
        both = [resolve([a, b]) for a, b in zip(rules, learned, strict=True)]
        found[f"head, {encoder}"] = measure(made, data)
        found[f"rules and head, {encoder}"] = score_verdicts(both, data)
        found[f"confusion, {encoder}"] = confusion(data.levels, made.levels)
        found[f"abstained, {encoder}"] = int(sum(v.level is None for v in learned))
        found[f"interval of kappa, {encoder}"] = interval(data, made.levels)
    return found


def interval(data: Labelled, said: np.ndarray, draws: int = 2_000) -> tuple[float, float]:
    """95 % bootstrap interval of kappa over tools (four workspaces are too few to draw from)."""
    random = np.random.default_rng(0)
    rows = (random.integers(len(said), size=len(said)) for _ in range(draws))
    found = [level_scores(data.levels[r], said[r])["kappa"] for r in rows]
    return float(np.percentile(found, 2.5)), float(np.percentile(found, 97.5))


def hints(encoder: str) -> dict[str, object]:
    """Declared hints of mcp_annotated against the head's risk: its order, and levels out of bounds."""
    some = tools("mcp_annotated")
    given = [tool.annotations if isinstance(tool.annotations, dict) else {} for tool in some]
    reads = np.array([hint.get("readOnlyHint") is True for hint in given])
    destroys = np.array(
        [h.get("destructiveHint") is True and h.get("readOnlyHint") is not True for h in given]
    )
    named = np.array([any(word in tool.name.lower() for word in DELETING) for tool in some])
    head = HeadAnnotator(encoder)
    expected = head.risk(some) @ np.arange(1, 6)
    learned = head.annotate(some)
    levels = levels_of(learned)
    resolved = levels_of(audit(some, [RuleAnnotator(), HintAnnotator(), head]))
    chosen = (destroys & named) | reads
    floors = np.where(destroys, 3, np.where([h.get("readOnlyHint") is False for h in given], 2, 1))
    return {
        "tools": len(some),
        "destructive and delete-like": int((destroys & named).sum()),
        "read-only": int(reads.sum()),
        "auc": auc((destroys & named)[chosen], expected[chosen]),
        "below the bound, head": int((levels < floors).sum()),
        "read-only at 4 or more, head": int((reads & (levels >= 4)).sum()),
        "below the bound, resolved": int((resolved < floors).sum()),
        "shown": [
            f"{tool.id}: {level} (at least {floor})"
            for tool, level, floor in zip(some, levels.tolist(), floors.tolist(), strict=True)
            if level < floor
        ],
    }


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def speed(encoders: Sequence[str]) -> Scores:
    """CPU seconds over the tools of toucan_mcp that are not reserved; with its own encoder for static."""
    reserved = set((folder("mcp_tasks") / "reserved_servers.txt").read_text(encoding="utf-8").split("\n"))
    some: list[Tool] = [tool for tool in tools("toucan_mcp") if tool.server not in reserved]
    found: Scores = {"tools": len(some), "rules": seconds(lambda: RuleAnnotator().annotate(some))}
    for encoder in encoders:
        head = HeadAnnotator(encoder)
        if encoder == "static":
            found["head, static"] = seconds(lambda head=head: head.annotate(some))  # type: ignore[misc]
        vectors = np.zeros((len(some), load_encoder(encoder).dim), np.float32)
        vectors[:, 0] = 1
        found[f"head, {encoder}, vectors shared"] = seconds(
            lambda head=head, vectors=vectors: head.annotate(some, vectors)  # type: ignore[misc]
        )
    return found


def line(name: str, row: Scores, columns: Sequence[str]) -> str:
    return f"| {name} | " + " | ".join(f"{row[c]:.3f}" if c in row else "" for c in columns) + " |"


def grid(title: str, rows: dict[str, Scores], columns: Sequence[str]) -> list[str]:
    head = [f"## {title}", "", f"| | {' | '.join(columns)} |", "|---|" + "---:|" * len(columns)]
    return [*head, *(line(name, row, columns) for name, row in rows.items()), ""]


def confused(title: str, counts: list[list[int]]) -> list[str]:
    rows = [f"| **{n}** | " + " | ".join(map(str, row)) + " |" for n, row in zip(LEVELS, counts, strict=True)]
    return [f"## {title}", "", "| label \\ said | 1 | 2 | 3 | 4 | 5 |", "|---|" + "---:|" * 5, *rows, ""]


def curve(title: str, bins: list[tuple[float, float, int]]) -> list[str]:
    rows = [f"| {said:.2f} | {true:.2f} | {count} |" for said, true, count in bins]
    return [f"## {title}", "", "| said | came true | tools |", "|---:|---:|---:|", *rows, ""]


def shown(found: dict[str, object]) -> str:
    cv: dict[str, dict[str, object]] = found["cross-validation"]  # type: ignore[assignment]
    lines: list[str] = []
    rows = {name: one["mean"] for name, one in cv.items()} | {"rules alone": found["rules on train"]}
    lines += grid("Cross-validation by workspace, training workspaces (means of the seeds)", rows, SHOWN)  # type: ignore[arg-type]
    third = {name: one["held third"] for name, one in cv.items()}
    lines += grid("The same, tools of the third the word lists were not developed on", third, SHOWN)  # type: ignore[arg-type]
    ours: dict[str, Scores] = found["small libraries"]  # type: ignore[assignment]
    lines += grid("Small libraries of our own writing, cross-validation by library", ours, SHOWN)
    flags = tuple(map(str, FLAGS))
    lines += grid("F1 by flag, cross-validation", rows, flags)  # type: ignore[arg-type]
    levels = SHOWN[:3] + SHOWN[5:8]
    for name, one in cv.items():
        lines += grid(f"Rules and head together, {name}", one["combined"], levels)  # type: ignore[arg-type]
        lines += grid(f"Rules and head together, {name}, held third", one["combined, held third"], levels)  # type: ignore[arg-type]
    for name, one in cv.items():
        lines += confused(f"Confusion, {name}, cross-validation, seed 0", one["confusion"])  # type: ignore[arg-type]
        lines += curve(f"Calibration of P(level 4 or more), {name}, seed 0", one["calibration"])  # type: ignore[arg-type]
        lines += curve(f"Calibration of the flags, {name}, seed 0", one["calibration of flags"])  # type: ignore[arg-type]
    for split in ("dev", "test"):
        if split in found:
            part: dict[str, object] = found[split]  # type: ignore[assignment]
            scores = {name: row for name, row in part.items() if isinstance(row, dict)}
            lines += grid(f"{split}: packaged heads on its four workspaces", scores, (*SHOWN, *flags))
            for name, row in part.items():
                if name.startswith("confusion"):
                    lines += confused(f"{split}, {name}", row)  # type: ignore[arg-type]
                elif not isinstance(row, dict):
                    lines += [f"{split}, {name}: {row}", ""]
    lines += ["## Declared hints (mcp_annotated)", ""]
    for encoder, row in found["hints"].items():  # type: ignore[attr-defined]
        lines += [
            f"- {encoder}: {key} {value if isinstance(value, int) else f'{value:.3f}'}"
            for key, value in row.items()
            if key != "shown"
        ]
        lines += ["", *(f"      {one}" for one in row["shown"]), ""]
    lines += ["## Speed (CPU seconds, one thread)", ""]
    lines += [f"- {key}: {value:.2f}" for key, value in found["speed"].items()]  # type: ignore[attr-defined]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", default="results")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--minilm", type=Path, help="folder of the untuned model as ONNX")
    parser.add_argument("--jobs", type=int, default=1, help="networks trained at once")
    parser.add_argument("--keep", type=Path, help="a folder to keep vectors and logits in")
    parser.add_argument("--test", action="store_true", help="read the test workspaces too")
    options = parser.parse_args()
    data_folder = settings().data
    data, every = labelled(data_folder), everything()
    packaged = [e for e in ENCODERS if (PACKAGED / f"{e}.safetensors").is_file()]
    encoders = {name: name for name in packaged}
    if options.minilm:
        encoders["untuned MiniLM"] = f"onnx:{options.minilm}"
    with ProcessPoolExecutor(options.jobs) as pool:
        runs = {
            name: [pool.submit(held_out, spec, seed, options.keep) for seed in options.seeds]
            for name, spec in encoders.items()
        }
        made = {
            name: [
                decide_held_out(job.result(), every, seed)
                for seed, job in zip(options.seeds, jobs, strict=True)
            ]
            for name, jobs in runs.items()
        }
    parts = kinds(every)
    spaces, small = parts["workspaces"], parts["small libraries"]
    cv = {name: cross_validation(data, [one.part(spaces) for one in each]) for name, each in made.items()}
    ours = {
        name: mean([measure(one.part(small), every.part(small)) for one in each])
        for name, each in made.items()
    }
    ours["rules alone"] = score_verdicts(rules_of(every.part(small)), every.part(small))
    found: dict[str, object] = {
        "provenance": provenance(
            (
                *("python", "-m", "benchmarks.heads", "--seeds", *map(str, options.seeds)),
                *(["--minilm", "FOLDER"] if options.minilm else []),
                *(["--test"] if options.test else []),
            )
        ),
        "seeds": options.seeds,
        "cross-validation": cv,
        "rules on train": score_verdicts(rules_of(data), data),
        "small libraries": ours,
        "dev": unseen(of_split(data_folder, ("dev",), frozenset()), packaged),
        "hints": {e: hints(e) for e in packaged} if available("mcp_annotated") else {},
        "speed": speed(packaged),
    }
    if options.test:
        found["test"] = unseen(of_split(data_folder, ("test",), frozenset()), packaged)
    text = shown(found)
    print(text)
    notes = (
        "kappa: quadratic weights, against the resolved labels; auc_3, auc_4: expected level against 3 or "
        "4 or more; recall_4, precision_4: level 4 or more; under_rated: share of level 4 or more rated 1 or "
        "2; capabilities, permissions: mean F1. Five folds of workspaces and libraries; "
        "networks, calibration and cuts "
        "never saw the tools they judge. The encoders static and minilm have seen the texts (never the "
        "labels) of training tools; untuned MiniLM has seen none, and no encoder has seen those of dev and "
        "test. The word lists were developed on two thirds of the training workspaces, so figures that use "
        "them are a little too good there: the held third, dev and test are clean."
    )
    write(options.into, "heads", found, text, notes)


if __name__ == "__main__":
    main()
