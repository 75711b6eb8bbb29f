"""Contrastive tuning of a sentence encoder on requests and the tools that serve them.

    python -m toolwise.learn.encoder --minilm FOLDER --into TUNED --held 8
    python -m toolwise.learn.encoder --start TUNED --own training --epochs 1 --rate 1e-4 --into FOLDER

An epoch shows every request of every main library once, in blocks of one
library: all its tools are negatives of a request except its own gold ones.
Beside each block stands a smaller one of another data set; both together make
a third, wide block, so that vectors stay comparable across libraries.  The
loss of a request is that of :mod:`toolwise.learn.contrast`: the mean over its
gold tools of -log softmax, the other gold tools left out of the sum.

A training that was stopped goes on at the last finished epoch: the same
command gives the same weights as if it had not been stopped.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
import shutil
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from toolwise.encode.text import TEMPLATE
from toolwise.errors import EncoderError
from toolwise.learn import draws
from toolwise.learn.checkpoints import State, load_checkpoint, recover, save_checkpoint
from toolwise.learn.contrast import request_losses
from toolwise.learn.data import Library, libraries
from toolwise.learn.draws import Block, Drawing
from toolwise.learn.holdout import measure, split
from toolwise.learn.own_words import (
    HELD_OUT,
    WORKSPACES,
    answerable,
    asked_more,
    operation_libraries,
    small_libraries,
    without_fold,
)
from toolwise.learn.teacher import verify
from toolwise.learn.text_model import TextModel, torch_of_extra
from toolwise.protocols import Progress, silent
from toolwise.whole_file import replace_file

CHECKPOINT = "checkpoint"
"""Folder within the output that holds what a stopped training needs."""
REPORT = "training.json"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Plan:
    """How long and how to train."""

    epochs: int = 3
    seed: int = 0
    rate: float = 1.5e-4
    """Greatest learning rate of AdamW; it falls linearly to zero after the warm-up."""
    warm_up: float = 0.1
    """Share of all steps in which the rate rises."""
    scale: float = 20.0
    """Factor of the cosine: the inverse temperature."""
    tokens: int = 128
    """Tokens of a text that are read in training."""
    words: bool = False
    """Whether the table of token vectors learns too; if not, unseen words stay and steps cost less."""
    accumulate: int = 1
    """Blocks whose gradients are added up for one step of the optimiser."""
    across: float = 0.3
    """Weight of the loss over both blocks together."""
    others: float = 0.5
    """Weight of the block of another data set."""
    main: Drawing = field(default_factory=Drawing)
    aside: Drawing = field(default_factory=lambda: Drawing(requests=12, tools=32, hard=1))
    patience: int = 2
    """Epochs without a better NDCG@5 on the held-out libraries before training ends."""
    bfloat16: bool = False
    """Whether the transformer multiplies in bfloat16: twice as fast where the processor has it."""
    device: str = "cpu"


@dataclass(frozen=True, slots=True)
class Sources:
    """What is trained on and what is chosen by."""

    main: tuple[Library, ...]
    aside: tuple[Library, ...] = ()
    held: tuple[Library, ...] = ()

    def digest(self) -> str:
        """Hash of all texts and gold sets, so that a training is only resumed on the same data."""
        total = hashlib.sha256()
        for library in (*self.main, *self.aside, *self.held):
            total.update(repr((library.name, [t.id for t in library.tools], library.requests)).encode())
        return total.hexdigest()


def best_device() -> str:
    """``cuda`` where there is a GPU, else ``cpu``.  Raises MissingExtra without torch."""
    return "cuda" if torch_of_extra().cuda.is_available() else "cpu"


def step_loss(model: TextModel, blocks: Sequence[Block], plan: Plan) -> Any:
    """Loss of the main block, of the one beside it, and of both as one."""
    torch = torch_of_extra()
    asked = model.embed([text for block in blocks for text in block.requests], plan.tokens, plan.bfloat16)
    offered = model.embed([text for block in blocks for text in block.tools], plan.tokens, plan.bfloat16)
    scores = plan.scale * asked @ offered.T
    together = torch.zeros(scores.shape, dtype=torch.bool, device=scores.device)
    loss, line, column = scores.new_zeros(()), 0, 0
    for weight, block in zip((1.0, plan.others), blocks, strict=False):
        down, right = line + len(block.requests), column + len(block.tools)
        gold = torch.from_numpy(block.gold).to(scores.device)
        together[line:down, column:right] = gold
        loss = loss + weight * request_losses(torch, scores[line:down, column:right], gold).mean()
        line, column = down, right
    if len(blocks) > 1:
        loss = loss + plan.across * request_losses(torch, scores, together).mean()
    return loss


def pace(step: int, total: int, warm_up: float) -> float:
    """Factor of the learning rate at ``step`` of ``total``: up within the warm-up, then down to zero."""
    rise = max(1.0, warm_up * total)
    return float(min((step + 1) / rise, (total - step) / max(1.0, total - rise), 1.0))


class Tuning:
    """One training: the model, the optimiser and what has been reached."""

    def __init__(self, model: TextModel, sources: Sources, plan: Plan, into: Path) -> None:
        if not any(library.requests for library in sources.main):
            raise EncoderError("there is no request to train on; expected libraries with requests.")
        self._torch = torch_of_extra()
        self._model, self._sources, self._plan, self._into = model, sources, plan, into
        model.network.get_input_embeddings().requires_grad_(plan.words)
        learning = [w for w in model.network.parameters() if w.requires_grad]
        gentle, firm = [w for w in learning if w.ndim < 2], [w for w in learning if w.ndim >= 2]
        groups = [{"params": firm, "weight_decay": 0.01}, {"params": gentle, "weight_decay": 0.0}]
        self._optimiser = self._torch.optim.AdamW(groups, lr=plan.rate)
        self._key = hashlib.sha256(f"{asdict(plan)}{sources.digest()}{TEMPLATE}".encode()).hexdigest()
        self.state = State(self._key)

    def run(self, progress: Progress = silent) -> State:
        """Train to the end, from the last checkpoint where there is one; the best weights are saved."""
        self._resume()
        while self.state.epochs < self._plan.epochs and not self._stale():
            self._epoch(self.state.epochs, progress)
            self._keep()
        shutil.rmtree(self._into / CHECKPOINT, ignore_errors=True)
        return self.state

    def _resume(self) -> None:
        folder = self._into / CHECKPOINT
        recover(folder)
        if folder.is_dir():
            self.state = load_checkpoint(folder, self._key, self._model.network, self._optimiser)
            _log.info("resumed after epoch %d", self.state.epochs)
        elif self._sources.held:
            self.state.measured.append(asdict(measure(self._model, self._sources.held)))
            _log.info("before training: %s", self.state.measured[-1])

    def _stale(self) -> bool:
        """Whether the held-out measure has not risen for too long."""
        scores = [row["ndcg"] for row in self.state.measured]
        return bool(scores) and len(scores) - 1 - int(np.argmax(scores)) >= self._plan.patience

    def _epoch(self, epoch: int, progress: Progress) -> None:
        plan, sources, torch = self._plan, self._sources, self._torch
        rng = np.random.default_rng([plan.seed, epoch])
        turns = draws.whole_pass(sources.main, plan.main, rng)
        beside = draws.balanced(sources.aside, len(turns), plan.aside, rng)
        encode = partial(self._model.encode, rough=plan.bfloat16)
        hard_main = draws.hard_negatives(sources.main, turns, plan.main, encode)
        hard_aside = draws.hard_negatives(sources.aside, beside, plan.aside, encode)
        total = 0.0
        with torch.random.fork_rng(devices=[plan.device] if plan.device.startswith("cuda") else []):
            torch.manual_seed(plan.seed * 10_007 + epoch)
            self._model.network.train()
            for step, turn in enumerate(turns, 1):
                blocks = [draws.block(sources.main, turn, plan.main, hard_main, rng)]
                if beside:
                    blocks.append(draws.block(sources.aside, beside[step - 1], plan.aside, hard_aside, rng))
                total += self._learn(blocks, epoch * len(turns) + step, plan.epochs * len(turns))
                progress(f"epoch {epoch + 1}", step, len(turns))
        self._model.network.eval()
        self.state.epochs += 1
        self.state.losses.append(total / len(turns))

    def _learn(self, blocks: Sequence[Block], step: int, steps: int) -> float:
        """Add the gradients of ``step`` (from 1) of ``steps``; move the weights where enough are added up."""
        torch, plan = self._torch, self._plan
        loss = step_loss(self._model, blocks, plan)
        (loss / plan.accumulate).backward()
        if step % plan.accumulate == 0 or step % (steps // plan.epochs) == 0:  # nothing is left for later
            torch.nn.utils.clip_grad_norm_(self._model.network.parameters(), 1.0)
            for group in self._optimiser.param_groups:
                group["lr"] = plan.rate * pace(step - 1, steps, plan.warm_up)
            self._optimiser.step()
            self._optimiser.zero_grad()
        return float(loss.detach())

    def _keep(self) -> None:
        """Measure, save the weights where they are the best so far, and write the checkpoint."""
        best = True
        if self._sources.held:
            before = [row["ndcg"] for row in self.state.measured[1:]]
            self.state.measured.append(asdict(measure(self._model, self._sources.held)))
            best = all(self.state.measured[-1]["ndcg"] > score for score in before)
        if best:
            self.state.best = self.state.epochs
            self._model.save(self._into)
        reached = self.state.measured[-1:] or ""
        _log.info("epoch %d: loss %.4f %s", self.state.epochs, self.state.losses[-1], reached)
        save_checkpoint(self._into / CHECKPOINT, self.state, self._model.network, self._optimiser)


def tune(
    base: Path, sources: Sources, into: Path, plan: Plan | None = None, progress: Progress = silent
) -> State:
    """Tune the encoder of folder ``base`` and write the best weights to ``into``.

    ``training.json`` there says how they were made, and how those of ``base`` were.
    Raises MissingExtra without torch; EncoderError for a folder that is no encoder, for sources without
    requests and for a checkpoint of another training.
    """
    chosen = plan or Plan()
    state = Tuning(TextModel(base, chosen.device), sources, chosen, into).run(progress)
    made = {
        "base_sha256": hashlib.sha256((base / "model.safetensors").read_bytes()).hexdigest(),
        "data": {
            part: {library.name: len(library.requests) for library in getattr(sources, part)}
            for part in ("main", "aside", "held")
        },
        "data_sha256": sources.digest(),
        "plan": asdict(chosen),
        "template": TEMPLATE,
        "losses": state.losses,
        "measured": state.measured,
        "best_epoch": state.best,
    }
    if (base / REPORT).is_file():  # what it was tuned on before
        made["before"] = json.loads((base / REPORT).read_text(encoding="utf-8"))
    text = json.dumps(made, indent=2, sort_keys=True, ensure_ascii=False)
    (into / REPORT).write_text(text + "\n", encoding="utf-8")
    return state


def permitted(
    data: Path, held: int = 0, part: tuple[int, int] | None = None, own: Path | None = None
) -> tuple[Sources, tuple[str, ...]]:
    """The sources of what ships, and the names of all libraries kept out.

    Workspaces of mcp_tasks are the main ones; where the folder of our own writing is given, our requests to
    them and our own libraries too.  Held out are ``held`` drawn workspaces, or the libraries of fold ``part``
    = (which, of how many), of which the workspaces are chosen by, with the requests that they came with.
    """
    found = libraries(data)
    spaces = [library for library in found if library.name.startswith(WORKSPACES)]
    writing = (*small_libraries(own), *operation_libraries(own)) if own else ()
    writing = tuple(answerable(one) for one in writing)
    aside = tuple(library for library in found if not library.name.startswith(WORKSPACES))
    if part is None:
        kept, out = split(spaces, held, 0)
        names = tuple(library.name for library in out)
        main = (*kept, *writing)
    else:
        main, gone = without_fold([*spaces, *writing], *part)
        out = [library for library in gone if library.name.startswith(WORKSPACES)]
        names = tuple(library.name for library in gone)
    if own:
        main = asked_more(main, own)
    return Sources(main, aside, tuple(out)), names


def learned(folder: Path) -> frozenset[str]:
    """The libraries that the encoder in ``folder`` was trained on, now or before, as far as it says."""
    path = folder / REPORT
    found: set[str] = set()
    told = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    while told:
        found |= told["data"]["main"].keys()
        told = told.get("before")
    return frozenset(found)


def strange(folder: Path, names: Collection[str]) -> None:
    """Raises EncoderError where the encoder in ``folder`` was trained on one of these libraries."""
    known = sorted(learned(folder).intersection(names))
    if known:
        raise EncoderError(
            f"{folder} was trained on {known[0]}, which is to be held out. Give an encoder of the same fold.",
            path=folder,
        )


def _logged(stage: str, done: int, total: int) -> None:
    if done == total or done % 20 == 0:
        _log.info("%s: %d of %d", stage, done, total)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and train what ships."""
    from toolwise.config import settings

    usual = Plan()
    parser = argparse.ArgumentParser(prog="python -m toolwise.learn.encoder", description=__doc__)
    begun = parser.add_mutually_exclusive_group(required=True)
    begun.add_argument("--minilm", type=Path, help="folder of all-MiniLM-L6-v2")
    begun.add_argument("--start", type=Path, help="folder of an encoder that was tuned before")
    parser.add_argument("--into", type=Path, required=True, help="folder to write")
    parser.add_argument("--data", type=Path, default=settings().data, help="folder of data sets")
    parser.add_argument("--own", type=Path, help="folder of our own writing, to learn from that too")
    parser.add_argument("--held", type=int, default=0, help="workspaces to choose by")
    parser.add_argument("--fold", type=int, help="hold out this fold of the libraries (from 0)")
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=usual.epochs)
    parser.add_argument("--rate", type=float, default=usual.rate)
    parser.add_argument("--seed", type=int, default=usual.seed)
    parser.add_argument("--bfloat16", action="store_true")
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    if given.minilm:
        verify(given.minilm)
    plan = Plan(
        epochs=given.epochs,
        rate=given.rate,
        seed=given.seed,
        bfloat16=given.bfloat16,
        device=best_device(),
    )
    part = None if given.fold is None else (given.fold, given.folds)
    sources, names = permitted(given.data, given.held, part, given.own)
    strange(given.minilm or given.start, names)
    tune(given.minilm or given.start, sources, given.into, plan, _logged)
    replace_file(given.into / HELD_OUT, json.dumps(names) + "\n")


if __name__ == "__main__":
    main()
