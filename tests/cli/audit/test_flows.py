"""``toolwise audit flows``."""

import json
from pathlib import Path

from tests.builders import audited, write
from tests.cli.conftest import Run


def test_flows_are_listed_with_their_tools_and_evidence(run: Run, demo_index: Path) -> None:
    """One JSON object per flow, the shortest explanation first."""
    result = run("audit", "flows", demo_index, "--json")
    found = [json.loads(line) for line in result.out.splitlines()]
    assert {"reach", "servers", "tools", "legs"} == set(found[0])
    order = ["one tool", "one server", "two servers", "three servers"]
    places = [order.index(flow["reach"]) for flow in found]
    assert places == sorted(places)
    for flow in found:
        assert [leg["capability"] for leg in flow["legs"]] == ["private", "untrusted", "external"]
        assert all(leg["because"] for leg in flow["legs"])
        assert {tool.split("/")[0] for tool in flow["tools"]} == set(flow["servers"])


def test_a_person_reads_a_table_and_the_counts(run: Run, demo_index: Path) -> None:
    """Counts on stderr are of all flows, the table holds at most as many as asked for."""
    result = run("audit", "flows", demo_index, "--limit", "1")
    assert result.out.count("one server: ") == 1
    assert "through one server" in result.err
    assert "at most 1 of each are listed" in result.err


def test_no_flow_is_good_news(run: Run, tmp_path: Path) -> None:
    """It is said, and stdout stays empty."""
    write(tmp_path / "i", [audited("s/a")])
    result = run("audit", "flows", tmp_path / "i")
    assert (result.code, result.out) == (0, "")
    assert "no flow" in result.err
