"""The whole of toolwise as a system of the bench."""

from pathlib import Path

import pytest
from tests.bench.systems import tools

from toolwise.bench import whole
from toolwise.bench.whole import ToolwiseSystem
from toolwise.errors import EncoderError
from toolwise.records import Query


def test_its_index_goes_with_it():
    """A second library replaces the first, and closing twice is as good as once."""
    system = ToolwiseSystem()
    system.fit(tools("a", "b"), ())
    first = Path(system._folder.name)
    system.fit(tools("a", "c"), ())
    second = Path(system._folder.name)
    assert {id_ for id_, _ in system.rank(Query("q", "a c"), 5)} <= {"a", "c"}
    system.close()
    system.close()
    assert not first.exists()
    assert not second.exists()


def test_an_index_that_fails_is_told_and_cleared_away(monkeypatch: pytest.MonkeyPatch):
    """Its error is what the bench hears, not one of the clearing up."""

    def fails(*arguments: object, **options: object) -> None:
        raise EncoderError("no encoder")

    monkeypatch.setattr(whole, "index_catalogue", fails)
    system = ToolwiseSystem()
    with pytest.raises(EncoderError, match="no encoder"):
        system.fit(tools("a"), ())
    system.close()
    assert system._folder is None
