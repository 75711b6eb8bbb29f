"""``toolwise audit agreement``."""

import csv
import json
from io import StringIO
from pathlib import Path

import pytest

from tests.cli.conftest import Run


def fill(sheet: Path, level: str) -> None:
    """Give every row of a sheet this level."""
    rows = list(csv.reader(StringIO(sheet.read_text(encoding="utf-8-sig"))))
    out = StringIO()
    csv.writer(out).writerows([rows[0], *([row[0], level, *row[2:]] for row in rows[1:])])
    sheet.write_text(out.getvalue(), encoding="utf-8")


def test_the_annotators_of_the_ledger_are_compared(run: Run, judged: Path) -> None:
    """One pair over all tools; three of 123 differ, all by more than one level."""
    result = run("audit", "agreement", judged, "--json")
    told = json.loads(result.out)
    assert (told["annotators"], told["n"]) == (["llm:tiny", "rules"], 123)
    (pair,) = told["pairs"]
    assert (pair["first"], pair["second"], pair["n"]) == ("llm:tiny", "rules", 123)
    assert pair["exact"] == pytest.approx(120 / 123)
    assert pair["within_one"] == pytest.approx(120 / 123)
    assert told["alpha"] == pair["alpha"]
    assert 0.5 < pair["alpha"] < 1
    assert "sheet" not in told


def test_a_person_reads_a_table(run: Run, judged: Path) -> None:
    """Three decimals on stdout, alpha of all together on stderr."""
    result = run("audit", "agreement", judged)
    assert result.out.splitlines()[0].split() == [
        "between",
        "and",
        "tools",
        "alpha",
        "exact",
        "within",
        "one",
        "kappa",
    ]
    assert "0.976" in result.out
    assert "alpha of llm:tiny, rules together" in result.err


def test_without_two_annotators_it_says_what_to_do(run: Run, demo_index: Path) -> None:
    """An index that nobody audited."""
    result = run("audit", "agreement", demo_index)
    assert (result.code, result.out) == (0, "")
    assert "fewer than two annotators" in result.err


def test_a_filled_in_sheet_is_set_against_the_index_and_each_annotator(
    run: Run, judged: Path, tmp_path: Path
) -> None:
    """All 123 tools at level 5: the share of them that has level 5 is exact."""
    sheet = tmp_path / "s.csv"
    run("audit", "sample", judged, "-n", "500", "--into", sheet)
    fill(sheet, "5")
    result = run("audit", "agreement", judged, "--sheet", sheet, "--json")
    told = json.loads(result.out)
    against = {pair["second"]: pair for pair in told["pairs"] if pair["first"] == "sheet"}
    assert list(against) == ["index", "llm:tiny", "rules"]
    assert all(pair["n"] == 123 for pair in against.values())
    index = [json.loads(line)["level"] for line in run("audit", "show", judged, "--json").out.splitlines()]
    assert against["index"]["exact"] == pytest.approx(index.count(5) / 123)
    assert against["index"]["alpha"] is not None
    assert told["sheet"]["judged"] == 123
    assert len(told["sheet"]["apart"]) == sum(level <= 3 for level in index)


def test_faults_of_a_sheet_are_named_and_the_rest_counts(run: Run, judged: Path, tmp_path: Path) -> None:
    """Exit code 6."""
    sheet = tmp_path / "s.csv"
    run("audit", "sample", judged, "-n", "3", "--into", sheet)
    fill(sheet, "high")
    result = run("audit", "agreement", judged, "--sheet", sheet)
    assert result.code == 6
    assert "row 2: level 'high', expected 1 to 5" in result.err
    assert "0 tools judged, 0 without a level" in result.err


@pytest.mark.parametrize("content", [b"not,a,sheet\n", b"\xff\xfe"])
def test_another_file_is_refused(run: Run, judged: Path, tmp_path: Path, content: bytes) -> None:
    """By name, with exit code 6; a missing one too."""
    sheet = tmp_path / "other.csv"
    assert run("audit", "agreement", judged, "--sheet", sheet).code == 6
    sheet.write_bytes(content)
    result = run("audit", "agreement", judged, "--sheet", sheet)
    assert result.code == 6
    assert "other.csv" in result.err
