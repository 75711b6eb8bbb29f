"""The openai adapter, against an HTTP server on this machine."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from toolwise.config import Settings
from toolwise.encode import openai
from toolwise.encode.openai import OpenAIEncoder
from toolwise.errors import EncoderError, MissingExtra
from toolwise.records import Tool, ToolText

pytest.importorskip("httpx2", reason="the [openai] extra is not installed")

KEY = "sk-very-secret"


def vectors(request: dict[str, Any]) -> dict[str, Any]:
    """(3 * length of the text, 4), in reverse order, as only the index tells."""
    data = [{"index": i, "embedding": [3 * len(text), 4.0]} for i, text in enumerate(request["input"])]
    return {"data": data[::-1]}


class Endpoint:
    """Answers requests by ``answers`` in turn: the last one stays."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.answers: list[tuple[int, Any]] = [(200, vectors)]
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.reply_headers: dict[str, str] = {}

    def encoder(self, dim: int | None = None, key: str = KEY) -> OpenAIEncoder:
        """An encoder of this endpoint."""
        configured = Settings(openai_base_url=f"{self.url}/v1/", openai_api_key=key, openai_dim=dim)
        return OpenAIEncoder("tiny", configured)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Answer as told."""
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            told.requests.append(request)
            told.headers.append(dict(self.headers))
            told.paths.append(self.path)
            status, answer = told.answers.pop(0) if len(told.answers) > 1 else told.answers[0]
            answer = answer(request) if callable(answer) else answer
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            for name, value in told.reply_headers.items():
                self.send_header(name, value)
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
    monkeypatch.setattr(openai.time, "sleep", taken.append)
    return taken


def test_vectors_come_in_the_order_of_the_index(endpoint: Endpoint):
    """(3, 4) and (9, 4) at unit length, though the answer has them the other way round."""
    found = endpoint.encoder().encode_queries(["a", "abc"])
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [[0.6, 0.8], [9 / 97**0.5, 4 / 97**0.5]], rtol=1e-6)


def test_the_request_is_what_the_interface_says(endpoint: Endpoint):
    """Address, model, texts and the key as a bearer token are sent."""
    endpoint.encoder(dim=2).encode_tools([Tool(id="s/x", name="do_it", text=ToolText("Do it."))])
    assert endpoint.paths == ["/v1/embeddings"]
    assert endpoint.requests == [{"model": "tiny", "input": ["do it. Do it."], "encoding_format": "float"}]
    assert {name.lower(): value for name, value in endpoint.headers[0].items()}[
        "authorization"
    ] == f"Bearer {KEY}"


def test_no_key_sends_no_authorization(endpoint: Endpoint):
    """Local endpoints need no key."""
    endpoint.encoder(dim=2, key="").encode_queries(["a"])
    assert "authorization" not in {name.lower() for name in endpoint.headers[0]}


def test_many_texts_go_in_batches(endpoint: Endpoint):
    """300 texts are 128 + 128 + 44, and each keeps its place."""
    texts = ["x" * (1 + i % 7) for i in range(300)]
    found = endpoint.encoder(dim=2).encode_queries(texts)
    assert [len(request["input"]) for request in endpoint.requests] == [128, 128, 44]
    expected = np.array([[3 * len(text), 4] for text in texts])
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=1e-6)


def test_long_texts_make_small_batches(endpoint: Endpoint):
    """No request holds more than 200,000 characters: 25 texts of 15,000 are 13 + 12."""
    endpoint.encoder(dim=2).encode_queries(["word " * 3000] * 25)
    assert [len(request["input"]) for request in endpoint.requests] == [13, 12]


def test_empty_texts_are_zero_and_not_sent(endpoint: Endpoint):
    """Endpoints refuse empty texts: they get a zero vector without being asked."""
    found = endpoint.encoder(dim=2).encode_queries(["", "a", " "])
    np.testing.assert_allclose(found, [[0, 0], [0.6, 0.8], [0, 0]], rtol=1e-6)
    assert endpoint.requests[0]["input"] == ["a"]


def test_the_size_is_asked_for_once_where_it_is_not_set(endpoint: Endpoint):
    """Without openai_dim one short request finds the size; making the encoder asks nothing."""
    encoder = endpoint.encoder()
    assert endpoint.requests == []
    assert (encoder.dim, encoder.dim) == (2, 2)
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize("status", [429, 500, 503])
def test_busy_servers_are_asked_again(endpoint: Endpoint, pauses: list[float], status: int):
    """Two refusals cost pauses of 0.5 and 1 second; then the answer counts."""
    endpoint.answers = [(status, {"error": {"message": "busy"}})] * 2 + [(200, vectors)]
    np.testing.assert_allclose(endpoint.encoder(dim=2).encode_queries(["a"]), [[0.6, 0.8]], rtol=1e-6)
    assert pauses == [0.5, 1.0]


def test_the_wait_a_server_asks_for_is_kept_within_reason(endpoint: Endpoint, pauses: list[float]):
    """Retry-After of 7 seconds is kept, of an hour is cut to 30."""
    for asked, kept in (("7", 7.0), ("3600", 30.0), ("soon", 0.5)):
        endpoint.answers = [(429, {}), (200, vectors)]
        endpoint.reply_headers = {"Retry-After": asked}
        endpoint.encoder(dim=2).encode_queries(["a"])
        assert pauses.pop() == kept


def test_a_server_that_stays_busy_is_given_up(endpoint: Endpoint, pauses: list[float]):
    """After five attempts the last refusal is the error."""
    endpoint.answers = [(429, {"error": {"message": "Rate limit reached"}})]
    with pytest.raises(EncoderError, match="status 429: Rate limit reached"):
        endpoint.encoder(dim=2).encode_queries(["a"])
    assert len(endpoint.requests) == 5
    assert pauses == [0.5, 1.0, 2.0, 4.0]


def test_a_refused_key_is_not_tried_again_nor_shown(endpoint: Endpoint, pauses: list[float]):
    """401 ends at once, and the key that the endpoint repeats is masked."""
    endpoint.answers = [(401, {"error": {"message": f"Incorrect API key provided: {KEY}"}})]
    with pytest.raises(EncoderError, match=r"status 401: Incorrect API key provided: \*\*\*") as caught:
        endpoint.encoder(dim=2).encode_queries(["a"])
    assert KEY not in str(caught.value)
    assert pauses == []


def test_nobody_listening_is_an_encoder_error(pauses: list[float]):
    """A refused connection is tried five times and then named."""
    configured = Settings(openai_base_url="http://127.0.0.1:9/v1", openai_dim=2)
    with pytest.raises(EncoderError, match=r"127\.0\.0\.1:9/v1/embeddings gave no answer \(ConnectError"):
        OpenAIEncoder("tiny", configured).encode_queries(["a"])
    assert len(pauses) == 4


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            lambda r: {"data": [{"index": 0, "embedding": [1.0, 2.0, 3.0]}]},
            "a vector of 3 numbers; expected 2",
        ),
        (lambda r: {"data": []}, "0 vectors for 1 texts"),
        (lambda r: {"data": vectors(r)["data"] * 2}, "2 vectors for 1 texts"),
        (lambda r: {"data": [{"index": 1, "embedding": [1, 2]}]}, "the index 1 among 1 texts"),
        (lambda r: {"data": [{"index": [], "embedding": [1, 2]}]}, "the index"),
        (lambda r: {"data": [{"index": 0, "embedding": "AAAA"}]}, "not a list of numbers"),
        (lambda r: {"data": [{"index": 0, "embedding": [1, None]}]}, "not a list of numbers"),
        (lambda r: {"data": ["x"]}, "not a list of numbers"),
        (lambda r: {"error": {"message": "no such model"}}, "an error: no such model"),
        (lambda r: [], "no list of vectors"),
        (lambda r: b"<html>", "not JSON"),
        (lambda r: b'{"data": [{"index": 0, "embedding": [NaN, 1]}]}', "infinite or undefined"),
    ],
)
def test_wrong_answers_are_named(endpoint: Endpoint, answer: Callable[[Any], Any], words: str):
    """Whatever is not the asked-for vectors is an error that says what came."""
    endpoint.answers = [(200, answer)]
    with pytest.raises(EncoderError, match=words):
        endpoint.encoder(dim=2).encode_queries(["a"])


def test_sizes_that_differ_within_an_answer_are_an_error(endpoint: Endpoint):
    """Two texts whose vectors have different sizes are refused."""
    data = [{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [1, 2, 3]}]
    endpoint.answers = [(200, vectors), (200, {"data": data})]
    with pytest.raises(EncoderError, match="3 numbers; expected 2"):
        endpoint.encoder().encode_queries(["a", "b"])


def test_fingerprints_tell_endpoints_and_models_apart(endpoint: Endpoint):
    """Address and model decide; the key does not, and is not in it."""
    first = endpoint.encoder().fingerprint
    assert first == endpoint.encoder(key="other").fingerprint
    assert KEY not in first
    configured = Settings(openai_base_url=f"{endpoint.url}/v1")
    assert OpenAIEncoder("large", configured).fingerprint != first


def test_a_model_must_be_named():
    """``openai`` without a model is refused."""
    with pytest.raises(EncoderError, match="openai:MODEL"):
        OpenAIEncoder("", Settings())


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    """Without httpx2 the error holds the line that installs it."""
    monkeypatch.setattr(openai, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r'pip install "toolwise\[openai\]"'):
        OpenAIEncoder("tiny", Settings())
