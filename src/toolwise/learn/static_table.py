"""Make the packaged static table, a pupil of the tuned encoder.

    python -m toolwise.learn.static_table --minilm FOLDER --tuned FOLDER --data FOLDER --into FOLDER

Steps: permitted texts -> vocabulary -> the tuned encoder's states -> starting
table -> contrastive training -> int8.  Progress goes to logging; the same seed, data
and machine give the same bytes.

With ``--fold K`` the workspaces of that fold of mcp_tasks, their requests and all
texts of their servers are left out, from the vocabulary on, so are a fold of our
own small libraries and of the services elsewhere, and ``held_out.json`` names
them: a table whose vectors of these libraries are those of a stranger, as long
as the tuned encoder is of the same fold.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from toolwise.encode.static import TABLE, TOKENIZER
from toolwise.encode.text import query_text, tool_text
from toolwise.learn import frequencies
from toolwise.learn.batches import LibraryBags, ToolBags, library_bags, tool_bags
from toolwise.learn.contrast import CHOSEN, Settings, Spaces, contrast
from toolwise.learn.data import Library, libraries, tool_corpus
from toolwise.learn.encoder import strange
from toolwise.learn.own_words import (
    ELSEWHERE,
    FOLDER,
    HELD_OUT,
    SMALL,
    WORKSPACES,
    answerable,
    asked_more,
    operation_libraries,
    small_libraries,
    without_fold,
)
from toolwise.learn.start import starting_table
from toolwise.learn.teacher import Taught, Teacher, verify
from toolwise.learn.vocabulary import new_words, slim
from toolwise.protocols import Floats, Progress, silent
from toolwise.records import Tool
from toolwise.retrieve.elsewhere import operations
from toolwise.whole_file import replace_file

SIZE_LIMIT = 8_000_000
"""Bytes of the whole folder."""
ADDED_WORDS = 1_000
ROUNDS = 2
"""How often operations elsewhere are made into libraries."""
RUNS = 3
"""Trainings whose mean is the table."""
_WORDS_FROM = "the"
"""The first word of the teacher's vocabulary: from here on it is ordered by frequency."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Sources:
    """What the table is made from: tools by their texts alone, and requests with their libraries."""

    corpus: tuple[Tool, ...]
    libraries: tuple[Library, ...]

    def texts(self) -> dict[str, str]:
        """Every distinct permitted text and the server or library it is from, in a fixed order."""
        found: dict[str, str] = {}
        for tool in self.corpus:
            found.setdefault(tool_text(tool), tool.server or "corpus")
        for library in self.libraries:
            for tool in library.tools:
                found.setdefault(tool_text(tool), tool.server or library.name)
            for request in library.requests:
                found.setdefault(query_text(request.text), library.name)
        return found


def slim_tokenizer(teacher: dict[str, Any], texts: dict[str, str]) -> dict[str, Any]:
    """The table's ``tokenizer.json`` from the teacher's and the permitted texts (text -> source)."""
    from tokenizers import Tokenizer

    bare = Tokenizer.from_str(json.dumps(slim(teacher, ())))
    words = (
        (source, [w for w, _ in bare.pre_tokenizer.pre_tokenize_str(bare.normalizer.normalize_str(text))])
        for text, source in texts.items()
    )
    return slim(teacher, new_words(words, set(bare.get_vocab()), ADDED_WORDS))


def _general_ranks(tokens: Sequence[str], teacher: dict[str, Any]) -> list[int | None]:
    vocabulary = teacher["model"]["vocab"]
    first = vocabulary[_WORDS_FROM]
    return [vocabulary[t] - first if vocabulary.get(t, -1) >= first else None for t in tokens]


def quantise(vectors: Floats, weights: Floats) -> tuple[Any, Any]:
    """Weighted vectors (V, D) as int8 rows and float16 scales (V,); row 0 is zero."""
    table = vectors * weights[:, None]
    table[0] = 0
    scale = (np.abs(table).max(1) / 127).astype(np.float16)
    wide = scale.astype(np.float32)
    rows = np.rint(table / np.where(wide > 0, wide, 1)[:, None])
    return np.where(wide[:, None] > 0, np.clip(rows, -127, 127), 0).astype(np.int8), scale


def save(
    folder: Path, tokenizer: dict[str, Any], vectors: Floats, weights: Floats, floor: float | None = None
) -> None:
    """Write table and tokenizer to ``folder``, and the ``floor`` where there is one.

    Raises ValueError where they are over the size limit.
    """
    from safetensors.numpy import save as to_bytes

    rows, scale = quantise(vectors, weights)
    table = to_bytes({"rows": rows, "scale": scale}, None if floor is None else {"floor": f"{floor:g}"})
    text = json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    if len(table) + len(text) > SIZE_LIMIT:
        raise ValueError(f"table and tokenizer take {len(table) + len(text)} bytes; at most {SIZE_LIMIT}.")
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in ((TABLE, table), (TOKENIZER, text)):
        (folder / name).write_bytes(content)
        _log.info("%s: %d bytes, sha256 %s", name, len(content), hashlib.sha256(content).hexdigest())


def _by_server(corpus: Sequence[Tool], tokenised: Sequence[ToolBags]) -> list[list[ToolBags]]:
    found: dict[str, list[ToolBags]] = {}
    for tool, parts in zip(corpus, tokenised, strict=True):
        found.setdefault(tool.server, []).append(parts)
    return list(found.values())


def train(
    sources: Sources,
    tokenizer: Any,
    taught: Taught,
    alone: Floats,
    ranks: Sequence[int | None],
    seed: int,
    settings: Settings = CHOSEN,
    runs: int = RUNS,
    progress: Progress = silent,
) -> tuple[Floats, Floats]:
    """Vectors (V, D) and weights (V,) from the teacher's states, trained on ``sources``; mean of ``runs``."""
    spaces = [library_bags(tokenizer, answerable(library)) for library in sources.libraries]
    corpus = tool_bags(tokenizer, sources.corpus)
    read = [np.concatenate([t.server, t.name, t.description, t.parameters]) for t in corpus]
    read += [request for space in spaces for request in space.requests]
    observed, general = frequencies.shares(read, len(alone)), frequencies.zipf_shares(ranks)
    weights = frequencies.weights(observed, general)
    vectors = starting_table(taught, alone, observed + general, weights)

    def named(prefix: str) -> list[LibraryBags]:
        return [space for space in spaces if space.name.startswith(prefix)]

    others = [space for space in spaces if not space.name.startswith((WORKSPACES, ELSEWHERE, SMALL))]
    asked = Spaces(named(WORKSPACES), others, named(ELSEWHERE), named(SMALL))
    servers = _by_server(sources.corpus, corpus)
    return mean_table(
        contrast(vectors, weights, asked, servers, RUNS * seed + run, settings, progress)
        for run in range(runs)
    )


def mean_table(tables: Iterable[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """The mean of several tables trained from one start: vectors (V, D), and geometric means of weights (V,).

    A table learns its training workspaces nearly by heart; what the draws of
    one run add to that cancels out in the mean (model soups: Wortsman et al., 2022).
    """
    vectors, weights = zip(*tables, strict=True)
    logs = np.log(np.maximum(np.stack(weights), 1e-9)).mean(0)
    return np.stack(vectors).mean(0).astype(np.float32), np.exp(logs).astype(np.float32)


def held_out(sources: Sources, part: int, parts: int) -> tuple[Sources, tuple[str, ...]]:
    """The sources without the libraries of fold ``part``, and their names.

    Workspaces go with all texts of their servers, operations elsewhere a whole district at a time.
    """
    kept, out = without_fold(sources.libraries, part, parts)
    mine = [library for library in out if not library.name.startswith(SMALL)]
    servers = {tool.server for library in mine for tool in library.tools}
    corpus = tuple(tool for tool in sources.corpus if tool.server not in servers)
    return Sources(corpus, kept), tuple(sorted(library.name for library in out))


def make(
    minilm: Path,
    tuned: Path,
    sources: Sources,
    into: Path,
    seed: int,
    floor: float | None = None,
    half: bool = False,
    progress: Progress = silent,
) -> None:
    """The whole way from texts and teacher to a folder that StaticEncoder reads.

    ``half``: the teacher multiplies in bfloat16.

    Raises EncoderError for another all-MiniLM-L6-v2 in ``minilm`` than the pinned
    one and for a ``tuned`` encoder with other tokens; MissingExtra without torch.
    """
    from tokenizers import Tokenizer

    verify(minilm)
    verify(tuned, (TOKENIZER,))
    texts = sources.texts()
    original = json.loads((minilm / TOKENIZER).read_text(encoding="utf-8"))
    slimmed = slim_tokenizer(original, texts)
    tokenizer = Tokenizer.from_str(json.dumps(slimmed))
    tokens = list(slimmed["model"]["vocab"])
    _log.info("%d texts, %d tokens", len(texts), len(tokens))
    teacher = Teacher(tuned, half)
    alone = teacher.alone(tokens, progress)
    taught = teacher.teach(list(texts), tokenizer, progress)
    ranks = _general_ranks(tokens, original)
    vectors, weights = train(sources, tokenizer, taught, alone, ranks, seed, progress=progress)
    save(into, slimmed, vectors, weights, floor)


def _logged(stage: str, done: int, total: int) -> None:
    if done == total or done % 50 == 0 or done % 2560 == 0:
        _log.info("%s: %d of %d", stage, done, total)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and make the table."""
    parser = argparse.ArgumentParser(
        prog="python -m toolwise.learn.static_table",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minilm", type=Path, required=True, help="folder of all-MiniLM-L6-v2")
    parser.add_argument("--tuned", type=Path, required=True, help="folder of the tuned encoder: the teacher")
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--own", type=Path, default=FOLDER, help="folder of our own writing")
    parser.add_argument("--into", type=Path, required=True, help="folder to write the table to")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--floor", type=float, help="cosine from which its vectors alone convince")
    parser.add_argument("--fold", type=int, help="leave out this fold of the libraries (from 0)")
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--bfloat16", action="store_true", help="let the teacher multiply in bfloat16")
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    sources = Sources(
        (*tool_corpus(given.data), *operations()),
        (
            *asked_more(libraries(given.data), given.own),
            *small_libraries(given.own),
            *operation_libraries(given.own, ROUNDS),
        ),
    )
    names: tuple[str, ...] = ()
    if given.fold is not None:
        sources, names = held_out(sources, given.fold, given.folds)
        strange(given.tuned, names)
    make(given.minilm, given.tuned, sources, given.into, given.seed, given.floor, given.bfloat16, _logged)
    if names:
        replace_file(given.into / HELD_OUT, json.dumps(names) + "\n")


if __name__ == "__main__":
    main()
