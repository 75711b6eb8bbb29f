"""The records, and the JSON contract of an answer."""

import json
from dataclasses import FrozenInstanceError, fields, is_dataclass

import pytest

from tests.builders import audited, exposure, tool
from toolwise import records
from toolwise.records import AuditedTool, Exposure, Level, Verdict, Withheld, as_mapping


def test_the_answer_has_the_keys_of_the_contract_in_order():
    """Consumers read these keys; their order is part of the contract."""
    answer = Exposure(
        "q1", "ask", False, "why", exposure(tool("srv/get")).tools, (Withheld("srv/rm", 5, "deny", "no"),), 7
    ).to_json()
    assert list(answer) == ["id", "query", "abstained", "reason", "tools", "withheld", "tokens"]
    assert list(answer["tools"][0]) == ["id", "name", "server", "score", "level", "reason"]
    assert list(answer["withheld"][0]) == ["id", "level", "rule", "reason"]


def test_the_answer_is_plain_json():
    """What comes out goes through json and back unchanged, and holds the values of the records."""
    answer = exposure(tool("srv/get")).to_json()
    assert json.loads(json.dumps(answer)) == answer
    assert answer == {
        "id": "q1",
        "query": "a request",
        "abstained": False,
        "reason": "because",
        "tools": [
            {
                "id": "srv/get",
                "name": "srv__get",
                "server": "srv",
                "score": 0.5,
                "level": 2,
                "reason": "matches x",
            }
        ],
        "withheld": [],
        "tokens": 10,
    }


def test_levels_in_the_answer_are_numbers():
    """A Level is written as its number."""
    withheld = (Withheld("a", Level.HIGH, "deny", "no"),)
    text = json.dumps(Exposure("", "", True, "", (), withheld, 0).to_json())
    assert '"level": 4' in text


def test_an_unjudged_tool_counts_as_medium():
    """Level None in the verdict is level 3 for every rule."""
    assert AuditedTool(tool("a"), Verdict(), 1).level is Level.MEDIUM
    assert audited("a", level=5).level is Level.CRITICAL


def test_every_record_is_frozen():
    """No stage can change what another stage handed it."""
    found = [value for value in vars(records).values() if isinstance(value, type) and is_dataclass(value)]
    assert len(found) > 10
    for record in found:
        assert record.__dataclass_params__.frozen, record
    with pytest.raises(FrozenInstanceError):
        tool("a").name = "b"


def test_records_have_slots():
    """A misspelt attribute cannot be set."""
    for value in vars(records).values():
        if isinstance(value, type) and is_dataclass(value):
            assert set(value.__slots__) == {field.name for field in fields(value)}


def test_levels_are_the_five_of_the_rubric():
    """1 to 5, in order."""
    assert [int(level) for level in Level] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("value", [None, True, 1, "x", ["a"]])
def test_what_is_no_object_reads_as_an_empty_one(value):
    """as_mapping never raises."""
    assert as_mapping(value) == {}


def test_an_object_reads_as_itself():
    """as_mapping keeps objects."""
    assert as_mapping({"a": 1}) == {"a": 1}
