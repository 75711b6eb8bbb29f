"""The risk-aware systems: what their names mean, and every step of them over vectors written by hand."""

import sys

import numpy as np
import pytest
from tests.bench.systems import TableEncoder, ids
from tests.builders import tool

from toolwise.bench import risk, systems
from toolwise.bench.cases import Group
from toolwise.bench.data import Task
from toolwise.bench.risk import Plan, RiskSystem, fold_of
from toolwise.errors import MissingExtra, RegistryError
from toolwise.records import Query
from toolwise.rerank.toolgraph import ALL_EDGES, Edge


@pytest.mark.parametrize(
    ("name", "plan"),
    [
        ("encoder@static", Plan("encoder", "static")),
        ("paper@untuned", Plan("paper", "onnx:.weights/minilm")),
        ("paper+rel@static", Plan("paper", "static", lam=0)),
        ("default+graph+rule+lam0.05@static", Plan("default", "static", 0.05, ALL_EDGES, rule=True)),
        ("paper+risk+top100@static", Plan("paper", "static", edges=frozenset({Edge.RISK}), short=True)),
        ("bm25", None),
        ("paper", None),
        ("other@static", None),
        ("paper@", None),
    ],
)
def test_a_name_is_a_plan_or_of_another_family(name: str, plan: Plan | None):
    """Form, steps and encoder."""
    assert Plan.parse(name) == plan


@pytest.mark.parametrize("name", ["paper+grpah@static", "paper+lamx@static"])
def test_a_wrong_step_is_named(name: str):
    """With the steps there are."""
    with pytest.raises(RegistryError, match=r"has a step '.*'; the steps are cooccurrence, graph"):
        Plan.parse(name)


TOOLS = [
    tool("a/delete", "Deletes a file for good."),
    tool("b/purge", "Deletes a folder for good."),
    tool("c/read", "Reads a file."),
    tool("d/town", "Names a town."),
]
AXES = np.eye(5, dtype=np.float32)
VECTORS = {t.id: AXES[i].tolist() for i, t in enumerate(TOOLS)}
REQUEST = [0.7, 0.6, 0.35, 0.1, 0.1]
LABELS = {"a/delete": 4, "b/purge": 4, "c/read": 1, "d/town": 1}


@pytest.fixture(autouse=True)
def encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools on axes of their own, the request ``q`` nearest to the first; nothing kept from other tests."""
    table = TableEncoder({**VECTORS, "q": REQUEST})
    monkeypatch.setattr(systems, "encoder", lambda specification: table)
    monkeypatch.setattr(risk, "_kept", {})


def learned(labels: dict[str, int]) -> RiskSystem:
    """A system that learned one request from tools with these levels."""
    system = RiskSystem("default@static", 0, labels)
    system.learn([Group("l", tuple(TOOLS), (Task(Query("q", "q"), ("a/delete",), "l", {}),))])
    return system


def test_heads_are_not_shared_between_levels():
    """The audit's levels teach other heads than the labels do; the same levels share them."""
    pytest.importorskip("torch")
    first = learned(LABELS)._heads
    assert learned(dict(LABELS))._heads is first
    assert learned({**LABELS, "c/read": 5})._heads is not first


def ranked(name: str, sets: tuple[tuple[str, ...], ...] = ()) -> list[str]:
    """First letters of the tools in the order of a system that learned ``sets``."""
    system = RiskSystem(name, 0, LABELS)
    tasks = tuple(Task(Query(str(n), "q"), one, "lib", {}) for n, one in enumerate(sets))
    system.learn([Group("lib", tuple(TOOLS), tasks)])
    system.fit(TOOLS, tasks)
    return [id_[0] for id_ in ids(system.rank(Query("x", "q"), 4))]


def test_the_encoder_ranks_by_cosine():
    """Nearest first."""
    assert ranked("encoder@static") == ["a", "b", "c", "d"]


def test_the_rule_filter_goes_by_the_labels():
    """The second tool of level 4 goes last."""
    assert ranked("encoder+rule@static") == ["a", "c", "d", "b"]


def test_the_graph_lifts_what_occurs_with_the_best():
    """Town was with delete twice: .9 * .1 + .1 * .7 = .16 is still below read, and above it after more."""
    together = (("a/delete", "d/town"), ("a/delete", "d/town"))
    assert ranked("encoder+cooccurrence@static", together) == ["a", "b", "c", "d"]
    system = RiskSystem("encoder+cooccurrence@static", 0, LABELS)
    tasks = tuple(Task(Query(str(n), "q"), one, "lib", {}) for n, one in enumerate(together))
    system.learn([Group("lib", tuple(TOOLS), tasks)])
    system.fit(TOOLS, tasks)
    assert system._graph.edges == 1
    assert system._graph.smooth(np.array([0.7, 0.6, 0.35, 0.1])).tolist() == pytest.approx(
        [0.64, 0.54, 0.315, 0.16]
    )


def test_only_the_short_list_is_scored(monkeypatch: pytest.MonkeyPatch):
    """With room for two."""
    monkeypatch.setattr(risk, "_SHORT", 2)
    assert ranked("encoder+graph+top100@static") == ["a", "b"]


def test_tools_described_alike_share_a_fold():
    """And different descriptions are spread over all folds."""
    assert fold_of(tool("x/one", "Same words.")) == fold_of(tool("y/two", "Same words."))
    assert {fold_of(tool(f"t/{n}", f"Text {n}.")) for n in range(60)} == set(range(risk.FOLDS))


def test_a_tool_is_scored_by_the_head_that_did_not_see_its_label():
    """Head j says j / 10 for everything: each tool gets the number of its own fold."""

    class Numbered:
        def __init__(self, number: int) -> None:
            self.number = number

        def risk(self, tools: np.ndarray) -> np.ndarray:
            return np.full(len(tools), self.number / 10, np.float32)

    system = RiskSystem("paper@static", 0, LABELS)
    system._heads = [Numbered(j) for j in range(risk.FOLDS)]  # type: ignore[misc]
    system.fit(TOOLS, ())
    assert system._risk.tolist() == pytest.approx([fold_of(t) / 10 for t in TOOLS])


@pytest.mark.parametrize("form", ["paper", "default"])
def test_without_torch_the_extra_is_named(form: str, monkeypatch: pytest.MonkeyPatch):
    """When it is about to learn."""
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r'pip install "toolwise\[train\]"'):
        ranked(f"{form}@static", (("a/delete",),))


@pytest.mark.parametrize("form", ["paper", "default"])
def test_heads_are_learned_once_for_all_steps(form: str, monkeypatch: pytest.MonkeyPatch):
    """Two systems that differ in a step share them; the ranking holds every tool once."""
    pytest.importorskip("torch")
    sets = (("a/delete", "c/read"), ("d/town",), ("a/delete",))
    assert sorted(ranked(f"{form}+rel@static", sets)) == ["a", "b", "c", "d"]
    monkeypatch.setattr(RiskSystem, "_trained", None)
    assert sorted(ranked(f"{form}+graph+rule@static", sets)) == ["a", "b", "c", "d"]


@pytest.mark.parametrize("form", ["paper", "default"])
def test_a_request_for_tools_of_elsewhere_teaches_nothing(form: str):
    """Nor does it stop what the others teach."""
    pytest.importorskip("torch")
    asked = [("q", ("a/delete",)), ("q", ("z/elsewhere",)), ("q", ("z/elsewhere", "c/read"))]
    tasks = tuple(Task(Query(str(i), text), gold, "l", {}) for i, (text, gold) in enumerate(asked))
    system = RiskSystem(f"{form}@static", 0, LABELS)
    lesson = system._lesson(Group("l", tuple(TOOLS), tasks))
    assert lesson.gold == [[0], [2]]
    system.learn([Group("l", tuple(TOOLS), tasks)])
    system.fit(TOOLS, ())
    assert len(system.rank(Query("q", "q"), 4)) == 4
