"""HYSET, its ablations and comparators as systems of the bench."""

from collections.abc import Sequence

import numpy as np
import pytest
from tests.bench.systems import FixedSystem, ids
from tests.builders import tool

from toolwise.bench.cases import Group
from toolwise.bench.data import Task
from toolwise.bench.set_suite import SETS, WorkspaceCase
from toolwise.bench.sets import SET_HEADS
from toolwise.bench.sets.systems import BudgetSystem, HysetSystem, Options, ThresholdSystem, threshold
from toolwise.bench.sets.training import Data, development, encoder_of
from toolwise.bench.system import Learning, Selecting, System
from toolwise.bench.systems import known, make
from toolwise.config import settings
from toolwise.errors import RegistryError
from toolwise.records import Query, Tool, ToolText

WORDS = "weather hotel flight currency news stock music map recipe translate email calendar".split()


def library() -> tuple[Tool, ...]:
    """Two tools per word, in order of id."""
    found = [
        Tool(f"s/{w}_{verb}", f"{w}_{verb}", server="s", text=ToolText(f"{verb} the {w}"))
        for w in WORDS
        for verb in ("find", "update")
    ]
    return tuple(sorted(found, key=lambda one: one.id))


def group(requests: int = 96) -> Group:
    """Requests that name one word and need both of its tools."""
    tasks = []
    for number in range(requests):
        word = WORDS[number % len(WORDS)]
        gold = (f"s/{word}_find", f"s/{word}_update")
        tasks.append(Task(Query(f"q{number}", f"please {word} number {number}"), gold, "lib", {}))
    return Group("lib", library(), tuple(tasks))


def fitted(name: str, groups: Sequence[Group] = ()) -> System:
    """A system by name, learned and fitted."""
    system = make(name, 0, {})
    if isinstance(system, Learning):
        system.learn(groups)
    system.fit(library(), [task for one in groups for task in one.tasks])
    return system


def test_every_name_is_known_to_the_bench():
    """Also to the list that errors show; a wrapper needs a system."""
    assert set(SET_HEADS) <= set(known())
    with pytest.raises(RegistryError, match="budget:SYSTEM"):
        make("budget", 0, {})
    with pytest.raises(RegistryError):
        make("threshold:nothing", 0, {})


def test_the_suites_systems_exist():
    """Each can be made."""
    for name in SETS.systems:
        assert make(name, 0, {}).name == name


def test_without_training_requests_hyset_is_the_frozen_encoder():
    """The ranking begins with the best cosine, and one tool is delivered: a mean is greatest alone."""
    pytest.importorskip("torch", reason="the [train] extra is not installed")
    query = Query("q", "what is the weather like")
    hyset, dense = fitted("hyset"), fitted("dense")
    assert ids(hyset.rank(query, 1)) == ids(dense.rank(query, 1))
    assert isinstance(hyset, Selecting)
    assert hyset.select(query) == ids(dense.rank(query, 1))


@pytest.mark.parametrize("name", [name for name in SET_HEADS if name not in ("budget", "threshold")])
def test_a_ranking_keeps_the_laws(name: str):
    """Known ids without repeats, scores that never increase, the same answer twice."""
    pytest.importorskip("torch", reason="the [train] extra is not installed")
    pytest.importorskip("transformers", reason="the [train] extra is not installed")
    system = fitted(name, [group()])
    query = Query("q", "update my calendar and find a hotel")
    ranked = system.rank(query, 12)
    scores = [score for _, score in ranked]
    assert len(ranked) == len(set(ids(ranked))) == 12
    assert set(ids(ranked)) <= {one.id for one in library()}
    assert scores == sorted(scores, reverse=True)
    assert fitted(name, [group()]).rank(query, 12) == ranked
    assert system.rank(query, 0) == []
    if isinstance(system, Selecting):
        assert 1 <= len(set(system.select(query))) <= 5


def test_a_tool_that_training_had_not_seen_has_the_encoders_vector():
    """A library of the next day is answered from as well."""
    pytest.importorskip("torch", reason="the [train] extra is not installed")
    pytest.importorskip("transformers", reason="the [train] extra is not installed")
    system = make("hyset", 0, {})
    assert isinstance(system, HysetSystem)
    system.learn([group()])
    new = Tool("s/zebra", "zebra", server="s", text=ToolText("count zebras in the savanna"))
    system.fit((*library(), new), ())
    assert "s/zebra" in ids(system.rank(Query("q", "how many zebras are in the savanna"), 5))


class FixedHyset(HysetSystem):
    """Delivers the first tools."""

    def __init__(self, size: int) -> None:
        super().__init__("hyset", "static")
        self.size = size

    def fit(self, tools: Sequence[Tool], train: Sequence[Task]) -> None:
        """Remember them."""
        self.ids = [one.id for one in tools]

    def select(self, query: Query) -> list[str]:
        """The first ``size``."""
        return self.ids[: self.size]

    def development(self) -> frozenset[str]:
        """Two requests."""
        return frozenset({"one", "two"})


class FixedSet(FixedSystem):
    """A ranking and a set of its own."""

    def select(self, query: Query) -> list[str]:
        """The last tool."""
        return [self.ranking[-1][0]]


RANKING = (("a", 3.0), ("b", 2.0), ("c", 1.0))


@pytest.mark.parametrize(
    ("inner", "size", "expected"),
    [
        (FixedSystem(*RANKING), 2, ["a", "b"]),
        (FixedSet(*RANKING), 2, ["c", "a"]),
        (FixedSet(*RANKING), 3, ["c", "a", "b"]),
        (FixedSet(*RANKING), 0, ["c"]),
    ],
)
def test_a_comparator_delivers_at_least_as_many_tools_as_hyset(
    inner: FixedSystem, size: int, expected: list[str]
):
    """Its own set is filled up from its own ranking, never cut."""
    system = BudgetSystem("budget:fixed", inner, FixedHyset(size))
    system.fit([tool(id_) for id_ in "abc"], ())
    assert system.select(Query("q", "x")) == expected


def test_a_threshold_keeps_the_wanted_mean_size():
    """Of two lists, three tools altogether: the first of each and the best of the others."""
    scores = [[9.0, 8.0, 1.0], [5.0, 4.0, 3.0]]
    assert threshold(scores, 1.5) == 8.0
    assert threshold(scores, 2.0) == 4.0
    assert threshold(scores, 1.0) == np.inf
    assert threshold(scores, 9.0) == 1.0
    assert threshold([], 2.0) == np.inf


def test_a_threshold_system_is_cut_to_hysets_mean_size():
    """Two development requests of size 2: the score of the second tool is the threshold."""
    tasks = tuple(Task(Query(text, text), ("a",), "lib", {}) for text in ("one", "two", "three"))
    system = ThresholdSystem("threshold:fixed", FixedSystem(*RANKING), FixedHyset(2))
    system.learn([Group("lib", tuple(tool(id_) for id_ in "abc"), tasks)])
    assert system.threshold == 2.0
    assert system.select(Query("q", "x")) == ["a", "b"]


def test_data_is_a_key_by_content():
    """Equal requests are trained on once; other gold sets or barred tools are other data."""
    first, same = Data.of([group()]), Data.of([group()])
    assert first == same
    assert hash(first) == hash(same)
    assert first != Data.of([group(95)])


def test_the_tuned_encoder_never_reads_what_training_stops_by():
    """A whole gold set, about a tenth; without training requests it is the packaged table."""
    data = Data.of([group(120)])
    dev = development(data, 5, 0, 0)
    assert len(dev) == 10
    assert {text.split()[1] for text in dev} == {next(iter(dev)).split()[1]}
    empty = Data.of([])
    assert not empty.teaches
    assert development(empty, 5, 0, 0) == frozenset()
    assert encoder_of("tuned", empty, 0, 0).fingerprint == encoder_of("static", data, 0, 0).fingerprint


def test_hyset_can_be_kept_from_drawing_tools():
    """The strict protocol reaches the training data."""
    system = HysetSystem("hyset", "static", options=Options(never_negative=frozenset({"s/map_find"})))
    system.learn([group()])
    assert system._data.never_negative == {"s/map_find"}


def test_workspaces_are_never_on_both_sides():
    """Five folds deal all requests out once; what is learned from is of other workspaces."""
    case = next(case for case in SETS.cases if isinstance(case, WorkspaceCase))
    if not case.available():
        pytest.skip(f"mcp_tasks is not in {settings().data}")
    parts = case.parts()
    tested = [task.query.id for part in parts for one in part.groups for task in one.tasks]
    assert len(parts) == 5
    assert len(tested) == len(set(tested)) == 4_697
    for part in parts:
        assert not {one.library for one in part.groups} & {task.library for task in part.train}


def test_unseen_parts_are_told_by_the_training_requests():
    """Of a, b and c, trained on {a, b} and {b, c}: the set {a, c} and its pair are new, its tools are not."""
    subsets = dict(next(case for case in SETS.cases if case.name == "toolbench").subsets)
    train = [Task(Query(name, name), tuple(name), "l", {}) for name in ("ab", "bc")]
    found = {
        gold: [
            name.split()[1]
            for name in subsets
            if name.startswith("unseen") and _in(subsets, name, gold, train)
        ]
        for gold in ("ab", "ba", "ac", "b", "bd", "abc")
    }
    assert found == {
        "ab": [],
        "ba": [],
        "ac": ["set", "pair"],
        "b": ["set"],
        "bd": ["set", "pair", "tool"],
        "abc": ["set", "pair"],
    }


def _in(subsets: dict, name: str, gold: str, train: list[Task]) -> bool:
    return subsets[name](Task(Query("q", "q"), tuple(gold), "l", {}), train)


class Open(FixedSystem):
    """Holds something open."""

    closed = False

    def close(self) -> None:
        """Let it go."""
        self.closed = True


@pytest.mark.parametrize("wrapper", [BudgetSystem, ThresholdSystem])
def test_a_wrapped_system_is_closed(wrapper: type[BudgetSystem] | type[ThresholdSystem]):
    """One with a process of its own ends it; one without is none the worse."""
    inner = Open(*RANKING)
    wrapper("w", inner, FixedHyset(1)).close()
    assert inner.closed
    wrapper("w", FixedSystem(*RANKING), FixedHyset(1)).close()


def test_an_empty_request_is_answered_like_any_other():
    """Whatever was asked before it."""
    pytest.importorskip("torch", reason="the [train] extra is not installed")
    pytest.importorskip("transformers", reason="the [train] extra is not installed")
    system = fitted("deepsets", [group()])
    first = system.rank(Query("q", ""), 5)
    assert len(first) == 5
    system.rank(Query("q", "update my calendar"), 5)
    assert system.rank(Query("q", ""), 5) == first
