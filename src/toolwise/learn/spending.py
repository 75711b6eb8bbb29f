"""What agents and judges may spend together: calls, tokens, money; asked before every call of a model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolwise.audit.chat import Chat, Usage
from toolwise.config import Settings, settings
from toolwise.errors import ConfigError
from toolwise.records import Json

if TYPE_CHECKING:
    import httpx2

_CHARACTERS = 4
"""Of a token, where an endpoint does not say what an answer took."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one run of the program; None does not bind.

    They are looked at before a call, so the last call may go over by its own tokens.
    """

    calls: int | None = None
    """Answers of the endpoint."""
    tokens: int | None = None
    """Sent and received."""
    cost: float | None = None
    """By the prices of the settings, in their currency."""


class Meter:
    """Counts what all lines on it take.

    Raises ConfigError for a limit of cost where the settings have no prices.
    """

    def __init__(self, budget: Budget | None = None, configured: Settings | None = None) -> None:
        configured = configured or settings()
        self.budget = budget or Budget()
        self.usage = Usage()
        self._prices = configured.llm_price_in, configured.llm_price_out
        if self.budget.cost is not None and self.cost is None:
            raise ConfigError(
                "a limit of cost needs the prices of a million tokens. Set llm_price_in and llm_price_out.",
                setting="llm_price_in",
            )

    @property
    def tokens(self) -> int:
        """Sent and received so far."""
        return self.usage.prompt_tokens + self.usage.completion_tokens

    @property
    def cost(self) -> float | None:
        """By the prices of the settings; None where they are not set."""
        return self.usage.cost(*self._prices)

    def spent(self) -> str:
        """The limit that is reached, as a word; empty while there is something left."""
        taken = {"calls": self.usage.calls, "tokens": self.tokens, "cost": self.cost}
        for name, so_far in taken.items():
            limit = getattr(self.budget, name)
            if limit is not None and so_far is not None and so_far >= limit:
                return name
        return ""


class Line:
    """A model of the chat endpoint of the settings, on a meter.  Raises MissingExtra without httpx2."""

    def __init__(self, model: str, meter: Meter, configured: Settings | None = None) -> None:
        if not model:
            raise ConfigError("there is no model; name one that the endpoint serves.", model=model)
        self.model, self.meter = model, meter
        self._chat = Chat(model, configured)
        self._chat.usage = meter.usage

    @contextmanager
    def connected(self) -> Iterator[httpx2.Client]:
        """A client for several questions."""
        with self._chat.connected() as client:
            yield client

    def talk(
        self,
        client: httpx2.Client,
        messages: Sequence[Json],
        *,
        tools: Sequence[Json] = (),
        schema: Json = None,
        sampling: Mapping[str, Json] | None = None,
    ) -> Mapping[str, Json]:
        """As :meth:`toolwise.audit.chat.Chat.talk`; tokens that an endpoint does not tell are estimated."""
        before = self.meter.tokens
        said = self._chat.talk(client, messages, tools=tools, schema=schema, sampling=sampling)
        if self.meter.tokens == before:
            self.meter.usage.prompt_tokens += len(json.dumps([*messages, *tools])) // _CHARACTERS
            self.meter.usage.completion_tokens += len(json.dumps(said)) // _CHARACTERS
        return said
