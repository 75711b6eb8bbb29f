"""Vectors from an OpenAI-compatible ``/embeddings`` endpoint."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from toolwise.config import Settings, settings
from toolwise.encode.text import TEMPLATE, query_text, tool_text
from toolwise.encode.vectors import unit_rows
from toolwise.errors import EncoderError, MissingExtra
from toolwise.protocols import Floats
from toolwise.records import Json, Tool, as_mapping

if TYPE_CHECKING:
    import httpx2

_BATCH_TEXTS = 128
_BATCH_CHARACTERS = 200_000
_TIMEOUT = 60.0  # seconds for one request
_ATTEMPTS = 5
_FIRST_PAUSE = 0.5  # seconds; doubles with every attempt
_LONGEST_PAUSE = 30.0  # seconds
_WORTH_RETRYING = frozenset({408, 409, 425, 429, 500, 502, 503, 504})


class OpenAIEncoder:
    """Texts to unit vectors by ``model`` of the endpoint that the settings name.

    The address, key and expected vector size D come from ``openai_base_url``,
    ``openai_api_key`` and ``openai_dim`` (see :mod:`toolwise.config`).  Without
    an expected size the first answer sets it.  Busy or failing servers and lost
    connections are tried again, up to 5 times with growing pauses.  An empty
    text has a zero vector.  Raises MissingExtra without httpx2, EncoderError
    for every answer that is not what was asked for.
    """

    fingerprint: str

    def __init__(self, model: str, configured: Settings | None = None) -> None:
        if find_spec("httpx2") is None:
            raise MissingExtra(
                'The openai encoder needs httpx2. Run: pip install "toolwise[openai]"', extra="openai"
            )
        if not model:
            raise EncoderError("the openai encoder has no model; write openai:MODEL.", model=model)
        configured = configured or settings()
        base = configured.openai_base_url.rstrip("/")
        self._model = model
        self._address = f"{base}/embeddings"
        self._key = configured.openai_api_key
        if configured.openai_dim is not None:
            self.dim = configured.openai_dim
        self.fingerprint = f"openai:{base}:{model}:{TEMPLATE}"

    @cached_property
    def dim(self) -> int:
        """The vector size; asks the endpoint where it is not known yet."""
        with self._client() as client:
            return int(self._batch(client, ["size"], None).shape[1])

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        """Texts of requests -> (Q, D)."""
        return self._encode([query_text(text) for text in texts])

    def encode_tools(self, tools: Sequence[Tool]) -> Floats:
        """Tools, by their searchable text -> (N, D)."""
        return self._encode([tool_text(tool) for tool in tools])

    def _encode(self, texts: Sequence[str]) -> Floats:
        vectors = np.zeros((len(texts), self.dim), np.float32)
        with self._client() as client:
            for rows in _batches(texts):
                found = self._batch(client, [texts[row] for row in rows], self.dim)
                vectors[rows] = unit_rows(found, self._model)
        return vectors

    def _client(self) -> httpx2.Client:
        import httpx2

        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        return httpx2.Client(headers=headers, timeout=_TIMEOUT)

    def _batch(self, client: httpx2.Client, texts: Sequence[str], dim: int | None) -> NDArray[np.float64]:
        """The vectors of one request (N, D), in the order of ``texts``."""
        body = {"model": self._model, "input": list(texts), "encoding_format": "float"}
        answer = self._post(client, body)
        data = as_mapping(answer).get("data")
        if as_mapping(answer).get("error"):
            raise self._wrong(f"an error: {_complaint(answer)}")
        if not isinstance(data, list) or len(data) != len(texts):
            count = len(data) if isinstance(data, list) else "no list of"
            raise self._wrong(f"{count} vectors for {len(texts)} texts")
        rows: dict[int, list[float]] = {}
        for position, item in enumerate(data):
            index = as_mapping(item).get("index", position)
            if type(index) is not int or not 0 <= index < len(texts) or index in rows:
                raise self._wrong(f"the index {index!r} among {len(texts)} texts, or gave it twice")
            rows[index] = self._vector(as_mapping(item).get("embedding"), dim)
            dim = len(rows[index])
        return np.array([rows[index] for index in range(len(texts))], np.float64)

    def _vector(self, values: Json, dim: int | None) -> list[float]:
        if not isinstance(values, list) or not values or not all(type(v) in (float, int) for v in values):
            raise self._wrong("a vector that is not a list of numbers")
        if dim is not None and len(values) != dim:
            raise self._wrong(f"a vector of {len(values)} numbers; expected {dim} (setting openai_dim)")
        return values

    def _post(self, client: httpx2.Client, body: Json) -> Json:
        import httpx2

        for attempt in range(1, _ATTEMPTS + 1):
            wait = _FIRST_PAUSE * 2 ** (attempt - 1)
            try:
                response = client.post(self._address, json=body)
            except httpx2.TransportError as error:
                failure = self._wrong(f"no answer ({type(error).__name__}: {error})")
            except (httpx2.InvalidURL, httpx2.HTTPError) as error:
                raise self._wrong(f"no answer ({error})") from error
            else:
                if response.is_success:
                    return self._json(response)
                failure = self._wrong(f"status {response.status_code}: {_complaint(_parsed(response))}")
                if response.status_code not in _WORTH_RETRYING:
                    raise failure
                wait = max(wait, _retry_after(response))
            if attempt < _ATTEMPTS:
                time.sleep(min(wait, _LONGEST_PAUSE))
        raise failure

    def _json(self, response: httpx2.Response) -> Json:
        try:
            return response.json()
        except ValueError as error:
            raise self._wrong("an answer that is not JSON") from error

    def _wrong(self, what: str) -> EncoderError:
        if self._key:
            what = what.replace(self._key, "***")
        return EncoderError(
            f"{self._address} gave {what[:300]}. Check openai_base_url, openai_api_key and the model "
            f"({self._model}).",
            address=self._address,
            model=self._model,
        )


def _batches(texts: Sequence[str]) -> Iterator[list[int]]:
    """Rows of ``texts`` that are not empty, in batches of bounded size."""
    rows: list[int] = []
    size = 0
    for row, text in enumerate(texts):
        if not text.strip():
            continue
        if rows and (len(rows) == _BATCH_TEXTS or size + len(text) > _BATCH_CHARACTERS):
            yield rows
            rows, size = [], 0
        rows.append(row)
        size += len(text)
    if rows:
        yield rows


def _parsed(response: httpx2.Response) -> Json:
    try:
        return response.json()
    except ValueError:
        return {"error": response.text}


def _complaint(answer: Json) -> str:
    """What the endpoint says is wrong, as one printable line."""
    error = as_mapping(answer).get("error")
    text = str(as_mapping(error).get("message") or error or "no reason given")
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _retry_after(response: httpx2.Response) -> float:
    """Seconds the endpoint asks to wait; 0 where it does not say so in seconds."""
    value = response.headers.get("retry-after", "")
    return float(value) if value.isascii() and value.isdecimal() else 0.0
