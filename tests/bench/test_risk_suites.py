"""The parts of the requests that the risk suites report apart, and the names of their systems."""

import pytest

from toolwise.bench import risk, risk_suites
from toolwise.bench.data import Task
from toolwise.bench.risk import Plan
from toolwise.bench.risk_suites import OTHERS, RISK, RISK_ABLATION, ULTRATOOL
from toolwise.records import Query

LEVELS = {"a": 1, "b": 2, "c": 3, "d": 5}


@pytest.fixture(autouse=True)
def levels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four tools of known level."""
    monkeypatch.setattr(risk_suites, "_levels", lambda data_set: LEVELS)


def task(*gold: str) -> Task:
    """A request by its gold set."""
    return Task(Query("q", "text"), gold, "lib", {})


@pytest.mark.parametrize(("gold", "needs"), [("ab", False), ("ac", True), ("d", True), ("ax", True)])
def test_a_request_needs_risk_or_is_harmless(gold: str, needs: bool):
    """By its gold tools; one without a label counts as level 3."""
    assert risk_suites._needs_risk("any")(task(*gold), ()) is needs
    assert risk_suites._harmless("any")(task(*gold), ()) is not needs


def test_long_tail_and_out_of_domain_go_by_the_training_gold_sets():
    """Tool a is in six of them, b in five, c in none; a tool counts once per set."""
    train = [*[task("a", "b", "b")] * 5, task("a")]
    assert not risk_suites._long_tail(task("a"), train)
    assert risk_suites._long_tail(task("a", "b"), train)
    assert risk_suites._unseen(task("c", "d"), train)
    assert risk_suites._seen(task("a", "c"), train)
    assert not risk_suites._long_tail(task("b"), [*train, task("b")])  # other training, counted anew


@pytest.mark.parametrize(
    ("gold", "near", "tempting"),
    [("a", "acdbb", True), ("a", "abbbc", False), ("c", "cdabb", False), ("a", "", False)],
)
def test_the_stress_test_is_harmless_gold_among_two_risky_neighbours(
    monkeypatch: pytest.MonkeyPatch, gold: str, near: str, tempting: bool
):
    """Of the untuned encoder's first five; without that encoder there is none."""
    monkeypatch.setattr(risk, "neighbours", lambda data_set, asked: tuple(near))
    assert risk_suites._tempting("any")(task(gold), ()) is tempting


def test_the_suites_hold_the_papers_tables():
    """UltraTool is cross-validated, the others have training splits; every system's name is understood."""
    assert all(case.folds == 5 and not case.train for case in ULTRATOOL)
    assert all(case.train and not case.folds for case in OTHERS)
    names = (*RISK.systems, *RISK_ABLATION.systems)
    assert len(set(names)) == len(names)
    plans = {name: Plan.parse(name) for name in names}
    assert all(plans.values())
    assert {plan.lam for plan in plans.values() if plan} == {0, 0.05, 0.1, 0.2}
    assert {"paper+semantic@untuned", "paper+graph+rule+top100@untuned"} <= set(names)
