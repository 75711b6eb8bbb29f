"""Sheets for people: what goes out comes back, formulas do not run, bad rows are named."""

import csv
import json
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import audited
from toolwise.audit.sheet import (
    COLUMNS,
    Fault,
    Line,
    Row,
    from_csv,
    from_jsonl,
    guarded,
    to_csv,
    to_jsonl,
    unguarded,
)
from toolwise.records import PERSON, Capability, Judgement, Level, Permission, Verdict

HEADER = "id,content_hash,level,permissions,capabilities,who,reason\n"


def person(who, reason):
    """What a person said."""
    return Judgement("x", PERSON, "h", Verdict(Level.LOW), "2026-05-31T12:00:00+00:00", who, reason)


def line(id_="a/x", description="Does x", *, who="", reason="", **fields):
    """A line with one vote."""
    return Line(
        audited(id_, description, **fields), {"rules": Level.LOW}, True, person(who, reason) if who else None
    )


def test_csv_and_jsonl_bring_back_the_same_rows():
    """Commas, quotes, line breaks and other scripts included."""
    lines = [
        line("a/x", who="Ada", reason='said "no",\nthen yes', level=4, permissions=[Permission.SHELL]),
        line("ü/工具", "настройка"),
    ]
    of_csv, of_jsonl = list(from_csv(to_csv(lines))), list(from_jsonl("\n".join(to_jsonl(lines))))
    first = Row(
        2,
        "a/x",
        lines[0].audited.tool.content_hash,
        Level.HIGH,
        frozenset({Permission.SHELL}),
        frozenset(),
        "Ada",
        'said "no",\nthen yes',
    )
    assert of_csv[0] == first
    assert [(r.id, r.level, r.who) for r in of_csv] == [("a/x", 4, "Ada"), ("ü/工具", 1, "")]
    assert [r.line for r in of_csv] == [2, 4]
    assert [r.line for r in of_jsonl] == [1, 2]
    assert [(r.id, r.permissions, r.reason) for r in of_jsonl] == [
        (r.id, r.permissions, r.reason) for r in of_csv
    ]


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "  =1", "＝1", "'=1", "'' -1", "=cmd|' /C calc'!A0", "\r=1"],
)
def test_a_formula_becomes_text_and_comes_back(text):
    """No cell begins as a formula does; taking the mark off gives what it was."""
    cell = guarded(text)
    assert cell == f"'{text}"
    assert unguarded(cell) == text


@pytest.mark.parametrize("text", ["", "plain", "'tis", "''", "'", "a=b", "5 - 3", "O'Brien"])
def test_what_is_no_formula_stays_as_it_is(text):
    """Words that begin with an apostrophe keep it."""
    assert guarded(text) == text == unguarded(text)


@given(st.text())
def test_guarding_loses_nothing(text):
    """Of any text."""
    assert unguarded(guarded(text)) == text
    assert not guarded(text).startswith(("=", "+", "-", "@", "\t", "\r"))


def test_no_cell_of_a_csv_begins_as_a_formula():
    """Id, description, name and reason come from strangers."""
    text = to_csv([line("=HYPERLINK(1)", "@evil", who="+Ada", reason="-1")])
    cells = list(csv.reader(StringIO(text)))[1]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]
    (row,) = from_csv(text)
    assert (row.id, row.who, row.reason) == ("=HYPERLINK(1)", "+Ada", "-1")


def test_hidden_characters_are_seen_in_a_csv_and_kept_in_a_jsonl():
    """A person reads the one, a program the other."""
    lines = [line(description="send\u200bit \U000e0041")]
    assert "send\\u200bit \\U000e0041" in to_csv(lines)
    assert json.loads(next(to_jsonl(lines)))["description"] == "send\u200bit \U000e0041"


def test_a_long_description_says_that_it_was_cut():
    """So that nobody takes the beginning for all of it."""
    assert "... (40000 characters in all)" in to_csv([line(description="x" * 40_000)])


def test_the_columns_of_both_are_the_same():
    """In the same order."""
    assert to_csv([]).strip().split(",") == list(COLUMNS)
    assert list(json.loads(next(to_jsonl([line()])))) == list(COLUMNS)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_spreadsheets_of_all_countries_are_read(separator):
    """Columns may stand in any order and case, and others are passed over."""
    text = separator.join(["Level", "mine", "ID", "content_hash", "who"]) + "\n"
    text += separator.join(["3.0", "x", "a/x", "h", " Ada "]) + "\n\n"
    assert list(from_csv(text)) == [Row(2, "a/x", "h", Level.MEDIUM, None, None, "Ada", "")]


def test_a_cell_that_is_empty_says_none_and_a_column_that_is_missing_says_nothing():
    """None of the permissions, or no word about them."""
    (empty,) = from_csv(HEADER + "a/x,h,3,,none,Ada,\n")
    assert (empty.permissions, empty.capabilities) == (frozenset(), frozenset())
    (missing,) = from_jsonl('{"id": "a/x", "content_hash": "h", "level": 3, "permissions": null}')
    assert (missing.permissions, missing.capabilities) == (None, None)


def test_flags_are_separated_by_anything():
    """Commas, semicolons, spaces; in any case."""
    (row,) = from_csv(HEADER + 'a/x,h,L4,"Shell; write,code",private untrusted,Ada,\n')
    assert row.level == Level.HIGH
    assert row.permissions == {Permission.SHELL, Permission.WRITE, Permission.CODE}
    assert row.capabilities == {Capability.PRIVATE, Capability.UNTRUSTED}


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        ("a/x,h,9,,,Ada,", "level '9', expected 1 to 5"),
        ("a/x,h,2.5,,,Ada,", "level '2.5', expected 1 to 5"),
        ("a/x,h,3,root,,Ada,", "'root' is not one of shell, write"),
        ("a/x,h,3,,secret,Ada,", "'secret' is not one of private"),
        (",h,3,,,Ada,", "the id is missing"),
    ],
)
def test_a_bad_row_is_named_and_the_next_one_read(cells, why):
    """By line; an empty level is no fault of the row."""
    bad, good = from_csv(f"{HEADER}{cells}\na/y,h,,,,Ada,\n")
    assert isinstance(bad, Fault)
    assert (bad.line, why in bad.why) == (2, True)
    assert isinstance(good, Row)
    assert (good.line, good.level) == (3, None)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("{", "not JSON"),
        ("[]", "expected an object"),
        ('{"id": 7}', "the id is missing"),
        ('{"id": "a", "level": true}', "level 'True'"),
        ('{"id": "a", "who": 7}', "who is a number"),
        ('{"id": "a", "permissions": [7]}', "expected a list"),
        ('{"id": "a", "permissions": {"shell": 1}}', "expected a list"),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_a_bad_object_is_named_and_the_next_one_read(row, why):
    """By line, blank ones counted."""
    bad, good = from_jsonl(f'\n{row}\n{{"id": "b", "level": 2}}\n')
    assert (bad.line, why in bad.why) == (2, True)
    assert (good.line, good.id, good.level) == (3, "b", 2)


def test_a_sheet_without_the_needed_columns_is_refused_as_a_whole():
    """They are named."""
    assert list(from_csv("id,who\na/x,Ada\n")) == [Fault(1, "", "the header lacks content_hash, level")]
    assert list(from_csv("")) == []


def test_a_broken_quote_ends_the_reading_but_keeps_what_stood_before():
    """From there on no row can be told from another."""
    good, bad = from_csv(f'{HEADER}a/x,h,3,,,Ada,ok\na/y,h,3,,,Ada,"no" end\n')
    assert (good.id, bad.line) == ("a/x", 3)
    assert "nothing is read from here on" in bad.why


@given(st.text())
def test_no_text_breaks_the_reading(text):
    """Every row is a row or a fault."""
    for read in (from_csv, from_jsonl):
        assert all(isinstance(found, Row | Fault) for found in read(text))
