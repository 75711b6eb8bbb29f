"""A file of requests, row by row: a row that is no request is answered in its place with the reason."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolwise.records import Exposure, Query

_BOM = b"\xef\xbb\xbf"


class Refused:
    """A row of a request file that is no request."""

    def __init__(self, line: int, why: str, id_: str) -> None:
        self.line, self.why, self.id = line, why, id_

    def answer(self) -> Exposure:
        """An empty answer in its place, so that answers stay aligned with rows."""
        from toolwise.records import Exposure

        return Exposure(self.id, "", True, f"invalid request: {self.why}", (), (), 0)


def rows_of(source: str) -> Iterator[Query | Refused]:
    """Requests of a JSONL file ("-": stdin), in order; blank lines are passed over.

    Only a line feed ends a row: JSON may hold other line separators.  Raises
    InvalidRequest where the file cannot be read.
    """
    from toolwise.errors import InvalidRequest

    try:
        data = _bytes(source)
    except OSError as error:
        raise InvalidRequest(
            f"{source} cannot be read: {error.strerror or error}. Expected a UTF-8 file of JSON objects, "
            "one per line.",
            source=source,
        ) from error
    for number, line in enumerate(data.removeprefix(_BOM).split(b"\n"), start=1):
        if line.strip():
            yield _row(number, line)


def _bytes(source: str) -> bytes:
    if source != "-":
        return Path(source).read_bytes()
    return sys.stdin.buffer.read() if sys.stdin is not None else b""  # None: started with stdin closed


def _row(number: int, line: bytes) -> Query | Refused:
    from toolwise.records import Query

    nameless = str(number)
    try:
        row = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        return Refused(number, "not UTF-8", nameless)
    except json.JSONDecodeError as error:
        return Refused(number, f"not JSON: {error.msg}", nameless)
    except RecursionError:
        return Refused(number, "nested too deeply", nameless)
    except ValueError:  # Python reads no integer that long
        return Refused(number, "a number has too many digits", nameless)
    if not isinstance(row, dict):
        return Refused(number, 'expected an object with a text "query"', nameless)
    id_ = row.get("id")
    if id_ is not None and (isinstance(id_, bool) or not isinstance(id_, str | int | float)):
        return Refused(number, 'expected a text or a number as "id"', nameless)
    name = nameless if id_ is None else str(id_)
    if not isinstance(row.get("query"), str):
        return Refused(number, 'expected an object with a text "query"', name)
    if fault := fault_of_text(row["query"]):
        return Refused(number, f"the query {fault}", name)
    return Query(name, row["query"])


def fault_of_text(text: str) -> str:
    """What keeps ``text`` from being read, as the end of a sentence; empty where nothing does."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "holds half a character (a lone surrogate)"
    return ""
