"""Nothing that a definition holds is obeyed by the terminal."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.conftest import Run
from toolwise import build_index
from toolwise.audit.load import load_annotator
from toolwise.cli.render import as_json

CLEAR = "\x1b[2J"
OBEYED = {*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0))}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index, made with the rules alone, of a tool full of terminal escapes and of a plain one."""
    folder = tmp_path_factory.mktemp("hostile")
    rows = [
        {
            "id": f"evil/{CLEAR}send\n\x9b2Jid",
            "name": f"send{CLEAR}",
            "title": f"Send{CLEAR}",
            "description": f"Send an email.\nTo a {CLEAR}person.",
            "parameters": {"type": "object", "properties": {f"to{CLEAR}": {"type": "string"}}},
        },
        {
            "id": "odd/frobnicate",
            "name": "frobnicate",
            "description": "Frobnicates the gizmo.",
            "parameters": {},
        },
    ]
    (folder / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("toolwise.indexing.local_annotators", lambda: [load_annotator("rules")])
        build_index([folder / "t.jsonl"], folder / "index")
    return folder / "index"


@pytest.mark.parametrize(
    "command",
    [
        ("show", "{index}"),
        ("show", "{index}", "{id}"),
        ("audit", "show", "{index}"),
        ("select", "{index}", "send an email\x1b[2J", "--policy", "open"),
        ("select", "{index}", "send an email", "--policy", "open", "--max-risk", "1"),
        ("select", "{index}", "send an email", "--deny", "\x1b[2J\n"),
        ("show", "{index}", "evil/\x1b[2Jsend"),
    ],
)
def test_no_command_lets_an_escape_through(run: Run, hostile: Path, command: tuple[str, ...]) -> None:
    """Neither on stdout nor on stderr; the escape can be read instead."""
    id_ = f"evil/{CLEAR}send\n\x9b2Jid"
    result = run(*(part.format(index=hostile, id=id_) for part in command))
    shown = result.out + result.err
    assert not OBEYED.intersection(shown.replace("\n", ""))
    assert "\\x1b[2J" in shown


@pytest.mark.parametrize("command", [("show",), ("audit", "show"), ("select",)])
def test_json_holds_no_control_character(run: Run, hostile: Path, command: tuple[str, ...]) -> None:
    """Not even those of C1, which JSON would allow; the id is the same when read back."""
    request = ("send an email", "--policy", "open") if command == ("select",) else ()
    out = run(*command, hostile, *request, "--json").out
    assert not OBEYED.intersection(out.replace("\n", ""))
    first = json.loads(out.splitlines()[0])
    assert f"evil/{CLEAR}send\n\x9b2Jid" in (first["id"], *(tool["id"] for tool in first.get("tools", ())))


def test_the_report_of_an_index_is_escaped(run: Run, tmp_path: Path) -> None:
    """Problems and changes name tools by what a stranger called them."""
    source = tmp_path / "s.json"
    tool = {"name": f"a{CLEAR}", "inputSchema": None}
    source.write_text(json.dumps({"tools": [tool, {"name": ""}]}), encoding="utf-8")
    first = run("index", source, "--into", tmp_path / "i").err
    source.write_text(json.dumps({"tools": [{**tool, "description": "now described"}]}), encoding="utf-8")
    second = run("index", source, "--into", tmp_path / "i").err
    for shown in (first, second):
        assert "\\x1b[2J" in shown
        assert "\x1b" not in shown
    assert "left out (left out)" not in first
    assert "The tool is left out\n" in first


@given(st.recursive(st.text(), st.lists))
def test_json_is_one_line_and_reads_back(value: object) -> None:
    """For every reader of lines."""
    text = as_json(value)
    assert len(text.splitlines()) == 1
    assert json.loads(text) == value


def test_the_audit_finds_escapes(run: Run, hostile: Path) -> None:
    """In each text of the definition, and none in the plain tool."""
    lines = run("audit", "show", hostile, "--json").out.splitlines()
    rows = {row["id"]: row["findings"] for row in map(json.loads, lines)}
    assert rows["odd/frobnicate"] == []
    (evil,) = [found for id_, found in rows.items() if id_.startswith("evil/")]
    fields = {finding["field"] for finding in evil if finding["code"] == "hidden-unicode"}
    assert {"name", "title", "description"} <= fields


def test_a_tool_nothing_is_known_of_says_so(run: Run, hostile: Path) -> None:
    """The why of a level 3 that only stands for ignorance."""
    line = next(line for line in run("audit", "show", hostile).out.splitlines() if "odd/frobnicate" in line)
    assert "L3" in line
    assert line.rstrip().endswith("nothing tells")


def test_globs_that_match_no_tool_are_named_once(run: Run, demo_index: Path, tmp_path: Path) -> None:
    """From options and from files, in one line per run; the others say nothing."""
    file = tmp_path / "mine.toml"
    file.write_text('deny = ["mial/*"]\n', encoding="utf-8")
    rows = '{"query": "a"}\n{"query": "b"}\n'
    options = ("--policy", file, "--deny", "hr/*", "--allow", "nobody", "--allow", "mail/*")
    result = run("select", demo_index, "--from", "-", *options, stdin=rows)
    assert result.err.splitlines() == [
        "policy 'mine': deny 'mial/*' matches no tool of the index",
        "policy 'mine': allow 'nobody' matches no tool of the index",
    ]
    requests = tmp_path / "q.jsonl"
    requests.write_text('{"id": "1", "query": "a", "tools": []}\n', encoding="utf-8")
    assert "deny 'mial/*' matches" in run("eval", demo_index, "--queries", requests, "--policy", file).err
