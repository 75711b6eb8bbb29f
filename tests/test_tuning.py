"""Operating points by hand: requests, answers and the frontier they make."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import tool as tool_of
from toolwise.evaluate import Task
from toolwise.indexing import index_catalogue
from toolwise.pipeline import Selector
from toolwise.policy import Policy
from toolwise.records import Catalogue
from toolwise.tuning import Point, frontier, points, recommended

POINT = Point(0.0, 0.0, 10, 0.5, 0.1, 3.0, 0.2, 0.1, 2.0, 0.0, 0.0, None)


def test_the_frontier_keeps_what_nothing_beats():
    """More risk must buy more coverage."""
    safe = replace(POINT, risky=0.1, coverage=0.4)
    same = replace(POINT, risky=0.2, coverage=0.4)
    bold = replace(POINT, risky=0.3, coverage=0.6)
    worse = replace(POINT, risky=0.4, coverage=0.5)
    assert frontier([worse, bold, same, safe]) == [safe, bold]


def test_recommended_is_the_most_useful_point_within_the_limits():
    """The best of all answers nothing too often, the next is too risky."""
    silent = replace(POINT, coverage=0.9, wrong=0.2)
    risky = replace(POINT, coverage=0.8, risky=1.0)
    fine = replace(POINT, coverage=0.7)
    assert recommended([POINT, silent, risky, fine], most_risky=0.5) == fine
    assert recommended([POINT, silent, risky, fine]) == risky


def test_rightly_empty_answers_count_for_the_recommendation():
    """Ten points of abstention outweigh five of coverage."""
    careful = replace(POINT, coverage=0.65, abstains=0.3)
    eager = replace(POINT, coverage=0.7, abstains=0.2)
    assert recommended([careful, eager]) == careful


@pytest.fixture(scope="module")
def selector(tmp_path_factory: pytest.TempPathFactory):
    """Three tools, open with the method that weighs sets."""
    folder = tmp_path_factory.mktemp("tuning")
    tools = [
        tool_of("files/delete_file", "Delete a file for good."),
        tool_of("files/read_file", "Read the content of a file."),
        tool_of("weather/get_forecast", "Get the weather forecast of a city."),
    ]
    index_catalogue(Catalogue(tuple(tools)), folder)
    with Selector.open(folder, method="toolwise") as opened:
        yield opened


def test_every_setting_is_measured_and_the_policy_s_own_among_them(selector: Selector):
    """Two cautions and two economies, and the present pair beside them."""
    tasks = [Task("1", "read the content of the file notes.txt", frozenset({"files/read_file"}))]
    found = points(
        selector, tasks, Policy(caution=0.3, economy=0.0), cautions=(0.0, 1.0), economies=(0.0, 1.0)
    )
    assert [(p.caution, p.economy) for p in found] == [
        *[(0.0, 0.0), (0.0, 1.0), (0.3, 0.0), (0.3, 1.0), (1.0, 0.0), (1.0, 1.0)]
    ]
    assert all(p.requests == 1 for p in found)


def test_dear_tools_leave_one(selector: Selector):
    """At economy 1 another tool would have to be certain: the best one is left."""
    tasks = [
        Task("1", "read the content of the file notes.txt", frozenset({"files/read_file"})),
        Task("2", "sing me a song", frozenset()),
    ]
    found = points(selector, tasks, Policy(), cautions=(0.0,), economies=(0.0, 1.0))
    free, dear = found
    assert (free.coverage, free.size) == (1.0, 3.0)
    assert (dear.coverage, dear.size, dear.wrong) == (1.0, 1.0, 0.0)
    assert free.abstains == dear.abstains


def test_unneeded_risk_counts_tools_that_are_not_gold(selector: Selector):
    """Labels make the forecast severe: beside the gold tool it counts, as gold it would not."""
    levels = {"files/read_file": 1, "files/delete_file": 1, "weather/get_forecast": 4}
    tasks = [Task("1", "read the content of the file notes.txt", frozenset({"files/read_file"}))]
    (all_three,) = points(
        selector, tasks, Policy(max_tools=3), levels=levels, cautions=(0.0,), economies=(0.0,)
    )
    assert (all_three.risky, all_three.severe) == (float(all_three.size == 3), float(all_three.size == 3))


def test_the_plot_is_a_file(tmp_path: Path):
    """PNG by its name."""
    pytest.importorskip("matplotlib")
    from toolwise.bench.plots import draw_frontier

    draw_frontier([POINT], [POINT], POINT, POINT, tmp_path / "frontier.png")
    assert (tmp_path / "frontier.png").read_bytes().startswith(b"\x89PNG")
