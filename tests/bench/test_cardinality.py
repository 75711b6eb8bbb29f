"""Set sizes predicted from the request."""

import numpy as np
import pytest
from tests.bench.systems import FixedSystem, TableEncoder, ids, tools

from toolwise.bench.baselines import CardinalitySystem
from toolwise.bench.baselines.cardinality import SizeModel, lengths
from toolwise.bench.data import Task
from toolwise.records import Query

INNER = FixedSystem(("a", 4.0), ("b", 3.0), ("c", 2.0), ("d", 1.0))
ENCODER = TableEncoder(
    {**{id_: [1, 0] for id_ in "abcd"}, "look up": [1, 0], "plan all": [0, 1], "serve none": [-1, -1]}
)


def task(text: str, gold: str) -> Task:
    return Task(Query(text, text), tuple(gold), "toy", {})


def fitted(train: list[Task]) -> CardinalitySystem:
    system = CardinalitySystem(INNER, lambda: ENCODER)
    system.fit(tools("a", "b", "c", "d"), train)
    return system


def test_a_separable_toy_is_learnt():
    """Requests along the first axis need one tool, along the second three, against both none."""
    system = fitted([task("look up", "a"), task("plan all", "abc"), task("serve none", "")] * 20)
    assert system.trained
    assert system.select(Query("q", "look up")) == ["a"]
    assert system.select(Query("q", "plan all")) == ["a", "b", "c"]
    assert system.select(Query("q", "serve none")) == []


def test_the_length_of_a_request_counts():
    """With no vector to go by, requests of three clauses get more tools than those of one."""
    one = [task(f"list issue number {i}", "a") for i in range(15)]
    text = "list the open issues, post a summary {0}, then email the report {0}"
    three = [task(text.format(i), "abc") for i in range(15)]
    system = fitted(one + three)
    assert system.size(Query("q", "list issue number 77")) == 1
    assert system.size(Query("q", text.format(77))) == 3


def test_untrained_sets_have_two_tools_and_say_so():
    """Nine requests are too few to learn from, and none are none."""
    for train in ([], [task("look up", "a")] * 9):
        system = fitted(train)
        assert not system.trained
        assert system.select(Query("q", "look up")) == ["a", "b"]


def test_sizes_stay_within_what_was_seen():
    """A vector far beyond the training requests asks for no more tools than any of them had."""
    system = fitted([task("look up", "a"), task("plan all", "abc")] * 20)
    ENCODER.vectors["far"] = [-50, 50]
    ENCODER.vectors["away"] = [50, -50]
    assert system.size(Query("q", "far")) == 3
    assert system.size(Query("q", "away")) == 0


def test_the_ranking_is_the_inner_one():
    """Sizes change the set alone."""
    assert ids(fitted([]).rank(Query("q", "look up"), 3)) == ["a", "b", "c"]


def test_the_same_training_is_done_once_and_other_training_again():
    """Fitting another library with the same requests keeps the model; other requests replace it."""
    train = [task("look up", "a")] * 20
    system = fitted(train)
    model = system._model
    system.fit(tools("a", "b"), list(train))
    assert system._model is model
    system.fit(tools("a", "b"), [])
    assert not system.trained


def test_length_features():
    """Two clauses, four terms, 22 characters."""
    text = "list issues, post news"
    assert len(text) == 22
    assert lengths(text) == pytest.approx([np.log(23), np.log(5), np.log(3), 2])


def test_the_penalty_is_the_one_with_the_least_error_left_out():
    """The closed form agrees with fitting without each request in turn, up to the standardisation."""
    rng = np.random.default_rng(3)
    features = rng.normal(size=(30, 4))
    sizes = np.clip(np.round(2 + features[:, 0] + 0.3 * rng.normal(size=30)), 0, 5)
    model = SizeModel(features, sizes)
    inputs = (features - features.mean(0)) / features.std(0)
    errors = {}
    for penalty in (1.0, 10.0, 100.0, 1000.0, 10000.0):
        wrong = []
        for out in range(30):
            keep = np.arange(30) != out
            design = np.hstack([np.ones((29, 1)), inputs[keep]])
            ridge = np.diag([0.0] + [penalty] * 4)
            weights = np.linalg.solve(design.T @ design + ridge, design.T @ sizes[keep])
            wrong.append(sizes[out] - np.hstack([1.0, inputs[out]]) @ weights)
        errors[penalty] = np.mean(np.square(wrong))
    assert model.penalty == min(errors, key=lambda penalty: errors[penalty])
    left, values, _ = np.linalg.svd(inputs, full_matrices=False)
    target = left.T @ (sizes - sizes.mean())
    for penalty, error in errors.items():
        assert model._press(left, values, target, sizes, penalty) == pytest.approx(error)
