"""When a candidate fits a request well enough to be shown at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from toolwise.records import Candidate


@dataclass(frozen=True, slots=True)
class Fit:
    """Two thresholds on the scores of one retriever."""

    floor: float = 0.0
    """The best candidate must reach this score, or nothing fits."""
    share: float = 0.0
    """Any other candidate must reach this share of the best score."""

    @classmethod
    def of(cls, method: str) -> Fit:
        """The thresholds chosen for a built-in retriever; none for others."""
        return _CHOSEN.get(method, cls())

    def keep(self, ranked: Sequence[Candidate]) -> list[Candidate]:
        """The candidates (best first) that fit."""
        if not ranked or ranked[0].score < self.floor:
            return []
        least = ranked[0].score * self.share
        return [candidate for candidate in ranked if candidate.score >= least]


_CHOSEN = {
    "bm25": Fit(floor=1.6, share=0.4),
    "dense": Fit(floor=0.2, share=0.4),
    "hybrid": Fit(floor=0.085, share=0.4),
}
