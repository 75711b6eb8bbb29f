"""When anything fits a request, and which candidates fit well enough to be shown.

The figures are chosen on the dev split of mcp_tasks (``benchmarks/fit.py``):
the floors so that few answerable requests stay below both, the share so that
leaving out the tail costs next to no completeness.  That of familiarity is
chosen out of fold on training workspaces.
"""

from __future__ import annotations

from toolwise.records import Candidate, Shortlist

LEXICAL_FLOOR = 1.6
"""BM25 score from which shared words alone convince."""
DENSE_FLOOR = 0.25
"""Cosine from which meaning alone convinces, for an encoder that brings no ``floor`` of its own."""
FAMILIAR_FLOOR = 0.5
"""Familiarity (0 to 1, see ``HybridRetriever``) from which a past request alone convinces."""
SHARE = 0.4
"""Share of the best score a candidate must reach."""


def floor_of(encoder: object) -> float:
    """Cosine from which an encoder's vectors alone convince: its attribute ``floor``, else the default."""
    found = getattr(encoder, "floor", None)
    return DENSE_FLOOR if found is None else float(found)


def confidence(
    lexical: float = 0.0, dense: float = 0.0, floor: float = DENSE_FLOOR, familiar: float = 0.0
) -> float:
    """Evidence of the best BM25 score, cosine and familiarity: the best of them against its floor."""
    return max(lexical / LEXICAL_FLOOR, dense / floor, familiar / FAMILIAR_FLOOR)


def fitting(found: Shortlist) -> tuple[Candidate, ...]:
    """The candidates that fit, best first; none where the shortlist does not convince."""
    if found.confidence < 1 or not found.candidates:
        return ()
    best = found.candidates[0].score
    least = SHARE * best if best > 0 else float("-inf")
    return tuple(candidate for candidate in found.candidates if candidate.score >= least)
