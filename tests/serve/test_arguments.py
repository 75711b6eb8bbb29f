"""Arguments against the input schema of a tool."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwise.serve.gateway.arguments import DEEPEST, Arguments

CLOSED = {
    "type": "object",
    "properties": {"floor": {"type": "integer"}},
    "required": ["floor"],
    "additionalProperties": False,
}


def fault(schema: Any, arguments: dict[str, Any]) -> str:
    found = Arguments().fault("key", schema, arguments)
    return found.message if found else ""


def nested(depth: int) -> dict[str, Any]:
    value: Any = 1
    for _ in range(depth):
        value = {"x": value}
    return value


def test_sound_arguments_have_no_fault():
    """What the schema asks for passes."""
    assert fault(CLOSED, {"floor": 3}) == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "'floor' is a required property"),
        ({"floor": "3"}, "$.floor: '3' is not of type 'integer'"),
        ({"floor": 3, "wing": 1}, "'wing' was unexpected"),
    ],
)
def test_a_fault_names_the_place_and_the_rule(arguments: dict[str, Any], words: str):
    """A missing, a wrong and a superfluous argument are told apart."""
    assert words in fault(CLOSED, arguments)


def test_what_the_log_gets_repeats_no_value():
    """Place and rule come from the schema alone; values and names that the caller made up do not."""
    found = Arguments().fault("k", CLOSED, {"floor": "hunter2", "passphrase": 1})
    assert found is not None
    assert "hunter2" in found.message
    assert "hunter2" not in found.where
    assert "passphrase" not in found.where
    assert "properties/floor/type: type" in found.where


@pytest.mark.parametrize(
    "schema",
    [
        None,
        "text",
        {"type": 7},
        {"$ref": "https://schemas.invalid/never-fetched.json"},
        {"properties": {"a": {"$ref": "#/nowhere"}}},
        {"$ref": "#"},
    ],
    ids=["none", "no object", "broken", "remote", "dangling", "endless"],
)
def test_a_schema_that_cannot_be_used_admits_everything(schema: Any):
    """Its server knows better; no reference leaves the process, and none turns in circles."""
    assert fault(schema, {"a": 1}) == ""


def test_an_expression_that_takes_for_ever_is_not_tried():
    """Regular expressions of a server are left to the server."""
    slow = {"type": "string", "pattern": "^(a+)+$"}
    schema = {"properties": {"a": slow}, "patternProperties": {"^(b+)+$": {}}, "additionalProperties": False}
    start = time.monotonic()
    assert fault(schema, {"a": "a" * 40 + "!", "b" * 40 + "!": 1}) == ""
    assert time.monotonic() - start < 2


@pytest.mark.parametrize(("depth", "fine"), [(DEEPEST, True), (DEEPEST + 1, False), (500, False)])
def test_arguments_nested_too_deeply_are_refused(depth: int, fine: bool):
    """At 64 levels they pass, at 65 and 500 they do not, whatever the schema."""
    assert (fault({}, nested(depth)) == "") is fine


def test_validators_are_kept_and_bounded(monkeypatch: pytest.MonkeyPatch):
    """The schema of a key is compiled once; with too many the oldest goes."""
    monkeypatch.setattr("toolwise.serve.gateway.arguments._MOST_SCHEMAS", 2)
    checker = Arguments()
    for key in "abc":
        checker.fault(key, CLOSED, {})
    kept = checker._validators
    assert list(kept) == ["b", "c"]
    before = kept["b"]
    checker.fault("b", CLOSED, {})
    assert kept["b"] is before


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(json_values, st.dictionaries(st.text(max_size=3), json_values, max_size=3))
def test_nothing_makes_the_check_fail(schema: Any, arguments: dict[str, Any]):
    """Any JSON as schema and as arguments gets a verdict."""
    fault(schema, arguments)


def test_another_dialect_within_brings_no_expression_back():
    """A subschema that names its dialect is judged like the rest: its pattern is left to the server."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    schema = {"properties": {"x": {"$schema": dialect, "type": "string", "pattern": "^(a+)+$"}}}
    assert fault(schema, {"x": "a" * 40 + "!"}) == ""
    assert "is not of type" in fault(schema, {"x": 1})


def test_a_schema_that_doubles_with_every_reference_is_left_to_its_server():
    """Thirty steps of two are a thousand million: it is not tried, and admits."""
    steps = {f"a{i}": {"allOf": [{"$ref": f"#/$defs/a{i - 1}"}] * 2} for i in range(1, 31)}
    schema = {"$defs": {"a0": {"type": "object"}, **steps}, "$ref": "#/$defs/a30"}
    began = time.monotonic()
    assert fault(schema, {"x": 1}) == ""
    assert time.monotonic() - began < 5


def test_a_list_that_refers_to_itself_is_checked():
    """One way back is a plain recursive schema."""
    node = {"type": "object", "properties": {"value": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}}}
    schema = {"$defs": {"node": node}, "properties": {"head": {"$ref": "#/$defs/node"}}}
    assert "$.head.next.value" in fault(schema, {"head": {"next": {"value": "x"}}})
