"""What a run may spend."""

from __future__ import annotations

import pytest

from tests.audit.endpoint import endpoint, says
from toolwise.config import Settings
from toolwise.errors import ConfigError
from toolwise.learn.spending import Budget, Line, Meter

PRICED = Settings(llm_price_in=1.0, llm_price_out=2.0)


@pytest.mark.parametrize(
    ("budget", "limit"),
    [
        (Budget(), ""),
        (Budget(calls=2), "calls"),
        (Budget(calls=3), ""),
        (Budget(tokens=300), "tokens"),
        (Budget(tokens=301), ""),
        (Budget(cost=0.0004), "cost"),
        (Budget(cost=0.0005), ""),
    ],
)
def test_a_limit_that_is_reached_is_named(budget, limit):
    """Two calls, 200 tokens at 1 and 100 at 2 a million: 0.0004."""
    meter = Meter(budget, PRICED)
    meter.usage.calls, meter.usage.prompt_tokens, meter.usage.completion_tokens = 2, 200, 100
    assert (meter.tokens, meter.cost) == (300, pytest.approx(0.0004))
    assert meter.spent() == limit


def test_a_limit_of_cost_needs_prices():
    """Else it would never bind."""
    with pytest.raises(ConfigError, match="llm_price_in"):
        Meter(Budget(cost=1.0), Settings())


def test_lines_share_a_meter_and_silence_about_tokens_is_filled():
    """Two models on one meter; an answer without usage counts its characters by four."""
    pytest.importorskip("httpx2", reason="the [openai] extra is not installed")
    with endpoint() as there:
        configured = Settings(openai_base_url=there.url)
        meter = Meter(Budget(tokens=111), configured)
        one, two = Line("one", meter, configured), Line("two", meter, configured)
        there.reply(says("told"), (200, {"choices": [{"message": {"content": "x" * 40}}]}))
        for line in (one, two):
            with line.connected() as client:
                line.talk(client, [{"role": "user", "content": "y" * 400}])
    assert [request["model"] for request in there.requests] == ["one", "two"]
    assert meter.usage.calls == 2
    assert meter.usage.prompt_tokens == 100 + 433 // 4  # [{"role": "user", "content": "y..."}]
    assert meter.usage.completion_tokens == 10 + 55 // 4
    assert meter.spent() == "tokens"


def test_a_line_needs_a_model():
    """An empty name is refused at once."""
    with pytest.raises(ConfigError, match="there is no model"):
        Line("", Meter(None, Settings()), Settings())
