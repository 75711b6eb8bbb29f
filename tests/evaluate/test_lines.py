"""Files are read by line and written whole."""

import pytest

from toolwise.errors import EvaluationError
from toolwise.evaluate.lines import is_jsonl, numbered, objects, write


def test_lines_are_numbered_as_an_editor_numbers_them(tmp_path):
    """Blank lines count but do not come; a byte order mark is no content; U+2028 ends no line."""
    path = tmp_path / "f"
    path.write_bytes("\ufeffa\n\n  \nb\u2028c\n".encode())
    assert list(numbered(path)) == [(1, "a"), (4, "b\u2028c")]


@pytest.mark.parametrize("line", ["nonsense", "[1]", "3", "[" * 100_000])
def test_what_is_no_object_is_refused_with_its_line(tmp_path, line):
    """Deep nesting too."""
    path = tmp_path / "f"
    path.write_text("{}\n" + line, encoding="utf-8")
    with pytest.raises(EvaluationError) as error:
        list(objects(path))
    assert error.value.line == 2


def test_a_failed_write_leaves_the_old_file(tmp_path):
    """Nor does it leave anything else."""
    path = tmp_path / "f"
    write(path, ["old"])

    def broken():
        yield "new"
        raise KeyError

    with pytest.raises(KeyError):
        write(path, broken())
    assert path.read_text(encoding="utf-8") == "old\n"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    """Reading and writing alike."""
    with pytest.raises(EvaluationError, match="cannot be written"):
        write(tmp_path / "none" / "f", [])
    with pytest.raises(EvaluationError, match="cannot be read"):
        list(numbered(tmp_path / "none"))
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(EvaluationError, match="UTF-8"):
        list(numbered(tmp_path / "binary"))


def test_the_kind_of_a_file_is_its_first_line(tmp_path):
    """An object, or not; an empty file is no JSONL."""
    for text, expected in (('\n  {"id": 1}', True), ("q Q0 a 1 1 s", False), ("", False)):
        (tmp_path / "f").write_text(text, encoding="utf-8")
        assert is_jsonl(tmp_path / "f") is expected
