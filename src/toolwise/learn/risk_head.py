"""Train the packaged risk heads: ``python -m toolwise.learn.risk_head --data F --into F``.

Labelled tools of training workspaces and small libraries -> features ->
cross-validation by workspace and library, which gives calibration and cuts ->
the network on all of them -> int8 and float16.  The same seed, data and machine
give the same bytes.  With ``--fold FOLDER`` it makes one head for the encoder in
that folder, and leaves out the libraries that this was trained without
(``held_out.json``).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from toolwise.audit.head_weights import ENCODERS, FLAGS, OUTPUTS, THRESHOLDS, HeadWeights
from toolwise.encode.load import load_encoder
from toolwise.encode.static import TABLE
from toolwise.errors import SourceNotFound
from toolwise.learn.own_words import FOLDER, HELD_OUT, SMALL, WORKSPACES
from toolwise.learn.risk_calibration import auc, best_flag_cut, decide, f1, kappa, platt, spread_cuts
from toolwise.learn.risk_labels import Labelled, folds, joined, labelled, own
from toolwise.learn.risk_network import CHOSEN, Inputs, Layers, Settings, inputs, train
from toolwise.protocols import Bools, Floats, Ints, Progress, silent
from toolwise.whole_file import replace_file

FOLDS = 5
IMPROBABLE = (0.1, 0.1, 0.1, 0.02)
"""Level 2, 3, 4, 5 and above is denied where it is less probable.  Chosen by cross-validation for what
:func:`toolwise.audit.resolve.resolve` makes of the rules and the head.  5 is rare, hence the last."""
REPORT = "training.json"
FOLD = "head"
"""Name of the file that a fold's head is written to."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Decisions:
    """What was made of logits."""

    chances: Floats
    """(N, K): calibrated; those of the levels never rise along a row."""
    levels: Ints
    """(N,)"""
    flags: Bools
    """(N, 8)"""

    def part(self, rows: Ints) -> Decisions:
        """Those of the tools in ``rows``."""
        return Decisions(self.chances[rows], self.levels[rows], self.flags[rows])


@dataclass(frozen=True, slots=True)
class Calibration:
    """What makes decisions of logits; shapes as in :class:`~toolwise.audit.head_weights.HeadWeights`."""

    slope: Floats
    offset: Floats
    cuts: Floats
    flag_cuts: Floats

    def chances(self, logits: Floats) -> Floats:
        """Calibrated probabilities (N, K)."""
        found = 1 / (1 + np.exp(-np.clip(logits * self.slope + self.offset, -30, 30)))
        found[:, :THRESHOLDS] = np.minimum.accumulate(found[:, :THRESHOLDS], axis=1)
        return np.asarray(found, np.float32)

    def decide(self, logits: Floats) -> Decisions:
        """Levels and flags of logits (N, K)."""
        chances = self.chances(logits)
        levels = decide(1 + chances[:, :THRESHOLDS].sum(axis=1), self.cuts)
        return Decisions(chances, levels, chances[:, THRESHOLDS:] >= self.flag_cuts)


def cross_validate(given: Inputs, data: Labelled, settings: Settings = CHOSEN, seed: int = 0) -> Floats:
    """Logits of each tool by networks that saw no tool of its workspace -> (N, K)."""
    logits = np.zeros((len(data.tools), OUTPUTS), np.float32)
    for kept, held in folds(data.workspaces, FOLDS, seed):
        logits[held] = train(given, data.targets, kept, settings, seed).logits(given, held)
    return logits


def calibrate(logits: Floats, data: Labelled) -> Calibration:
    """Slopes, offsets and cuts from logits of tools that were held out (N, K)."""
    pairs = [platt(data.targets[:, k], logits[:, k]) for k in range(OUTPUTS)]
    slope, offset = np.array(pairs, np.float32).T
    none = np.zeros(0, np.float32)
    chances = Calibration(slope, offset, none, none).chances(logits)
    flags = [best_flag_cut(data.targets[:, k] > 0, chances[:, k]) for k in range(THRESHOLDS, OUTPUTS)]
    cuts = spread_cuts(data.levels, 1 + chances[:, :THRESHOLDS].sum(axis=1))
    return Calibration(slope, offset, cuts, np.array(flags, np.float32))


def decide_held_out(logits: Floats, data: Labelled, seed: int = 0) -> Decisions:
    """Decisions on held-out logits (N, K), calibration and cuts too from other folds than the tool's own."""
    found = Decisions(
        np.zeros_like(logits),
        np.zeros(len(logits), np.int64),
        np.zeros((len(logits), len(FLAGS)), bool),
    )
    for kept, held in folds(data.workspaces, FOLDS, seed):
        made = calibrate(logits[kept], data.part(kept)).decide(logits[held])
        found.chances[held], found.levels[held], found.flags[held] = made.chances, made.levels, made.flags
    return found


def kinds(data: Labelled) -> dict[str, Ints]:
    """The rows of tools of workspaces, and of small libraries; kinds without any are left out."""
    small = np.array([name.startswith(SMALL) for name in data.workspaces], dtype=bool)
    found = {"workspaces": np.flatnonzero(~small), "small libraries": np.flatnonzero(small)}
    return {kind: rows for kind, rows in found.items() if len(rows)}


def measure(made: Decisions, data: Labelled) -> dict[str, float]:
    """Agreement of decisions with labels; ``recall_4`` is that of level 4 or more."""
    expected = 1 + made.chances[:, :THRESHOLDS].sum(axis=1)
    scores = level_scores(data.levels, made.levels)
    scores |= {"auc_3": auc(data.levels >= 3, expected), "auc_4": auc(data.levels >= 4, expected)}
    return scores | flag_scores(data.targets[:, THRESHOLDS:] > 0, made.flags)


def level_scores(truth: Ints, said: Ints) -> dict[str, float]:
    """Agreement of levels (N,); ``under_rated``: share of level 4 or more that is said to be 1 or 2."""
    risky = truth >= 4
    return {
        "tools": float(len(truth)),
        "kappa": kappa(truth, said),
        "exact": float((said == truth).mean()),
        "within_one": float((np.abs(said - truth) <= 1).mean()),
        "recall_4": float((said[risky] >= 4).sum() / max(int(risky.sum()), 1)),
        "precision_4": float((truth[said >= 4] >= 4).sum() / max(int((said >= 4).sum()), 1)),
        "under_rated": float((said[risky] <= 2).sum() / max(int(risky.sum()), 1)),
    }


def flag_scores(truth: Bools, said: Bools) -> dict[str, float]:
    """F1 of each flag (N, 8), and the means over capabilities and permissions."""
    each = [f1(truth[:, k], said[:, k]) for k in range(len(FLAGS))]
    means = {"capabilities": float(np.mean(each[:3])), "permissions": float(np.mean(each[3:]))}
    return dict(zip(map(str, FLAGS), each, strict=True)) | means


def quantise(layers: Layers, calibration: Calibration, fingerprint: str) -> HeadWeights:
    """The weights as they are stored: one scale per output for the n-grams."""
    scale = np.maximum(np.abs(layers.grams).max(axis=0) / 127, 1e-12).astype(np.float32)
    return HeadWeights(
        layers.hidden,
        layers.hidden_bias,
        layers.output,
        layers.output_bias,
        np.rint(layers.grams / scale).astype(np.int8),
        scale,
        calibration.slope,
        calibration.offset,
        calibration.cuts,
        calibration.flag_cuts,
        np.array(IMPROBABLE, np.float32),
        fingerprint,
    )


def write(weights: HeadWeights, path: Path) -> str:
    """Write the weights, replacing the file as a whole; its sha256 (hex)."""
    from safetensors.numpy import save

    content = save(weights.tensors(), metadata=weights.metadata())
    replace_file(path, content)
    return hashlib.sha256(content).hexdigest()


def make(
    data: Labelled,
    encoder: str,
    settings: Settings = CHOSEN,
    seed: int = 0,
    progress: Progress = silent,
    vectors: Floats | None = None,
) -> tuple[HeadWeights, dict[str, dict[str, float]]]:
    """A head for the vectors of ``encoder`` (a specification), and its scores on what was held out.

    The scores are of one run of cross-validation, for :func:`kinds` of tools.  ``vectors``
    (N, D) are those of the same encoder, where they are known already.
    """
    model = load_encoder(encoder)
    given = inputs(data.tools, model.encode_tools(data.tools) if vectors is None else vectors)
    progress(f"{encoder}: cross-validation", 0, 2)
    logits = cross_validate(given, data, settings, seed)
    calibration = calibrate(logits, data)
    progress(f"{encoder}: all training workspaces", 1, 2)
    layers = train(given, data.targets, np.arange(len(data.tools)), settings, seed)
    made = decide_held_out(logits, data, seed)
    scores = {kind: measure(made.part(rows), data.part(rows)) for kind, rows in kinds(data).items()}
    progress(f"{encoder}: done", 2, 2)
    return quantise(layers, calibration, model.fingerprint), scores


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, train a head for each encoder and write them."""
    parser = argparse.ArgumentParser(prog="python -m toolwise.learn.risk_head", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the data sets")
    parser.add_argument("--into", type=Path, required=True, help="the folder to write to")
    parser.add_argument("--own", type=Path, default=FOLDER, help="the folder of our own writing (training)")
    parser.add_argument("--encoder", nargs="+", choices=ENCODERS, help="packaged encoders (all)")
    parser.add_argument("--fold", type=Path, help="a folder with an encoder trained without some libraries")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    if given.fold and given.encoder:
        parser.error("--fold names its own encoder; leave out --encoder")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    given.into.mkdir(parents=True, exist_ok=True)
    data = joined([labelled(given.data), own(given.own)])
    path = given.into / REPORT
    report = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    made = {encoder: encoder for encoder in given.encoder or ENCODERS}
    if given.fold:
        data = data.part(_known(data, given.fold))
        made = {FOLD: f"{'static' if (given.fold / TABLE).is_file() else 'onnx'}:{given.fold}"}
    for name, encoder in made.items():
        weights, scores = make(data, encoder, seed=given.seed, progress=_logged)
        digest = write(weights, given.into / f"{name}.safetensors")
        report[name] = {"sha256": digest, "seed": given.seed, "cross_validation": scores}
        for kind, found in scores.items():
            _log.info("%s, %s: kappa %.3f, AUC(r >= 4) %.3f", name, kind, found["kappa"], found["auc_4"])
    replace_file(path, json.dumps(report, indent=1, sort_keys=True) + "\n")


def _known(data: Labelled, fold: Path) -> Ints:
    """The rows of tools of those libraries that the encoder in ``fold`` was not trained without."""
    try:
        held = frozenset(json.loads((fold / HELD_OUT).read_text(encoding="utf-8")))
    except FileNotFoundError as error:
        raise SourceNotFound(
            f"{fold} has no {HELD_OUT}; expected the folder of an encoder that was trained with --fold.",
            path=fold / HELD_OUT,
        ) from error
    names = (name if name.startswith(SMALL) else WORKSPACES + name for name in data.workspaces)
    return np.flatnonzero([name not in held for name in names])


def _logged(stage: str, done: int, total: int) -> None:
    _log.info("%s (%d of %d)", stage, done, total)


if __name__ == "__main__":
    main()
