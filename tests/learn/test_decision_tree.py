"""The search tree: where it stands, what is forgotten, where it ends."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolwise.learn.decision_tree import Bounds, DecisionTree
from toolwise.records import Observation

OPENING = [{"role": "system", "content": "rules"}, {"role": "user", "content": "request"}]


def message(name: str, **arguments: Any) -> dict[str, Any]:
    call = {"id": "c", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def descend(tree: DecisionTree, name: str, text: str = "seen", *, ok: bool = True, **arguments: Any) -> None:
    tree.descend(message(name, **arguments), f"s/{name}", arguments, Observation(text, ok))


def test_a_path_is_the_conversation():
    """Opening, call, result, call, result; a failure says so."""
    tree = DecisionTree(list(OPENING), Bounds())
    descend(tree, "a", x=1)
    descend(tree, "b", "no", ok=False)
    assert [m.get("content") for m in tree.messages()] == [
        *("rules", "request", None, "seen", None),
        "The call failed: no",
    ]
    assert [m["tool_call_id"] for m in tree.messages() if m["role"] == "tool"] == ["c", "c"]


def test_going_back_forgets_and_says_what_was_tried():
    """Two calls back from a, b: the root, where a was tried; both steps are marked."""
    tree = DecisionTree(list(OPENING), Bounds())
    descend(tree, "a", x=1)
    descend(tree, "b")
    assert tree.go_back(2)
    assert [m["role"] for m in tree.messages()] == ["system", "user", "user"]
    assert '["a", {"x": 1}]' in tree.messages()[-1]["content"]
    descend(tree, "c")
    assert [(s.tool, s.kept) for s in tree.steps] == [("s/a", False), ("s/b", False), ("s/c", True)]


def test_a_node_branches_as_often_as_it_is_wide():
    """Width 2: after two calls from a node, going back passes it by; at the root nothing is left."""
    tree = DecisionTree(list(OPENING), Bounds(width=2))
    descend(tree, "a")
    descend(tree, "b")
    assert tree.go_back()
    descend(tree, "c")
    assert tree.go_back()  # node a is used up: at the root, which has one way left
    assert [m["role"] for m in tree.messages()] == ["system", "user", "user"]
    descend(tree, "d")
    assert not tree.go_back()


def test_there_is_no_way_back_from_the_root():
    """A model that gives up at once has given up."""
    assert not DecisionTree(list(OPENING), Bounds()).go_back()


def test_the_same_call_again_is_no_new_one():
    """The order of arguments does not matter; other arguments, however late they differ, do."""
    tree = DecisionTree(list(OPENING), Bounds())
    descend(tree, "a", x=1, y="z" * 500)
    assert tree.is_new("a", {"x": 1, "y": "z" * 500})  # from the child it is
    tree.go_back()
    assert not tree.is_new("a", {"y": "z" * 500, "x": 1})
    assert tree.is_new("a", {"x": 1, "y": "z" * 499 + "w"})
    assert tree.is_new("b", {"x": 1, "y": "z" * 500})


def test_depth_counts_calls_of_the_path():
    """Depth 2: deep after two calls, no longer after going back."""
    tree = DecisionTree(list(OPENING), Bounds(depth=2))
    descend(tree, "a")
    assert not tree.is_deep
    descend(tree, "b")
    assert tree.is_deep
    tree.go_back()
    assert not tree.is_deep


def test_long_results_are_cut():
    """The model reads the beginning and the length; the step keeps the beginning."""
    tree = DecisionTree(list(OPENING), Bounds(observation=10))
    descend(tree, "a", "0123456789abc")
    assert tree.messages()[-1]["content"] == "0123456789 ... (13 characters in all)"
    assert tree.steps[0].observation.text == "0123456789"


@given(st.lists(st.one_of(st.sampled_from("abc"), st.integers(1, 4)), max_size=30), st.integers(1, 3))
def test_a_search_of_any_moves_keeps_its_laws(moves: list[str | int], width: int):
    """The kept steps are the path, no node has more children than its width, and every search ends."""
    tree = DecisionTree(list(OPENING), Bounds(width=width, depth=3))
    made = 0
    for move in moves:
        if isinstance(move, int):
            if not tree.go_back(move):
                assert made == 0 or not any(step.kept for step in tree.steps)
                break
        elif not tree.is_deep and tree.is_new(move, {}):
            descend(tree, move)
            made += 1
    kept = [step.tool for step in tree.steps if step.kept]
    said = [m["tool_calls"][0]["function"]["name"] for m in tree.messages() if m["role"] == "assistant"]
    assert kept == [f"s/{name}" for name in said]
    assert len(tree.steps) == made <= width + width**2 + width**3
    assert len(kept) <= 3
