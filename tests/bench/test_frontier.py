"""The suite ``frontier``: the curve by hand, the systems over a small library."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.builders import tool as tool_of

from toolwise.bench.cases import Models
from toolwise.bench.data import Task
from toolwise.bench.frontier import EXPOSED, FRONTIER, RIVAL, Best, crossings, crossings_table
from toolwise.bench.frontier_systems import DialSystem, RuleSystem, TopSystem
from toolwise.bench.peers import RIVALS
from toolwise.bench.suites import SUITES
from toolwise.bench.system import Selecting
from toolwise.bench.systems import SYSTEMS, encoder, make
from toolwise.encode.static import PACKAGED as TABLE
from toolwise.errors import RegistryError
from toolwise.evaluate import Metric, Row
from toolwise.records import Query
from toolwise.sets.default import weights_of
from toolwise.sets.default_weights import plain, save

CURVE = [(0.2, 0.4), (1.0, 0.6), (0.6, 0.3), (1.2, 0.6)]


def test_the_curve_keeps_what_no_point_of_it_beats() -> None:
    """More exposure must buy coverage."""
    assert Best.of(CURVE).points == ((0.2, 0.4), (1.0, 0.6))


def test_between_points_in_proportion() -> None:
    """Half way half the gain; beyond the last no more; before the first and above the last nothing."""
    best = Best.of(CURVE)
    assert best.covered(0.6) == pytest.approx(0.5)
    assert best.covered(5.0) == pytest.approx(0.6)
    assert best.covered(0.1) is None
    assert best.exposed(0.5) == pytest.approx(0.6)
    assert best.exposed(0.1) == pytest.approx(0.2)
    assert best.exposed(0.7) is None


def line(system: str, covered: float, exposed: float) -> dict[str, object]:
    """A system of the results."""
    values = {"coverage": covered, "exposed-unneeded": exposed, "exposed-unneeded4": exposed / 2}
    return {"system": system, "metrics": {m: {"mean": v, "low": v, "high": v} for m, v in values.items()}}


def test_every_other_system_is_set_against_the_curve() -> None:
    """At its exposure twice the coverage, at its coverage a quarter of the exposure."""
    systems = [
        line("toolwise:caution=0+economy=0", 0.6, 1.0),
        line("toolwise:caution=1+economy=0", 0.3, 0.2),
        line("top5:hybrid", 0.3, 0.8),
        {"system": "broken", "error": "it failed"},
    ]
    found = crossings(systems)
    assert [(row["system"], row["metric"]) for row in found] == [
        ("top5:hybrid", "exposed-unneeded"),
        ("top5:hybrid", "exposed-unneeded4"),
    ]
    assert found[0]["covered_there"] == pytest.approx(0.525)
    assert found[0]["exposed_there"] == pytest.approx(0.2)
    assert "| top5:hybrid | unneeded 3+ | 30.0 | 52.5 | 1.75 | 0.800 | 0.200 | 0.25 |" in crossings_table(
        found
    )


def test_without_a_curve_nothing_is_compared() -> None:
    """Other suites have no crossings."""
    assert crossings([line("top5:hybrid", 0.3, 0.8)]) == []


def rows_of(covered: tuple[float, ...], exposed: tuple[float, ...]) -> list[Row]:
    """A value for each of the requests q0, q1, ...; half of the exposure is of level 4."""
    values = {"coverage": covered, EXPOSED[0]: exposed, EXPOSED[1]: tuple(x / 2 for x in exposed)}
    return [Row(f"q{i}", Metric.parse(m), v) for m, some in values.items() for i, v in enumerate(some)]


def test_ratios_have_intervals_from_resampled_workspaces() -> None:
    """Two workspaces: where both have it twice as good, all resamples say 2, else they range from 1 to 3."""
    ours, even, uneven = "toolwise:caution=0", "top5:even", "top5:uneven"
    systems = [line(ours, 0.6, 0.4), line(even, 0.3, 0.8), line(uneven, 0.4, 0.8)]
    rows = {
        ours: rows_of((0.6, 0.6), (0.4, 0.4)),
        even: rows_of((0.3, 0.3), (0.8, 0.8)),
        uneven: rows_of((0.2, 0.6), (0.8, 0.8)),
    }
    found = crossings(systems, rows, {"q0": "a", "q1": "b"}, resamples=400)
    assert found[0]["times"] == pytest.approx([2.0, 2.0])
    assert found[0]["exposed_times"] == pytest.approx([0.5, 0.5])
    assert found[1]["times"] == pytest.approx([1.0, 3.0])
    assert "| 60.0 | 2.00 [2.00, 2.00] | 0.800 | 0.400 | 0.50 [0.50, 0.50] |" in crossings_table(found)


def test_what_is_out_of_reach_has_no_upper_end() -> None:
    """What covers more than the curve has no exposure there; below the curve there is less in proportion."""
    ours, more = "toolwise:caution=0", "top5:more"
    systems = [line(ours, 0.4, 0.8), line(more, 0.5, 0.2)]
    rows = {ours: rows_of((0.4, 0.4), (0.8, 0.8)), more: rows_of((0.5, 0.5), (0.2, 0.2))}
    found = crossings(systems, rows, resamples=50)[0]
    assert found["covered_there"] == pytest.approx(0.1)
    assert found["times"] == pytest.approx([0.2, 0.2])
    assert found["exposed_there"] is None
    assert found["exposed_times"] == [None, None]
    assert "| 10.0 | 0.20 [0.20, 0.20] | 0.200 | - | - [-, -] |" in crossings_table([found])


def test_without_all_rows_or_with_one_workspace_there_are_no_intervals() -> None:
    """Nothing is made up."""
    ours, other = "toolwise:caution=0", "top5:other"
    systems = [line(ours, 0.6, 0.4), line(other, 0.3, 0.8)]
    rows = {ours: rows_of((0.6, 0.6), (0.4, 0.4)), other: rows_of((0.3, 0.3), (0.8, 0.8))}
    assert "times" not in crossings(systems, {ours: rows[ours]})[0]
    assert crossings(systems, rows, {"q0": "a", "q1": "a"})[0]["times"] is None


LIBRARY = [
    tool_of("files/delete_file", "Delete a file for good."),
    tool_of("files/read_file", "Read the content of a file."),
    tool_of("files/write_file", "Write the content of a file."),
    tool_of("weather/get_forecast", "Get the weather forecast of a city."),
]
QUERY = Query("q", "read the content of the file notes.txt")
TRAIN: tuple[Task, ...] = ()


def test_the_first_five_are_delivered() -> None:
    """Or all there are."""
    system = make("top5:bm25", 0, {})
    assert isinstance(system, TopSystem)
    system.fit(LIBRARY, TRAIN)
    assert system.select(QUERY) == [id_ for id_, _ in system.rank(QUERY, 5)]


class Foreign:
    """A ranking with a process of its own."""

    name = "foreign"
    request_cpu_s = 1.5
    closed = False

    def fit(self, tools: object, train: object) -> None:
        """Nothing."""

    def rank(self, query: Query, k: int) -> list[tuple[str, float]]:
        """One tool."""
        return [("files/read_file", 1.0)]

    def close(self) -> None:
        """End it."""
        self.closed = True


def test_the_costs_of_a_process_are_those_of_what_is_delivered_from_it() -> None:
    """CPU time and the end of the process pass through; a system without one shows none."""
    foreign = Foreign()
    for system in (
        TopSystem("top5:foreign", foreign),
        RuleSystem("rule5:foreign", foreign, lambda: encoder("static"), {}, sets=False),
    ):
        assert system.request_cpu_s == 1.5
        system.close()
        assert foreign.closed
        foreign.closed = False
    assert not hasattr(make("top5:bm25", 0, {}), "close")


def test_other_models_answer_under_the_same_names(tmp_path: Path) -> None:
    """The scorer's weights are those of the file; what knows no other weights is refused."""
    file = tmp_path / "weights.safetensors"
    save(plain(), file, {})
    models = Models(TABLE, file)
    system = make("toolwise:caution=0", 0, {}, models)
    assert isinstance(system, DialSystem)
    system.fit(LIBRARY, TRAIN)
    index = system._library.selector.index
    assert weights_of(index.folder).read_bytes() == file.read_bytes()
    assert index.meta["encoder"] == f"static:{TABLE}"
    names = ("hybrid", "dense", "bm25", "top5:hybrid", "rule5:hybrid", f"top5:{RIVAL}", "sets-default")
    assert tuple(make(name, 0, {}, models).name for name in names) == names
    for name in ("toolwise", "mmr"):
        with pytest.raises(RegistryError, match="packaged"):
            make(name, 0, {}, models)


def test_the_rival_stands_beside_the_others() -> None:
    """Its first five, and what the rule filter leaves of it."""
    assert RIVAL in RIVALS
    assert {f"top5:{RIVAL}", f"rule5:{RIVAL}"} <= set(FRONTIER.systems)


def test_the_rule_filter_delivers_what_it_admits_and_fills_up_nothing() -> None:
    """One tool of level 3 or more."""
    levels = {tool.id: 4 for tool in LIBRARY[:3]}
    system = make("rule5:hybrid", 0, levels)
    system.fit(LIBRARY, TRAIN)
    assert isinstance(system, Selecting)
    delivered = system.select(QUERY)
    assert sum(levels.get(id_, 1) >= 3 for id_ in delivered) == 1


def test_a_delivered_set_is_filtered_as_it_is() -> None:
    """`rule` looks at the set that a system delivers, not at its ranking."""
    inner = TopSystem("two", SYSTEMS["bm25"](0))
    inner.select = lambda query: ["files/read_file", "files/delete_file"]  # type: ignore[method-assign]
    system = RuleSystem("rule:two", inner, lambda: encoder("static"), {t.id: 4 for t in LIBRARY}, sets=True)
    system.fit(LIBRARY, TRAIN)
    assert system.select(QUERY) == ["files/read_file"]


def test_labels_stand_in_for_the_levels_of_the_index_and_dials_for_those_of_the_policy() -> None:
    """Labelled harmless, all four may come; labelled critical, none without a name."""
    free = DialSystem("toolwise:caution=0+economy=0", {tool.id: 1 for tool in LIBRARY})
    barred = DialSystem("toolwise:caution=0+economy=0", {tool.id: 5 for tool in LIBRARY})
    for system in (free, barred):
        system.fit(LIBRARY, TRAIN)
    assert len(free.select(QUERY)) == 4
    assert barred.select(QUERY) == []
    assert [id_ for id_, _ in barred.rank(QUERY, 4)] == [id_ for id_, _ in free.rank(QUERY, 4)]


def test_unknown_settings_are_refused() -> None:
    """By name, before anything runs."""
    with pytest.raises(RegistryError, match="caution, economy, policy and past"):
        make("toolwise:courage=1", 0, {})
    with pytest.raises(RegistryError, match="numbers"):
        make("toolwise:caution=much", 0, {})


def test_the_suite_is_known_and_all_its_systems_are() -> None:
    """Every name can be made."""
    assert SUITES["frontier"] is FRONTIER
    for name in FRONTIER.systems:
        if "hyset" not in name and "default" not in name:  # these import torch
            make(name, 0, {})


def test_the_curve_is_drawn(tmp_path: Path) -> None:
    """A picture of its own where there is a curve."""
    pytest.importorskip("matplotlib")
    from toolwise.bench.plots import draw

    systems = [
        {**line(name, covered, exposed), "cpu_ms": 1.0}
        for name, covered, exposed in (
            ("toolwise:caution=0+economy=0", 0.6, 1.0),
            ("toolwise:caution=1+economy=0", 0.3, 0.2),
            ("top5:hybrid", 0.3, 0.8),
        )
    ]
    case = {"name": "tiny", "systems": systems, "crossings": crossings(systems)}
    results = {"suite": "frontier", "metrics": ["coverage"], "cases": [case]}
    assert {path.name for path in draw(results, tmp_path)} >= {
        "frontier-frontier.png",
        "frontier-frontier.svg",
    }
