"""Train the gate of a set scorer: whether any tool of a library serves a request (extra ``[train]``).

python -m toolwise.learn.gate --static-folds DIR... --onnx-folds DIR... --scorers FILE... --into FILE

Every training workspace and small library is read by the static table, by the ONNX encoder and by the set
scorer that were trained without it, so the gate learns from doubts as they are in a library nobody knows.
It is asked their requests, those of our own writing, and small talk, which needs no tool anywhere.
The gate goes into the weights at ``--into``; with ``--fold`` it has not learned from that fold.
"""

from __future__ import annotations

import argparse
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from toolwise.audit.verbs import stem
from toolwise.encode.load import load_encoder
from toolwise.encode.static import StaticEncoder
from toolwise.errors import MissingExtra
from toolwise.learn.data import Library, Request
from toolwise.learn.gate_small import made_libraries
from toolwise.learn.own_words import (
    FOLDER,
    SMALL,
    asked_too,
    requests,
    services_of,
    small_libraries,
    small_talk,
)
from toolwise.learn.sets_data import Room, beside, held_out, permitted, room
from toolwise.protocols import Bools, Encoder, Floats, Ints
from toolwise.records import Candidate, Query, Tool
from toolwise.retrieve.elsewhere import Elsewhere, of
from toolwise.sets.default import DefaultScorer
from toolwise.sets.default_weights import Weights, load, save
from toolwise.sets.facts import action_of
from toolwise.sets.gate import GATE, Gate
from toolwise.sets.pool import DEPTH
from toolwise.text import split_identifier
from toolwise.whole_file import replace_file

_log = logging.getLogger(__name__)
SETTINGS: Mapping[str, Any] = {
    "n_estimators": 400,
    "learning_rate": 0.05,
    "max_leaf_nodes": 32,
    "max_depth": None,
    "min_samples_leaf": 20,
    "subsample": 0.5,
    "max_features": 0.2,
}
"""Chosen by cross-validation over training workspaces, as boosted trees were before perceptrons."""
REPORT = "gate.json"
KEYWORDS = 15
"""Names of tools that a library is asked for, of its own and of strangers."""
PARTS = 3
"""Smaller libraries that are made of each."""
LACKING = 1 / 6
"""Requests for what others served, for each that is served: about as many as there are in the training."""
TALKS = 6
"""What needs no tool, said to each library."""
BESIDE = 150
"""Requests of each library of the other data sets."""
MADE = 80
"""Libraries of operations elsewhere that are made for each fold and encoder."""
REQUESTS, OUR_REQUESTS, SMALL_LIBRARIES = "requests", "our requests", "small libraries"
FEW_SERVERS, NAMES, TALK = "few servers", "names", "small talk"
OPERATIONS, OTHERS = "operations", "other data sets"
"""Kinds of questions: of workspaces, theirs and our own; of our small libraries; of one to three servers of a
workspace; by names; what needs no tool anywhere; of libraries made of operations elsewhere; of other data
sets, where all are served."""
COUNTS: Mapping[str, float] = {
    REQUESTS: 1.5,
    OUR_REQUESTS: 1.0,
    SMALL_LIBRARIES: 1.0,
    FEW_SERVERS: 0.5,
    NAMES: 0.25,
    TALK: 0.1,
    OPERATIONS: 0.25,
    OTHERS: 0.25,
}
"""What a question of each kind counts."""
UNSERVED = 0.25
"""Share of a kind that unserved questions make at most, counting less where there are more of them: else a
gate would learn from our own requests, short and mostly unserved, that what is short is unserved."""


@dataclass(frozen=True, slots=True)
class Questions:
    """Requests as a gate sees them."""

    features: Floats
    """(n, G)"""
    unserved: Bools
    """(n,): whether no tool serves."""
    kinds: tuple[str, ...]
    """(n,): of :data:`COUNTS`."""
    tools: Ints
    """(n,): how many tools each was asked of."""

    @property
    def counts(self) -> Floats:
        """(n,): what each counts."""
        kinds = np.array(self.kinds)
        counts = np.array([COUNTS[kind] for kind in self.kinds])
        for kind in set(self.kinds):
            here = kinds == kind
            served, unserved = int((here & ~self.unserved).sum()), int((here & self.unserved).sum())
            most = served * UNSERVED / (1 - UNSERVED)
            if served and unserved > most:
                counts[here & self.unserved] *= most / unserved
        return counts.astype(np.float32)


def questions(one: Room, weights: Weights, elsewhere: Elsewhere, kind: str = REQUESTS) -> Questions:
    """The requests of a room, doubted by these weights; those without any candidate are left out."""
    tools, elsewhere = one.library.tools, elsewhere.beside(one.vectors)

    def read(pool: Sequence[Candidate]) -> list[object]:
        return [tools[candidate.row] for candidate in pool]

    scorer = DefaultScorer(one.retriever, read, one.vectors, weights, elsewhere)  # type: ignore[arg-type]
    rows, unserved = [], []
    for request in one.library.requests:
        query = Query("", request.text)
        pool = scorer.narrow(query, one.retriever.retrieve(query, DEPTH).candidates)
        found = scorer.doubts(query, pool) if pool else None
        if found is not None:
            rows.append(found)
            unserved.append(not request.gold)
    features = np.array(rows, np.float32).reshape(-1, len(GATE))
    return Questions(features, np.array(unserved, bool), (kind,) * len(rows), np.full(len(rows), len(tools)))


def keywords(one: Room, strangers: Sequence[Tool], rng: np.random.Generator, most: int = KEYWORDS) -> Room:
    """The room asked by names: those of its own tools, and those of strangers that share no noun with any.

    Agents and hurried people ask in two or three words; the requests of the training are sentences.  Words
    are left out and numbers put in: a whole name would be all too easily known.
    """
    own = one.library.tools
    nouns = {noun for tool in own for noun in _nouns(tool)}
    absent = [tool for tool in strangers if _nouns(tool) and nouns.isdisjoint(_nouns(tool))]
    asked = [Request(_said(own[row], rng), (row,)) for row in _drawn(len(own), most, rng)]
    asked += [Request(_said(absent[row], rng), ()) for row in _drawn(len(absent), most, rng)]
    library = replace(one.library, requests=tuple(request for request in asked if request.text))
    return replace(one, library=library, rewards=())


def smaller(one: Room, encoder: Encoder, rng: np.random.Generator) -> Room:
    """One to three servers of the room, asked for what they serve and, now and then, for what others served.

    Many a user has one server with a few tools; the libraries of the training have a hundred and more.
    """
    tools, requests = one.library.tools, one.library.requests
    servers = sorted({tool.server for tool in tools})
    drawn = {servers[row] for row in _drawn(len(servers), int(rng.integers(1, 4)), rng)}
    rows = [row for row, tool in enumerate(tools) if tool.server in drawn]
    place = {row: at for at, row in enumerate(rows)}
    served = [r for r in requests if r.gold and all(row in place for row in r.gold)]
    absent = [r for r in requests if not any(row in place for row in r.gold)]
    asked = [Request(r.text, tuple(place[row] for row in r.gold)) for r in served]
    asked += [Request(absent[row].text, ()) for row in _drawn(len(absent), round(LACKING * len(served)), rng)]
    return room(Library(one.library.name, tuple(tools[row] for row in rows), tuple(asked)), encoder)


def told(one: Room, talk: Sequence[str], rng: np.random.Generator) -> Room:
    """The room told some of what needs no tool."""
    said = tuple(Request(talk[row], ()) for row in _drawn(len(talk), TALKS, rng))
    return replace(one, library=replace(one.library, requests=said), rewards=())


def _said(tool: Tool, rng: np.random.Generator) -> str:
    """The words of a name, of three or more all but one, and every other time a number."""
    words = split_identifier(tool.name)
    if len(words) > 2:
        del words[int(rng.integers(len(words)))]
    number = [str(rng.integers(1000, 9999))] if rng.integers(2) else []
    return " ".join([*words, *number])


def _nouns(tool: Tool) -> frozenset[str]:
    words = split_identifier(tool.name)
    _, verb = action_of(words)
    return frozenset(stem(word) for place, word in enumerate(words) if place != verb and not word.isdigit())


def _drawn(count: int, most: int, rng: np.random.Generator) -> list[int]:
    found: list[int] = np.sort(rng.permutation(count)[:most]).tolist()
    return found


def joined(parts: Sequence[Questions]) -> Questions:
    """All of them."""
    return Questions(
        np.concatenate([one.features for one in parts]),
        np.concatenate([one.unserved for one in parts]),
        tuple(kind for one in parts for kind in one.kinds),
        np.concatenate([one.tools for one in parts]),
    )


def train_gate(asked: Questions, seed: int = 0) -> Gate:
    """Boosted trees of logistic loss.  Raises MissingExtra without scikit-learn."""
    try:
        from sklearn.ensemble import GradientBoostingClassifier
    except ImportError as error:
        raise MissingExtra(
            'training a gate needs scikit-learn: pip install "toolwise[train]"', extra="train"
        ) from error
    model = GradientBoostingClassifier(**SETTINGS, random_state=seed)
    model.fit(asked.features, asked.unserved, sample_weight=asked.counts)
    share = float(np.average(asked.unserved, weights=asked.counts))
    return gate_of_trees([one.tree_ for one in model.estimators_[:, 0]], model.learning_rate, share)


def gate_of_trees(trees: Sequence[Any], rate: float, share: float) -> Gate:
    """scikit-learn's trees as arrays; before them stands the ``share`` of requests that nothing serves."""
    width = max(tree.node_count for tree in trees)

    def table(name: str, kind: type, scale: float = 1.0) -> np.ndarray:
        found = np.zeros((len(trees), width), kind)
        for line, tree in zip(found, trees, strict=True):
            line[: tree.node_count] = scale * np.asarray(getattr(tree, name)).reshape(tree.node_count)
        return found

    leaf = table("children_left", np.int32) <= 0
    return Gate(
        np.where(leaf, -1, table("feature", np.int32)),
        np.where(leaf, 0, table("threshold", np.float32)),
        np.where(leaf, 0, table("children_left", np.int32)),
        np.where(leaf, 0, table("children_right", np.int32)),
        np.where(leaf, table("value", np.float32, rate), 0),
        np.array([np.log(share / (1 - share))], np.float32),
    )


def asked_out_of_fold(
    found: Sequence[Library], own: Path, encoders: Sequence[str], scorers: Sequence[Path]
) -> list[Questions]:
    """The questions of each fold; ``encoders`` are specifications that end in a folder with its libraries.

    ``own`` is the folder of our own writing.  Requests for operations elsewhere, those of a fold's districts,
    are asked of libraries made of these (:mod:`toolwise.learn.gate_small`).
    """
    asked, too = requests(own), asked_too(found, own)
    by_name = {library.name: library for library in found}
    ours = {library.name: library.requests for library in too}
    made: list[Questions] = []
    for specification, scorer in zip(encoders, scorers, strict=True):
        names = held_out(specification, found)
        encoder, weights = load_encoder(specification), load(scorer)
        elsewhere = of(encoder)
        rooms = [room(by_name.pop(name), encoder) for name in names if name in by_name]
        small = [one for one in rooms if one.library.name.startswith(SMALL)]
        spaces = [one for one in rooms if not one.library.name.startswith(SMALL)]
        parts = [questions(one, weights, elsewhere) for one in spaces]
        parts += [questions(one, weights, elsewhere, SMALL_LIBRARIES) for one in small]
        rng = np.random.default_rng(len(made))
        talk = small_talk(len(made), len(encoders), own)
        for one in rooms:
            parts.append(questions(told(one, talk, rng), weights, elsewhere, TALK))
        for one in spaces:
            if one.library.name in ours:
                more = replace(one, library=replace(one.library, requests=ours[one.library.name]))
                parts.append(questions(more, weights, elsewhere, OUR_REQUESTS))
            strangers = [tool for other in spaces if other is not one for tool in other.library.tools]
            parts.append(questions(keywords(one, strangers, rng), weights, elsewhere, NAMES))
            for _ in range(PARTS):
                parts.append(questions(smaller(one, encoder, rng), weights, elsewhere, FEW_SERVERS))
        for one, beside_it in made_libraries(encoder, asked, services_of(names), len(made), MADE):
            parts.append(questions(one, weights, beside_it, OPERATIONS))
        made.append(joined(parts))
        _log.info("%s: %d requests", specification, len(made[-1].unserved))
    return made


def asked_of_others(data: Path, scorer: Path, most: int) -> list[Questions]:
    """The questions of the other data sets, ``most`` of each library, by the packaged table."""
    encoder, weights = StaticEncoder(), load(scorer)
    elsewhere = of(encoder)
    return [questions(one, weights, elsewhere, OTHERS) for one in beside(data, encoder, most)] if most else []


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and train a gate."""
    from toolwise.config import settings

    parser = argparse.ArgumentParser(prog="python -m toolwise.learn.gate", description=__doc__)
    parser.add_argument("--data", type=Path, default=settings().data, help="folder of data sets")
    parser.add_argument("--own", type=Path, default=FOLDER, help="folder of our own writing")
    parser.add_argument("--static-folds", type=Path, nargs="*", default=[], help="out-of-fold static tables")
    parser.add_argument("--onnx-folds", type=Path, nargs="*", default=[], help="out-of-fold ONNX encoders")
    parser.add_argument("--scorers", type=Path, nargs="+", required=True, help="set scorers of the folds")
    parser.add_argument("--into", type=Path, required=True, help="weights that get the gate")
    parser.add_argument("--fold", type=int, help="leave this fold out (from 0)")
    parser.add_argument("--beside", type=int, default=BESIDE, help="requests of each other data set")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    found = (*permitted(given.data), *small_libraries(given.own))
    parts: list[Questions] = []
    for kind, folders in (("static", given.static_folds), ("onnx", given.onnx_folds)):
        if folders:
            encoders = [f"{kind}:{folder}" for folder in folders]
            by_fold = asked_out_of_fold(found, given.own, encoders, given.scorers)
            parts += [part for fold, part in enumerate(by_fold) if fold != given.fold]
    every = joined([*parts, *asked_of_others(given.data, given.scorers[0], given.beside)])
    save(replace(load(given.into), gate=train_gate(every, given.seed)), given.into, {"seed": str(given.seed)})
    text = json.dumps(report(every, given.seed), indent=2)
    replace_file(given.into.with_name(REPORT), text + "\n")


def report(asked: Questions, seed: int) -> dict[str, Any]:
    """What a gate was made of: requests that some tool serves and others, by what each counts."""
    kinds = np.array(asked.kinds)
    counts = {
        kind: [int((~asked.unserved[here]).sum()), int(asked.unserved[here].sum())]
        for kind in COUNTS
        for here in [kinds == kind]
    }
    return {
        "settings": dict(SETTINGS),
        "seed": seed,
        "served and unserved requests": counts,
    }


if __name__ == "__main__":
    main()
