"""Training a gate: the trees it takes over, and what it learns from."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.builders import WordEncoder, tool
from tests.learn.test_sets import REQUESTS, room
from tests.sets.pools import LIBRARY, WORDS
from toolwise.learn import gate
from toolwise.learn.data import Library
from toolwise.learn.gate import NAMES, Questions, joined, keywords, questions, smaller, train_gate
from toolwise.learn.own_words import small_talk
from toolwise.retrieve.elsewhere import of
from toolwise.sets.default_weights import plain
from toolwise.sets.gate import GATE


def drawn(seed: int, count: int = 600) -> Questions:
    """Requests that nothing serves where the first feature less the second is above 1."""
    features = np.random.default_rng(seed).normal(size=(count, len(GATE))).astype(np.float32)
    return Questions(features, features[:, 0] - features[:, 1] > 1, ("requests",) * count, np.full(count, 9))


def test_requests_become_questions():
    """One row for each; the one that no tool serves is known; each counts what is said."""
    found = questions(room(), plain(), of(WordEncoder(WORDS)), NAMES)
    assert found.features.shape == (len(REQUESTS), len(GATE))
    assert found.unserved.tolist() == [not request.gold for request in REQUESTS]
    assert found.counts.tolist() == [0.25] * len(REQUESTS)


def test_a_library_is_asked_by_names():
    """Its own tools are there, and strangers are not that share a noun with one: orders are known here."""
    strangers = [tool("zoo/feed_lions"), tool("zoo/cancel_order"), tool("zoo/delete")]
    found = keywords(room(), strangers, np.random.default_rng(0), most=10).library.requests
    assert [request.gold for request in found[:6]] == [(0,), (1,), (2,), (3,), (4,), (5,)]
    assert [request.gold for request in found[6:]] == [()]
    for request, name in zip(found, [*(one.name for one in LIBRARY), "feed_lions"], strict=True):
        said = [word for word in request.text.split() if not word.isdigit()]
        assert said == name.split("_")


def test_long_names_lose_a_word():
    """Any one of three, and now and then a number is put in."""
    one = room()
    long = (tool("zoo/feed_old_lions"),)
    asked = [
        keywords(replace(one, library=replace(one.library, tools=long)), (), np.random.default_rng(seed))
        for seed in range(20)
    ]
    texts = {request.text for found in asked for request in found.library.requests}
    bare = {" ".join(word for word in text.split() if not word.isdigit()) for text in texts}
    assert bare == {"feed old", "feed lions", "old lions"}
    assert any(text.split()[-1].isdigit() for text in texts)
    assert any(text in bare for text in texts)


def test_smaller_libraries_are_asked_for_what_they_have_and_for_what_they_lack():
    """All its tools of a request are in the part, or none is; no more of these than of those."""
    for seed in range(10):
        found = smaller(room(), WordEncoder(WORDS), np.random.default_rng(seed)).library
        assert 1 <= len({one.server for one in found.tools}) <= 3
        asked = {request.text: request.gold for request in REQUESTS}
        for request in found.requests:
            named = {found.tools[row].id for row in request.gold}
            gold = {LIBRARY[row].id for row in asked[request.text]}
            assert named == gold if named else gold.isdisjoint(one.id for one in found.tools)
        served = [bool(request.gold) for request in found.requests]
        assert served.count(False) <= served.count(True)


def test_each_fold_is_asked_its_own_requests_and_its_own_small_talk(monkeypatch, tmp_path):
    """Ours and small talk beside those that a workspace came with; no line of it is said in two folds."""
    said = ["hello", "thank you", "good bye", "how are you", "nice", "who are you"]
    (tmp_path / "talk.txt").write_text("\n".join(said), encoding="utf-8")
    (tmp_path / "requests.jsonl").write_text("", encoding="utf-8")
    row = {"workspace": "mcp_tasks/a", "query": "cancel order", "gold": [LIBRARY[2].id]}
    (tmp_path / "workspaces.jsonl").write_text(json.dumps(row), encoding="utf-8")
    folds = [["mcp_tasks/a", "small/a"], ["small/h"]]
    for fold, names in enumerate(folds):
        (tmp_path / str(fold)).mkdir()
        (tmp_path / str(fold) / "held_out.json").write_text(json.dumps(names), encoding="utf-8")
    heard: dict[str, list[str]] = {}

    def listening(one, weights, elsewhere, kind=gate.REQUESTS):
        if kind == gate.TALK:
            heard[one.library.name] = [request.text for request in one.library.requests]
        return questions(one, weights, elsewhere, kind)

    monkeypatch.setattr(gate, "questions", listening)
    monkeypatch.setattr(gate, "load_encoder", lambda specification: WordEncoder(WORDS))
    monkeypatch.setattr(gate, "load", lambda path: plain())
    monkeypatch.setattr(gate, "MADE", 0)
    found = [Library(name, LIBRARY, REQUESTS) for names in folds for name in names]
    encoders = [f"static:{tmp_path / str(fold)}" for fold in range(2)]
    first, second = gate.asked_out_of_fold(found, tmp_path, encoders, [tmp_path, tmp_path])
    for fold, names in enumerate(folds):
        talk = list(small_talk(fold, 2, tmp_path))
        assert [heard[name] for name in names] == [talk] * len(names)
    assert first.kinds.count(gate.REQUESTS) == len(REQUESTS)
    assert first.kinds.count(gate.OUR_REQUESTS) == 1
    assert second.kinds.count(gate.SMALL_LIBRARIES) == len(REQUESTS)
    assert gate.OUR_REQUESTS not in second.kinds
    assert all(first.unserved[np.array(first.kinds) == gate.TALK])


def test_requests_that_weights_do_not_know_teach_nothing():
    """As in use, where they are not judged by a gate."""
    far = plain().usual.copy()
    far[0], far[1] = 1e3, 1e-6
    found = questions(room(), replace(plain(), usual=far), of(WordEncoder(WORDS)))
    assert found.features.shape == (0, len(GATE))
    assert len(joined([found, drawn(0, 5)]).unserved) == 5


def test_a_gate_tells_what_it_was_taught():
    """On requests it has not seen; and as scikit-learn's own trees do."""
    ensemble = pytest.importorskip("sklearn.ensemble", reason="the [train] extra is not installed")
    from toolwise.learn.gate import SETTINGS

    found = train_gate(drawn(0))
    new = drawn(1)
    said = np.array([found(row) for row in new.features])
    assert said[new.unserved].mean() > 0.5 > 2 * said[~new.unserved].mean()
    model = ensemble.GradientBoostingClassifier(**SETTINGS, random_state=0)
    model.fit(drawn(0).features, drawn(0).unserved, sample_weight=drawn(0).counts)
    assert said == pytest.approx(1 / (1 + np.exp(-model.decision_function(new.features))), abs=1e-4)
