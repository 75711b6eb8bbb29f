"""Questions to a chat endpoint on this machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.audit.endpoint import KEY, Endpoint, endpoint, says
from toolwise.audit import chat
from toolwise.audit.chat import Chat, Usage
from toolwise.config import Settings
from toolwise.errors import AnnotatorError, MissingExtra, QuestionRefused

pytest.importorskip("httpx2", reason="the [openai] extra is not installed")

SCHEMA = {"type": "object"}


@pytest.fixture
def there() -> Iterator[Endpoint]:
    with endpoint() as found:
        yield found


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    taken: list[float] = []
    monkeypatch.setattr(chat.Chat, "_pause", lambda self, seconds: taken.append(seconds))
    return taken


def line(url: str) -> Chat:
    return Chat("tiny", Settings(openai_base_url=f"{url}/", openai_api_key=KEY))


def ask(some: Chat) -> str:
    with some.connected() as client:
        return some.ask(client, "rules", "question", SCHEMA)


def test_the_question_is_what_the_interface_says(there):
    """Key, model, temperature 0, a seed, two messages and the schema are sent; the text comes back."""
    there.reply(says("fine"))
    assert ask(line(there.url)) == "fine"
    assert there.headers[0]["authorization"] == f"Bearer {KEY}"
    assert there.requests[0] == {
        "model": "tiny",
        "temperature": 0,
        "seed": 0,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "verdicts", "strict": True, "schema": SCHEMA},
        },
        "messages": [{"role": "system", "content": "rules"}, {"role": "user", "content": "question"}],
    }


def test_tokens_and_calls_add_up(there):
    """Two answers of 100 and 10 tokens; what is no count counts nothing."""
    some = line(there.url)
    there.reply(says("a"), says("b"), (200, {"choices": [], "usage": {"prompt_tokens": "many"}}))
    assert [ask(some), ask(some), ask(some)] == ["a", "b", ""]
    assert some.usage == Usage(calls=3, retries=0, prompt_tokens=200, completion_tokens=20)


def test_cost_is_by_the_million():
    """2 million in at 0.5 and 1 million out at 3 are 4; without both prices nothing is said."""
    usage = Usage(prompt_tokens=2_000_000, completion_tokens=1_000_000)
    assert usage.cost(0.5, 3.0) == 4.0
    assert usage.cost(None, 3.0) is None
    assert usage.cost(0.5, None) is None


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_endpoint_is_asked_again(there, pauses, status):
    """Two refusals cost pauses of 0.5 and 1 second."""
    there.reply((status, {}), (status, {}), says("fine"))
    some = line(there.url)
    assert ask(some) == "fine"
    assert pauses == [0.5, 1.0]
    assert (some.usage.calls, some.usage.retries) == (1, 2)


def test_the_endpoint_may_ask_for_a_longer_pause(there, pauses):
    """Retry-After in seconds is kept to, up to a minute; a date is not read."""
    there.sent = {"retry-after": "7"}
    there.reply((429, {}), says("fine"))
    ask(line(there.url))
    there.sent = {"retry-after": "9000"}
    there.reply((429, {}), says("fine"))
    ask(line(there.url))
    there.sent = {"retry-after": "Mon, 01 Jan 2035 00:00:00 GMT"}
    there.reply((429, {}), says("fine"))
    ask(line(there.url))
    assert pauses == [7.0, 60.0, 0.5]


def test_an_endpoint_that_stays_busy_is_an_error(there, pauses):
    """After five calls; the message says what to check and that nothing is lost."""
    there.reply((503, b"overloaded"))
    with pytest.raises(AnnotatorError, match=r"status 503: overloaded.*answers had so far are kept"):
        ask(line(there.url))
    assert len(there.requests) == 5
    assert pauses == [0.5, 1.0, 2.0, 4.0]


def test_a_refused_key_is_neither_tried_again_nor_shown(there, pauses):
    """401 ends at once, and the key that the endpoint repeats is masked."""
    there.reply((401, {"error": {"message": f"Incorrect key\n{KEY}"}}))
    with pytest.raises(AnnotatorError, match=r"status 401: Incorrect key \*\*\*") as caught:
        ask(line(there.url))
    assert KEY not in str(caught.value)
    assert pauses == []


def test_nobody_listening_is_an_error(pauses):
    """A refused connection is tried five times and then named."""
    with pytest.raises(AnnotatorError, match=r"127\.0\.0\.1:9/v1/chat/completions gave no answer"):
        ask(line("http://127.0.0.1:9/v1"))
    assert len(pauses) == 4


def test_an_option_the_endpoint_does_not_know_is_left_out_from_then_on(there):
    """First the schema gives way to plain JSON, then to nothing; then temperature and seed."""
    told = ["json_schema is not supported", "unknown response_format", "temperature must be 1", "no seed"]
    there.reply(*((400, {"error": {"message": words}}) for words in told), says("fine"))
    some = line(there.url)
    assert ask(some) == "fine"
    kinds = [request.get("response_format", {}).get("type") for request in there.requests]
    assert kinds == ["json_schema", "json_object", None, None, None]
    assert set(there.requests[-1]) == {"model", "messages"}
    assert ask(some) == "fine"
    assert len(there.requests) == 6


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_question_that_is_not_taken_is_told_apart(there, status):
    """A content filter or a question too long says nothing about other questions."""
    there.reply((status, {"error": "content filter"}))
    with pytest.raises(QuestionRefused, match="content filter"):
        ask(line(there.url))
    assert len(there.requests) == 1


@pytest.mark.parametrize("body", [b"<html>", [], {}, {"choices": [3]}, {"choices": [{"message": 3}]}])
def test_an_answer_without_a_message_is_empty(there, body):
    """Whatever its shape, nothing is raised."""
    there.reply((200, body))
    assert ask(line(there.url)) == ""


def test_the_missing_extra_is_named(monkeypatch):
    """Without httpx2 the error holds the line that installs it."""
    monkeypatch.setattr(chat, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r'pip install "toolwise\[openai\]"'):
        line("http://127.0.0.1:9/v1")


def test_a_line_that_was_stopped_tries_nothing_again(there):
    """One call, no pause, and an error."""
    there.reply((503, b"overloaded"))
    some = line(there.url)
    some.stop()
    with pytest.raises(AnnotatorError, match="status 503"):
        ask(some)
    assert len(there.requests) == 1
