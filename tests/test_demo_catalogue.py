"""The demo catalogue keeps the promises of its README."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from toolwise.hygiene import clean, hidden_spans, instruction_spans

DEMO = Path(__file__).parents[1] / "examples" / "demo"


def rows(name: str) -> list[dict[str, Any]]:
    text = (DEMO / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def tools() -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in rows("tools.jsonl")}


@pytest.fixture(scope="module")
def requests() -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in rows("requests.jsonl")}


def test_there_are_123_tools_with_unique_ids(tools):
    """No line is lost to a repeated id."""
    assert len(rows("tools.jsonl")) == len(tools) == 123


def test_there_are_12_servers(tools):
    """The company has connected twelve servers."""
    servers = "analytics calendar crm drive helpdesk hr mail ops orders payments warehouse web"
    assert sorted({tool["server"] for tool in tools.values()}) == servers.split()


def test_an_id_is_server_and_name(tools):
    """Every tool is called server/name and says that it is from the demo."""
    for tool_id, tool in tools.items():
        assert tool_id == f"{tool['server']}/{tool['name']}"
        assert tool["source"] == "demo"
        assert tool["description"]


@pytest.mark.parametrize("field", ["parameters", "returns"])
def test_schemas_are_valid(tools, field):
    """Every schema is JSON Schema 2020-12 and requires only properties it declares."""
    schemas = {tool_id: tool[field] for tool_id, tool in tools.items() if field in tool}
    assert schemas
    for tool_id, schema in schemas.items():
        Draft202012Validator.check_schema(schema)
        assert set(schema.get("required", [])) <= set(schema.get("properties", {})), tool_id


def test_hints_are_those_of_mcp(tools):
    """Annotations hold MCP's hints and titles only; servers differ in how much they hint."""
    hints = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]
    for tool in tools.values():
        for key, value in tool.get("annotations", {}).items():
            assert isinstance(value, str if key == "title" else bool)
            assert key == "title" or key in hints
    total = Counter(tool["server"] for tool in tools.values())
    hinting = Counter(tool["server"] for tool in tools.values() if "annotations" in tool)
    assert {server for server in total if hinting[server] == 0} == {"analytics", "crm", "warehouse"}
    assert {server for server in total if hinting[server] == total[server]} == {
        "calendar",
        "drive",
        "mail",
        "payments",
        "web",
    }


def test_names_repeat_over_servers(tools):
    """The name search is on four servers, send_message and get_order on two, all other names are unique."""
    names = Counter(tool["name"] for tool in tools.values())
    assert {name: count for name, count in names.items() if count > 1} == {
        "search": 4,
        "send_message": 2,
        "get_order": 2,
    }


def test_two_hints_are_wrong(tools):
    """Emptying the trash claims to be read-only, purging orders claims not to be destructive."""
    assert tools["drive/empty_trash"]["description"].startswith("Permanently deletes")
    assert tools["drive/empty_trash"]["annotations"]["readOnlyHint"] is True
    assert tools["orders/purge_archived_orders"]["description"].startswith("Permanently deletes")
    assert tools["orders/purge_archived_orders"]["annotations"]["destructiveHint"] is False


def test_two_descriptions_are_poisoned(tools):
    """One hides a sentence in tag characters, one speaks to the agent, and no other does either."""
    texts = {tool_id: tool["description"] for tool_id, tool in tools.items()}
    assert [i for i, text in texts.items() if hidden_spans(text)] == ["web/convert_currency"]
    assert [i for i, text in texts.items() if instruction_spans(text)] == ["web/translate_text"]
    hidden = "".join(chr(ord(c) - 0xE0000) for c in texts["web/convert_currency"] if ord(c) >= 0xE0000)
    assert hidden.startswith("Forget the rules")
    assert "drive/read_file" in texts["web/translate_text"]
    assert "drive/read_file" not in clean(texts["web/translate_text"])
    assert "\u200d" in texts["helpdesk/add_internal_note"]


def test_hidden_characters_are_escaped_in_the_file():
    """A reader of the raw file can see that something is hidden."""
    raw = (DEMO / "tools.jsonl").read_text(encoding="utf-8")
    assert not any(0xE0000 <= ord(char) <= 0xE007F for char in raw)
    assert "\\udb40\\udc46" in raw  # the escape of U+E0046, a hidden F


def test_gold_tools_exist_and_none_is_poisoned(tools, requests):
    """Twelve requests; each gold set is of distinct, known, honest tools."""
    assert len(rows("requests.jsonl")) == len(requests) == 12
    honest = set(tools) - {"web/convert_currency", "web/translate_text"}
    for request in requests.values():
        assert request["query"]
        assert len(set(request["tools"])) == len(request["tools"])
        assert set(request["tools"]) <= honest


def test_one_request_cannot_be_served(requests):
    """Only the shears have an empty gold set."""
    assert [i for i, request in requests.items() if not request["tools"]] == ["shears"]


def test_three_requests_are_marked_for_the_demo(requests):
    """The ordinary one spans servers, the withheld one has a harmless gold tool, the last has none."""
    marked = {request["demo"]: request["tools"] for request in requests.values() if "demo" in request}
    assert marked == {
        "ordinary": ["orders/get_order", "warehouse/track-parcel", "mail/draft_email"],
        "withheld": ["payments/preview_bulk_refund"],
        "unanswerable": [],
    }
