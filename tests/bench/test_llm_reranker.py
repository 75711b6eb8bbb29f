"""The LLM reranker, against a chat endpoint on this machine."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from tests.bench.systems import FixedSystem, ids
from tests.builders import tool

from toolwise.bench.baselines import LlmReranker, llm_reranker
from toolwise.bench.baselines.llm_reranker import parsed
from toolwise.config import Settings
from toolwise.errors import EncoderError, MissingExtra
from toolwise.records import Query

pytest.importorskip("httpx2", reason="the [openai] extra is not installed")

KEY = "sk-very-secret"
TOOLS = [tool(f"s/{c}", f"Does {c}.") for c in "abcd"]
INNER = FixedSystem(*((t.id, -float(i)) for i, t in enumerate(TOOLS)))
ORDER = [t.id for t in TOOLS]
QUERY = Query("q", "Do it all")


def chat(content: Any) -> dict[str, Any]:
    """A completion that says ``content``."""
    return {"choices": [{"message": {"role": "assistant", "content": content}}]}


class Endpoint:
    """Answers requests by ``answers`` in turn: the last one stays."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.answers: list[tuple[int, Any]] = []
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []

    def system(self, **options: Any) -> LlmReranker:
        """A fitted reranker over this endpoint."""
        configured = Settings(openai_base_url=f"{self.url}/v1/", openai_api_key=KEY)
        found = LlmReranker("tiny", INNER, configured=configured, **options)
        found.fit(TOOLS, [])
        return found


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Answer as told."""
            told.requests.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            told.headers.append({name.lower(): value for name, value in self.headers.items()})
            told.paths.append(self.path)
            status, answer = told.answers.pop(0) if len(told.answers) > 1 else told.answers[0]
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        told = Endpoint(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield told
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    taken: list[float] = []
    monkeypatch.setattr(llm_reranker.time, "sleep", taken.append)
    return taken


def test_the_models_order_comes_first(endpoint: Endpoint):
    """It lists c and a; b and d follow in their inner order."""
    endpoint.answers = [(200, chat('["s/c", "s/a"]'))]
    system = endpoint.system()
    assert ids(system.rank(QUERY, 4)) == ["s/c", "s/a", "s/b", "s/d"]
    assert ids(system.rank(QUERY, 1)) == ["s/c"]
    assert (system.asked, system.malformed, system.fallbacks) == (2, 0, 0)


def test_the_request_is_what_the_interface_says(endpoint: Endpoint):
    """Address, key, model, temperature 0, the seed, and the candidates as JSON are sent."""
    endpoint.answers = [(200, chat('["s/a"]'))]
    endpoint.system(seed=7, depth=2).rank(QUERY, 4)
    assert endpoint.paths == ["/v1/chat/completions"]
    assert endpoint.headers[0]["authorization"] == f"Bearer {KEY}"
    sent = endpoint.requests[0]
    assert (sent["model"], sent["temperature"], sent["seed"]) == ("tiny", 0, 7)
    assert [message["role"] for message in sent["messages"]] == ["system", "user"]
    assert json.loads(sent["messages"][1]["content"]) == {
        "request": "Do it all",
        "tools": [{"id": "s/a", "text": "s: a. Does a."}, {"id": "s/b", "text": "s: b. Does b."}],
    }


MALFORMED = [
    "s/c, s/a",
    'Sure: ["s/c"]',
    '```json\n["s/c"]\n```',
    '{"ids": ["s/c"]}',
    "[]",
    '["s/c", "s/c"]',
    '["s/c", "s/unknown"]',
    '["s/c", 1]',
    "[[]]",
    "",
    "null",
]


@pytest.mark.parametrize("answer", MALFORMED)
def test_anything_but_a_list_of_candidates_is_malformed(answer: str):
    """Prose, fences, objects, repeats, strangers and empty lists are no answer."""
    assert parsed(answer, ORDER) is None


def test_a_malformed_answer_is_asked_for_once_more(endpoint: Endpoint):
    """The second answer counts; one of the two was malformed."""
    endpoint.answers = [(200, chat("I would use c.")), (200, chat('["s/d"]'))]
    system = endpoint.system()
    assert ids(system.rank(QUERY, 4)) == ["s/d", "s/a", "s/b", "s/c"]
    assert (system.asked, system.malformed, system.fallbacks) == (2, 1, 0)


@pytest.mark.parametrize(
    "answer",
    [
        chat("no"),
        chat(None),
        chat(["s/a"]),
        {"choices": []},
        {},
        [],
        b"<html>",
        {"choices": [{"message": 3}]},
    ],
)
def test_after_two_malformed_answers_the_inner_order_stands(endpoint: Endpoint, answer: Any):
    """Whatever the shape of the nonsense, it is counted and nothing is lost."""
    endpoint.answers = [(200, answer)]
    system = endpoint.system()
    assert ids(system.rank(QUERY, 4)) == ORDER
    assert (system.asked, system.malformed, system.fallbacks) == (2, 2, 1)


def test_one_candidate_needs_no_model(endpoint: Endpoint):
    """Nothing is asked where there is nothing to order."""
    system = endpoint.system(depth=1)
    assert ids(system.rank(QUERY, 4)) == ORDER
    assert endpoint.requests == []


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_endpoint_is_called_again(endpoint: Endpoint, pauses: list[float], status: int):
    """Two refusals cost pauses of 0.5 and 1 second, and are no malformed answers."""
    endpoint.answers = [(status, {})] * 2 + [(200, chat('["s/b"]'))]
    system = endpoint.system()
    assert ids(system.rank(QUERY, 2)) == ["s/b", "s/a"]
    assert pauses == [0.5, 1.0]
    assert (system.asked, system.malformed) == (1, 0)


def test_an_endpoint_that_stays_busy_is_an_error(endpoint: Endpoint, pauses: list[float]):
    """After four calls the run stops rather than pass off the inner order as the model's."""
    endpoint.answers = [(503, b"overloaded")]
    with pytest.raises(EncoderError, match="status 503: overloaded"):
        endpoint.system().rank(QUERY, 4)
    assert len(endpoint.requests) == 4
    assert pauses == [0.5, 1.0, 2.0]


def test_a_refused_key_is_not_tried_again_nor_shown(endpoint: Endpoint, pauses: list[float]):
    """401 ends at once, and the key that the endpoint repeats is masked."""
    endpoint.answers = [(401, f"Incorrect key {KEY}".encode())]
    with pytest.raises(EncoderError, match=r"status 401: Incorrect key \*\*\*") as caught:
        endpoint.system().rank(QUERY, 4)
    assert KEY not in str(caught.value)
    assert pauses == []


def test_nobody_listening_is_an_error(pauses: list[float]):
    """A refused connection is tried four times and then named."""
    system = LlmReranker("tiny", INNER, configured=Settings(openai_base_url="http://127.0.0.1:9/v1"))
    system.fit(TOOLS, [])
    with pytest.raises(
        EncoderError, match=r"127\.0\.0\.1:9/v1/chat/completions gave no answer \(ConnectError"
    ):
        system.rank(QUERY, 4)
    assert len(pauses) == 3


def test_a_model_must_be_named():
    """An empty model is refused."""
    with pytest.raises(EncoderError, match="llm-reranker:MODEL"):
        LlmReranker("", INNER, configured=Settings())


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    """Without httpx2 the error holds the line that installs it."""
    monkeypatch.setattr(llm_reranker, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r'pip install "toolwise\[openai\]"'):
        LlmReranker("tiny", INNER, configured=Settings())


def test_an_answer_nested_without_end_is_malformed():
    """It is no list of ids, and no reason to stop."""
    assert parsed("[" * 200_000, ORDER) is None
    assert llm_reranker._json("[" * 200_000) is None
