"""The gateway's numbers in the text format of Prometheus, read from what it remembers."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from toolwise.serve.gateway.gateway import Gateway

CONTENT_TYPE = CONTENT_TYPE_LATEST


def exposition(gateway: Gateway) -> bytes:
    """Counts of answers and calls by outcome since the state folder was made, and the present state."""
    registry = CollectorRegistry()
    totals = gateway.memory.totals()
    answers = Gauge("toolwise_answers_total", "Answers of find_tools.", registry=registry)
    answers.set(totals.answers)
    saved = Gauge("toolwise_definition_tokens_saved_total", "Definition tokens not shown.", registry=registry)
    saved.set(totals.tokens_saved)
    calls = Gauge("toolwise_calls_total", "Calls of tools.", ["outcome"], registry=registry)
    for outcome, count in sorted(totals.calls.items()):
        calls.labels(outcome).set(count)
    up = Gauge("toolwise_upstreams", "Upstream servers.", ["state"], registry=registry)
    connected = sum(upstream.status.connected for upstream in gateway.upstreams.values())
    up.labels("connected").set(connected)
    up.labels("away").set(len(gateway.upstreams) - connected)
    Gauge("toolwise_tools", "Tools behind the gateway.", registry=registry).set(
        len(gateway.view.selector.index)
    )
    Gauge("toolwise_tools_held", "Tools in quarantine.", registry=registry).set(len(gateway.view.held))
    Gauge("toolwise_sessions", "Sessions that are not forgotten.", registry=registry).set(
        len(gateway.sessions)
    )
    return bytes(generate_latest(registry))
