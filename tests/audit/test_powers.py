"""Permissions and capabilities follow from verbs, nouns and parameter names."""

from __future__ import annotations

import pytest

from tests.audit.tools import tool
from toolwise.audit.rules import judge
from toolwise.records import Capability, Permission, Tool


@pytest.mark.parametrize(
    ("some", "permission"),
    [
        (tool("run_command", "Run a command in a terminal.", "command"), Permission.SHELL),
        (tool("create_file", "Create a file.", "path"), Permission.WRITE),
        (tool("delete_branch", "Delete a branch.", "branch"), Permission.WRITE),
        (tool("download_page", "Download a page.", "url"), Permission.NETWORK),
        (tool("list_orders", "List orders.", "api_key"), Permission.CREDENTIALS),
        (tool("list_orders", "List orders.", "accessToken"), Permission.CREDENTIALS),
        (tool("list_orders", "List orders.", "Password"), Permission.CREDENTIALS),
        (tool("rotate_secret", "Rotate a secret.", "id"), Permission.CREDENTIALS),
        (tool("execute_sql", "Execute a SQL statement.", "statement"), Permission.CODE),
        (tool("run_script", "Run a script.", "script"), Permission.CODE),
        (tool("run_command", "Run a command in a terminal.", "command"), Permission.CODE),
    ],
)
def test_each_permission_has_its_signs(some: Tool, permission):
    """Each of the five categories is granted by its words or parameters, with a reason."""
    verdict = judge(some)
    assert permission in verdict.permissions
    assert any(item.claim == f"permission:{permission.value}" and item.because for item in verdict.evidence)


@pytest.mark.parametrize(
    "some",
    [
        tool("list_pages", "List public pages.", "pageToken"),
        tool("summarize", "Summarize a text.", "max_tokens"),
        tool("get_price", "Price of a coin.", "tokenAddress"),
    ],
)
def test_tokens_of_other_kinds_are_no_credentials(some):
    """Page tokens, model tokens and coins are not secrets."""
    assert Permission.CREDENTIALS not in judge(some).permissions


@pytest.mark.parametrize("verb", ["play", "pause", "scroll", "navigate", "click"])
def test_passing_actions_write_nothing(verb):
    """What lasts no longer than the session is no write."""
    assert Permission.WRITE not in judge(tool(f"{verb}_it", "Acts on the screen.")).permissions


@pytest.mark.parametrize(
    ("some", "capability"),
    [
        (tool("read_emails", "Read the emails of your inbox.", "limit"), Capability.PRIVATE),
        (tool("list_my_files", "List files of your workspace."), Capability.PRIVATE),
        (tool("fetch_page", "Fetch a web page.", "url"), Capability.UNTRUSTED),
        (tool("get_comments", "Get the comments of a video.", "video"), Capability.UNTRUSTED),
        (tool("list_issues", "List issues of a repository.", "repo"), Capability.UNTRUSTED),
        (tool("post_message", "Post a message to a channel.", "channel"), Capability.EXTERNAL),
        (tool("fetch_page", "Fetch a web page.", "url"), Capability.EXTERNAL),
        (tool("upload_photo", "Upload a photo.", "photo"), Capability.EXTERNAL),
        (tool("run_command", "Run a command in a terminal.", "command"), Capability.EXTERNAL),
    ],
)
def test_each_capability_has_its_signs(some, capability):
    """Each leg of a toxic combination is seen, with a reason."""
    verdict = judge(some)
    assert capability in verdict.capabilities
    assert any(item.claim == f"capability:{capability.value}" and item.because for item in verdict.evidence)


def test_public_reading_and_arithmetic_have_no_capability():
    """Weather and sums are no leg of anything."""
    assert judge(tool("get_weather", "Weather of a city.", "city")).capabilities == frozenset()
    assert judge(tool("add", "Add two numbers.", "a", "b")).capabilities == frozenset()


def test_an_agent_that_works_a_computer_has_everything():
    """It can run commands, and holds all three legs."""
    verdict = judge(tool("computer_use", "Let an agent use the computer for a task.", "task"))
    assert verdict.capabilities == frozenset(Capability)
    assert Permission.SHELL in verdict.permissions
