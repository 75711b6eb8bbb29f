"""Training of the risk head on tools of our own, and the guard of its data."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.audit.tools import tool
from toolwise.audit.features import BUCKETS, FACTS
from toolwise.audit.head import HeadAnnotator
from toolwise.audit.head_weights import FLAGS, OUTPUTS, load
from toolwise.config import settings
from toolwise.encode.static import StaticEncoder
from toolwise.errors import CatalogueError, SourceNotFound
from toolwise.learn.data import reserved_servers
from toolwise.learn.own_words import FOLDER
from toolwise.learn.risk_head import (
    _known,
    calibrate,
    cross_validate,
    decide_held_out,
    kinds,
    main,
    measure,
    quantise,
    write,
)
from toolwise.learn.risk_labels import Labelled, folds, joined, labelled, of_split, own
from toolwise.learn.risk_network import CHOSEN, inputs, inverse_frequencies, train
from toolwise.records import Permission

NOUNS = "invoice ticket folder device account article contract meeting parcel sensor".split()
VERBS = {"get": 1, "update": 3, "delete": 4}
QUICK = replace(CHOSEN, epochs=6, batch=32, units=16, gram_rate=1e-2)


def made() -> Labelled:
    """Thirty tools in ten workspaces whose level and write permission hang on their verb."""
    some = [(noun, verb) for noun in NOUNS for verb in VERBS]
    levels = np.array([VERBS[verb] for _, verb in some])
    targets = np.zeros((len(some), OUTPUTS), np.float32)
    targets[:, :4] = levels[:, None] >= np.arange(2, 6)
    targets[:, 4 + FLAGS.index(Permission.WRITE)] = levels > 1
    tools = tuple(tool(f"{verb}_{noun}", f"{verb} the {noun}.", "id") for noun, verb in some)
    return Labelled(tools, tuple(noun for noun, _ in some), levels, targets)


def test_folds_hold_out_whole_workspaces_once():
    """Ten workspaces in five folds: no tool on both sides, each tool held out once."""
    data = made()
    parts = folds(data.workspaces, 5, seed=3)
    assert sorted(np.concatenate([held for _, held in parts]).tolist()) == list(range(30))
    for kept, held in parts:
        spaces = {data.workspaces[i] for i in kept}, {data.workspaces[i] for i in held}
        assert not spaces[0] & spaces[1]
        assert len(spaces[1]) == 2


def test_inputs_put_the_n_grams_of_a_tool_together():
    """The bag of a tool among others is its bag alone, and the facts stand after the vector."""
    data = made()
    vectors = np.ones((30, 4), np.float32)
    given, alone = inputs(data.tools, vectors), inputs(data.tools[7:8], vectors[:1])
    buckets, first, values = given.bag(np.array([3, 7]))
    assert buckets[first[1] :].tolist() == alone.buckets.tolist()
    assert values[first[1] :].tolist() == alone.values.tolist()
    assert given.dense.shape == (30, 4 + len(FACTS))
    assert (given.dense[:, :4] == 8).all()


def test_rare_n_grams_count_more():
    """log((1 + N) / (1 + n)) / 4: nothing where all tools hold it."""
    data = made()
    given = inputs(data.tools, np.ones((30, 4), np.float32))
    weight = inverse_frequencies(given, np.arange(30))
    assert weight.shape == (BUCKETS,)
    assert weight.min() == pytest.approx(0)  # "the", the server
    assert weight.max() == pytest.approx(np.log(31) / 4)


def test_labels_are_read_with_the_shares_of_votes(tmp_path):
    """Votes 2, 3, 3: all for 2 or more, two thirds for 3 or more."""
    data_folder(tmp_path)
    data = labelled(tmp_path)
    assert [t.id for t in data.tools] == ["a/delete_note"]
    assert data.workspaces == ("w1",)
    assert data.levels.tolist() == [3]
    assert data.targets[0, :4] == pytest.approx([1, 2 / 3, 0, 0])
    assert data.targets[0, 4:].tolist() == [float(flag == "write") for flag in FLAGS]


def test_reserved_and_unlabelled_tools_are_refused(tmp_path):
    """Test workspaces stay out; a reserved server in a training workspace is an error, and so is no label."""
    data_folder(tmp_path)
    assert [t.id for t in of_split(tmp_path, ("test",), frozenset()).tools] == ["b/get_note"]
    with pytest.raises(CatalogueError, match="b/get_note"):
        of_split(tmp_path, ("test",), frozenset({"b"}))
    folder = tmp_path / "mcp_tasks"
    (folder / "risk_labels.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(CatalogueError, match="no label"):
        labelled(tmp_path)
    (folder / "reserved_servers.txt").unlink()
    with pytest.raises(SourceNotFound, match="nothing may be trained"):
        labelled(tmp_path)


def data_folder(path) -> None:
    """Two tools in two workspaces, one of them for testing."""
    folder = path / "mcp_tasks"
    folder.mkdir()
    tools = [{"id": f"{s}/{n}", "name": n, "description": "", "group": s} for s, n in SMALL]
    votes = {"risk_level": 3, "votes": [2, 3, 3], "capabilities": [], "permissions": ["write"]}
    spaces = [
        {"id": "w1", "split": "train", "tools": ["a/delete_note"]},
        {"id": "w2", "split": "test", "tools": ["b/get_note"]},
    ]
    for name, rows in (("tools", tools), ("risk_labels", [{"id": t["id"], **votes} for t in tools])):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (folder / "workspaces.json").write_text(json.dumps(spaces), encoding="utf-8")
    (folder / "reserved_servers.txt").write_text("b\n", encoding="utf-8")


SMALL = (("a", "delete_note"), ("b", "get_note"))


@pytest.mark.skipif(not (settings().data / "mcp_tasks").is_dir(), reason="the data sets are not here")
def test_no_reserved_server_is_among_the_labelled_tools():
    """Nor is one of a dev or test workspace: 6,379 tools of 52 workspaces."""
    data = labelled(settings().data)
    assert not {t.server for t in data.tools} & reserved_servers(settings().data)
    assert len(data.tools) == 6_379
    assert len(set(data.workspaces)) == 52


@pytest.mark.skipif(not FOLDER.is_dir(), reason="our own writing is not here")
def test_every_tool_of_the_small_libraries_has_a_label():
    """8,028 tools of 392 libraries; paprika lists a user's own recipes and changes nothing."""
    data = own()
    assert (len(data.tools), len(set(data.workspaces))) == (8_028, 392)
    assert (data.tools[0].id, data.workspaces[0], data.levels[0]) == (
        "paprika/search_recipes",
        "small/a-01",
        2,
    )
    assert data.targets[0].tolist() == [1, 0, 0, 0, *(float(flag == "private") for flag in FLAGS)]


def test_a_small_library_without_labels_is_refused(tmp_path):
    """By the name of the tool, of the library and of the file; so is a missing file."""
    tools = [{"id": "s/get_note", "name": "get_note", "description": "A note."}]
    row = {"name": "l", "about": "x", "tools": tools, "requests": []}
    (tmp_path / "libraries.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(SourceNotFound, match=r"labels\.jsonl"):
        own(tmp_path)
    (tmp_path / "labels.jsonl").write_text("", encoding="utf-8")
    with pytest.raises(CatalogueError, match=r"s/get_note.* small/l .*labels\.jsonl"):
        own(tmp_path)
    label = {
        "library": "l",
        "id": "s/get_note",
        "risk_level": 4,
        "capabilities": [],
        "permissions": ["write"],
    }
    (tmp_path / "labels.jsonl").write_text(json.dumps(label) + "\n", encoding="utf-8")
    both = joined([made(), own(tmp_path)])
    assert both.levels[-1] == 4
    assert both.targets[-1, :4].tolist() == [1, 1, 1, 0]
    assert {kind: len(rows) for kind, rows in kinds(both).items()} == {"workspaces": 30, "small libraries": 1}


def test_a_trained_head_judges_servers_it_has_not_seen(tmp_path):
    """Cross-validation finds the verbs; the written file gives the same logits as the network."""
    pytest.importorskip("torch")
    data, encoder = made(), StaticEncoder()
    given = inputs(data.tools, encoder.encode_tools(data.tools))
    logits = cross_validate(given, data, QUICK)
    scores = measure(decide_held_out(logits, data), data)
    assert scores["kappa"] > 0.8
    assert scores["auc_4"] > 0.95
    assert scores["write"] > 0.9
    layers = train(given, data.targets, np.arange(30), QUICK, 0)
    weights = quantise(layers, calibrate(logits, data), encoder.fingerprint)
    write(weights, tmp_path / "w.safetensors")
    assert load(tmp_path / "w.safetensors").fingerprint == encoder.fingerprint
    head = HeadAnnotator("static", weights=tmp_path / "w.safetensors")
    found = head.estimate(data.tools)
    expected = calibrate(logits, data).chances(layers.logits(given, np.arange(30)))
    assert np.allclose(found.at_least, expected[:, :4], atol=0.02)
    assert np.allclose(found.flags, expected[:, 4:], atol=0.02)
    assert (np.abs(found.levels - data.levels) <= 1).all()


def test_training_is_deterministic():
    """The same seed gives the same weights, another one others; the caller's generator is left alone."""
    torch = pytest.importorskip("torch")
    data = made()
    given = inputs(data.tools, np.ones((30, 4), np.float32))
    brief = replace(QUICK, epochs=1)
    state = torch.random.get_rng_state()
    one, two, other = (train(given, data.targets, np.arange(30), brief, seed) for seed in (0, 0, 1))
    assert np.array_equal(one.hidden, two.hidden)
    assert np.array_equal(one.grams, two.grams)
    assert not np.array_equal(one.hidden, other.hidden)
    assert torch.equal(state, torch.random.get_rng_state())


def test_a_fold_leaves_out_what_its_encoder_was_trained_without(tmp_path):
    """Workspaces and small libraries by their names; a folder without the list is refused."""
    data = joined([made(), replace(made(), workspaces=tuple(f"small/{name}" for name in made().workspaces))])
    with pytest.raises(SourceNotFound, match=r"held_out\.json"):
        _known(data, tmp_path)
    listed = ["mcp_tasks/invoice", "small/ticket", "elsewhere/0/00"]
    (tmp_path / "held_out.json").write_text(json.dumps(listed), encoding="utf-8")
    left = {data.workspaces[row] for row in _known(data, tmp_path)}
    assert {"invoice", "small/ticket"} == set(data.workspaces) - left
    with pytest.raises(SystemExit):
        main(["--data", "d", "--into", "i", "--fold", str(tmp_path), "--encoder", "static"])
