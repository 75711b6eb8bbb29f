"""The laws of the rule filter, and its reranker over an index in both modes."""

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import WordEncoder, audited, write
from toolwise.records import Candidate, Permission, Query, Shortlist
from toolwise.rerank.rule_filter import Rule, RuleFilterReranker, filter_rows, rejections
from toolwise.store import Index

AXES = np.eye(5, dtype=np.float32)
marks = st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 4)), max_size=9)


def arrays(found):
    """Risky, broad and vectors of a drawn ranking."""
    risky = np.array([m[0] for m in found], bool)
    broad = np.array([m[1] for m in found], bool)
    return risky, broad, AXES[[m[2] for m in found]]


@given(marks)
def test_what_is_accepted_keeps_every_rule(found):
    """At most one risky tool, at most two broad ones, no two alike; every row is on one side, in order."""
    risky, broad, vectors = arrays(found)
    accepted, rejected = filter_rows(risky, broad, vectors)
    assert sorted(accepted + rejected) == list(range(len(found)))
    assert accepted == sorted(accepted) and rejected == sorted(rejected)
    assert risky[accepted].sum() <= 1
    assert broad[accepted].sum() <= 2
    assert len({found[row][2] for row in accepted}) == len(accepted)


@given(marks)
def test_what_is_rejected_breaks_the_rule_it_is_rejected_by(found):
    """Judged by what was accepted before it alone."""
    risky, broad, vectors = arrays(found)
    accepted, rejected = rejections(risky, broad, vectors)
    for row, rule in rejected.items():
        before = [a for a in accepted if a < row]
        broken = {
            Rule.RISK: risky[row] and risky[before].sum() == 1,
            Rule.BREADTH: broad[row] and broad[before].sum() == 2,
            Rule.TWIN: found[row][2] in [found[a][2] for a in before],
        }
        assert broken[rule]


@given(marks)
def test_filtering_twice_is_filtering_once(found):
    """What was accepted is accepted again."""
    risky, broad, vectors = arrays(found)
    accepted, _ = filter_rows(risky, broad, vectors)
    assert filter_rows(risky[accepted], broad[accepted], vectors[accepted])[1] == []


WORDS = WordEncoder(["delete", "purge", "read", "list", "send", "weather"])
BOTH = frozenset({Permission.WRITE, Permission.NETWORK})
TOOLS = [
    audited("a/delete", "delete", level=4),
    audited("b/list", "list", permissions=BOTH),
    audited("c/purge", "purge", level=3),
    audited("d/read", "read", permissions=BOTH),
    audited("e/send", "send", permissions=BOTH),
    audited("f/weather", "weather"),
    audited("g/weather", "weather"),
]


def opened(folder: Path) -> RuleFilterReranker:
    """The filter over an index of the tools above."""
    write(folder, TOOLS, vectors=WORDS.encode_tools([t.tool for t in TOOLS]))
    return RuleFilterReranker.open(Index.open(folder))


RANKED = Shortlist("q", tuple(Candidate(row, t.tool.id, 9.0 - row) for row, t in enumerate(TOOLS)), 0.4)


def test_the_reranker_puts_what_breaks_a_rule_behind_the_rest(tmp_path: Path):
    """The second risky tool, the third broad one and the twin go last, in ranked order."""
    found = opened(tmp_path).rerank(Query("q", ""), RANKED)
    assert "".join(c.id[0] for c in found.candidates) == "abdfceg"
    assert [c.score for c in found.candidates] == [0, -1, -2, -3, -4, -5, -6]
    assert found.confidence == 0.4


def test_an_agent_gets_fewer_tools_and_hears_why(tmp_path: Path):
    """Four of five are left, what was withheld names its rule; with room for two nothing was in the way."""
    ranker = opened(tmp_path)
    found = ranker.deliver(RANKED)
    assert [c.id[0] for c in found.tools] == ["a", "b", "d", "f"]
    assert [(w.id[0], w.level, w.rule) for w in found.withheld] == [
        ("c", 3, "risk-cap"),
        ("e", 1, "permission-cap"),
        ("g", 1, "near-duplicate"),
    ]
    assert "level 3 or more already" in found.withheld[0].reason
    short = ranker.deliver(RANKED, 2)
    assert ([c.id[0] for c in short.tools], short.withheld) == (["a", "b"], ())
    assert ranker.deliver(RANKED, 0).tools == ()
