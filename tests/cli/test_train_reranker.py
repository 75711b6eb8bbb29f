"""``toolwise train reranker``, run as a user runs it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from toolwise.cli import app
from toolwise.records import Query
from toolwise.rerank.dual_head import FILE, DualHeadReranker
from toolwise.retrieve import DenseRetriever
from toolwise.store import Index

RUN = CliRunner()
PAIRS = {"apple": "jungle", "tiger": "concert", "piano": "boat", "lemon": "orchard", "river": "sour"}
"""Words that lead the encoder astray: nobody but these users wants an apple when they say jungle."""


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """An index of five tools and requests that name none of them."""
    rows = [{"id": f"t/{n}", "name": n, "description": f"Everything about the {n}."} for n in PAIRS]
    (tmp_path / "tools.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    made = RUN.invoke(
        app,
        ["index", str(tmp_path / "tools.jsonl"), "--into", str(tmp_path / "index"), "--encoder", "static"],
    )
    assert made.exit_code == 0, made.output
    asked = [
        {"id": f"{n}{i}", "query": f"{word} number {i}", "tools": [f"t/{n}"]}
        for n, word in PAIRS.items()
        for i in range(8)
    ]
    asked += [{"id": "x", "query": "x", "tools": ["t/none"]}, {"id": "y", "query": "y", "tools": []}]
    (tmp_path / "requests.jsonl").write_text("\n".join(map(json.dumps, asked)), encoding="utf-8")
    return tmp_path / "index"


def test_heads_are_written_and_used_by_the_reranker(index: Path):
    """They rank held-out requests better than the encoder, and open with the index."""
    pytest.importorskip("torch", reason="the [train] extra is not installed")
    requests = str(index.parent / "requests.jsonl")
    done = RUN.invoke(app, ["train", "reranker", str(index), "--requests", requests, "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["held"], found["trained"]) == (8, 32)
    assert found["after"] > found["before"] > 0
    assert "2 of 42 requests left out" in done.stderr
    assert found["written"] == str(index / FILE)
    opened = Index.open(index)
    shortlist = DenseRetriever.open(opened).retrieve(Query("q", "boat number 99"), 5)
    ranked = DualHeadReranker.open(opened, lam=0).rerank(Query("q", "boat number 99"), shortlist)
    assert ranked.candidates[0].id == "t/piano"
    opened.close()


@pytest.mark.parametrize(
    ("options", "said"), [(("--form", "third"), "no form 'third'"), (("--held", "0.9"), "held")]
)
def test_a_mistake_is_named(index: Path, options: tuple[str, ...], said: str):
    """Nothing is written."""
    requests = str(index.parent / "requests.jsonl")
    done = RUN.invoke(app, ["train", "reranker", str(index), "--requests", requests, *options])
    assert done.exit_code != 0
    assert said in (str(done.exception) + done.output)
    assert not (index / FILE).exists()
