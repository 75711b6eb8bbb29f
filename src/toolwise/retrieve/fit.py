"""When anything fits a request, and which candidates fit well enough to be shown.

The figures are chosen on the dev split of mcp_tasks (``benchmarks/fit.py``):
the floors so that few answerable requests stay below both, the share so that
leaving out the tail costs next to no completeness.
"""

from __future__ import annotations

from toolwise.records import Candidate, Shortlist

LEXICAL_FLOOR = 1.6
"""BM25 score from which shared words alone convince."""
DENSE_FLOOR = 0.25
"""Cosine from which meaning alone convinces."""
SHARE = 0.4
"""Share of the best score a candidate must reach."""


def confidence(lexical: float = 0.0, dense: float = 0.0) -> float:
    """Evidence of the best BM25 score and the best cosine: the better of both against its floor."""
    return max(lexical / LEXICAL_FLOOR, dense / DENSE_FLOOR)


def fitting(found: Shortlist) -> tuple[Candidate, ...]:
    """The candidates that fit, best first; none where the shortlist does not convince."""
    if found.confidence < 1 or not found.candidates:
        return ()
    best = found.candidates[0].score
    least = SHARE * best if best > 0 else float("-inf")
    return tuple(candidate for candidate in found.candidates if candidate.score >= least)
