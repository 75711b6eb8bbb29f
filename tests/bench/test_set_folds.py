"""The set scorer out of fold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from benchmarks import set_folds


@pytest.mark.parametrize("count", [1, 2, 7, 10, 11])
def test_no_request_is_in_the_past_it_is_asked_with(count: int, monkeypatch: pytest.MonkeyPatch):
    """Also where half of an odd number is rounded up; the larger half is asked."""
    seen: list[tuple[set[int], set[int]]] = []

    class Noting:
        def __init__(self, *given: Any, **named: Any) -> None:
            pass

        def fit(self, tools: Any, past: Sequence[int]) -> None:
            self.past = set(past)

    def asked(system: Noting, tasks: Sequence[int]) -> list[dict[str, Any]]:
        seen.append((system.past, set(tasks)))
        return []

    monkeypatch.setattr(set_folds, "DefaultSetSystem", Noting)
    monkeypatch.setattr(set_folds, "asked", asked)
    tasks: Any = list(range(count))
    given: Any = None
    set_folds.of_workspace(given, given, (), tasks)
    assert len(seen) == len(set_folds.SHARES) + 1
    assert all(not past & tested for past, tested in seen)
    assert [len(tested) for _, tested in seen] == [count - count // 2] * len(set_folds.SHARES) + [count]
