"""The LLM annotator, against a chat endpoint on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.audit.endpoint import Endpoint, Reply, asked, endpoint, entry, judge_all, says
from tests.builders import tool
from toolwise.audit import chat
from toolwise.audit.llm import LlmAnnotator
from toolwise.audit.rubric import shown
from toolwise.config import Settings
from toolwise.errors import AnnotatorError
from toolwise.records import Level, Verdict

pytest.importorskip("httpx2", reason="the [openai] extra is not installed")

TOOLS = [tool(f"{server}/{name}", f"Does {name}.") for server in ("s", "t") for name in "abcde"]


@pytest.fixture
def there() -> Iterator[Endpoint]:
    with endpoint() as found:
        yield found


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    taken: list[float] = []
    monkeypatch.setattr(chat.Chat, "_pause", lambda self, seconds: taken.append(seconds))
    return taken


def annotator(there: Endpoint, *answers: Any, **options: Any) -> LlmAnnotator:
    configured = Settings(openai_base_url=there.url, llm_price_in=1.0, llm_price_out=10.0)
    return LlmAnnotator("tiny", *answers, configured=configured, **options)


def by_name(request: dict[str, Any]) -> Reply:
    """Level 1 for a, 2 for b, ... ."""
    return says({"tools": [entry(i, "abcde".index(t["name"]) + 1) for i, t in enumerate(asked(request), 1)]})


def levels(verdicts: list[Verdict]) -> list[int | None]:
    return [verdict.level for verdict in verdicts]


def test_each_tool_gets_its_own_verdict_in_order(there):
    """Whatever batches they were asked in."""
    there.answer = by_name
    mixed = [TOOLS[i] for i in (7, 0, 9, 3, 2)]
    assert levels(annotator(there, batch=2).annotate(mixed)) == [3, 1, 5, 4, 3]


def test_half_a_character_in_an_answer_costs_no_verdict(there, tmp_path):
    """It is replaced, and the answer is kept as any other."""
    flags = [{"flag": "capability:private", "because": "reads \ud83d mail"}]
    there.reply(says({"tools": [entry(1, 3, because="half \ud83d of it", flags=flags)]}))
    kept = tmp_path / "answers.sqlite"
    first = annotator(there, kept).annotate(TOOLS[:1])
    assert [e.because for e in first[0].evidence] == ["half \ufffd of it", "reads \ufffd mail"]
    assert annotator(there, kept).annotate(TOOLS[:1]) == first
    assert len(there.requests) == 1


def test_a_batch_holds_tools_of_one_server(there):
    """Five and five tools in batches of four are four questions, none of them mixed."""
    annotator(there, batch=4).annotate(TOOLS)
    servers = sorted(sorted(t["server"] for t in asked(request)) for request in there.requests)
    assert servers == [["s"], ["s"] * 4, ["t"], ["t"] * 4]


def test_long_tools_are_asked_about_in_smaller_batches(there):
    """Eight tools of 3,000 characters do not fit in one question of 16,000."""
    long = [tool(f"s/{i}", f"{i}" * 3_000) for i in range(8)]
    annotator(there).annotate(long)
    assert sorted(len(asked(request)) for request in there.requests) == [3, 5]


def test_one_bad_answer_does_not_lose_the_others(there):
    """What is malformed is asked for again, at last alone; then it has no level, and the rest has."""

    def stubborn(request: dict[str, Any]) -> Reply:
        names = [t["name"] for t in asked(request)]
        return says({"tools": [entry(i, 9 if name == "c" else 2) for i, name in enumerate(names, 1)]})

    there.answer = stubborn
    some = annotator(there)
    found = some.annotate(TOOLS[:5])
    assert levels(found) == [2, 2, None, 2, 2]
    assert found[2] == Verdict()
    assert [len(asked(request)) for request in there.requests] == [5, 1, 1]
    assert (some.tally.new, some.tally.unread, some.tally.refused, some.tally.kept) == (4, 1, 0, 0)


def test_an_answer_that_is_no_json_is_asked_for_again(there):
    """The third answer counts; by then each tool is asked about alone."""
    there.reply(says("Sure!"), says("{"), says({"tools": [entry(1, 5)]}))
    assert levels(annotator(there).annotate(TOOLS[:2])) == [5, 5]
    assert [len(asked(request)) for request in there.requests] == [2, 2, 1, 1]


def test_a_tool_the_endpoint_refuses_does_not_take_its_neighbours_along(there):
    """A content filter stops the batch; alone, only the tool that offends is refused, and once."""

    def filtered(request: dict[str, Any]) -> Reply:
        names = [t["name"] for t in asked(request)]
        return (400, {"error": "content filter"}) if "b" in names else judge_all(request)

    there.answer = filtered
    some = annotator(there)
    assert levels(some.annotate(TOOLS[:3])) == [1, None, 1]
    assert (some.tally.new, some.tally.refused, some.tally.unread) == (2, 1, 0)
    assert len(there.requests) == 4


def test_an_endpoint_that_refuses_everything_is_an_error(there):
    """A wrong model name is not taken for a hundred bad tools."""
    there.reply((400, {"error": "no such model"}))
    with pytest.raises(AnnotatorError, match=r"refuses every question: no such model.*llm:tiny"):
        annotator(there).annotate(TOOLS)


def test_a_second_run_asks_nothing(there, tmp_path):
    """The answers are kept by what is shown of the tool, and counted as kept."""
    there.answer = by_name
    first = annotator(there, tmp_path / "answers").annotate(TOOLS)
    calls = len(there.requests)
    again = annotator(there, tmp_path / "answers")
    assert again.annotate(TOOLS) == first
    assert len(there.requests) == calls
    assert (again.tally.kept, again.tally.new, again.usage.calls, again.cost) == (10, 0, 0, 0.0)


def test_a_changed_tool_is_asked_about_again(there, tmp_path):
    """And no other."""
    annotator(there, tmp_path / "answers").annotate(TOOLS)
    there.requests.clear()
    annotator(there, tmp_path / "answers").annotate([tool("s/a", "Deletes everything."), *TOOLS[1:]])
    assert [[t["description"] for t in asked(request)] for request in there.requests] == [
        ["Deletes everything."]
    ]


def test_another_model_has_its_own_answers(there, tmp_path):
    """Nobody's answers pass for another's."""
    annotator(there, tmp_path / "answers").annotate(TOOLS[:1])
    other = LlmAnnotator("big", tmp_path / "answers", configured=Settings(openai_base_url=there.url))
    other.annotate(TOOLS[:1])
    assert [request["model"] for request in there.requests] == ["tiny", "big"]


def test_an_interrupted_run_goes_on_where_it_stopped(there, tmp_path):
    """What was answered before the endpoint went away is not asked for again."""
    there.reply(says({"tools": [entry(1), entry(2)]}), (503, {}))
    with pytest.raises(AnnotatorError):
        annotator(there, tmp_path / "answers", batch=2, workers=1).annotate(TOOLS[:4])
    there.requests.clear()
    there.answer = judge_all
    some = annotator(there, tmp_path / "answers", batch=2, workers=1)
    assert levels(some.annotate(TOOLS[:4])) == [1, 1, 1, 1]
    assert [[t["name"] for t in asked(request)] for request in there.requests] == [["c", "d"]]
    assert (some.tally.kept, some.tally.new) == (2, 2)


def test_equal_tools_are_asked_about_once(there):
    """The same definition under two ids is one question."""
    some = annotator(there)
    twin = tool("s/a", "Does a.")
    assert levels(some.annotate([TOOLS[0], twin])) == [1, 1]
    assert [len(asked(request)) for request in there.requests] == [1]


def test_tokens_and_cost_are_counted(there):
    """Two questions of 100 and 10 tokens at 1 and 10 a million."""
    some = annotator(there, batch=5)
    some.annotate(TOOLS)
    assert (some.usage.calls, some.usage.prompt_tokens, some.usage.completion_tokens) == (2, 200, 20)
    assert some.cost == pytest.approx(0.0004)


def test_without_prices_there_is_no_cost(there):
    """No price list is built in."""
    assert LlmAnnotator("tiny", configured=Settings(openai_base_url=there.url)).cost is None


def test_progress_is_told_to_the_end(there):
    """From nothing to all tools, under the annotator's name."""
    heard: list[tuple[str, int, int]] = []
    annotator(there, batch=5, progress=lambda *what: heard.append(what)).annotate(TOOLS)
    assert heard == [("llm:tiny", 0, 10), ("llm:tiny", 5, 10), ("llm:tiny", 10, 10)]


def test_kept_answers_that_cannot_be_read_are_asked_for_again(there, tmp_path):
    """A damaged row costs one question."""
    some = annotator(there, tmp_path / "answers")
    some.annotate(TOOLS[:1])
    key = some._key(shown(TOOLS[0]))
    some._answers.put({key: '{"level": 7}'})
    assert levels(annotator(there, tmp_path / "answers").annotate(TOOLS[:1])) == [Level.SAFE]
    assert len(there.requests) == 2


def test_no_tools_are_no_questions(there):
    """Nothing is asked, nothing returned."""
    assert annotator(there).annotate([]) == []
    assert there.requests == []


def test_a_model_must_be_named():
    """An empty model is refused."""
    with pytest.raises(AnnotatorError, match="write llm:MODEL"):
        LlmAnnotator("", configured=Settings())
