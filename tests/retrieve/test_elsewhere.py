"""What tools elsewhere do, and how a library's best tool stands among them."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save as to_bytes
from tests.builders import WordEncoder

from toolwise.retrieve.elsewhere import (
    CATALOGUE,
    FILE,
    STANDING,
    Elsewhere,
    edition,
    keep,
    of,
    operations,
    read,
)

ENCODER = WordEncoder(("send", "mail", "list", "delete"))


NOTHING = np.zeros((0, 4), np.float32)


class Counting(WordEncoder):
    """Counts how often it reads tools."""

    reads = 0

    def encode_tools(self, tools):
        """As ever."""
        self.reads += 1
        return super().encode_tools(tools)


def test_every_operation_is_a_tool_of_its_own():
    """Server, name and a sentence; no id and no sentence twice."""
    rows = [json.loads(line) for line in CATALOGUE.read_text(encoding="utf-8").splitlines()]
    assert all(set(row) == {"server", "name", "description"} for row in rows)
    assert all(isinstance(value, str) and value.strip() for row in rows for value in row.values())
    assert len({tool.id for tool in operations()}) == len({row["description"] for row in rows}) == len(rows)
    assert len(rows) > 2_000
    root = Path(__file__).parents[2]
    for text in ("CHANGELOG.md", "docs/cli.md", "docs/architecture.md"):
        assert f"{len(rows):,} operations" in (root / text).read_text(encoding="utf-8"), text
    card = CATALOGUE.with_name("README.md").read_text(encoding="utf-8")
    assert f"{len(rows):,} things" in card
    assert f"over {len({row['server'] for row in rows}):,} services" in card


def test_how_the_best_tool_stands():
    """By hand: cosines 1, .5 four times and 0 twenty times; their mean is .12, their deviation .2638."""
    east, half, north = [1.0, 0.0], [0.5, np.sqrt(0.75)], [0.0, 1.0]
    every = Elsewhere(np.array([east] + [half] * 4 + [north] * 20, np.float32))
    found = every.standing(every.cosines(np.array([1, 0], np.float32)), 0.4)
    spread = np.sqrt((1 + 4 * 0.25) / 25 - 0.12**2)
    assert dict(zip(STANDING, found.tolist(), strict=True)) == pytest.approx(
        {
            "best": 0.28 / spread,
            "first": 0.88 / spread,
            "five": 0.38 / spread,
            "twenty": -0.12 / spread,
            "behind": -0.6 / spread,
            "behind_five": -0.1 / spread,
            "usual": 0.12 / spread,
            "ahead": np.log(6),
        },
        rel=1e-4,
    )


def test_what_a_library_offers_is_not_elsewhere():
    """The nearest operation is .8 near to a tool: the four at .5 are the nearest of the others then."""
    east, half, north = [1.0, 0.0], [0.5, np.sqrt(0.75)], [0.0, 1.0]
    every = Elsewhere(np.array([east] + [half] * 4 + [north] * 20, np.float32))
    own = every.beside(np.array([[0.8, -0.6]], np.float32))
    assert own.offered.tolist() == [True] + [False] * 24
    now = np.array([1, 0], np.float32)
    spread = np.sqrt((1 + 4 * 0.25) / 25 - 0.12**2)
    cosines = own.cosines(now)
    named = dict(zip(STANDING, own.standing(cosines, 0.4).tolist(), strict=True))
    assert cosines[0] == 1  # not written to
    assert named["first"] == pytest.approx(0.38 / spread, rel=1e-4)
    assert named["usual"] == pytest.approx(0.12 / spread, rel=1e-4)
    assert named["ahead"] == pytest.approx(np.log(5))
    assert (every.nearest(now, 0.4), own.nearest(now, 0.4), own.nearest(now, 0.5)) == (0, 1, None)


def test_an_empty_library_offers_nothing():
    """All operations are elsewhere."""
    every = of(ENCODER)
    empty = every.beside(np.zeros((0, 4), np.float32))
    now = np.array([1, 0, 0, 0], np.float32)
    assert empty.standing(empty.cosines(now), 0.0) == pytest.approx(every.standing(every.cosines(now), 0.0))


def test_a_request_that_says_nothing_has_a_standing_all_the_same():
    """Cosines of zero, and no division by their deviation."""
    every = of(ENCODER)
    found = every.standing(every.cosines(np.zeros(4, np.float32)), 0.0)
    assert np.isfinite(found).all()


def test_an_index_keeps_what_its_encoder_reads(tmp_path: Path):
    """Read once, beside the tools of today; another encoder's is passed over."""
    counting = Counting(ENCODER.words)
    first, then = tmp_path / "1", tmp_path / "2"
    first.mkdir()
    then.mkdir()
    keep(first, counting, np.eye(4, dtype=np.float32), tmp_path)
    keep(then, counting, NOTHING, first)
    assert counting.reads == 1
    known, now = read(then, ENCODER.fingerprint), np.array([1, 0, 0, 0], np.float32)
    assert known is not None
    assert known.dim == 4
    assert known.cosines(now) == pytest.approx(of(ENCODER).cosines(now), abs=1e-2)
    assert read(then, "another") is None


def test_an_older_edition_is_read_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The list may grow from release to release."""
    keep(tmp_path, ENCODER, NOTHING, tmp_path)
    monkeypatch.setattr("toolwise.retrieve.elsewhere.edition", lambda: "of tomorrow")
    assert read(tmp_path, ENCODER.fingerprint) is None
    keep(tmp_path, ENCODER, NOTHING, tmp_path)
    assert read(tmp_path, ENCODER.fingerprint) is not None


@pytest.mark.parametrize(
    ("vectors", "nearest"),
    [
        (np.zeros((19, 4)), np.zeros(19)),
        (np.zeros((30, 4)), np.zeros(29)),
        (np.zeros((30, 4)), np.zeros(30)),
        (np.full((30, 4), np.nan), np.zeros(30)),
        (np.zeros((30, 4)), np.full(30, np.inf)),
    ],
)
def test_a_table_that_cannot_be_is_damaged(
    tmp_path: Path, vectors: np.ndarray, nearest: np.ndarray, caplog: pytest.LogCaptureFixture
):
    """Too few or too short, not as many as there are operations, or not numbers."""
    notes = {"encoder": ENCODER.fingerprint, "edition": edition()}
    (tmp_path / FILE).write_bytes(to_bytes({"vectors": vectors, "nearest_tool": nearest}, notes))
    assert read(tmp_path, ENCODER.fingerprint) is None
    assert "cannot be read" in caplog.text


def test_a_damaged_file_is_said_and_made_again(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    """Requests go on without it."""
    assert read(tmp_path, ENCODER.fingerprint) is None
    (tmp_path / FILE).write_bytes(b"damaged")
    assert read(tmp_path, ENCODER.fingerprint) is None
    assert "toolwise index --rebuild" in caplog.text
    keep(tmp_path, ENCODER, NOTHING, tmp_path)
    assert read(tmp_path, ENCODER.fingerprint) is not None
