"""Small libraries asked in people's own words: what the whole product delivers to somebody who begins.

    python -m benchmarks.small NAME --folds FOLDER ... --weights FILE ...
    python -m benchmarks.small NAME --encoder SPEC [--own FOLDER]

With folds, every library of ``training/`` is answered by an encoder and a set scorer that were trained
without it (the scorer's gate too: ``toolwise.learn.gate --fold``).  Without folds, the packaged weights
answer the libraries of ``benchmarks/small/``, which nothing was trained on and nothing chosen by.  The policy
is the default.  Writes ``results/NAME.{json,md}``.
"""

from __future__ import annotations

import shutil
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from toolwise.bench.provenance import provenance, write
from toolwise.encode.static import TABLE
from toolwise.indexing import index_catalogue
from toolwise.learn.data import Library
from toolwise.learn.own_words import FOLDER, small_libraries
from toolwise.learn.sets_data import held_out
from toolwise.pipeline import Selector
from toolwise.records import Catalogue, Query
from toolwise.sets.default import weights_of

TEST = Path("benchmarks/small")
CUT = 5


@dataclass(frozen=True, slots=True)
class Answer:
    """One request: its library's size, how many tools it needs, and what was delivered."""

    library: str
    tools: int
    needed: int
    delivered: int
    held: int
    """Needed tools among the delivered."""
    first: bool
    """Whether the retriever's first tool is needed."""
    ranked: bool
    """Whether all needed tools are among the retriever's first five."""


def answers(encoder: str, weights: Path | None, libraries: Sequence[Library]) -> Iterator[Answer]:
    """What the product delivers; ``weights`` of a set scorer stand in for the packaged ones."""
    with TemporaryDirectory() as name:
        folder = Path(name) / "index"
        for library in libraries:
            index_catalogue(Catalogue(library.tools), folder, encoder=encoder)
            if weights is not None:
                weights_of(folder).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(weights, weights_of(folder))
            with Selector.open(folder, method="toolwise") as selector:
                for request in library.requests:
                    gold = {library.tools[row].id for row in request.gold}
                    shown = [tool.id for tool in selector.select(request.text).tools]
                    ranked = [c.id for c in selector.rank(Query("", request.text), CUT).candidates]
                    yield Answer(
                        library.name,
                        len(library.tools),
                        len(gold),
                        len(shown),
                        len(gold & set(shown)),
                        ranked[:1] != [] and ranked[0] in gold,
                        gold <= set(ranked),
                    )


GROUPS: Mapping[str, Callable[[Answer], bool]] = {
    "all": lambda a: True,
    "one tool": lambda a: a.needed == 1,
    "several": lambda a: a.needed > 1,
    "to 12 tools": lambda a: a.tools <= 12,
    "13 to 25": lambda a: 12 < a.tools <= 25,
    "26 and more": lambda a: a.tools > 25,
}


def means(found: Sequence[Answer]) -> dict[str, float | None]:
    """Over the requests that some tool serves, and over the others; shares of 1, None of no request."""
    served, none = [a for a in found if a.needed], [a for a in found if not a.needed]

    def share(some: Sequence[Answer], what: Callable[[Answer], float]) -> float | None:
        return float(np.mean([what(a) for a in some])) if some else None

    return {
        "requests": len(served),
        "first": share(served, lambda a: a.first),
        "in five": share(served, lambda a: a.ranked),
        "covered": share(served, lambda a: a.held == a.needed),
        "size": share(served, lambda a: a.delivered),
        "wrongly empty": share(served, lambda a: not a.delivered),
        "none": len(none),
        "rightly empty": share(none, lambda a: not a.delivered),
    }


def table(found: Mapping[str, Mapping[str, float | None]]) -> list[str]:
    """One line per group."""
    keys = list(next(iter(found.values())))

    def cell(key: str, value: float | None) -> str:
        if value is None:
            return ""
        if key in ("requests", "none"):
            return f"{int(value):,}"
        return f"{value:.2f}" if key == "size" else f"{100 * value:.1f}"

    lines = [f"| | {' | '.join(keys)} |", "|---|" + "---:|" * len(keys)]
    return lines + [f"| {name} | {' | '.join(cell(k, v[k]) for k in keys)} |" for name, v in found.items()]


NOTES = (
    "Small libraries of our own writing, the whole product under the policy `default`, seed 0; in per cent "
    "but for numbers and sizes. `first`: the retriever's first tool is needed; `in five`: all needed tools "
    "are among its first five; `covered`: among the delivered; `wrongly empty`: answered by nothing though "
    "some tool serves; `rightly empty`, of `none` requests that no tool serves."
)


def of_folds(folders: Sequence[Path], files: Sequence[Path], own: Path) -> Iterator[Answer]:
    """The libraries of each fold, by what was trained without them."""
    by_name = {library.name: library for library in small_libraries(own)}
    for folder, file in zip(folders, files, strict=True):
        encoder = f"{'static' if (folder / TABLE).is_file() else 'onnx'}:{folder.absolute()}"
        names = held_out(encoder, tuple(by_name.values()))
        yield from answers(encoder, file, [by_name[name] for name in names if name in by_name])


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("name", help="of the results")
    parser.add_argument("--encoder", default="static", help="for the packaged weights (static)")
    parser.add_argument("--own", type=Path, help="folder of libraries.jsonl")
    parser.add_argument("--folds", nargs="*", type=Path, default=[])
    parser.add_argument("--weights", nargs="*", type=Path, default=[])
    options = parser.parse_args()
    if options.folds:
        found = list(of_folds(options.folds, options.weights, options.own or FOLDER))
    else:
        found = list(answers(options.encoder, None, small_libraries(options.own or TEST)))
    groups = {name: means([a for a in found if belongs(a)]) for name, belongs in GROUPS.items()}
    made = {"provenance": provenance(("python", "-m", "benchmarks.small", *sys.argv[1:]))}
    libraries = len({a.library for a in found})
    everything = {**made, "libraries": libraries, "results": groups}
    write("results", options.name, everything, "\n".join(table(groups)), f"{libraries} libraries. {NOTES}")


if __name__ == "__main__":
    main()
