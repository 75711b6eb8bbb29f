"""How private data could get out."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import tool
from toolwise.audit.flows import Flow, Flows, Leg, Reach
from toolwise.records import AuditedTool, Capability, Evidence, Level, Verdict

P, U, E = Capability.PRIVATE, Capability.UNTRUSTED, Capability.EXTERNAL
ALL = frozenset(Capability)


def able(id_: str, *capabilities: Capability) -> AuditedTool:
    """A tool with these capabilities and evidence for each."""
    evidence = tuple(Evidence(f"capability:{c}", "rules", f"{id_} has {c}") for c in capabilities)
    return AuditedTool(tool(id_), Verdict(Level.LOW, frozenset(), frozenset(capabilities), evidence), 1)


def found(*tools: AuditedTool) -> dict[Reach, list[tuple[tuple[str, ...], tuple[str, ...]]]]:
    """Servers and named tools of each flow by reach; reaches without any are left out."""
    flows = Flows(tools)
    listed = {reach: [(f.servers, f.tools) for f in flows.of(reach)] for reach in Reach}
    return {reach: some for reach, some in listed.items() if some}


def test_one_tool_can_be_enough():
    """It is the shortest explanation; its server is not listed again."""
    assert found(able("s/a", P, U, E), able("s/b", P)) == {Reach.TOOL: [(("s",), ("s/a",))]}


def test_a_flow_names_the_evidence_and_counts_who_else_could():
    """In the order private, untrusted, external."""
    (flow,) = Flows([able("s/a", P), able("s/b", P), able("s/c", U, E)]).of(Reach.SERVER)
    assert flow == Flow(
        Reach.SERVER,
        ("s",),
        (
            Leg(P, "s/a", "s/a has private", 1),
            Leg(U, "s/c", "s/c has untrusted", 0),
            Leg(E, "s/c", "s/c has external", 0),
        ),
    )


def test_two_servers_and_three():
    """Servers with one capability each need three; a fourth with two of them makes pairs."""
    alone = [able("p/a", P), able("u/a", U), able("e/a", E)]
    assert found(*alone) == {Reach.TRIPLE: [(("e", "p", "u"), ("p/a", "u/a", "e/a"))]}
    assert found(*alone, able("w/a", U, E)) == {
        Reach.PAIR: [(("p", "w"), ("p/a", "w/a"))],
        Reach.TRIPLE: [(("e", "p", "u"), ("p/a", "u/a", "e/a"))],
    }


def test_fewest_tools_come_first():
    """A pair of two tools stands before a pair of three, whatever their names."""
    tools = [able("a/1", P), able("b/1", U), able("b/2", E), able("z/1", U, E)]
    assert found(*tools)[Reach.PAIR] == [(("a", "z"), ("a/1", "z/1")), (("a", "b"), ("a/1", "b/1", "b/2"))]


def test_without_one_leg_there_is_no_flow():
    """Private and untrusted with no way out, tools without any capability, no tools at all."""
    assert found(able("s/a", P, U), able("t/a", P), able("u/a")) == {}
    assert found() == {}


def test_evidence_that_is_lost_is_said_to_be():
    """A verdict of another origin may have none."""
    bare = AuditedTool(tool("s/a"), Verdict(None, frozenset(), ALL), 1)
    assert [leg.because for leg in next(Flows([bare]).of(Reach.TOOL)).legs] == ["no evidence kept"] * 3


TOOLS = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.frozensets(st.sampled_from(list(Capability)))), max_size=14
)


@given(TOOLS)
def test_flows_are_those_of_a_search_over_all_servers(rows):
    """Servers that have all three, and no part of them has; every flow names tools that have what it says."""
    tools = [able(f"{server}/{i}", *sorted(some)) for i, (server, some) in enumerate(rows)]
    has: dict[str, frozenset[Capability]] = {}
    for audited in tools:
        has[audited.tool.server] = has.get(audited.tool.server, frozenset()) | audited.verdict.capabilities
    whole = {s for s in has if has[s] == ALL}
    single = {a.tool.server for a in tools if a.verdict.capabilities == ALL}
    pairs = {p for p in combinations(sorted(has), 2) if not whole & set(p) and has[p[0]] | has[p[1]] == ALL}
    triples = {
        t
        for t in combinations(sorted(has), 3)
        if has[t[0]] | has[t[1]] | has[t[2]] == ALL
        and not whole & set(t)
        and not any(pair in pairs for pair in combinations(t, 2))
    }
    flows = Flows(tools)
    by_reach = {reach: list(flows.of(reach)) for reach in Reach}
    assert {f.servers[0] for f in by_reach[Reach.TOOL]} == single
    assert {f.servers for f in by_reach[Reach.SERVER]} == {(s,) for s in whole - single}
    assert {f.servers for f in by_reach[Reach.PAIR]} == pairs
    assert {f.servers for f in by_reach[Reach.TRIPLE]} == triples
    able_to = {a.tool.id: a.verdict.capabilities for a in tools}
    for reach, listed in by_reach.items():
        assert flows.count(reach) == len(listed) == len({f.tools for f in listed})
        for flow in listed:
            assert [leg.capability for leg in flow.legs] == list(Capability)
            assert all(leg.capability in able_to[leg.tool] for leg in flow.legs)
            assert {leg.tool.partition("/")[0] for leg in flow.legs} == set(flow.servers)


def test_a_large_catalogue_is_no_trouble():
    """13,000 tools on 900 servers: counted and begun to be listed, never enumerated."""
    kinds = [(P,), (U,), (E,)]
    flows = Flows([able(f"s{i % 900:03}/{i}", *kinds[i % 3]) for i in range(13_000)])
    assert flows.count(Reach.TRIPLE) == 300**3
    assert next(flows.of(Reach.TRIPLE)).reach is Reach.TRIPLE
