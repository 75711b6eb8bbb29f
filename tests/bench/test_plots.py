"""Pictures of results."""

from pathlib import Path

import pytest

from toolwise.bench.plots import _lines, draw


def entry(name: str, ndcg: float, risk: float) -> dict:
    """One system's numbers."""
    values = {"ndcg@5": ndcg, "comp@5": ndcg / 2, "unneeded-risk@5": risk}
    metrics = {m: {"mean": v, "low": v, "high": v, "n": 9} for m, v in values.items()}
    return {"system": name, "metrics": metrics, "cpu_ms": 1.0}


def test_every_picture_is_drawn_as_png_and_svg(tmp_path: Path) -> None:
    """Bars, the exposure scatter and latency, named after the suite."""
    pytest.importorskip("matplotlib", reason="the [bench] extra is not installed")
    systems = [
        entry("bm25", 0.4, 0.5),
        entry("hybrid", 0.5, 0.2),
        {"system": "broken", "error": "no weights"},
    ]
    metrics = ["ndcg@5", "comp@5", "unneeded-risk@5"]
    written = draw({"suite": "s", "metrics": metrics, "cases": [{"name": "c", "systems": systems}]}, tmp_path)
    assert sorted(path.name for path in written) == sorted(
        f"s-{name}.{ending}" for name in ("bars", "exposure", "latency") for ending in ("png", "svg")
    )
    assert all(path.stat().st_size > 1000 for path in written)


def test_a_line_is_drawn_per_system_over_its_lambdas() -> None:
    """Points in order of lambda, by the name without it; a system without one has no line."""
    values = {"rvr@5": {"mean": 0.2}, "ndcg@5": {"mean": 0.5}}
    safer = {"rvr@5": {"mean": 0.1}, "ndcg@5": {"mean": 0.4}}
    case = {
        "systems": [
            {"system": "paper+lam0.1@e", "metrics": safer},
            {"system": "paper+lam0@e", "metrics": values},
            {"system": "encoder@e", "metrics": values},
            {"system": "paper+lam0.2@e", "error": "none"},
        ]
    }
    assert _lines(case, "rvr@5", "ndcg@5") == {"paper@e": [(0.0, 20.0, 50.0), (0.1, 10.0, 40.0)]}
