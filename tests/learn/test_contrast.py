"""Contrastive training, on a catalogue small enough to know the answer."""

import numpy as np
import pytest

from toolwise.learn.batches import Batches, LibraryBags, ToolBags
from toolwise.learn.contrast import Settings, Spaces, contrast, request_losses

torch = pytest.importorskip("torch", reason="training needs torch (the train extra)")

QUICK = Settings(steps=60, warm_up=2, rate=0.05, workspaces=1, requests=8, texts=4, siblings=4)


def bag(*ids):
    return np.array(ids, np.int64)


def tool(name, description):
    return ToolBags(bag(), bag(name), bag(description), bag())


def library(name="mcp_tasks/w1"):
    tools = (tool(1, 2), tool(3, 4), tool(5, 6))
    return LibraryBags(name, tools, (bag(7), bag(8), bag(9)), ((0,), (1,), (2,)))


def vectors(seed=0):
    return np.random.default_rng(seed).normal(size=(10, 6)).astype(np.float32)


def test_the_loss_leaves_other_gold_tools_out():
    """Scores 1, 1, 0 with two gold: both meet only the third, log(1 + e^-1) each."""
    scores, gold = torch.tensor([[1.0, 1.0, 0.0]]), torch.tensor([[True, True, False]])
    found = request_losses(torch, scores, gold)
    np.testing.assert_allclose(found.numpy(), [np.log(1 + np.exp(-1))], rtol=1e-5)


def test_training_brings_requests_to_their_tools():
    """Requests that share no token with any tool find the right one afterwards."""
    space = library()
    rows, weights = contrast(vectors(), np.ones(10, np.float32), Spaces([space]), [space.tools], 0, QUICK)
    table = rows * weights[:, None]
    requests = np.stack([table[q].sum(0) for q in space.requests])
    tools = np.stack([table[t.name].sum(0) + table[t.description].sum(0) for t in space.tools])
    tools /= np.linalg.norm(tools, axis=1, keepdims=True)
    assert (requests @ tools.T).argmax(1).tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", ["operations", "small"])
def test_libraries_of_our_own_teach_too(kind):
    """A workspace asked for nothing of theirs; their requests find the right tools nevertheless."""
    space, tools = library(), library().tools
    other = LibraryBags("mcp_tasks/w2", tools, (bag(6),), ((2,),))
    rows, weights = contrast(
        vectors(), np.ones(10, np.float32), Spaces([other], **{kind: [space]}), [tools], 0, QUICK
    )
    table = rows * weights[:, None]
    asked = np.stack([table[q].sum(0) for q in space.requests])
    offered = np.stack([table[t.name].sum(0) + table[t.description].sum(0) for t in tools])
    offered /= np.linalg.norm(offered, axis=1, keepdims=True)
    assert (asked @ offered.T).argmax(1).tolist() == [0, 1, 2]


def test_one_seed_gives_one_table():
    """Twice the same seed, twice the same numbers; another seed, others."""
    space = library()
    args = (np.ones(10, np.float32), Spaces([space], [library("bfcl")]), [space.tools])
    first, again, other = (contrast(vectors(), *args, seed, QUICK)[0] for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0


def test_a_sample_of_a_large_library_holds_every_gold_tool():
    """Only two tools may be shown, but three are needed: all three are."""
    block = Batches(np.random.default_rng(0), [library().tools]).of_library(library(), 3, 2, 1.0)
    assert block.gold.shape == (3, 3)
    assert block.gold.sum(1).tolist() == [1, 1, 1]


def test_a_tool_is_its_own_only_match_among_texts():
    """A description matches the name of its own tool, also where the tool is drawn twice."""
    block = Batches(np.random.default_rng(0), [library().tools]).of_texts(5, 2, 1.0)
    names = [int(names[0]) for names in block.tools]
    descriptions = [int(text[0]) for text in block.requests]
    expected = [[d == n + 1 for n in names] for d in descriptions]
    assert block.gold.tolist() == expected
