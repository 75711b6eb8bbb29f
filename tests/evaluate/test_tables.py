"""Cells to tables."""

import math

from toolwise.evaluate.tables import markdown, number, p_value, plain, span


def test_numbers_are_short():
    """Three decimals below 10, one above, a dash for what is not told."""
    assert [number(x) for x in (0.12345, 9.9994, 503.04, math.nan)] == ["0.123", "9.999", "503.0", "-"]
    assert number(0.5, signed=True) == "+0.500"
    assert number(-0.5, signed=True) == "-0.500"
    assert span(0.1, 0.2) == "0.100 to 0.200"
    assert span(math.nan, math.nan) == "-"
    assert [p_value(p) for p in (0.0001, 0.0312, math.nan)] == ["<0.0005", "0.031", "-"]


def test_columns_are_aligned():
    """Numbers to the right, words to the left, wide characters as two."""
    shown = plain(("name", "n"), [("工具", "1"), ("longer", "10")])
    assert shown == "name     n\n工具     1\nlonger  10"


def test_a_table_without_lines_is_its_header():
    """Nothing to show is no error."""
    assert plain(("a", "b"), []) == "a  b"
    assert markdown(("a", "b"), []) == "| a | b |\n| --- | --- |"
