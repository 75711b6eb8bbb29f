"""Training of the default set scorer: what ships, and what learns on from a user's own traces.

python -m toolwise.learn.sets --static-folds DIR... --onnx-folds DIR... --into src/toolwise/weights/sets

Each workspace and each of our own small libraries is read by the static table and by the ONNX encoder that
were trained without it, so that one set of weights suits both.
"""

from __future__ import annotations

import argparse
import json
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from toolwise.encode.static import StaticEncoder
from toolwise.errors import EncoderError
from toolwise.learn.own_words import FOLDER, small_libraries
from toolwise.learn.set_scorer import Plan, choose, energies, join, train_first, train_sets
from toolwise.learn.sets_data import (
    Gatherer,
    Pools,
    Room,
    beside,
    partly_experienced,
    permitted,
    rooms_out_of_fold,
)
from toolwise.protocols import Progress, silent
from toolwise.sets.decode import best_rows
from toolwise.sets.default_weights import FILE, LARGEST, Weights, plain, save
from toolwise.sets.kernel import completeness, softmax, subsets, values

_log = logging.getLogger(__name__)
REPORT = "training.json"
SIZES = (0.0, -2.0, -2.0, -4.0, -6.0, -8.0)
"""Size biases before training."""
HELD = 7
"""One library in so many is held out."""
CONTINUED = Plan(epochs=6, patience=6, rate=5e-4, decay=0.0)
"""How weights learn on from traces: small steps from where they are."""


@dataclass(frozen=True, slots=True)
class Reached:
    """Means over requests that some tool serves, and over those that none does; NaN where there are none."""

    complete: float
    """Share of requests whose tools are all in the best set of five."""
    found: float
    """Share of the needed tools in it."""
    exact: float
    """Share of requests for which the most probable set that is not empty is exactly right."""
    size: float
    """Mean size of that set."""
    loss: float
    """Minus the log probability of what serves, where it is in the pool."""


def reached(weights: Weights, pools: Pools) -> Reached:
    """How well weights do on some pools."""
    table = subsets(pools.valid.shape[1], LARGEST)
    rows = []
    for place, energy in enumerate(energies(weights, pools)):
        gold, needed = pools.gold[place], int(pools.needed[place])
        likely = softmax(values(energy, table))
        loss = _loss(likely, gold, needed)
        if needed == 0:
            rows.append((np.nan, np.nan, np.nan, np.nan, loss))
            continue
        covered = completeness(likely, table, count_empty=False)
        five = table.members[max(best_rows(covered, table).items())[1]]
        mode = table.members[1 + int(likely[1:].argmax())]
        hit, right = int((five & gold).sum()), int((mode & gold).sum())
        exact = float(right == needed == int(mode.sum()))
        rows.append((float(hit == needed), hit / needed, exact, float(mode.sum()), loss))
    columns = [column[np.isfinite(column)] for column in np.array(rows).T]
    return Reached(*(float(known.mean()) if len(known) else np.nan for known in columns))


def _loss(likely: np.ndarray, gold: np.ndarray, needed: int) -> float:
    size = int(gold.sum())
    if size != needed or size > LARGEST:
        return float("nan")
    row = subsets(len(gold), LARGEST).row(tuple(np.flatnonzero(gold).tolist()))
    return float(-np.log(max(likely[row], 1e-12)))


def train(
    folds: Sequence[Sequence[Room]], plan: Plan, progress: Progress = silent
) -> tuple[Weights, Reached]:
    """New weights from rooms of every fold, and what they reach on the libraries held out to stop by.

    Raises MissingExtra without torch, EncoderError without requests.
    """
    gatherers = [Gatherer(rooms, progress) for rooms in folds]
    if not any(one.total for one in gatherers):
        raise EncoderError("there is no request to train on; expected libraries with requests.")
    lists = join([one.lists() for one in gatherers])
    library = np.array([name for one in gatherers for name in one.names()])
    names = np.unique(library)
    drawn = np.random.default_rng(plan.seed).permutation(names)[: len(names) // HELD]
    out = np.isin(library, drawn)
    once = replace(plan, epochs=2 * plan.epochs, batch=2 * plan.batch)
    first, base = train_first(choose(lists, ~out), choose(lists, out), once, progress)
    start = replace(
        plain(), first=first, base=np.array([base, 1], np.float32), sizes=np.array(SIZES, np.float32)
    )
    pools = join([one.pools(start) for one in gatherers])
    held = choose(pools, out)
    weights, _ = train_sets(choose(pools, ~out), held, start, plan, progress)
    return weights, reached(weights, held if out.any() else pools)


def continue_training(
    start: Weights,
    kept: Sequence[Room],
    held: Sequence[Room],
    plan: Plan = CONTINUED,
    progress: Progress = silent,
) -> tuple[Weights, Reached, Reached]:
    """Weights that learn on from ``start``, and what both reach on the held-out rooms.

    Training stops by a fifth of what it learns from, so that the held-out rooms judge and choose nothing.
    Raises MissingExtra without torch, EncoderError without requests on either side.
    """
    mine, theirs = Gatherer(kept, progress), Gatherer(held, progress)
    if not mine.total or not theirs.total:
        raise EncoderError(
            f"{mine.total} requests to learn from and {theirs.total} held out; expected some of each."
        )
    pools, out = mine.pools(start), theirs.pools(start)
    stop = np.random.default_rng([plan.seed, 9]).permutation(mine.total) < mine.total // 5
    weights, _ = train_sets(choose(pools, ~stop), choose(pools, stop), start, plan, progress, anew=False)
    return weights, reached(start, out), reached(weights, out)


def better(before: Reached, after: Reached) -> bool:
    """Whether weights may replace others: no fewer complete answers, and what serves is more probable."""
    return after.complete >= before.complete and after.loss < before.loss


def no_worse(before: Reached, after: Reached) -> bool:
    """Whether an experience may be kept: no fewer complete answers, no fewer needed tools in them."""
    return after.complete >= before.complete and after.found >= before.found


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and train what ships."""
    from toolwise.config import settings

    parser = argparse.ArgumentParser(prog="python -m toolwise.learn.sets", description=__doc__)
    parser.add_argument("--data", type=Path, default=settings().data, help="folder of data sets")
    parser.add_argument("--own", type=Path, default=FOLDER, help="folder of our own writing")
    parser.add_argument("--into", type=Path, required=True, help="folder to write")
    parser.add_argument("--static-folds", type=Path, nargs="*", default=[], help="out-of-fold static tables")
    parser.add_argument("--onnx-folds", type=Path, nargs="*", default=[], help="out-of-fold ONNX encoders")
    parser.add_argument("--beside", type=int, default=150, help="requests of each other data set")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    encoders = (
        [f"static:{path}" for path in given.static_folds],
        [f"onnx:{path}" for path in given.onnx_folds],
    )
    found = (*permitted(given.data), *small_libraries(given.own))
    plan = Plan(seed=given.seed)
    rng = np.random.default_rng([given.seed, 5])
    folds = [
        [half for one in fold for half in partly_experienced(one, rng)]
        for kind in encoders
        for fold in rooms_out_of_fold(found, kind)
    ]
    if given.beside:
        folds.append(beside(given.data, StaticEncoder(), given.beside))
    weights, held = train(folds, plan, _logged)
    counts: Counter[str] = Counter()
    for one in (one for fold in folds for one in fold):
        counts[one.library.name] += len(one.library.requests)
    made = {"plan": asdict(plan), "held": asdict(held), "requests": counts, "encoders": [*map(len, encoders)]}
    save(weights, given.into / FILE, {"seed": str(plan.seed)})
    text = json.dumps(made, indent=2, sort_keys=True)
    (given.into / REPORT).write_text(text + "\n", encoding="utf-8")


def _logged(stage: str, done: int, total: int) -> None:
    if done == total or done % 500 == 0:
        _log.info("%s: %d of %d", stage, done, total)


if __name__ == "__main__":
    main()
