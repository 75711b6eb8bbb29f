"""The suite that compares encoders."""

from toolwise.bench.data import Task
from toolwise.bench.suites import ENCODERS, SUITES
from toolwise.records import Query


def test_requests_of_mcp_tasks_are_told_apart_by_kind():
    """Each of the four kinds has a table of its own, and a request is in one of them."""
    assert SUITES["encoders"] is ENCODERS
    cases = {case.name: case for case in ENCODERS.cases}
    for name in ("mcp_tasks dev", "mcp_tasks test"):
        subsets = dict(cases[name].subsets)
        assert list(subsets) == ["single", "chain", "cross", "broad"]
        task = Task(Query("q", "push my changes"), ("git/push",), "w1", {"kind": "chain"})
        assert [kind for kind, belongs in subsets.items() if belongs(task, ())] == ["chain"]


def test_every_encoder_is_measured_alone_and_in_the_hybrid():
    """And words alone beside them."""
    alone = {name.partition(":")[2] for name in ENCODERS.systems if name.startswith("dense")}
    assert alone == {name.partition(":")[2] for name in ENCODERS.systems if name.startswith("hybrid")}
    assert "minilm" in alone
    assert "bm25" in ENCODERS.systems
