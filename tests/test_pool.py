"""How far the selector looks down the ranking."""

from tests.builders import audited, write
from toolwise import Policy, Selector
from toolwise.policy import Cap


def selector(folder, count: int, levels=lambda i: 1, tokens=lambda i: 10) -> Selector:
    """Over tools that all fit "red", those of lower number better."""
    tools = [
        audited(f"s/t{i:03}", "red " + "grey " * (i // 4), level=levels(i), tokens=tokens(i))
        for i in range(count)
    ]
    write(folder, tools, lexical=True)
    return Selector.open(folder, method="bm25")


def test_as_many_tools_as_asked_for(tmp_path):
    """Fifty of the hundred allowed, though most of the ranking is not allowed."""
    found = selector(tmp_path, 300).select("red", Policy(max_tools=50, fit=False, allow=("s/t1*",)))
    assert len(found.tools) == 50


def test_as_many_tools_as_asked_for_where_some_of_the_top_are_allowed(tmp_path):
    """Thirty of the first hundred are allowed, and more below."""
    policy = Policy(
        max_tools=50, fit=False, deny=("s/t00*", "s/t01*", "s/t02*", "s/t03*", "s/t04*", "s/t05*", "s/t06*")
    )
    assert len(selector(tmp_path, 300).select("red", policy).tools) == 50


def test_capped_tools_do_not_hide_harmless_ones(tmp_path):
    """One of the thirty dangerous tools at the top is taken, then the harmless ones that fit as well."""
    policy = Policy(max_tools=5, fit=False, caps=(Cap(level=4, count=1),))
    found = selector(tmp_path, 40, levels=lambda i: 4 if i < 30 else 1).select("red", policy)
    assert [tool.level for tool in found.tools] == [4, 1, 1, 1, 1]
    assert [withheld.rule for withheld in found.withheld] == ["cap-level-4"] * 4


def test_large_tools_do_not_hide_small_ones(tmp_path):
    """What fits into the budget is looked for beyond what does not."""
    policy = Policy(max_tools=3, fit=False, budget_tokens=100)
    found = selector(tmp_path, 40, tokens=lambda i: 500 if i < 30 else 10).select("red", policy)
    assert (len(found.tools), found.tokens) == (3, 30)


def test_many_policies_take_little_memory(tmp_path):
    """A server that makes up a policy per request does not grow without end."""
    asked = selector(tmp_path, 5)
    for number in range(300):
        asked.select("red", Policy(deny=(f"x{number}",)))
    assert len(asked._eligibility) <= 128
