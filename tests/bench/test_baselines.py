"""The laws of a system, over every baseline on the demo catalogue."""

from collections.abc import Callable

import numpy as np
import pytest
from tests.bench.systems import DEMO, demo_tasks

from toolwise.bench.baselines import ADAPTERS, BASELINES, PairSystem, Parts, factories, factory
from toolwise.bench.baselines.pool import positions, relevance
from toolwise.bench.data import Task
from toolwise.bench.system import Selecting, System
from toolwise.bench.systems import SYSTEMS, encoder
from toolwise.catalog import load
from toolwise.errors import RegistryError
from toolwise.records import Query, Tool

PARTS = Parts(SYSTEMS["bm25"], SYSTEMS["hybrid"], lambda: encoder("static"))
QUERIES = [task.query for task in demo_tasks()] + [
    Query("empty", ""),
    Query("zh", "查询订单，然后发送邮件"),
    Query("long", "find the order and email it, " * 200),
]


class Longest:
    """A pair scorer for the contract: the longer text wins."""

    def score(self, request: str, texts: list[str]) -> np.ndarray:
        """Lengths."""
        return np.array([len(text) for text in texts], np.float32)


MAKERS: dict[str, Callable[[int], System]] = {
    **factories(PARTS),
    "pairs": lambda seed: PairSystem("pairs", SYSTEMS["hybrid"](seed), Longest),
}


@pytest.fixture(scope="module")
def tools() -> list[Tool]:
    return sorted(load([DEMO / "tools.jsonl"]).tools, key=lambda tool: tool.id)


@pytest.fixture(scope="module")
def train() -> list[Task]:
    return demo_tasks()


@pytest.fixture(scope="module", params=sorted(MAKERS))
def system(request: pytest.FixtureRequest, tools: list[Tool], train: list[Task]) -> System:
    made = MAKERS[request.param](0)
    assert made.name == request.param
    made.fit(tools, train)
    return made


def test_ids_come_from_the_library_without_repeats(system: System, tools: list[Tool]):
    """At most k of them, whatever the request."""
    known = {tool.id for tool in tools}
    for query in QUERIES:
        for k in (0, 1, 5, 100, 1000):
            found = [id_ for id_, _ in system.rank(query, k)]
            assert len(found) == len(set(found)) <= k
            assert set(found) <= known


def test_scores_never_increase_and_ties_are_in_order_of_id(system: System):
    """Reading (-score, id) down a ranking never goes back."""
    for query in QUERIES:
        ranking = system.rank(query, 1000)
        keys = [(-score, id_) for id_, score in ranking]
        assert keys == sorted(keys)
        assert all(np.isfinite(score) for _, score in ranking)


def test_the_first_tools_do_not_depend_on_how_many_are_asked_for(system: System):
    """The top 3 and the top 10 begin the top 123."""
    for query in QUERIES:
        whole = [id_ for id_, _ in system.rank(query, 123)]
        assert [id_ for id_, _ in system.rank(query, 3)] == whole[:3]
        assert [id_ for id_, _ in system.rank(query, 10)] == whole[:10]


def test_the_same_seed_gives_the_same_ranking(system: System, tools: list[Tool], train: list[Task]):
    """A second system, fitted anew, agrees to the last score."""
    again = MAKERS[system.name](0)
    again.fit(tools, train)
    assert [again.rank(query, 20) for query in QUERIES] == [system.rank(query, 20) for query in QUERIES]


def test_another_library_replaces_the_first(tools: list[Tool], train: list[Task]):
    """Fitted again with three tools, a system knows no other."""
    few = tools[:3]
    for make in MAKERS.values():
        made = make(0)
        made.fit(tools, train)
        made.fit(few, train)
        found = {id_ for query in QUERIES for id_, _ in made.rank(query, 50)}
        assert found <= {tool.id for tool in few}


def test_an_empty_library_ranks_nothing():
    """No tools, no ranking, no error."""
    for make in MAKERS.values():
        made = make(0)
        made.fit([], [])
        assert made.rank(QUERIES[0], 5) == []


def test_those_that_select_give_known_tools_once(system: System, tools: list[Tool]):
    """The cardinality baseline and the rule filter deliver sets."""
    assert isinstance(system, Selecting) == (
        system.name in {"cardinality", "rule-filter", "rule-filter-bm25"}
    )
    if isinstance(system, Selecting):
        for query in QUERIES:
            found = system.select(query)
            assert len(found) == len(set(found))
            assert set(found) <= {tool.id for tool in tools}


def test_rerankers_keep_the_tools_of_their_inner_ranking(tools: list[Tool]):
    """An order is new, the tools are not."""
    inner = SYSTEMS["hybrid"](0)
    inner.fit(tools, [])
    for name in ("mmr", "facility-location", "rule-filter", "cardinality", "pairs"):
        made = MAKERS[name](0)
        made.fit(tools, [])
        for query in QUERIES[:4]:
            assert {i for i, _ in made.rank(query, 100)} == {i for i, _ in inner.rank(query, 100)}


def test_names_with_an_argument_find_their_adapter():
    """``NAME:ARGUMENT`` goes to the adapter, colons in the argument included; nothing is loaded yet."""
    for name in ADAPTERS:
        assert factory(f"{name}:org/model:v1", PARTS)(0).name == f"{name}:org/model:v1"
    for name in BASELINES:
        assert factory(name, PARTS)(0).name == name


@pytest.mark.parametrize("name", ["nonsense", "cross-encoder", "cross-encoder:", "mmr:0.5", ""])
def test_unknown_names_are_refused(name: str):
    """The error lists what there is."""
    with pytest.raises(RegistryError, match=r"clause-bm25.*cross-encoder:ARGUMENT"):
        factory(name, PARTS)


def test_relevance_is_stretched_to_the_unit_interval():
    """(8, 6, 4) is (1, .5, 0); equal scores are all 1; no scores are none."""
    np.testing.assert_allclose(relevance([("a", 8.0), ("b", 6.0), ("c", 4.0)]), [1, 0.5, 0])
    np.testing.assert_allclose(relevance([("a", 3.0), ("b", 3.0)]), [1, 1])
    assert relevance([]).shape == (0,)
    assert positions(["b", "a"]) == [("b", 0.0), ("a", -1.0)]
