"""``toolwise audit sample``."""

import csv
from pathlib import Path

from tests.cli.conftest import Run


def rows(sheet: Path) -> list[dict[str, str]]:
    """The rows of a sheet as a spreadsheet reads them."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_a_sample_is_written_blind(run: Run, judged: Path, tmp_path: Path) -> None:
    """As many tools as asked for, levels empty, no id and no vote on the sheet."""
    result = run("audit", "sample", judged, "-n", "20", "--into", tmp_path / "s.csv")
    assert (result.code, result.out) == (0, "")
    found = rows(tmp_path / "s.csv")
    assert len(found) == len({row["key"] for row in found}) == 20
    assert list(found[0]) == [
        "key",
        "level",
        "reason",
        "server",
        "name",
        "description",
        "parameters",
        "hints",
    ]
    assert {row["level"] for row in found} == {""}
    assert "llm:tiny" not in (tmp_path / "s.csv").read_text(encoding="utf-8")
    assert "20 of 123 tools" in result.err


def test_the_seed_decides(run: Run, judged: Path, tmp_path: Path) -> None:
    """The same sheet again, and another one by another seed."""
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        run("audit", "sample", judged, "-n", "20", "--into", tmp_path / name, "--seed", seed)
    first, again, other = (rows(tmp_path / name) for name in "abc")
    assert first == again
    assert [row["key"] for row in first] != [row["key"] for row in other]


def test_it_begins_as_spreadsheets_expect(run: Run, judged: Path, tmp_path: Path) -> None:
    """With the mark of UTF-8."""
    run("audit", "sample", judged, "--into", tmp_path / "s.csv")
    assert (tmp_path / "s.csv").read_bytes().startswith(b"\xef\xbb\xbfkey,")
    assert len(rows(tmp_path / "s.csv")) == 123


def test_a_folder_that_is_not_there_is_named(run: Run, judged: Path, tmp_path: Path) -> None:
    """Nothing is written."""
    result = run("audit", "sample", judged, "--into", tmp_path / "no" / "s.csv")
    assert result.code == 1
    assert "s.csv: No such file" in result.err
