"""The numbers for Prometheus: their format, what they count, and that nobody from outside names a series."""

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.serve.harness import SHELF, call, client, found, made, office, running, tool
from toolwise.records import Exposure, Withheld
from toolwise.serve.gateway.gateway import Gateway
from toolwise.serve.gateway.memory import Caller
from toolwise.serve.gateway.metrics import CONTENT_TYPE, exposition

pytestmark = pytest.mark.anyio
Series = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def series(gateway: Gateway) -> Series:
    """Every sample by name and labels, by the parser of the reference client."""
    text = exposition(gateway).decode()
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    found = {(sample.name, tuple(sorted(sample.labels.items()))): sample.value for sample in samples}
    assert len(found) == len(samples)
    return found


def test_the_format_is_that_of_the_content_type(tmp_path: Path):
    """Help and type before every family, counters named so, an end of line at the end."""
    gateway = made(tmp_path, {"a": office(tmp_path, "a", [SHELF])})
    gateway.open()
    text = exposition(gateway).decode()
    assert CONTENT_TYPE.startswith("text/plain; version=")
    assert text.endswith("\n")
    kinds = dict(line.split()[2:4] for line in text.splitlines() if line.startswith("# TYPE"))
    assert kinds == {
        "toolwise_answers_total": "counter",
        "toolwise_definition_tokens_saved_total": "counter",
        "toolwise_calls_total": "counter",
        "toolwise_upstreams": "gauge",
        "toolwise_tools": "gauge",
        "toolwise_tools_held": "gauge",
        "toolwise_sessions": "gauge",
    }
    assert {family.name for family in text_string_to_metric_families(text)} == {
        name.removesuffix("_total") for name in kinds
    }
    gateway.view.selector.close()
    gateway.memory.close()


async def test_they_are_counted_by_hand(tmp_path: Path):
    """One answer with a tool, one without, one withheld; a call that works, one that fails, one refused."""
    tools = [SHELF, tool("printer_fails")]
    async with running(tmp_path, {"a": office(tmp_path, "a", tools)}) as gateway:
        async with client(gateway) as agent:
            assert await found(agent, "list the shelves of the archive room") == ["a__list_shelves"]
            assert await found(agent, "qwertyuiop") == []
            held = (Withheld("a/wipe", 0.5, 5, "named-level", "of level 5"),)
            gateway.memory.exposed(
                Caller("local", ""), Exposure("", "wipe", True, "", (), held, 0), 1_000, 1.0
            )
            await call(agent, "a__list_shelves", floor=1)
            await call(agent, "a__printer_fails")
            await call(agent, "a__none")
        index = gateway.view.selector.index
        shelf, whole = int(index.tokens[index.row("a/list_shelves")]), int(index.tokens.sum())
        now = series(gateway)
    assert now == {
        ("toolwise_answers_total", (("result", "answered"),)): 1,
        ("toolwise_answers_total", (("result", "nothing_fits"),)): 1,
        ("toolwise_answers_total", (("result", "refused"),)): 1,
        ("toolwise_definition_tokens_saved_total", ()): whole - shelf,
        ("toolwise_calls_total", (("outcome", "ok"),)): 1,
        ("toolwise_calls_total", (("outcome", "error"),)): 1,
        ("toolwise_calls_total", (("outcome", "refused"),)): 1,
        ("toolwise_upstreams", (("state", "connected"),)): 1,
        ("toolwise_upstreams", (("state", "away"),)): 0,
        ("toolwise_tools", ()): 2,
        ("toolwise_tools_held", ()): 0,
        ("toolwise_sessions", ()): 1,
    }


async def test_nobody_names_a_series(tmp_path: Path):
    """However many tools a client makes up, and whatever it is called, there are the same few."""
    async with running(tmp_path, {"a": office(tmp_path, "a", [SHELF])}) as gateway, client(gateway) as agent:
        await call(agent, "a__none")
        before = series(gateway)
        for number in range(30):
            await call(agent, f'none{number}"}} 1\nevil')
        after = series(gateway)
        text = exposition(gateway).decode()
    assert after.keys() == before.keys()
    assert after["toolwise_calls_total", (("outcome", "refused"),)] == 31
    assert not any(word in text for word in ("none", "evil", "list_shelves", "local"))
