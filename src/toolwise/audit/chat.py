"""Questions to an OpenAI-compatible ``/chat/completions`` endpoint, with what they cost."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from threading import Event, Lock
from typing import TYPE_CHECKING

from toolwise.config import Settings, settings
from toolwise.errors import AnnotatorError, MissingExtra, QuestionRefused
from toolwise.records import Json, as_mapping

if TYPE_CHECKING:
    import httpx2

ATTEMPTS = 5
"""Times that a busy or silent endpoint is called for one answer."""
_FIRST_PAUSE = 0.5  # seconds; doubles with every attempt
_LONGEST_PAUSE = 60.0  # seconds
_TIMEOUT = 120.0  # seconds for one answer
_WORTH_RETRYING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_REFUSED = frozenset({400, 413, 422})
_SHOWN = 300


@dataclass(slots=True)
class Usage:
    """What the questions of one run took."""

    calls: int = 0
    """Answers the endpoint gave."""
    retries: int = 0
    """Calls that had to be made again because the endpoint was busy, silent or failing."""
    prompt_tokens: int = 0
    completion_tokens: int = 0

    def cost(self, price_in: float | None, price_out: float | None) -> float | None:
        """The price of all tokens, given prices per million; None where one is not given."""
        if price_in is None or price_out is None:
            return None
        return (self.prompt_tokens * price_in + self.completion_tokens * price_out) / 1_000_000


class Chat:
    """One model of the endpoint that the settings ``openai_base_url`` and ``openai_api_key`` name.

    Busy or failing servers and lost connections are tried again, up to 5 times
    with growing pauses, as long as the endpoint asks for where it does.  An
    option that the endpoint names when it refuses a question (a schema for the
    answer, the temperature, the seed) is left out from then on.  May be used by
    several threads.  Raises MissingExtra without httpx2.
    """

    def __init__(self, model: str, configured: Settings | None = None) -> None:
        if find_spec("httpx2") is None:
            raise MissingExtra(
                'A chat endpoint needs httpx2. Run: pip install "toolwise[openai]"', extra="openai"
            )
        configured = configured or settings()
        self.usage = Usage()
        self._model = model
        self._address = f"{configured.openai_base_url.rstrip('/')}/chat/completions"
        self._key = configured.openai_api_key
        self._options: dict[str, Json] = {"temperature": 0, "seed": 0}
        self._schema = "json_schema"
        self._lock = Lock()
        self._stopped = Event()

    @contextmanager
    def connected(self) -> Iterator[httpx2.Client]:
        """A client for the questions of one run."""
        import httpx2

        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        with httpx2.Client(headers=headers, timeout=_TIMEOUT) as client:
            yield client

    def ask(self, client: httpx2.Client, system: str, user: str, schema: Json) -> str:
        """What the model says, ``""`` where it says nothing; asked to keep to the JSON ``schema``.

        Raises QuestionRefused where the endpoint does not take this question,
        AnnotatorError where it takes none or stays silent.
        """
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        content = self.talk(client, messages, schema=schema).get("content")
        return content if isinstance(content, str) else ""

    def talk(
        self,
        client: httpx2.Client,
        messages: Sequence[Json],
        *,
        tools: Sequence[Json] = (),
        schema: Json = None,
        sampling: Mapping[str, Json] | None = None,
    ) -> Mapping[str, Json]:
        """The next message of a conversation as it came (``content``, ``tool_calls``); ``{}`` for none.

        ``tools`` in the shape of OpenAI; ``sampling`` replaces the temperature and the seed, which are 0.
        Raises as :meth:`ask`.
        """
        body = {"model": self._model, "messages": list(messages)} | ({"tools": list(tools)} if tools else {})
        while True:
            with self._lock:
                options = self._options | {k: v for k, v in (sampling or {}).items() if k in self._options}
                if self._schema and schema is not None:
                    options["response_format"] = _format(self._schema, schema)
            response = self._post(client, {**body, **options})
            if response.is_success:
                return self._read(response)
            complaint = self._complaint(response)
            if response.status_code not in _REFUSED:
                raise self._failed(f"status {response.status_code}: {complaint}")
            if not self._gave_up(options, complaint):
                raise QuestionRefused(complaint)

    def _gave_up(self, options: dict[str, Json], complaint: str) -> bool:
        """Leave out an option that a refusal names; whether there was one."""
        lowered = complaint.lower()
        with self._lock:
            kind = as_mapping(options.get("response_format")).get("type", "")
            if kind and any(word in lowered for word in ("response_format", "json_schema", "json_object")):
                if self._schema == kind:
                    self._schema = "json_object" if kind == "json_schema" else ""
                return True
            for name in ("temperature", "seed"):
                if name in options and name in lowered:
                    self._options.pop(name, None)
                    return True
        return False

    def _post(self, client: httpx2.Client, body: Json) -> httpx2.Response:
        import httpx2

        for attempt in range(1, ATTEMPTS + 1):
            wait = _FIRST_PAUSE * 2 ** (attempt - 1)
            try:
                response = client.post(self._address, json=body)
            except httpx2.TransportError as error:
                failure = f"no answer ({type(error).__name__}: {error})"
            except (httpx2.InvalidURL, httpx2.HTTPError) as error:
                raise self._failed(f"no answer ({error})") from error
            else:
                if response.status_code not in _WORTH_RETRYING:
                    return response
                failure = f"status {response.status_code}: {self._complaint(response)}"
                wait = max(wait, _retry_after(response))
            if attempt < ATTEMPTS:
                with self._lock:
                    self.usage.retries += 1
                self._pause(min(wait, _LONGEST_PAUSE))
            if self._stopped.is_set():
                break
        raise self._failed(failure)

    def stop(self) -> None:
        """Let questions of other threads come to an end at once: nothing is tried again."""
        self._stopped.set()

    def _pause(self, seconds: float) -> None:
        self._stopped.wait(seconds)

    def _read(self, response: httpx2.Response) -> Mapping[str, Json]:
        answer = as_mapping(_parsed(response))
        used = as_mapping(answer.get("usage"))
        with self._lock:
            self.usage.calls += 1
            self.usage.prompt_tokens += _count(used.get("prompt_tokens"))
            self.usage.completion_tokens += _count(used.get("completion_tokens"))
        choices = answer.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        return as_mapping(as_mapping(first).get("message"))

    def _complaint(self, response: httpx2.Response) -> str:
        """What the endpoint says is wrong, as one printable line without the key."""
        error = as_mapping(_parsed(response)).get("error")
        text = str(as_mapping(error).get("message") or error or response.text or "no reason given")
        line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        return (line.replace(self._key, "***") if self._key else line)[:_SHOWN]

    def _failed(self, what: str) -> AnnotatorError:
        if self._key:
            what = what.replace(self._key, "***")
        return AnnotatorError(
            f"{self._address} gave {what}. Check openai_base_url, openai_api_key and the model "
            f"({self._model}); answers had so far are kept.",
            address=self._address,
            model=self._model,
        )


def _format(kind: str, schema: Json) -> Json:
    if kind == "json_object":
        return {"type": kind}
    return {"type": kind, "json_schema": {"name": "verdicts", "strict": True, "schema": schema}}


def _parsed(response: httpx2.Response) -> Json:
    try:
        return json.loads(response.text)
    except (ValueError, RecursionError):
        return None


def _count(value: Json) -> int:
    return value if type(value) is int and value > 0 else 0


def _retry_after(response: httpx2.Response) -> float:
    """Seconds the endpoint asks to wait; 0 where it does not say so in seconds."""
    value = response.headers.get("retry-after", "")
    return float(value) if value.isascii() and value.isdecimal() else 0.0
