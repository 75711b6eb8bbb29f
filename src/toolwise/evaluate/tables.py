"""Cells to tables: Markdown for documents, aligned columns for terminals."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence

_NUMERIC = re.compile(r"[-+\d.,<%]*")
_ABSENT = "-"


def number(value: float, *, signed: bool = False) -> str:
    """Three decimals below 10, one above; ``-`` for NaN."""
    if math.isnan(value):
        return _ABSENT
    digits = 3 if abs(value) < 10 else 1
    return f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"


def span(low: float, high: float, *, signed: bool = False) -> str:
    """An interval; ``-`` where its ends are NaN."""
    if math.isnan(low) or math.isnan(high):
        return _ABSENT
    return f"{number(low, signed=signed)} to {number(high, signed=signed)}"


def p_value(p: float) -> str:
    """A probability; ``<0.0005`` where three decimals would show none, ``-`` for NaN."""
    if math.isnan(p):
        return _ABSENT
    return "<0.0005" if p < 0.0005 else f"{p:.3f}"


def markdown(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A Markdown table; columns of numbers stand to the right."""
    marks = ["---:" if right else "---" for right in _rightward(header, lines)]
    cells = [header, marks, *lines]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in cells)


def plain(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Columns two blanks apart; columns of numbers stand to the right."""
    shown = [header, *lines]
    widths = [max(_width(line[i]) for line in shown) for i in range(len(header))]
    rightward = _rightward(header, lines)
    return "\n".join(
        "  ".join(
            _padded(cell, width, right=right)
            for cell, width, right in zip(line, widths, rightward, strict=True)
        ).rstrip()
        for line in shown
    )


def _rightward(header: Sequence[str], lines: Sequence[Sequence[str]]) -> list[bool]:
    return [bool(lines) and all(_NUMERIC.fullmatch(line[i]) for line in lines) for i in range(len(header))]


def _padded(cell: str, width: int, *, right: bool) -> str:
    blanks = " " * (width - _width(cell))
    return blanks + cell if right else cell + blanks


def _width(cell: str) -> int:
    return sum(1 + (unicodedata.east_asian_width(char) in "WF") for char in cell)
