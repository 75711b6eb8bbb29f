"""What is read from a tool's definition."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import rich_tool, tool
from toolwise.audit.verbs import Action
from toolwise.records import ToolText
from toolwise.sets.facts import FIELDS, NO_ACTION, action_of, facts_of, word_hash


def with_parameters(id_: str, *required: str, description: str = ""):
    """A tool whose parameters must all be given."""
    schema = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in required},
        "required": list(required),
    }
    return tool(id_, parameters=schema, text=ToolText(description, tuple(required)))


def test_the_verb_is_the_first_word_that_does_something():
    """A word that is as often a noun counts at the front only."""
    assert action_of(["delete", "order"]) == (Action.DELETE, 0)
    assert action_of(["user", "get"]) == (Action.READ, 1)
    assert action_of(["get", "order"]) == (Action.READ, 0)
    assert action_of(["shop", "order"]) == (NO_ACTION, -1)
    assert action_of([]) == (NO_ACTION, -1)


def test_fields_hold_stems():
    """The name, its nouns, and the words of the server that the name lacks."""
    facts = facts_of(tool("order-shop/list_orders"))
    assert facts.field("name") == {word_hash("list"), word_hash("order")}
    assert facts.field("nouns") == {word_hash("order")}
    assert facts.field("brand") == {word_hash("shop")}
    assert facts.server == word_hash("order-shop")
    assert facts.action == Action.READ


def test_a_required_id_is_named_by_its_noun():
    """``order_id`` and ``orderId`` need an order; a bare ``id`` needs what the tool is named after."""
    for name in ("order_id", "orderId", "order_number"):
        assert facts_of(with_parameters("s/cancel", name)).field("needs") == {word_hash("order")}
    assert facts_of(with_parameters("s/cancel_order", "id")).field("needs") == {word_hash("order")}
    assert facts_of(with_parameters("s/cancel_order", "reason")).field("needs") == set()


def test_tools_mentioned_by_name_are_remembered():
    """An identifier in the description stands for the tool of that name, however it is spelled."""
    facts = facts_of(with_parameters("s/add", "team_id", description="Use list_teams or listMembers first."))
    assert facts_of(tool("s/listTeams")).label in facts.mentions
    assert facts_of(tool("s/list_members")).label in facts.mentions
    assert facts_of(tool("s/add")).label not in facts.mentions


def test_counts_add_up():
    """Every hash belongs to one field."""
    facts = facts_of(rich_tool().tool)
    assert len(facts.counts) == len(FIELDS)
    assert int(facts.counts.sum()) == len(facts.hashes)


@given(
    st.text(max_size=40), st.text(max_size=80), st.recursive(st.none() | st.text(), st.lists, max_leaves=5)
)
def test_no_tool_is_too_strange(name, description, schema):
    """Whatever a definition holds, facts come out, and the same ones again."""
    odd = tool("s/x", parameters=schema, returns=schema, text=ToolText(description, (name,)), name=name)
    first, second = facts_of(odd), facts_of(odd)
    assert np.array_equal(first.hashes, second.hashes)
    assert first.mentions == second.mentions
