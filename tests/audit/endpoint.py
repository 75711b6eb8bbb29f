"""A chat endpoint on this machine that answers as told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

Reply: TypeAlias = tuple[int, Any]
"""Status and body: bytes as they are, else JSON."""

KEY = "sk-very-secret"


def says(content: Any, prompt: int = 100, completion: int = 10) -> Reply:
    """A completion whose message is ``content`` (JSON unless it is a text)."""
    text = content if isinstance(content, str) or content is None else json.dumps(content)
    usage = {"prompt_tokens": prompt, "completion_tokens": completion}
    return 200, {"choices": [{"message": {"content": text}}], "usage": usage}


def asked(request: dict[str, Any]) -> list[dict[str, Any]]:
    """The tools of a question, in order."""
    lines = request["messages"][1]["content"].splitlines()
    return [json.loads(line)["tool"] for line in lines if line.startswith('{"ref"')]


def entry(ref: int, level: int = 1, **fields: Any) -> dict[str, Any]:
    """A well-formed entry of an answer."""
    return {"ref": ref, "level": level, "because": "as told", "flags": [], **fields}


def judge_all(request: dict[str, Any]) -> Reply:
    """Level 1 for every tool."""
    return says({"tools": [entry(i) for i, _ in enumerate(asked(request), 1)]})


class Endpoint:
    """Answers each request by ``answer``; remembers what it was asked."""

    def __init__(self, url: str) -> None:
        self.url = f"{url}/v1"
        self.answer: Callable[[dict[str, Any]], Reply] = judge_all
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.sent: dict[str, str] = {}
        """More headers of every reply."""

    def reply(self, *replies: Reply) -> None:
        """Answer by ``replies`` in turn; the last one stays."""
        left = list(replies)
        self.answer = lambda request: left.pop(0) if len(left) > 1 else left[0]


@contextmanager
def endpoint() -> Iterator[Endpoint]:
    """An endpoint that listens while the block runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            """Answer as told."""
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with lock:
                told.requests.append(request)
                told.headers.append({name.lower(): value for name, value in self.headers.items()})
                status, answer = told.answer(request)
            body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            for name, value in {"content-length": str(len(body)), **told.sent}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    lock = threading.Lock()
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        told = Endpoint(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield told
        finally:
            server.shutdown()
            thread.join()
