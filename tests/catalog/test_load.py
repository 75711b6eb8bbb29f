"""Sources by path -> one catalogue."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwise import registry
from toolwise.bench.shapes import tool
from toolwise.catalog import from_definitions, load, with_text
from toolwise.catalog.load import mcp_servers
from toolwise.config import settings
from toolwise.errors import CatalogueError, SourceNotFound, UnknownFormat
from toolwise.records import Catalogue, ToolText

KEYS = st.sampled_from(
    "id name tools result description parameters inputSchema input_schema args type function title "
    "properties server group openapi paths functionDeclarations".split()
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=6), inner, max_size=4)
        | st.dictionaries(
            KEYS,
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)

ROW = {"id": "a b/c", "name": "c", "description": "Does c.", "parameters": {}}
FUNCTION = {"type": "function", "function": {"name": "f", "description": "Does f.", "parameters": {}}}
OPENAPI = {
    "openapi": "3.1.0",
    "info": {"title": "Shop"},
    "paths": {"/x": {"get": {"operationId": "x", "description": "Does x."}}},
}
YAML = """\
openapi: 3.0.1
info: {title: Shop}
paths:
  /x:
    get:
      operationId: x
      description: Does x.
      responses:
        200: {description: fine}
"""


def write(folder: Path, name: str, content: Any) -> Path:
    path = folder / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def ids(catalogue: Catalogue) -> list[str]:
    return [tool.id for tool in catalogue.tools]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("own.jsonl", json.dumps(ROW) + "\n", ["a b/c"]),
        ("own.json", [ROW], ["a b/c"]),
        ("own.txt", json.dumps(ROW) + "\n" + json.dumps({**ROW, "id": "d"}), ["a b/c", "d"]),
        ("github.json", {"tools": [tool("a", "A.")]}, ["github/a"]),
        ("github.json", {"jsonrpc": "2.0", "id": 1, "result": {"tools": [tool("a", "A.")]}}, ["github/a"]),
        (
            "pages.jsonl",
            "\n".join(json.dumps({"tools": [tool(n, "A.")]}) for n in "ab"),
            ["pages/a", "pages/b"],
        ),
        ("openai.json", [FUNCTION], ["openai/f"]),
        ("openai.jsonl", json.dumps(FUNCTION), ["openai/f"]),
        ("openai", [FUNCTION], ["openai/f"]),
        ("shop.json", OPENAPI, ["shop/x"]),
        ("api.yaml", YAML, ["shop/x"]),
        ("api.yml", YAML, ["shop/x"]),
        ("api.spec", YAML, ["shop/x"]),
        ("pretty.jsonl", json.dumps([FUNCTION], indent=1), ["pretty/f"]),
    ],
)
def test_every_format_is_known_by_its_content(tmp_path: Path, name: str, content: Any, expected: list[str]):
    """The name of the file settles nothing but the server."""
    catalogue = load([write(tmp_path, name, content)])
    assert ids(catalogue) == expected
    assert catalogue.problems == ()


def test_several_sources_are_one_catalogue_in_order(tmp_path: Path):
    """Sources keep their order; the same tool twice counts once."""
    one, two = write(tmp_path, "one.json", [FUNCTION]), write(tmp_path, "own.jsonl", json.dumps(ROW))
    assert ids(load([two, one, str(two)])) == ["a b/c", "one/f"]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("l.json", {"tools": [tool("a", "A.")]}, "mine/a"),
        ("f.json", [FUNCTION], "mine/f"),
        ("o.yaml", YAML, "mine/x"),
    ],
)
def test_the_user_may_name_the_server(tmp_path: Path, name: str, content: Any, expected: str):
    """``NAME=PATH`` goes before the file name and the title of a document."""
    assert ids(load([f"mine={write(tmp_path, name, content)}"])) == [expected]


def test_a_path_with_an_equals_sign_is_a_path(tmp_path: Path):
    """A file of that very name is taken as it is."""
    assert ids(load([str(write(tmp_path, "a=b.json", [FUNCTION]))])) == ["a=b/f"]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\xef\xbb\xbf" + json.dumps([ROW]).encode(), ["a b/c"]),
        (
            json.dumps(ROW).encode() + b"\r\n\r\n" + json.dumps({**ROW, "id": "d"}).encode() + b"\r\n",
            ["a b/c", "d"],
        ),
        (json.dumps({**ROW, "id": "a\u2028b"}, ensure_ascii=False).encode() + b"\n{}\n", ["a\u2028b"]),
    ],
)
def test_byte_order_mark_line_ends_and_odd_separators_survive(
    tmp_path: Path, data: bytes, expected: list[str]
):
    """A BOM, CRLF, blank lines and U+2028 within a line change nothing."""
    assert ids(load([write(tmp_path, "own.jsonl", data)])) == expected


def test_a_malformed_line_is_reported_with_its_number(tmp_path: Path):
    """The other lines are served."""
    lines = [json.dumps(ROW), '{"id": "b", "name": ', "", json.dumps({**ROW, "id": "c"}), "[" * 100_000]
    catalogue = load([write(tmp_path, "own.jsonl", "\n".join(lines))])
    assert ids(catalogue) == ["a b/c", "c"]
    assert [(p.tool, p.kept) for p in catalogue.problems] == [("line 2", False), ("line 5", False)]
    assert "expecting value at column 21" in catalogue.problems[0].message


@pytest.mark.parametrize("name", ["own.jsonl", "own.json"])
def test_a_key_that_stands_twice_is_reported(tmp_path: Path, name: str):
    """The last one counts, as for most readers; some take the first, so it is suspicious."""
    text = '{"id": "a", "name": "safe", "description": "d", "name": "other", "parameters": {}}'
    catalogue = load([write(tmp_path, name, text)])
    assert [tool.name for tool in catalogue.tools] == ["other"]
    (problem,) = catalogue.problems
    assert "'name' stands twice" in problem.message
    assert problem.kept


@pytest.mark.parametrize(
    ("name", "data", "error", "message"),
    [
        ("x.json", '[{"name": "a"}'.encode("utf-16"), CatalogueError, "UTF-16"),
        ("x.json", '[{"name": "a"}'.encode("utf-16-le"), CatalogueError, "UTF-16"),
        (
            "x.jsonl",
            b'{"name": "a"}\n{"name": "\xff"}',
            CatalogueError,
            r"x\.jsonl:2: byte 0xff is not UTF-8",
        ),
        ("x.json", b"", UnknownFormat, "is empty"),
        ("x.jsonl", b" \n\n", UnknownFormat, "is empty"),
        ("x.json", b'{"tools": [\n{"name": "a",}\n]}', CatalogueError, r"x\.json:2: not valid JSON"),
        ("x.json", b'// servers\n{"mcpServers": {}}', CatalogueError, r"x\.json:1: not valid JSON"),
        ("x.jsonl", b"no\njson", CatalogueError, r"x\.jsonl:1: not valid JSON"),
        ("x.json", b"[" * 100_000, CatalogueError, "nests too deep"),
        ("x.yaml", b"a: [1\nb: 2", CatalogueError, r"x\.yaml:2: not valid YAML"),
        (
            "x.yaml",
            b"a: !!python/object/apply:os.getcwd []",
            CatalogueError,
            "could not determine a constructor",
        ),
        ("x.yaml", b"[" * 100_000, CatalogueError, "nests too deep"),
        ("x.yaml", b"- " * 100_000, CatalogueError, "nests too deep"),
        (
            "x.json",
            b'{"version": 2, "items": []}',
            UnknownFormat,
            "an object with the keys 'version', 'items'",
        ),
        ("x.json", b"[]", UnknownFormat, "an empty list"),
        ("x.json", b"{}", UnknownFormat, "an empty object"),
        ("x.json", b"[1, 2]", UnknownFormat, "a list of 2, the first being a number"),
        ("x.json", b"null", UnknownFormat, "null"),
        ("x.yaml", b"just text", UnknownFormat, "a string"),
        ("x.json", b'{"swagger": "2.0", "paths": {}}', UnknownFormat, "Convert it"),
        ("x.json", b'{"mcpServers": null}', CatalogueError, "'mcpServers' is not an object"),
    ],
)
def test_an_unreadable_file_is_a_clear_error(
    tmp_path: Path, name: str, data: bytes, error: type[Exception], message: str
):
    """The message has the file, the line where there is one, and what was found."""
    path = write(tmp_path, name, data)
    with pytest.raises(error, match=message) as raised:
        load([path])
    assert raised.value.source == str(path)


def test_an_unknown_format_lists_the_known_ones(tmp_path: Path):
    """All five are named."""
    with pytest.raises(UnknownFormat) as raised:
        load([write(tmp_path, "x.json", [])])
    for word in ("JSON lines", "tools/list", "mcpServers", "OpenAPI", "OpenAI"):
        assert word in raised.value.message


@pytest.mark.parametrize("given", ["gone.json", ".", "https://example.test/openapi.json", "name=gone.json"])
def test_a_source_that_is_not_there_is_a_clear_error(given: str):
    """Neither a missing file, a folder nor an address is a source."""
    with pytest.raises(SourceNotFound):
        load([given])


def test_yaml_aliases_that_multiply_are_refused(tmp_path: Path):
    """Nine levels of ten aliases each would spell out to a billion values."""
    levels = ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 10)}]" for i in range(1, 9)]
    start = time.process_time()
    with pytest.raises(CatalogueError, match="its aliases multiply"):
        load([write(tmp_path, "bomb.yaml", "\n".join(levels))])
    assert time.process_time() - start < 30


def test_yaml_merge_keys_that_multiply_are_refused(tmp_path: Path):
    """The same with ``<<``, which the loader itself spells out."""
    levels = ["l0: &l0 {a: 1}"] + [
        f"l{i}: &l{i} {{<<: [{', '.join([f'*l{i - 1}'] * 10)}]}}" for i in range(1, 9)
    ]
    start = time.process_time()
    with pytest.raises(CatalogueError):
        load([write(tmp_path, "bomb.yaml", "\n".join(levels))])
    assert time.process_time() - start < 10
    wide = "a: &a {" + ", ".join(f"k{i}: 1" for i in range(10_001)) + "}\nb: {<<: *a}"
    with pytest.raises(CatalogueError, match="merge keys make more than 10000 keys"):
        load([write(tmp_path, "wide.yaml", wide)])


def test_yaml_that_json_lacks_is_mended(tmp_path: Path):
    """Numbers as keys, dates and an alias used twice are ordinary; a cycle is cut and reported."""
    text = YAML + "x-day: 2026-01-02\nx-loop: &loop [*loop]\n"
    catalogue = load([write(tmp_path, "api.yaml", text)])
    assert ids(catalogue) == ["shop/x"]
    assert [p.pointer for p in catalogue.problems] == ["/x-loop/0"]


@pytest.mark.parametrize(
    ("content", "servers"),
    [
        ({"mcpServers": {"a": {}}}, {"a": {}}),
        ({"servers": {"a": {"command": "x"}}, "inputs": []}, {"a": {"command": "x"}}),
        ({"mcp": {"servers": {"a": {"url": "x"}}}}, {"a": {"url": "x"}}),
        ({"openapi": "3.0.0", "servers": [{"url": "/"}]}, None),
        ({"servers": {"a": {"port": 1}}}, None),
        ([], None),
    ],
)
def test_configurations_of_hosts_are_known(content: Any, servers: Any):
    """``mcpServers`` as most hosts write it, ``servers`` as VS Code does."""
    assert mcp_servers(content) == servers


def test_a_configuration_is_handed_to_the_live_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What the servers answer is part of the catalogue, unreachable ones included."""
    from toolwise.catalog import mcp_live

    asked = []

    def answer(config: Any, source: str, progress: Any) -> Catalogue:
        asked.append((config, source))
        return Catalogue((), (), ("down",))

    monkeypatch.setattr(mcp_live, "list_servers", answer)
    path = write(tmp_path, "host.json", {"mcpServers": {"s": {"command": "c"}}})
    assert load([path]).unreachable == ("down",)
    assert asked == [({"s": {"command": "c"}}, str(path))]


def test_progress_is_told(tmp_path: Path):
    """One step per source, and the end."""
    heard: list[tuple[str, int, int]] = []
    load([write(tmp_path, "a.json", [FUNCTION])], progress=lambda *step: heard.append(step))
    assert heard == [("read", 0, 1), ("read", 1, 1)]


@given(JSON)
def test_no_two_readers_claim_the_same_content(content: Any):
    """At most one reader recognises anything, so their order does not matter."""
    claimed = [
        name for name in registry.names("reader") if registry.get("reader", name)().recognises(content)
    ]
    assert len(claimed) <= 1


@given(st.lists(JSON, max_size=4))
def test_no_json_value_makes_a_reader_raise(items: list[Any]):
    """Whatever a file holds beside one good tool, each reader serves the good one and ids are unique."""
    good = {"mcp": tool("good", "d"), "functions": FUNCTION, "rows": ROW}
    empty_page = ("tools", [])
    distinct = {json.dumps(item, sort_keys=True, default=str): item for item in items}.values()
    told = [item for item in distinct if not (isinstance(item, dict) and empty_page in item.items())]
    for name, definition in good.items():
        catalogue = registry.get("reader", name)().read([*items, definition], "x.json", "s")
        assert len(set(ids(catalogue))) == len(catalogue.tools)
        assert definition.get("name", "f") in {t.name for t in catalogue.tools}
        assert len(catalogue.tools) + len(catalogue.problems) >= len(told)


@given(st.lists(JSON, max_size=5))
def test_no_json_value_makes_from_definitions_raise(items: list[Any]):
    """What is held in Python fares the same, and a good tool is always served."""
    catalogue = from_definitions([*items, tool("good", "d")], server="s")
    assert "good" in {t.name for t in catalogue.tools}
    assert len(set(ids(catalogue))) == len(catalogue.tools)


def test_definitions_of_all_forms_may_be_mixed():
    """One item per form; a page counts with all its tools, and what is no tool is reported by position."""
    catalogue = from_definitions(
        [ROW, FUNCTION, tool("m", "M."), {"server": "p", "tools": [tool("n", "N.")]}, {"x": 1}, {1, 2}],
        server="s",
    )
    assert ids(catalogue) == ["a b/c", "s/f", "s/m", "p/n"]
    assert [(p.tool, p.kept) for p in catalogue.problems if not p.kept] == [("s/#5", False), ("#6", False)]


def test_one_page_may_be_given_alone():
    """A dict that holds a listing counts as one definition."""
    assert ids(from_definitions({"server": "p", "tools": [tool("n", "N.")]})) == ["p/n"]


def test_python_values_become_json():
    """A set and a foreign object in a schema are mended and reported under the tool's name."""
    catalogue = from_definitions(
        [{"name": "a", "description": "d", "parameters": {"enum": {2, 1}, "x": object()}}]
    )
    assert catalogue.tools[0].parameters == {"enum": [1, 2], "x": None}
    assert [(p.tool, p.pointer) for p in catalogue.problems] == [
        ("a", "/parameters/enum"),
        ("a", "/parameters/x"),
    ]


def test_texts_may_be_left_for_later(tmp_path: Path):
    """Without texts a catalogue has the same hashes, and filling them in gives the same tools."""
    path = write(tmp_path, "own.jsonl", json.dumps(ROW))
    bare = load([path], text=False).tools
    assert [tool.text for tool in bare] == [ToolText()]
    assert tuple(with_text(tool) for tool in bare) == load([path]).tools


def test_thousands_of_real_tools_load_quickly():
    """13,947 rows are read, checked and hashed in a second or so; a repeated index must take three."""
    files = [settings().data / name / "tools.jsonl" for name in ("livemcp", "toucan_mcp")]
    if not all(file.exists() for file in files):
        pytest.skip("the shared data sets are not here")
    start = time.process_time()
    load(files, text=False)
    assert time.process_time() - start < 2.5


def test_a_file_without_tools_is_named_beside_others(tmp_path: Path) -> None:
    """It is no mistake of its own, but who indexed it will want to know."""
    (tmp_path / "none.json").write_text('{"tools": []}', encoding="utf-8")
    (tmp_path / "one.jsonl").write_text(
        '{"id": "s/a", "name": "a", "description": "Do a."}\n', encoding="utf-8"
    )
    found = load([tmp_path / "none.json", tmp_path / "one.jsonl"])
    assert [tool.id for tool in found.tools] == ["s/a"]
    assert [(Path(p.source).name, p.message) for p in found.problems] == [("none.json", "it holds no tools")]


def test_a_configuration_without_servers_is_named_beside_others(tmp_path: Path) -> None:
    """Its author has a server in mind that is not there."""
    (tmp_path / "mcp.json").write_text('{"mcpServers": {}}', encoding="utf-8")
    found = load([tmp_path / "mcp.json"])
    assert not found.tools
    assert [(p.tool, p.message) for p in found.problems] == [("", "it names no servers")]


def test_a_configuration_whose_servers_are_all_disabled_is_named(tmp_path: Path) -> None:
    """Nothing is asked, so nothing else would be said."""
    pytest.importorskip("mcp", reason="the [gateway] extra is not installed")
    entry = '{"mcpServers": {"a": {"command": "never-started", "disabled": true}}}'
    (tmp_path / "mcp.json").write_text(entry, encoding="utf-8")
    found = load([tmp_path / "mcp.json"])
    assert not found.tools
    assert [p.message for p in found.problems] == ["it names no servers that are not disabled"]
