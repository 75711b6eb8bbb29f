"""MCP hints become bounds, and malformed ones findings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.audit.test_rules import TOOLS
from tests.audit.tools import tool
from toolwise.audit.hints import HintAnnotator, judge
from toolwise.records import Capability


@pytest.mark.parametrize(
    ("annotations", "claims"),
    [
        ({"readOnlyHint": True}, ["level<=2"]),
        ({"readOnlyHint": True, "destructiveHint": True}, ["level<=2"]),
        ({"readOnlyHint": False, "destructiveHint": True}, ["level>=3"]),
        ({"destructiveHint": True}, ["level>=3"]),
        ({"readOnlyHint": False, "destructiveHint": False}, ["level>=2", "effect:additive"]),
        ({"readOnlyHint": False}, ["level>=2"]),
        ({"destructiveHint": False}, ["effect:additive"]),
        ({"readOnlyHint": True, "destructiveHint": False}, ["level<=2"]),
        ({"idempotentHint": True}, []),
        ({"title": "Read only, honest!"}, []),
        ({}, []),
        (None, []),
    ],
)
def test_hints_are_bounds_and_absent_ones_say_nothing(annotations, claims):
    """The level itself is never set by a hint."""
    verdict = judge(tool("x", annotations=annotations))
    assert [item.claim for item in verdict.evidence] == claims
    assert verdict.level is None
    assert verdict.findings == ()


def test_an_open_world_is_a_leg_only_where_the_direction_is_told():
    """Reading brings text in, changing lets it out, and neither is known without readOnlyHint."""
    flags = {"openWorldHint": True}
    assert judge(tool("x", annotations=flags)).capabilities == frozenset()
    assert judge(tool("x", annotations=flags | {"readOnlyHint": True})).capabilities == {Capability.UNTRUSTED}
    assert judge(tool("x", annotations=flags | {"readOnlyHint": False})).capabilities == {Capability.EXTERNAL}


@pytest.mark.parametrize(
    ("annotations", "field", "text"),
    [
        ({"readOnlyHint": "true"}, "/annotations/readOnlyHint", "'true'"),
        ({"destructiveHint": 1}, "/annotations/destructiveHint", "expected true or false, found int"),
        ({"openWorldHint": []}, "/annotations/openWorldHint", "expected true or false, found list"),
        (["readOnlyHint"], "annotations", "expected an object, found list"),
        ("readOnly", "annotations", "expected an object, found str"),
    ],
)
def test_malformed_hints_are_findings_and_bound_nothing(annotations, field, text):
    """A string "true" is not true."""
    verdict = judge(tool("x", annotations=annotations))
    assert [(f.code, f.field, f.text) for f in verdict.findings] == [("malformed-hint", field, text)]
    assert verdict.evidence == ()


def test_a_malformed_hint_does_not_hide_a_sound_one():
    """The others still count."""
    verdict = judge(tool("x", annotations={"readOnlyHint": "no", "destructiveHint": True}))
    assert [item.claim for item in verdict.evidence] == ["level>=3"]
    assert len(verdict.findings) == 1


@given(st.lists(TOOLS, max_size=3))
def test_any_annotations_are_read(some):
    """Never an error, one verdict a tool, the same each time."""
    assert HintAnnotator().annotate(some) == [judge(t) for t in some]
