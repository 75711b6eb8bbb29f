"""Files of requests: every row gets its answer in its place."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.mark.parametrize(
    ("row", "id_", "why"),
    [
        (b'{"id": "b", "query": "read \\ud800 file"}', "b", "the query holds half a character"),
        (b"[" * 200_000, "2", "nested too deeply"),
        (b'{"id": ' + b"9" * 5000 + b', "query": "x"}', "2", "too many digits"),
        (b'{"id": "b", "query": "caf\xe9"}', "2", "not UTF-8"),
        (b'{"id": ["b"], "query": "x"}', "2", 'a text or a number as "id"'),
        (b'{"id": true, "query": "x"}', "2", 'a text or a number as "id"'),
        (b'{"id": null, "query": 3}', "2", 'a text "query"'),
        (b'{"id": "b"}', "b", 'a text "query"'),
        (b'"draft an email"', "2", 'a text "query"'),
    ],
)
def test_a_bad_row_is_answered_in_its_place(
    run: Run, demo_index: Path, row: bytes, id_: str, why: str
) -> None:
    """The rows before and after it have their answers, and the exit code says that one has none."""
    good = b'{"id": "a", "query": "draft an email"}', b'{"id": "c", "query": "find orders"}'
    result = run("select", demo_index, "--from", "-", stdin=good[0] + b"\n" + row + b"\n" + good[1])
    answers = [json.loads(line) for line in result.out.splitlines()]
    assert [answer["id"] for answer in answers] == ["a", id_, "c"]
    assert [answer["abstained"] for answer in answers] == [False, True, False]
    assert why in answers[1]["reason"]
    assert f"-:2: {answers[1]['reason'].removeprefix('invalid request: ')}" in result.err
    assert result.code == 6


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"])
def test_only_a_line_feed_ends_a_row(run: Run, demo_index: Path, separator: str) -> None:
    """Other separators are legal within JSON; no reader of the answers stumbles over them either."""
    rows = f'{{"id": "a", "query": "draft an{separator}email"}}\r\n{{"id": "b", "query": "find orders"}}\r\n'
    result = run("select", demo_index, "--from", "-", stdin=rows)
    assert (result.code, result.err) == (0, "")
    answers = [json.loads(line) for line in result.out.splitlines()]
    assert [answer["query"] for answer in answers] == [f"draft an{separator}email", "find orders"]


def test_a_row_without_id_is_called_by_its_number(run: Run, demo_index: Path) -> None:
    """An id of null is none; blank lines count; numbers become text."""
    rows = '{"query": "a"}\n\n{"id": null, "query": "b"}\n{"id": 0, "query": "c"}\n{"id": "", "query": "d"}'
    result = run("select", demo_index, "--from", "-", stdin=rows)
    assert [json.loads(line)["id"] for line in result.out.splitlines()] == ["1", "3", "0", ""]


def test_a_byte_order_mark_is_passed_over(run: Run, demo_index: Path, tmp_path: Path) -> None:
    """On stdin as in a file."""
    rows = b'\xef\xbb\xbf{"id": "a", "query": "draft an email"}\n'
    (tmp_path / "rows.jsonl").write_bytes(rows)
    for source in ("-", tmp_path / "rows.jsonl"):
        result = run("select", demo_index, "--from", source, stdin=rows)
        assert (result.code, json.loads(result.out)["id"]) == (0, "a")


def test_half_a_character_in_an_id_comes_back_as_it_was(run: Run, demo_index: Path) -> None:
    """As an escape, for no encoding can hold it."""
    result = run("select", demo_index, "--from", "-", stdin='{"id": "\\ud800", "query": "draft an email"}')
    assert json.loads(result.out)["id"] == "\ud800"


def test_a_file_without_requests_is_said_to_be_one(run: Run, demo_index: Path) -> None:
    """Nothing went wrong, and nothing was asked."""
    result = run("select", demo_index, "--from", "-", stdin="\n\n")
    assert (result.code, result.out) == (0, "")
    assert "holds no requests" in result.err
