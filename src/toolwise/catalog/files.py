"""The bytes of a source file -> parsed content: JSON, JSON lines or YAML, whatever the file is called."""

from __future__ import annotations

import codecs
import json
from pathlib import Path
from typing import TypeAlias

from toolwise.errors import CatalogueError, SourceNotFound, UnknownFormat
from toolwise.records import Json, Problem
from toolwise.wrong_value import unread

Parsed: TypeAlias = tuple[Json, list[Problem]]

_LINES = (".jsonl", ".ndjson")
_YAML = (".yaml", ".yml")
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def parse_file(path: Path) -> Parsed:
    """The content of ``path`` and what was wrong with single lines of it.

    A list of rows for JSON lines.  Raises SourceNotFound, UnknownFormat for an
    empty file, CatalogueError (with ``source`` and, where known, ``line``) for
    content that cannot be parsed at all.
    """
    source = str(path)
    text = decode(_read(path), source)
    if not text.strip():
        raise UnknownFormat(f"{source} is empty; expected tool definitions.", source=source)
    suffix = path.suffix.lower()
    if suffix in _YAML:
        from toolwise.catalog.yaml_text import parse_yaml

        return parse_yaml(text, source)
    if suffix in _LINES:
        return _lines_or_json(text, source)
    return _sniffed(text, source, strict=suffix == ".json")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        message = f"{path} does not exist. Give the path of a file that holds tool definitions."
        raise SourceNotFound(message, source=str(path)) from error
    except IsADirectoryError as error:
        raise SourceNotFound(f"{path} is a folder. Name the files in it.", source=str(path)) from error
    except (OSError, ValueError) as error:
        raise CatalogueError(f"{path} cannot be read: {error}.", source=str(path)) from error


def decode(data: bytes, source: str) -> str:
    """UTF-8, with or without a byte order mark, as text.  Raises CatalogueError for other encodings."""
    if data.startswith(_WIDE) or (data[1:2] == b"\0" and data[:1] in b"[{") or data[:2] in (b"\0[", b"\0{"):
        raise CatalogueError(f"{source} is encoded as UTF-16 or UTF-32. Save it as UTF-8.", source=source)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CatalogueError(
            f"{source}:{line}: byte 0x{data[error.start]:02x} is not UTF-8. Save the file as UTF-8.",
            source=source,
            line=line,
        ) from error


def _sniffed(text: str, source: str, *, strict: bool) -> Parsed:
    """JSON, else JSON lines, else (unless ``strict``) YAML."""
    found: list[Problem] = []
    try:
        return _loads(text, source, "", found), found
    except (json.JSONDecodeError, RecursionError, ValueError) as error:
        first = text.lstrip().partition("\n")[0].strip()
        if _is_json(first):
            return _lines(text, source)
        if not strict and first[:1] not in ("{", "["):
            from toolwise.catalog.yaml_text import parse_yaml

            return parse_yaml(text, source)
        raise _unreadable(error, source) from error


def _lines_or_json(text: str, source: str) -> Parsed:
    rows, found = _lines(text, source)
    if rows:
        return rows[0] if len(rows) == 1 and isinstance(rows[0], list) else rows, found
    try:
        return _loads(text, source, "", found := []), found
    except (json.JSONDecodeError, RecursionError, ValueError) as error:
        raise _unreadable(error, source) from error


def _lines(text: str, source: str) -> tuple[list[Json], list[Problem]]:
    rows: list[Json] = []
    found: list[Problem] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            rows.append(_loads(line, source, f"line {number}", found))
        except (json.JSONDecodeError, RecursionError, ValueError) as error:
            message = f"the line is not JSON ({_reason(error)}); left out"
            found.append(Problem(source, f"line {number}", "", message, kept=False))
    return rows, found


def _loads(text: str, source: str, where: str, found: list[Problem]) -> Json:
    def once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        made = dict(pairs)
        if len(made) != len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in keys if keys.count(key) > 1)
            message = f"the key {twice[:80]!r} stands twice in one object; the last one counts"
            found.append(Problem(source, where or f"key {twice[:80]}", "", message, kept=True))
        return made

    return json.loads(text, object_pairs_hook=once)


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.lower().removesuffix(' at')} at column {error.colno}"
    return unread(error) if isinstance(error, ValueError | RecursionError) else str(error).lower()[:120]


def _unreadable(error: Exception, source: str) -> CatalogueError:
    line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
    return CatalogueError(
        f"{source}:{line}: not valid JSON: {_reason(error)}. Correct the file (JSON has no comments and no "
        "trailing commas).",
        source=source,
        line=line,
    )
