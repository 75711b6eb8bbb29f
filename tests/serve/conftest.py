"""Tests of what serves."""

from collections.abc import Sequence

import pytest

from toolwise import indexing
from toolwise.records import Capability, Level, Permission, Tool, Verdict

WRITE = frozenset({Permission.WRITE})
PRIVATE, UNTRUSTED, EXTERNAL = (frozenset({capability}) for capability in Capability)
VERDICTS = {
    "list_shelves": Verdict(Level.SAFE),
    "water_plants": Verdict(Level.MEDIUM, WRITE),
    "write_note": Verdict(Level.MEDIUM, WRITE),
    "erase_disk": Verdict(Level.HIGH, WRITE),
    "delete_all_records": Verdict(Level.CRITICAL, WRITE),
    "read_inbox": Verdict(Level.MEDIUM, capabilities=PRIVATE),
    "fetch_web_page": Verdict(Level.SAFE, capabilities=UNTRUSTED),
    "send_email": Verdict(Level.HIGH, capabilities=EXTERNAL),
}
"""What is known of the tools of these tests; every other one is of level 2."""


class Decided:
    """An annotator that says what the tests count on."""

    name = "rules"

    def annotate(self, tools: Sequence[Tool]) -> list[Verdict]:
        """One verdict per tool, in order."""
        return [VERDICTS.get(tool.name, Verdict(Level.LOW)) for tool in tools]


@pytest.fixture(autouse=True)
def audit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gateway is tested here, not the audit."""
    monkeypatch.setattr(indexing, "local_annotators", lambda: [Decided()])


@pytest.fixture
def anyio_backend() -> str:
    """The gateway runs on asyncio."""
    return "asyncio"
