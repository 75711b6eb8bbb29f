"""The gateway's numbers in the text format of Prometheus, read from what it remembers.

Labels are words of the gateway's own (outcomes, states) and never what clients
or servers say, so there are always the same few series.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from toolwise.serve.gateway.gateway import Gateway

CONTENT_TYPE = CONTENT_TYPE_LATEST


def exposition(gateway: Gateway) -> bytes:
    """Counts of answers and calls by outcome since the state folder was made, and the present state."""
    registry = CollectorRegistry()
    registry.register(_Numbers(gateway))
    return bytes(generate_latest(registry))


class _Numbers(Collector):
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def collect(self) -> Iterator[Metric]:
        """Every family once, samples in order of their labels."""
        gateway = self._gateway
        totals = gateway.memory.totals()
        connected = sum(upstream.status.connected for upstream in gateway.upstreams.values())
        up = {"connected": connected, "away": len(gateway.upstreams) - connected}
        yield _by(
            CounterMetricFamily("toolwise_answers", "Answers of find_tools.", labels=["result"]),
            totals.answers,
        )
        yield CounterMetricFamily(
            "toolwise_definition_tokens_saved",
            "Definition tokens of tools within reach that were not shown, over requests answered with tools.",
            value=totals.tokens_saved,
        )
        yield _by(CounterMetricFamily("toolwise_calls", "Calls of tools.", labels=["outcome"]), totals.calls)
        yield _by(GaugeMetricFamily("toolwise_upstreams", "Upstream servers.", labels=["state"]), up)
        tools = len(gateway.view.selector.index)
        yield GaugeMetricFamily("toolwise_tools", "Tools behind the gateway.", value=tools)
        held = len(gateway.view.held)
        yield GaugeMetricFamily("toolwise_tools_held", "Tools in quarantine.", value=held)
        sessions = len(gateway.sessions)
        yield GaugeMetricFamily("toolwise_sessions", "Sessions that are not forgotten.", value=sessions)


def _by(
    family: CounterMetricFamily | GaugeMetricFamily, counts: Mapping[str, int]
) -> CounterMetricFamily | GaugeMetricFamily:
    for label, count in sorted(counts.items()):
        family.add_metric([label], count)
    return family
