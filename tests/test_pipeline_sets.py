"""The main job with the method that weighs sets: its pool, its reasons and its empty answers."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.builders import audited, write
from toolwise import Policy, Selector
from toolwise.methods import Parts
from toolwise.policy import Cap
from toolwise.protocols import SetEnergy
from toolwise.records import Capability, Level, Permission, Query, Verdict
from toolwise.retrieve import HybridRetriever
from toolwise.sets.default import DefaultScorer
from toolwise.store import Index

REQUEST = "delete the old invoice files"


class Certain:
    """A scorer that knows what is needed: one set, with this much certainty, else nothing."""

    def __init__(self, *needed: str, certainty: float = 0.9) -> None:
        self.needed, self.certainty = needed, certainty

    def narrow(self, query: Query, candidates, k: int):
        """The first ``k``."""
        return list(candidates)[:k]

    def energy(self, query: Query, pool) -> SetEnergy:
        """All other sets but the empty one are out of the question."""
        size, places = len(pool), [i for i, c in enumerate(pool) if c.id in self.needed]
        unary = np.full(size, -40.0, np.float32)
        odds = np.log(self.certainty / (1 - self.certainty))
        unary[places] = 0.0
        sizes = np.full(6, -60.0, np.float32)
        sizes[0] = 0.0
        if places:
            sizes[len(places)] = odds
        return SetEnergy(unary, np.zeros((6, size, size), np.float32), sizes)


class Either(Certain):
    """One of the needed tools is needed, each in its share of the cases."""

    def __init__(self, *needed: str, shares: tuple[float, ...] = (0.5, 0.5)) -> None:
        super().__init__(*needed)
        self.shares = dict(zip(needed, shares, strict=True))

    def energy(self, query: Query, pool) -> SetEnergy:
        """Each alone."""
        found = super().energy(query, pool)
        unary = np.array([np.log(self.shares[c.id]) if c.id in self.shares else -40.0 for c in pool])
        sizes = np.full(6, -60.0, np.float32)
        sizes[1] = 0.0
        return SetEnergy(unary.astype(np.float32), found.pairs, sizes)


def made(folder: Path, tools, vectors: np.ndarray) -> Index:
    """An index with vectors of the test's own."""
    write(folder, tools, vectors=vectors.astype(np.float32), lexical=True)
    return Index.open(folder)


class ByOrder:
    """A retriever that finds every tool, in order of id."""

    def __init__(self, index: Index) -> None:
        self.index = index

    def retrieve(self, query: Query, k: int, within=None):
        """Scores falling."""
        from toolwise.records import Candidate, Shortlist

        rows = [row for row in range(len(self.index)) if within is None or within[row]][:k]
        return Shortlist(
            query.id, tuple(Candidate(row, self.index.ids[row], 1.0 - row / 1000) for row in rows)
        )


def selector(index: Index, *needed: str, certainty: float = 0.9) -> Selector:
    """Everything is found, and exactly ``needed`` is needed."""
    return Selector(index, Parts(ByOrder(index), None, Certain(*needed, certainty=certainty)))


@pytest.fixture
def files(tmp_path: Path) -> Index:
    """Thirty tools: the first deletes, the 26th reads the same things, the others have nothing in common."""
    tools = [audited(f"s/t{i:02}", f"tool number {i}", level=4 if i == 0 else 1) for i in range(30)]
    vectors = np.eye(30)
    vectors[25] = 0.8 * vectors[0] + 0.6 * vectors[25]
    return made(tmp_path / "index", tools, vectors)


def test_the_harmless_twin_is_considered(files: Index) -> None:
    """The tool of rank 26 is in the pool of sixteen, because the risky first one is like it."""
    seen = selector(files, "s/t00").consider(REQUEST, Policy())
    assert "s/t25" in {candidate.id for candidate in seen.pool}
    assert len(seen.pool) == 16


def test_the_harmless_twin_serves_where_it_does_as_well(files: Index) -> None:
    """Either tool would do; any caution takes the harmless one."""
    eager = Selector(files, Parts(ByOrder(files), None, Either("s/t00", "s/t25")))
    careful = Policy(max_tools=1, caution=0.05)
    assert [tool.id for tool in eager.select(REQUEST, Policy(max_tools=1)).tools] == ["s/t00"]
    assert [tool.id for tool in eager.select(REQUEST, careful).tools] == ["s/t25"]


def test_a_withheld_tool_is_named_with_rule_and_price(tmp_path: Path) -> None:
    """Refunding is needed and not allowed: the answer names it, its level, the rule and its worth."""
    tools = [audited("pay/refund", "refund", level=5), audited("pay/status", "status", level=1)]
    index = made(tmp_path / "index", tools, np.eye(2))
    answer = selector(index, "pay/refund", "pay/status").select("refund", Policy(named_level=5, economy=0.01))
    assert [(w.id, w.level, w.rule) for w in answer.withheld if w.id == "pay/refund"] == [
        ("pay/refund", 5, "named-level")
    ]
    reason = next(w.reason for w in answer.withheld if w.id == "pay/refund")
    assert reason == (
        "tools of level 5 or more must be allowed by name; without this rule, completeness +1.00"
    )


def test_a_pin_under_the_same_policy_says_what_cannot_be_served(tmp_path: Path) -> None:
    """A needed tool is kept out: no chance now, a full one if an approver allowed it."""
    tools = [audited("pay/refund", "refund", level=5), audited("pay/status", "status", level=1)]
    index = made(tmp_path / "index", tools, np.eye(2))
    policy = Policy(name="desk", named_level=5, economy=0.01, pins=("pay/status",))
    answer = selector(index, "pay/refund", "pay/status").select("refund", policy)
    assert [tool.id for tool in answer.tools] == ["pay/status"]
    assert answer.reason == (
        "1 tool under policy 'desk'; the request may not be fully served so: the chance is 0.00, "
        "and 1.00 if an approver allowed pay/refund (level 5, named-level)"
    )


def test_a_tool_that_would_bring_little_is_no_reason_to_complain(tmp_path: Path) -> None:
    """Below .1 the answer only counts what was withheld."""
    tools = [audited("pay/refund", "refund", level=5), audited("pay/status", "status", level=1)]
    index = made(tmp_path / "index", tools, np.eye(2))
    policy = Policy(name="desk", named_level=5, economy=0.01)
    scorer = Either("pay/refund", "pay/status", shares=(0.05, 0.95))
    answer = Selector(index, Parts(ByOrder(index), None, scorer)).select("refund", policy)
    assert answer.withheld[0].gain == pytest.approx(0.05, abs=1e-6)
    assert answer.reason == "1 tool under policy 'desk'; 1 withheld by named-level"


def test_a_request_that_nothing_serves_gets_nothing_and_the_reason(files: Index) -> None:
    """No tool is believed to serve, and none is shown."""
    answer = selector(files, "s/t03", certainty=0.01).select(REQUEST, Policy(economy=0.05))
    assert (answer.abstained, answer.tools) == (True, ())
    assert answer.reason == "no tool fits the request well enough"


def test_two_tools_of_a_cap_are_a_choice_of_one(tmp_path: Path) -> None:
    """Both level-4 tools are needed and one may be shown: the other is named by the cap."""
    tools = [audited("a/wipe", "wipe", level=4), audited("b/wipe", "wipe", level=4)]
    index = made(tmp_path / "index", tools, np.eye(2))
    policy = Policy(caps=(Cap(level=4, count=1),), economy=0.01, pins=("a/wipe",))
    answer = selector(index, "a/wipe", "b/wipe").select("wipe", policy)
    assert [tool.id for tool in answer.tools] == ["a/wipe"]
    assert [(w.id, w.rule) for w in answer.withheld] == [("b/wipe", "cap-level-4")]


def flowing(folder: Path) -> Index:
    """Three tools that together lead private data outside."""
    from dataclasses import replace

    legs = {"mail/read": "private", "web/fetch": "untrusted", "web/post": "external"}
    tools = [
        replace(
            audited(id_, id_),
            verdict=Verdict(Level.SAFE, frozenset[Permission](), frozenset({Capability(leg)})),
        )
        for id_, leg in legs.items()
    ]
    return made(folder, tools, np.eye(3))


def test_a_flow_is_never_delivered_and_costs_what_it_says(tmp_path: Path) -> None:
    """All three are needed: without the rule they come, with it one stays out and is named with the price."""
    index = flowing(tmp_path / "index")
    needed = selector(index, "mail/read", "web/fetch", "web/post")
    assert len(needed.select("x", Policy(economy=0.01)).tools) == 3
    answer = needed.select("x", Policy(economy=0.01, forbid_flows=True, pins=("mail/read", "web/fetch")))
    assert [tool.id for tool in answer.tools] == ["mail/read", "web/fetch"]
    assert [(w.id, w.rule) for w in answer.withheld] == [("web/post", "toxic-flow")]
    assert answer.withheld[0].gain == pytest.approx(1.0, abs=1e-6)
    assert answer.withheld[0].reason.startswith(
        "it sends outside; together with mail/read (reads private data) and web/fetch (takes in untrusted "
        "content) it would let private data leave; without this rule"
    )
    alone = needed.select("x", Policy(economy=0.01, forbid_flows=True))
    for withheld in alone.withheld:
        named = [id_ for id_ in ("mail/read", "web/fetch", "web/post") if id_ in withheld.reason]
        assert len(named) == 2
        assert withheld.id not in named


@pytest.mark.parametrize("scored", [True, False])
def test_a_tool_is_only_shown_with_what_it_requires(files: Index, scored: bool) -> None:
    """By sets or by ranking: the required tool joins from below, and where it is denied both stay out."""
    given = Parts(ByOrder(files), None, Certain("s/t01")) if scored else Parts(ByOrder(files))
    policy = Policy(requires=(("s/t01", "s/t29"), ("s/t29", "s/t28")), fit=False, economy=0.0)
    answer = {tool.id for tool in Selector(files, given).select(REQUEST, policy).tools}
    assert answer >= {"s/t01", "s/t28", "s/t29"}
    denied = Policy(requires=(("s/t01", "s/t29"),), deny=("s/t29",), fit=False)
    assert "s/t01" not in {tool.id for tool in Selector(files, given).select(REQUEST, denied).tools}
    absent = Policy(requires=(("s/t01", "s/none"),), fit=False)
    assert "s/t01" not in {tool.id for tool in Selector(files, given).select(REQUEST, absent).tools}


def test_what_is_required_stays_within_the_library(files: Index) -> None:
    """A requirement outside ``within`` cannot join, so what needs it stays out too."""
    policy = Policy(requires=(("s/t01", "s/t29"),), fit=False, economy=0.0)
    asked = Selector(files, Parts(ByOrder(files)))
    found = {t.id for t in asked.select(REQUEST, policy, within=[f"s/t{i:02}" for i in range(5)]).tools}
    assert found == {"s/t00", "s/t02", "s/t03", "s/t04"}


@pytest.mark.parametrize("method", ["toolwise", "hybrid"])
def test_a_pin_that_requires_brings_its_company(demo_index: Path, tmp_path: Path, method: str) -> None:
    """Over the demo catalogue, whatever the request."""
    with Selector.open(demo_index, method=method) as demo:
        one, other = demo.index.ids[3], demo.index.ids[40]
        policy = Policy(pins=(one,), requires=((one, other),))
        answer = demo.select("sharpen the shears", policy)
        assert {one, other} <= {tool.id for tool in answer.tools}


def test_weights_of_the_user_s_own_are_taken(demo_index: Path, tmp_path: Path) -> None:
    """Weights that lie in the index decide, not the packaged ones."""
    from toolwise.sets.default import weights_of
    from toolwise.sets.default_weights import plain, save

    folder = tmp_path / "index"
    shutil.copytree(demo_index, folder)
    save(plain(), weights_of(folder), {})
    with (
        Selector.open(folder, method="toolwise") as own,
        Selector.open(demo_index, method="toolwise") as packaged,
    ):
        request = "refund order 1182 and tell the customer"
        ours, theirs = (s.consider(request, Policy()).energy for s in (own, packaged))
        assert ours is not None
        assert theirs is not None
        assert not np.array_equal(ours.sizes, theirs.sizes)
        assert isinstance(own._scorer, DefaultScorer)
        assert isinstance(own._retriever, HybridRetriever)


@pytest.mark.parametrize("request_text", ["", "zzz qqq", "。。。"])
def test_a_request_without_candidates_is_answered(demo_index: Path, request_text: str) -> None:
    """Nothing to weigh is no failure: the answer is empty, pins apart."""
    with Selector.open(demo_index, method="toolwise") as demo:
        answer = demo.select(request_text)
        assert (answer.abstained, answer.tools) == (True, ())
        pinned = demo.select(request_text, Policy(pins=(demo.index.ids[0],)))
        assert demo.index.ids[0] in {tool.id for tool in pinned.tools}


@pytest.mark.parametrize("pins", [4, 5, 6, 12])
def test_pins_leave_room_for_what_the_request_needs(demo: Selector, pins: int) -> None:
    """However many there are: all of them, and the parcel's tracking, which nobody pinned."""
    pinned = tuple(id_ for id_ in demo.index.ids if id_.startswith(("hr/", "calendar/")))[:pins]
    answer = demo.select("track the parcel of order 48213", Policy(pins=pinned, max_tools=20))
    shown = {tool.id for tool in answer.tools}
    assert set(pinned) <= shown
    assert "warehouse/track-parcel" in shown


def test_five_pins_and_nothing_that_fits_are_five_tools(demo: Selector) -> None:
    """The gate is shut, the pins stay, and nothing joins them."""
    pinned = tuple(id_ for id_ in demo.index.ids if id_.startswith("hr/"))[:5]
    answer = demo.select("sharpen the shears in the workshop", Policy(pins=pinned, max_tools=20))
    assert [tool.id for tool in answer.tools] == sorted(pinned)


def test_no_tool_is_shown_and_withheld(demo: Selector) -> None:
    """Also where the answer goes on beyond the best set."""
    policy = Policy(max_tools=12, caps=(Cap(level=4, count=1),), fit=False)
    for request in ("refund the order and mail the customer", "delete old files and share the rest"):
        answer = demo.select(request, policy)
        assert len(answer.tools) > 5
        assert not {tool.id for tool in answer.tools} & {w.id for w in answer.withheld}


def test_tools_that_stand_together_keep_the_rules(demo: Selector) -> None:
    """Of three tools of level 4 the first stays, in the order given; harmless ones all do."""
    risky = ["crm/delete_customer", "mail/delete_message", "orders/cancel_order"]
    policy = Policy(caps=(Cap(level=4, count=1),))
    assert demo.together(["mail/search", *risky], policy)[1:] == ("crm/delete_customer",)


def test_deciding_goes_on_beyond_the_largest_set(demo: Selector) -> None:
    """What `tune` measures is what `select` answers, also where more than five tools are wanted."""
    policy = Policy(max_tools=12, fit=False)
    request = "refund the order and mail the customer"
    decided = demo.decide(demo.consider(request, policy), policy)
    assert [c.id for c in decided.chosen] == [tool.id for tool in demo.select(request, policy).tools]
    assert len(decided.chosen) > 5
