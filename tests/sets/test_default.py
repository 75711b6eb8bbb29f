"""The default set scorer and its laws."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.builders import audited, write
from tests.sets.pools import LIBRARY, REQUEST, needing, pool, random_weights, retriever, scorer
from toolwise.errors import EncoderError
from toolwise.indexing import index_catalogue
from toolwise.records import Catalogue, Query, ToolText
from toolwise.retrieve import HybridRetriever
from toolwise.sets.default import DefaultScorer, weights_of
from toolwise.sets.default_weights import SIGNS, load, plain, save
from toolwise.sets.exact import ExactSearch
from toolwise.sets.kernel import subsets, values
from toolwise.store import Index


def test_without_weights_the_retriever_decides():
    """Weights of zero leave the plain ranking, no pair and no size better than another."""
    found = scorer()
    candidates = pool(retriever())
    energy = found.energy(REQUEST, candidates)
    best = candidates[0].score
    assert energy.unary == pytest.approx([c.score / best for c in candidates], abs=1e-6)
    assert not energy.pairs.any()
    assert not energy.sizes.any()
    assert found.narrow(REQUEST, candidates, 3) == candidates[:3]


def test_the_order_of_the_pool_does_not_matter():
    """A set is worth the same wherever its members stand."""
    found, candidates = scorer(random_weights()), pool(retriever())
    order = [4, 1, 5, 0, 2, 3]
    table = subsets(6, 5)
    plainly = values(found.energy(REQUEST, candidates), table)
    shuffled = values(found.energy(REQUEST, [candidates[i] for i in order]), table)
    for row in range(len(table.sizes)):
        members = tuple(order[i] for i in np.flatnonzero(table.members[row]))
        assert shuffled[row] == pytest.approx(plainly[table.row(members)], abs=1e-4)


def test_energies_are_symmetric_and_finite():
    """One matrix per size from two to five; those of no pair are empty."""
    energy = scorer(random_weights()).energy(REQUEST, pool(retriever()))
    assert energy.pairs.shape == (6, 6, 6)
    assert not energy.pairs[:2].any()
    assert np.array_equal(energy.pairs, energy.pairs.transpose(0, 2, 1))
    assert np.isfinite(energy.unary).all()


def test_a_new_tool_is_valued_at_once():
    """A tool that nobody has seen gets a value of its own, and weights stay as they are."""
    more = (*LIBRARY, needing("tea/brew_tea", "Brew tea and send a mail."))
    known = scorer(random_weights(), more)
    candidates = pool(retriever(more), k=7)
    place = [c.id for c in candidates].index("tea/brew_tea")
    assert known.energy(REQUEST, candidates).unary[place] != 0


def test_an_empty_pool_has_the_empty_set_only():
    """Nothing to choose from is no error."""
    energy = scorer(random_weights()).energy(REQUEST, [])
    assert energy.unary.shape == (0,)
    assert energy.pairs.shape == (6, 0, 0)


def test_a_pool_of_one_is_valued():
    """One candidate has no pairs."""
    candidates = pool(retriever())[:1]
    assert scorer(random_weights()).energy(Query("q", "?"), candidates).unary.shape == (1,)


def test_weights_come_back_as_they_went(tmp_path: Path):
    """Saving and loading changes nothing."""
    made = random_weights()
    save(made, tmp_path / "w.safetensors", {"seed": "0"})
    back = load(tmp_path / "w.safetensors")
    assert np.array_equal(back.pair.hidden, made.pair.hidden)
    assert np.array_equal(back.sizes, made.sizes)
    assert [path.name for path in tmp_path.iterdir()] == ["w.safetensors"]


def test_foreign_weights_are_refused(tmp_path: Path):
    """Another version of the features, a damaged file and a missing one are named."""
    path = tmp_path / "w.safetensors"
    with pytest.raises(EncoderError, match="cannot be read"):
        load(path)
    path.write_bytes(b"nonsense")
    with pytest.raises(EncoderError, match="cannot be read"):
        load(path)
    from safetensors.numpy import save_file

    save_file({"base": np.ones(2, np.float32)}, str(path), {"features": "1"})
    with pytest.raises(EncoderError, match="expected version"):
        load(path)


def test_the_users_own_weights_come_first(tmp_path: Path):
    """Weights in the index folder are preferred to the packaged ones."""
    write(tmp_path, [audited(tool.id) for tool in LIBRARY], dim=8)
    save(plain(), weights_of(tmp_path), {})
    index = Index.open(tmp_path)
    found = DefaultScorer.open(index, retriever())
    candidates = pool(retriever())
    assert not found.energy(REQUEST, candidates).pairs.any()
    index.close()


def test_unusual_requests_leave_the_retriever_alone():
    """Far from the requests of the training nothing learned counts; near them everything does."""
    known = random_weights()
    usual = view_of(REQUEST)
    near = replace(known, usual=np.stack([usual, np.ones(5, np.float32)]))
    far = replace(known, usual=np.stack([usual + 100, np.ones(5, np.float32)]))
    candidates = pool(retriever())
    assert scorer(far).narrow(REQUEST, candidates, 3) == candidates[:3]
    assert not scorer(far).energy(REQUEST, candidates).pairs.any()
    expected = scorer(known).energy(REQUEST, candidates).pairs
    assert scorer(near).energy(REQUEST, candidates).pairs == pytest.approx(expected)


def test_where_weights_are_not_believed_the_first_of_the_ranking_are_shown():
    """Every tool after the first must bring four; where the retriever is unsure, nothing is shown."""
    bare = tuple(replace(tool, server="", text=ToolText(tool.text.description)) for tool in LIBRARY)
    known = scorer(random_weights(), bare)
    candidates = pool(retriever(bare))
    assert known.energy(REQUEST, candidates).sizes.tolist() == [0, 0, -4, -8, -12, -16]
    search = ExactSearch(known.energy(REQUEST, candidates), 5, 0.06, gate=0.5)
    shown = search.search(candidates, (), np.ones(6, dtype=np.int64), frozenset()).chosen
    assert list(shown) == candidates[:5]
    nothing = Query("q", "zebra")
    unsure = known.energy(nothing, pool(retriever(bare), nothing))
    assert unsure.sizes[0] == 20
    assert ExactSearch(unsure, 5, 0.06, gate=0.5).shut


def view_of(query: Query) -> np.ndarray:
    """What tells requests apart, of one request."""
    found = scorer()._view(query, pool(retriever()))
    return found.whole[list(SIGNS)]


def test_an_index_that_changes_needs_no_training(tmp_path: Path):
    """Tools come, change and go; the packaged weights value what is there."""
    request = Query("q", "cancel order nine")
    for names in (
        ("list_orders", "cancel_order"),
        ("list_orders", "cancel_order", "brew_tea"),
        ("cancel_order",),
    ):
        tools = tuple(needing(f"shop/{name}", name.replace("_", " "), "order_id") for name in names)
        index_catalogue(Catalogue(tools), tmp_path)
        index = Index.open(tmp_path)
        found = HybridRetriever.open(index)
        candidates = list(found.retrieve(request, 5).candidates)
        energy = DefaultScorer.open(index, found).energy(request, candidates)
        assert len(energy.unary) == len(names)
        assert np.isfinite(energy.unary).all()
        best = candidates[int(np.argmax(energy.unary))].id
        assert best == "shop/cancel_order"
        index.close()


def test_bare_names_leave_the_retriever_alone():
    """Tools with neither server nor parameters are not what the weights know."""
    bare = tuple(replace(tool, server="", text=ToolText(tool.text.description)) for tool in LIBRARY)
    candidates = pool(retriever(bare))
    assert scorer(random_weights(), bare).narrow(REQUEST, candidates, 3) == candidates[:3]
    assert not scorer(random_weights(), bare).energy(REQUEST, candidates).pairs.any()
