"""A sheet that tells a person nothing but the tools."""

from __future__ import annotations

import csv
from collections import Counter
from io import StringIO
from random import Random

import pytest

from tests.builders import tool
from toolwise.audit.blind import COLUMNS, from_sheet, key_of, sample, to_sheet
from toolwise.errors import InvalidRequest

TOOLS = [tool(f"s/{name}", f"Does {name}.") for name in "abcdefgh"]


def filled(levels: dict[str, str], separator: str = ",") -> str:
    """The sheet of all tools with these levels by id."""
    by_key = {key_of(t): levels.get(t.id, "") for t in TOOLS}
    rows = list(csv.reader(StringIO(to_sheet(TOOLS))))
    for row in rows[1:]:
        row[1] = by_key[row[0]]
    out = StringIO()
    csv.writer(out, delimiter=separator).writerows(rows)
    return out.getvalue()


def test_a_sample_is_drawn_by_the_generator():
    """Without repeats, the same for the same seed, whatever the order of the tools."""
    drawn = sample(TOOLS, 3, Random(1))
    assert len({t.id for t in drawn}) == 3
    assert sample(TOOLS[::-1], 3, Random(1)) == drawn
    assert len(sample(TOOLS, 100, Random(1))) == 8


def test_every_tool_is_as_likely():
    """Two of eight, 4,000 times: each about a thousand times, give or take five standard deviations."""
    generator = Random(0)
    counts = Counter(t.id for _ in range(4_000) for t in sample(TOOLS, 2, generator))
    assert all(abs(counts[t.id] - 1_000) < 5 * (4_000 * 0.25 * 0.75) ** 0.5 for t in TOOLS)


def test_the_sheet_shows_the_definition_and_nothing_else():
    """No id, no level; level and reason are empty."""
    some = tool("s/send", "Sends.", parameters={"type": "object"}, annotations={"readOnlyHint": False})
    header, row = csv.reader(StringIO(to_sheet([some])))
    assert tuple(header) == COLUMNS
    shown = ["", "", "s", "send", "Sends.", '{"type": "object"}', '{"readOnlyHint": false}']
    assert row == [key_of(some), *shown]


def test_a_key_gives_nothing_away_and_changes_with_the_definition():
    """It is a hash; the same text under another id has another."""
    assert key_of(TOOLS[0]) == key_of(tool("s/a", "Does a."))
    assert key_of(TOOLS[0]) != key_of(tool("s/a", "Does a!"))
    assert key_of(TOOLS[0]) != key_of(tool("t/a", "Does a."))
    assert all(character in "0123456789abcdef" for character in key_of(TOOLS[0]))


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\uff1d1"])
def test_no_cell_is_a_formula(text):
    """Descriptions come from strangers and are opened in spreadsheets."""
    (_, row) = csv.reader(StringIO(to_sheet([tool(f"s/{text}", text)])))
    assert row[4][0] == "'"
    assert row[5][0] == "'"


def test_hidden_characters_are_shown():
    """The person reads what the agent would."""
    (_, row) = csv.reader(StringIO(to_sheet([tool("s/a", "a\u200bb\nc")])))
    assert row[5] == "a\\u200bb\nc"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_filled_in_sheet_is_read(separator):
    """By any of the separators that spreadsheets use; rows without a level are counted."""
    found = from_sheet(filled({"s/a": "1", "s/b": "L5", "s/c": "3.0"}, separator), TOOLS)
    assert found.levels == {"s/a": 1, "s/b": 5, "s/c": 3}
    assert (found.empty, found.unknown, found.faults) == (5, 0, ())


def test_rows_that_make_no_sense_lose_themselves_alone():
    """A level that is none, and a second level for one tool, are faults with their row."""
    text = filled({"s/a": "6", "s/b": "high", "s/c": "2"})
    text += f"{key_of(TOOLS[2])},4\r\n\r\n{key_of(TOOLS[2])},2\r\n"
    found = from_sheet(text, TOOLS)
    assert found.levels == {"s/c": 2}
    assert [row for row, _ in found.faults] == [2, 3, 10]


def test_tools_that_changed_or_went_are_not_compared():
    """Their rows are counted as unknown."""
    found = from_sheet(filled({t.id: "2" for t in TOOLS}), [tool("s/a", "Deletes all."), *TOOLS[2:]])
    assert len(found.levels) == 6
    assert found.unknown == 2


@pytest.mark.parametrize("text", ["", "id,level\r\n1,2\r\n", "key;grade\r\n", "%PDF"])
def test_another_file_is_refused_by_name(text):
    """It says which columns it lacks."""
    with pytest.raises(InvalidRequest, match=r"mine\.csv: the header lacks"):
        from_sheet(text, TOOLS, "mine.csv")


def test_broken_csv_is_refused():
    """A quote that never ends."""
    with pytest.raises(InvalidRequest, match="is not CSV"):
        from_sheet('key,level\r\n"abc"d,1\r\n', TOOLS)
