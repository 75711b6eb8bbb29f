"""The main job, end to end over the demo catalogue."""

import dataclasses
import json
from pathlib import Path

import pytest

from tests.conftest import DEMO
from toolwise import Policy, Query, Selector, build_index
from toolwise.errors import InvalidRequest, PolicyError

REQUESTS = [
    json.loads(line) for line in (DEMO.parent / "requests.jsonl").read_text(encoding="utf-8").splitlines()
]
ANSWERABLE = [row for row in REQUESTS if row["tools"]]


def test_an_ordinary_request_gets_all_its_tools(demo: Selector) -> None:
    """The three gold tools of the first demo request are in its answer of at most five."""
    row = REQUESTS[0]
    exposure = demo.select(row["query"])
    assert set(row["tools"]) <= {tool.id for tool in exposure.tools}
    assert len(exposure.tools) <= 5
    assert not exposure.abstained


def test_a_request_nothing_can_serve_gets_an_empty_answer_with_a_reason(demo: Selector) -> None:
    """No tool of the demo company sharpens shears."""
    row = next(row for row in REQUESTS if row.get("demo") == "unanswerable")
    exposure = demo.select(row["query"])
    assert exposure.abstained
    assert exposure.tools == ()
    assert exposure.reason == "no tool fits the request well enough"
    assert exposure.tokens == 0


def test_a_critical_tool_is_withheld_by_default_and_its_harmless_twin_serves(demo: Selector) -> None:
    """Refunding everybody must be allowed by name; the preview is in the answer."""
    row = next(row for row in REQUESTS if row.get("demo") == "withheld")
    exposure = demo.select(row["query"])
    assert set(row["tools"]) <= {tool.id for tool in exposure.tools}
    held = {w.id: w.rule for w in exposure.withheld}
    assert held["payments/refund_all"] == "named-level"


def test_an_allow_entry_without_wildcard_admits_a_critical_tool(demo: Selector) -> None:
    """Naming the tool beside the wildcard lets it in."""
    policy = Policy(named_level=5, allow=("*", "payments/refund_all"))
    row = next(row for row in REQUESTS if row.get("demo") == "withheld")
    assert "payments/refund_all" in {tool.id for tool in demo.select(row["query"], policy).tools}


@pytest.mark.parametrize("policy", ["default", "open", "paper", "strict"])
def test_every_answer_keeps_its_policy(demo: Selector, policy: str) -> None:
    """Over all demo requests the levels of an answer stay within what the policy says."""
    for row in REQUESTS:
        levels = [tool.level for tool in demo.select(row["query"], policy).tools]
        if policy == "default":
            assert sum(level >= 4 for level in levels) <= 2
            assert 5 not in levels
        elif policy == "paper":
            assert sum(level >= 3 for level in levels) <= 1
        elif policy == "strict":
            assert all(level <= 2 for level in levels)
        assert len(levels) <= 5


def test_the_open_policy_returns_as_many_tools_as_it_may(demo: Selector) -> None:
    """Without fit and caps the answer is the top of the ranking."""
    assert len(demo.select("sharpen the shears", "open").tools) == 5


def test_withheld_tools_would_be_in_the_answer_but_for_a_rule(demo_index: Path) -> None:
    """Everything withheld from a ranking under default is in the answer of the same policy without rules."""
    with Selector.open(demo_index, method="hybrid") as selector:
        for row in REQUESTS:
            free = {tool.id for tool in selector.select(row["query"], Policy()).tools}
            assert {w.id for w in selector.select(row["query"]).withheld} <= free


def test_what_a_set_search_withholds_would_add_something(demo: Selector) -> None:
    """Each has a rule, or the price of its risk, and what it would bring to the answer."""
    for row in REQUESTS:
        exposure = demo.select(row["query"])
        for withheld in exposure.withheld:
            assert withheld.rule in {"named-level", "cap-level-4", "toxic-flow", "redundancy", "caution"}
            assert withheld.gain > 0
            assert "completeness" in withheld.reason
        assert not {w.id for w in exposure.withheld} & {tool.id for tool in exposure.tools}


def test_a_pinned_tool_joins_every_answer(demo: Selector) -> None:
    """A pin is in the answer even where nothing fits, and comes first in reason."""
    exposure = demo.select("sharpen the shears", Policy(pins=("mail/search",)))
    assert [tool.id for tool in exposure.tools] == ["mail/search"]
    assert exposure.tools[0].reason.startswith("pinned")


def test_a_pinned_tool_that_breaks_the_policy_is_withheld(demo: Selector) -> None:
    """A pin passes named-level, but not deny."""
    exposure = demo.select("sharpen the shears", Policy(pins=("mail/search",), deny=("mail/*",)))
    assert exposure.abstained
    assert [(w.id, w.rule) for w in exposure.withheld] == [("mail/search", "deny")]


def test_allow_reaches_beyond_the_shortlist(demo: Selector) -> None:
    """A tool far down the ranking is still found when only its server is allowed."""
    shallow = Selector(demo.index, demo._retriever, depth=3)
    exposure = shallow.select("refund order 1182", Policy(allow=("hr/*",), fit=False))
    assert exposure.tools
    assert all(tool.server == "hr" for tool in exposure.tools)


def test_the_token_budget_holds(demo: Selector) -> None:
    """Definitions of an answer never take more tokens than the budget."""
    for budget in (1, 150, 400, 2000):
        assert demo.select(REQUESTS[0]["query"], Policy(budget_tokens=budget)).tokens <= budget


def test_an_empty_request_gets_an_empty_answer(demo: Selector) -> None:
    """Blank text asks for nothing."""
    for text in ("", "   \n"):
        exposure = demo.select(text)
        assert exposure.abstained
        assert exposure.reason == "the request is empty"


def test_answers_are_the_same_every_time(demo: Selector) -> None:
    """The same request under the same policy gives an equal answer."""
    for row in REQUESTS:
        assert demo.select(row["query"]) == demo.select(row["query"])


def test_an_exposure_is_frozen_and_carries_the_contract(demo: Selector) -> None:
    """The JSON has exactly the keys of the contract, ids of the query kept."""
    exposure = demo.select(Query("q7", REQUESTS[0]["query"]))
    with pytest.raises(dataclasses.FrozenInstanceError):
        exposure.tokens = 1  # type: ignore[misc]
    answer = json.loads(json.dumps(exposure.to_json()))
    assert list(answer) == ["id", "query", "abstained", "reason", "tools", "withheld", "tokens"]
    assert answer["id"] == "q7"
    assert all(list(t) == ["id", "name", "server", "score", "level", "reason"] for t in answer["tools"])
    assert all(list(w) == ["id", "level", "rule", "reason"] for w in answer["withheld"])
    assert answer["tokens"] == sum(demo.index.tool(t["id"]).tokens for t in answer["tools"])


def test_select_many_answers_in_order(demo: Selector) -> None:
    """One answer per request, ids in the order given."""
    queries = [Query(row["id"], row["query"]) for row in REQUESTS]
    assert [e.id for e in demo.select_many(queries)] == [q.id for q in queries]


def test_entries_of_a_policy_that_match_no_tool_are_warned_of_once(
    demo: Selector, caplog: pytest.LogCaptureFixture
) -> None:
    """With the nearest ids, in a word to the log; the request is answered all the same."""
    policy = Policy(
        name="mine",
        pins=("mail/serch", "mail/search"),
        requires=(("mail/*", "mail/logn"),),
        excludes=(("hr/*", "pay?/*"),),
        deny=("hr/*",),
    )
    for _ in range(2):
        answer = demo.select("search my mail", policy)
    assert answer.withheld[0].id == "mail/search"
    assert caplog.messages[0].startswith(
        "policy 'mine': pins 'mail/serch' matches no tool of the index; did you mean 'mail/search'"
    )
    assert [m.partition(" matches")[0] for m in caplog.messages[1:]] == [
        "policy 'mine': requires 'mail/logn'",
        "policy 'mine': excludes 'pay?/*'",
    ]


def test_unknown_policies_are_errors(demo: Selector) -> None:
    """A policy nobody knows is refused by name."""
    with pytest.raises(PolicyError, match="'lax'"):
        demo.select("x", "lax")


@pytest.mark.parametrize("method", ["bm25", "dense", "hybrid"])
def test_every_method_finds_the_tool_of_a_plain_request(demo_index: Path, method: str) -> None:
    """Each retriever puts the obvious tool into the answer."""
    selector = Selector.open(demo_index, method=method)
    found = {tool.id for tool in selector.select("draft an email to a customer", "open").tools}
    assert "mail/draft_email" in found


def test_most_demo_requests_are_served_completely(demo: Selector) -> None:
    """Under the default policy at least seven of eleven answerable requests get every gold tool."""
    complete = sum(
        set(row["tools"]) <= {tool.id for tool in demo.select(row["query"]).tools} for row in ANSWERABLE
    )
    assert complete >= 7


def test_five_lines_of_python_do_the_main_job(tmp_path: Path) -> None:
    """Build, open, select, read: as the README says."""
    build_index([DEMO], tmp_path / "index")
    selector = Selector.open(tmp_path / "index")
    exposure = selector.select("find a free slot next week", policy="strict")
    assert "calendar/find_free_slot" in [tool.id for tool in exposure.tools]


def test_fit_is_judged_among_the_tools_the_policy_admits(tmp_path: Path) -> None:
    """Whether other servers' tools fit makes no difference, whatever the size of the index."""
    lines = DEMO.read_text(encoding="utf-8").splitlines()
    small = tmp_path / "small.jsonl"
    small.write_text("\n".join(lines[:86]) + "\n", encoding="utf-8")
    build_index([small], tmp_path / "small")
    build_index([DEMO], tmp_path / "whole")
    for request in ("restart the database server", "post an invoice for the garden chairs"):
        for glob in ("crm/*", "mail/*"):
            policy = Policy(allow=(glob,))
            answers = [
                Selector.open(tmp_path / name, method="hybrid").select(request, policy)
                for name in ("small", "whole")
            ]
            assert [answer.abstained for answer in answers] in ([True, True], [False, False])


def test_a_pin_given_twice_is_one_tool(demo: Selector) -> None:
    """Once from a file and once from the command line, say."""
    exposure = demo.select("track my parcel", Policy(pins=("hr/get_salary", "hr/get_salary")))
    ids = [tool.id for tool in exposure.tools]
    assert ids.count("hr/get_salary") == 1
    assert not {w.id for w in exposure.withheld} & set(ids)


def test_pins_beyond_the_most_tools_are_withheld_by_name(demo: Selector) -> None:
    """Nothing that was asked for by name goes missing without a word."""
    pins = ("mail/search", "mail/draft_email", "orders/get_order")
    exposure = demo.select("refund", Policy(max_tools=2, pins=pins))
    shown, held = [t.id for t in exposure.tools], {w.id: w.rule for w in exposure.withheld}
    assert sorted([*shown, *held]) == sorted(pins)
    assert set(held.values()) == {"max-tools"}


def test_wrong_requests_are_refused_in_words(demo: Selector) -> None:
    """A number is no request, and one text is no collection of ids."""
    with pytest.raises(InvalidRequest, match="int"):
        demo.select(5)  # type: ignore[arg-type]
    with pytest.raises(InvalidRequest, match="collection of ids"):
        demo.select("x", within="mail/search")


def test_a_selector_closes_as_a_context_manager(demo_index: Path) -> None:
    """And lets go of the database."""
    with Selector.open(demo_index) as selector:
        assert selector.select("draft an email").tools


def test_whether_anything_fits_does_not_depend_on_the_policy(demo: Selector) -> None:
    """The verdict and its bar are those of all tools, whatever a policy leaves of them."""
    strict = Policy(max_level=2, deny=("payments/*", "mail/*"))
    for row in REQUESTS:
        free, bound = demo.consider(row["query"], Policy()), demo.consider(row["query"], strict)
        assert bound.admitted.sum() < free.admitted.sum()
        assert (bound.searched, bound.confidence) == (free.searched, free.confidence)
        if free.energy is not None and bound.energy is not None:
            assert bound.energy.unserved == pytest.approx(free.energy.unserved)


def test_an_empty_index_says_so(tmp_path: Path) -> None:
    """It is no matter of fitting."""
    (tmp_path / "none.json").write_text('{"tools": []}', encoding="utf-8")
    build_index([tmp_path / "none.json"], tmp_path / "index", encoder="static")
    with Selector.open(tmp_path / "index") as selector:
        assert selector.select("anything").reason == "the index holds no tools"
