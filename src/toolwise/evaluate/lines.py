"""Lines of files: numbered on the way in, all or nothing on the way out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from toolwise.errors import EvaluationError
from toolwise.records import Json
from toolwise.whole_file import replace_file
from toolwise.wrong_value import kind_of, unread


def text_of(path: Path) -> str:
    """The text of a UTF-8 file, with or without a byte order mark.  Raises EvaluationError."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = unread(error) if isinstance(error, ValueError) else error.strerror
        raise EvaluationError(
            f"{path} cannot be read: {why}. Expected the path of a UTF-8 text file.", source=str(path)
        ) from error


def numbered(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file that are not blank, with their numbers from 1.  Raises EvaluationError."""
    for number, line in enumerate(text_of(path).split("\n"), start=1):
        if line.strip():
            yield number, line


def objects(path: Path) -> Iterator[tuple[int, dict[str, Json]]]:
    """The JSON objects of a JSONL file, with their line numbers.  Raises EvaluationError."""
    for number, line in numbered(path):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            why = f"not JSON: {unread(error)}. Expected one object per line"
            raise refused(path, number, why) from error
        if not isinstance(row, dict):
            raise refused(path, number, f"found {kind_of(row)}, expected a JSON object")
        yield number, row


def refused(path: Path, number: int, what: str) -> EvaluationError:
    """The error for one line of a file."""
    return EvaluationError(f"{path}:{number}: {what}.", source=str(path), line=number)


def is_jsonl(path: Path) -> bool:
    """Whether the first line that is not blank starts a JSON object.  Raises EvaluationError."""
    return next((line.lstrip().startswith("{") for _, line in numbered(path)), False)


def write(path: Path, lines: Iterable[str]) -> None:
    """Write ``lines`` so that the file holds all of them or is as it was.  Raises EvaluationError."""
    try:
        replace_file(path, "".join(f"{line}\n" for line in lines))
    except OSError as error:
        raise EvaluationError(
            f"{path} cannot be written: {error.strerror}. Name a file in a folder that exists.",
            source=str(path),
        ) from error
