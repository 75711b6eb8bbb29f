"""The two dials and the rules beside them: laws over drawn pools, exact ties included."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.policy.test_constraints import pool_of, rules
from tests.sets.energies import energies
from toolwise.policy import BUILT_IN, GreedySearch, Policy, Pool, needs, price, revise
from toolwise.protocols import SetEnergy
from toolwise.records import Candidate, Capability, Level, ToolSet, from_bits, to_bits
from toolwise.sets.exact import ExactSearch
from toolwise.sets.kernel import completeness, softmax, subsets, values

WHOLE = to_bits(Capability, Capability)


@dataclass(frozen=True)
class Problem:
    """A pool with what is known of it, and how its sets are valued."""

    energy: SetEnergy
    facts: Pool
    pins: frozenset[int]
    gate: float | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """t0, t1 and so on."""
        return tuple(f"t{i}" for i in range(len(self.facts.rows)))

    def answer(self, policy: Policy, *, greedy: bool = False) -> ToolSet:
        """Under a policy that names the pins."""
        ruled = revise(policy, pins=tuple(f"t{i}" for i in sorted(self.pins)))
        pool = [Candidate(i, id_, 1 - i / 100) for i, id_ in enumerate(self.ids)]
        levels, wanted = self.facts.levels, needs(ruled, self.ids)
        search = (
            GreedySearch(ruled.max_tools, needs=wanted)
            if greedy
            else ExactSearch(
                self.energy,
                ruled.max_tools,
                ruled.economy,
                price(ruled, levels),
                needs=wanted,
                gate=self.gate,
            )
        )
        return search.search(pool, rules(ruled, self.facts, self.ids), levels, self.pins)

    def risk(self, answer: ToolSet) -> int:
        """Levels above 2, summed: what caution is charged for."""
        return sum(max(0, int(self.facts.levels[c.row]) - int(Level.LOW)) for c in answer.chosen)


def plain(k: int) -> SetEnergy:
    """Every set is as good as every other: nothing but ties."""
    return SetEnergy(np.zeros(k, np.float32), np.zeros((6, k, k), np.float32), np.zeros(6, np.float32))


gates = st.sampled_from([None, 0.3, 2.0])


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Pools in which every rule of the default policy can bind, and many sets have the same value."""
    energy = draw(st.one_of(energies, st.builds(plain, st.integers(1, 6))))
    k = len(energy.unary)

    def each(values: st.SearchStrategy[int]) -> list[int]:
        return draw(st.lists(values, min_size=k, max_size=k))

    vectors = np.eye(3, dtype=np.float32)[each(st.integers(0, 2))]
    facts = pool_of(
        k,
        levels=each(st.integers(1, 5)),
        names=[f"n{i}" for i in each(st.integers(0, 2))],
        vectors=vectors,
        capabilities=each(st.sampled_from([0, 1, 2, 4, 3, 6, WHOLE])),
    )
    return Problem(energy, facts, draw(st.frozensets(st.integers(0, k - 1), max_size=2)), draw(gates))


def turning_points(problem: Problem, by: np.ndarray) -> list[float]:
    """Settings at which two sets of the pool are worth the same, with their neighbours among the floats.

    ``by`` (K,) is what the dial charges a tool for.
    """
    largest = min(5, len(problem.energy.pairs) - 1)
    table = subsets(len(problem.energy.unary), largest)
    covered = completeness(softmax(values(problem.energy, table)), table)
    charged = table.members @ by
    some = np.unique(np.linspace(0, len(covered) - 1, 12).astype(int))
    gaps = charged[some, None] - charged[None, some]
    at = (covered[some, None] - covered[None, some])[gaps > 0] / gaps[gaps > 0]
    at = at[(at > 0) & (at < 1)][:20]
    return sorted({float(x) for one in at for x in (np.nextafter(one, 0), one, np.nextafter(one, 1))})


@given(problems(), st.sampled_from([0.0, 0.05, 0.1, 0.25]))
def test_more_caution_never_exposes_more_risk(problem: Problem, economy: float) -> None:
    """Under all rules of the default policy, pins and ties included, however near two settings are."""
    by = np.clip(problem.facts.levels - 2, 0, None) / 3
    settings = sorted({0.0, 0.05, 0.1, 0.3, 1 / 3, 0.5, 1.0, *turning_points(problem, by)})
    policy = revise(BUILT_IN["default"], economy=economy)
    found = [problem.risk(problem.answer(revise(policy, caution=caution))) for caution in settings]
    assert found == sorted(found, reverse=True)


@given(problems(), st.sampled_from([0.0, 0.05, 0.1, 1 / 3]))
def test_more_economy_never_gives_a_larger_set(problem: Problem, caution: float) -> None:
    """The same for the number of tools."""
    by = np.ones(len(problem.facts.rows))
    settings = sorted({0.0, 0.05, 0.1, 0.3, 1 / 3, 0.5, 1.0, *turning_points(problem, by)})
    policy = revise(BUILT_IN["default"], caution=caution)
    found = [len(problem.answer(revise(policy, economy=economy)).chosen) for economy in settings]
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize("level", [3, 4])
def test_an_exact_tie_goes_to_the_harmless_set(level: int) -> None:
    """Two tools of the same worth beside each other: any caution at all takes the harmless one."""
    energy = SetEnergy(
        np.zeros(2, np.float32), np.zeros((2, 2, 2), np.float32), np.array([-np.inf, 0], np.float32)
    )
    problem = Problem(energy, pool_of(2, levels=[level, 1]), frozenset())
    free, careful = (problem.answer(Policy(max_tools=1, caution=c)) for c in (0.0, 1e-9))
    assert [c.id for c in free.chosen] == ["t0"]
    assert [c.id for c in careful.chosen] == ["t1"]


@given(problems(), st.booleans())
def test_no_flow_gets_through(problem: Problem, greedy: bool) -> None:
    """No answer holds tools that only together can do all three, by the flags of the index."""
    answer = problem.answer(Policy(forbid_flows=True), greedy=greedy)
    held = [int(problem.facts.capabilities[c.row]) for c in answer.chosen]
    together = frozenset[Capability]().union(*(from_bits(bits, Capability) for bits in held if bits != WHOLE))
    assert together != frozenset(Capability)


@given(problems(), st.booleans(), st.data())
def test_requires_and_excludes_hold(problem: Problem, greedy: bool, data: st.DataObject) -> None:
    """No answer holds both of an excluded pair, nor a tool without what it requires."""
    one = st.sampled_from(problem.ids)
    pairs = st.lists(st.tuples(one, one), max_size=3)
    policy = revise(BUILT_IN["default"], excludes=tuple(data.draw(pairs)), requires=tuple(data.draw(pairs)))
    answer = problem.answer(policy, greedy=greedy)
    held = {c.id for c in answer.chosen}
    assert not any({a, b} <= held for a, b in policy.excludes if a != b)
    assert all(needed in held for a, needed in policy.requires if a in held)


@given(problems(), st.booleans(), st.sampled_from([0.0, 0.1, 1.0]))
def test_a_pinned_tool_stays(problem: Problem, greedy: bool, dial: float) -> None:
    """No dial takes it out; only a rule does, and the answer says which."""
    policy = revise(BUILT_IN["default"], caution=dial, economy=dial)
    answer = problem.answer(policy, greedy=greedy)
    held = {c.id for c in answer.chosen}
    ruled = {w.id: w.rule for w in answer.withheld}
    for pin in problem.pins:
        assert f"t{pin}" in held or f"t{pin}" in ruled
    if len(problem.pins) == 1:
        alone = np.zeros((1, len(problem.ids)), dtype=bool)
        alone[0, list(problem.pins)] = True
        pinned = revise(policy, pins=tuple(f"t{i}" for i in problem.pins))
        if all(rule.admits(alone)[0] for rule in rules(pinned, problem.facts, problem.ids)):
            assert {f"t{i}" for i in problem.pins} <= held


def test_a_tool_waits_for_what_it_requires() -> None:
    """The walk drops a tool whose requirement is denied, names the rule, and the next takes its place."""
    pool = [Candidate(i, f"t{i}", 1 - i / 10) for i in range(4)]
    policy = Policy(max_tools=2, requires=(("t0", "t3"),), deny=("t3",))
    facts = pool_of(4)
    ids = ("t0", "t1", "t2", "t3")
    answer = GreedySearch(2, needs=needs(policy, ids)).search(
        pool, rules(policy, facts, ids), facts.levels, frozenset()
    )
    assert [c.id for c in answer.chosen] == ["t1", "t2"]
    assert [(w.id, w.rule, w.reason) for w in answer.withheld] == [
        ("t0", "requires", "it is only shown together with t3, which is not in the answer")
    ]


def test_a_requirement_further_down_joins_for_its_sake() -> None:
    """The best tool requires the worst: both are in, and take two of the three places."""
    pool = [Candidate(i, f"t{i}", 1 - i / 10) for i in range(4)]
    policy = Policy(requires=(("t0", "t3"),))
    answer = GreedySearch(3, needs=needs(policy, ("t0", "t1", "t2", "t3"))).search(
        pool, [], np.ones(4, int), frozenset()
    )
    assert [c.id for c in answer.chosen] == ["t0", "t1", "t3"]


def two(likely: float, none: float) -> SetEnergy:
    """Two candidates, either alone needed: the first with ``likely``, or nothing at all with ``none``."""
    rest = 1 - none
    unary = np.log(np.array([likely * rest, (1 - likely) * rest])).astype(np.float32)
    sizes = np.array([np.log(none), 0.0, -60.0], np.float32)
    return SetEnergy(unary, np.zeros((3, 2, 2), np.float32), sizes)


@pytest.mark.parametrize(("none", "shown"), [(0.44, ["t0"]), (0.46, [])])
def test_the_gate_asks_first_whether_anything_serves(none: float, shown: list[str]) -> None:
    """From .45 on nothing is shown; below, the chance of nothing no longer counts against a tool."""
    problem = Problem(two(0.9, none), pool_of(2), frozenset(), 0.45)
    answer = problem.answer(Policy(economy=0.2))
    assert [c.id for c in answer.chosen] == shown


def test_a_gate_that_is_shut_lets_pins_in() -> None:
    """And nobody else."""
    problem = Problem(two(0.9, 0.9), pool_of(2), frozenset({1}), 0.45)
    assert [c.id for c in problem.answer(Policy()).chosen] == ["t1"]


def test_the_first_tool_is_free_of_economy_and_not_of_caution() -> None:
    """At economy 1 the likelier one is left; a price above what it brings takes it out too."""
    harmless = Problem(two(0.6, 0.1), pool_of(2), frozenset(), 0.45)
    assert [c.id for c in harmless.answer(Policy(economy=1.0)).chosen] == ["t0"]
    risky = Problem(two(0.6, 0.1), pool_of(2, levels=[5, 5]), frozenset(), 0.45)
    assert [c.id for c in risky.answer(Policy(economy=1.0, caution=0.5)).chosen] == ["t0"]
    assert risky.answer(Policy(economy=1.0, caution=0.7)).chosen == ()
