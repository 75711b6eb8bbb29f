"""The suite ``frontier``: the curve by hand, the systems over a small library."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.builders import tool as tool_of

from toolwise.bench.data import Task
from toolwise.bench.frontier import FRONTIER, Best, crossings, crossings_table
from toolwise.bench.frontier_systems import DialSystem, RuleSystem, TopSystem
from toolwise.bench.suites import SUITES
from toolwise.bench.system import Selecting
from toolwise.bench.systems import SYSTEMS, encoder, make
from toolwise.errors import RegistryError
from toolwise.records import Query

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
    with pytest.raises(RegistryError, match="caution, economy, policy and encoder"):
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
