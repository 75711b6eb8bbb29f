"""Files replaced as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolwise.whole_file import replace_file


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    """Text in UTF-8, bytes as they are, and no temporary file beside them."""
    replace_file(tmp_path / "a", "é\r\n")
    replace_file(tmp_path / "a", "ü\r\n")
    replace_file(tmp_path / "b", b"\x00\xff", 0o600)
    assert (tmp_path / "a").read_bytes() == "ü\r\n".encode()
    assert (tmp_path / "b").read_bytes() == b"\x00\xff"
    assert [(p.name, p.stat().st_mode & 0o777) for p in sorted(tmp_path.iterdir())] == [
        ("a", 0o644),
        ("b", 0o600),
    ]


def test_what_cannot_be_replaced_stays_and_is_named(tmp_path: Path) -> None:
    """A folder in the way, and a folder that is not there: the error has the user's own path."""
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "folder", tmp_path / "nowhere" / "file"):
        with pytest.raises(OSError) as caught:
            replace_file(path, "text")
        assert caught.value.filename == str(path)
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]
