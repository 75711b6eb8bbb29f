"""Reading an index: round trips, errors, and what a reader sees while others write."""

import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import audited, rich_tool, write

from toolwise.errors import BrokenIndex, IndexNotFound, IndexVersionError, UnknownTool
from toolwise.records import Capability, Level, Permission, Verdict, from_bits, to_bits
from toolwise.store import Index, IndexWriter
from toolwise.store.index import generation_folder
from toolwise.store.schema import DATABASE, FORMAT_VERSION, from_row, to_row


@pytest.fixture
def folder(tmp_path):
    """An index of three tools, given out of order."""
    write(tmp_path / "index", [audited("b/x", level=4, tokens=7), audited("a/z", level=None), audited("a/y")])
    return tmp_path / "index"


def test_everything_comes_back_as_it_went_in(tmp_path):
    """Every field of tool, text and verdict, in any script."""
    stored = [rich_tool(), audited("bare", level=None, parameters=None, returns=None)]
    write(tmp_path, stored)
    index = Index.open(tmp_path)
    assert list(index.scan()) == sorted(stored, key=lambda a: a.tool.id)
    assert index.tool(stored[0].tool.id) == stored[0]
    assert index.tool("bare").verdict.level is None


def test_rows_stand_in_order_of_id(folder):
    """ids, names, levels, permissions, tokens and vectors share one order."""
    index = Index.open(folder)
    assert index.ids == ("a/y", "a/z", "b/x")
    assert index.names == ("y", "z", "x")
    assert index.levels.tolist() == [1, 3, 4]
    assert index.tokens.tolist() == [10, 10, 7]
    assert index.vectors.tolist() == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert index.vectors.dtype == np.float32
    assert len(index) == 3
    assert [index.row(id_) for id_ in index.ids] == [0, 1, 2]


def test_ids_of_all_scripts_stand_in_code_point_order(tmp_path):
    """SQLite's order is Python's, or vectors would go to the wrong tools."""
    ids = ["z", "Z", "é", "e\u0301", "工", "\U0001f9f0", "\uffff", "a b", "a", "a\x00b", "\x7f", ""]
    write(tmp_path, [audited(id_) for id_ in ids])
    assert list(Index.open(tmp_path).ids) == sorted(ids)


def test_permissions_are_bits_in_the_order_of_the_enumeration(tmp_path):
    """The policy reads the same bits."""
    write(tmp_path, [audited("a", permissions=[Permission.SHELL, Permission.NETWORK])])
    assert Index.open(tmp_path).permissions.tolist() == [0b101]


@given(st.frozensets(st.sampled_from(list(Permission))))
def test_bits_go_both_ways(flags):
    """to_bits and from_bits are inverse."""
    assert from_bits(to_bits(flags, Permission), Permission) == flags


@given(
    st.text(alphabet=st.characters(codec="utf-8")),
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False)
        | st.text(st.characters(codec="utf-8")),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
        ),
        max_leaves=8,
    ),
)
def test_a_row_is_the_whole_tool(description, schema):
    """Any JSON value survives as parameters."""
    stored = audited("a", description, parameters=schema)
    assert from_row(to_row(stored)) == stored


def test_deep_schemas_are_stored(tmp_path):
    """400 levels come back."""
    schema: object = {"type": "string"}
    for _ in range(400):
        schema = {"type": "object", "properties": {"p": schema}}
    write(tmp_path, [audited("deep", parameters=schema)])
    assert Index.open(tmp_path).tool("deep").tool.parameters == schema


def test_tools_come_in_the_order_asked_for(folder):
    """Repeats and none at all included."""
    index = Index.open(folder)
    assert [a.tool.id for a in index.tools(["b/x", "a/y", "b/x"])] == ["b/x", "a/y", "b/x"]
    assert index.tools([]) == []


def test_an_unknown_tool_is_answered_with_near_ids(folder):
    """The message helps with a typo."""
    index = Index.open(folder)
    with pytest.raises(UnknownTool, match="no tool 'a/yy'; did you mean 'a/y'") as caught:
        index.tool("a/yy")
    assert caught.value.id == "a/yy"
    with pytest.raises(UnknownTool, match=r"no tool 'quite different'\."):
        index.row("quite different")


def test_an_index_may_be_empty(tmp_path):
    """No tools is a state like any other."""
    write(tmp_path, [])
    index = Index.open(tmp_path)
    assert len(index) == 0
    assert index.vectors.shape == (0, 3)
    assert list(index.scan()) == []


def test_a_missing_folder_is_no_index(tmp_path):
    """And is not made by looking."""
    with pytest.raises(IndexNotFound, match="holds no index"):
        Index.open(tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_a_folder_without_database_is_no_index(tmp_path):
    """Nothing is written into it either."""
    with pytest.raises(IndexNotFound, match=r"toolwise index SOURCE"):
        Index.open(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_no_index(tmp_path):
    """A path to a file instead of a folder."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(IndexNotFound):
        Index.open(tmp_path / "file")


def test_an_unfinished_index_is_no_index(tmp_path):
    """A first writer that never committed leaves nothing to read."""
    with IndexWriter(tmp_path):
        pass
    with pytest.raises(IndexNotFound, match="no finished index"):
        Index.open(tmp_path)


def test_garbage_is_a_broken_index(tmp_path):
    """A database that is none."""
    (tmp_path / DATABASE).write_bytes(b"this is not a database, though it is long enough" * 100)
    with pytest.raises(BrokenIndex, match="cannot be read"):
        Index.open(tmp_path)


def test_another_format_version_is_named(folder):
    """Found and expected are attributes."""
    with sqlite3.connect(folder / DATABASE) as connection:
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'format'")
    connection.close()
    with pytest.raises(IndexVersionError, match="format 99") as caught:
        Index.open(folder)
    assert (caught.value.found, caught.value.expected) == (99, FORMAT_VERSION)


@pytest.mark.parametrize(("key", "value"), [("format", "x"), ("generation", "x"), ("generation", None)])
def test_damaged_settings_are_a_broken_index(folder, key, value):
    """What a database says of itself is not trusted."""
    with sqlite3.connect(folder / DATABASE) as connection:
        if value is None:
            connection.execute("DELETE FROM meta WHERE key = ?", (key,))
        else:
            connection.execute("UPDATE meta SET value = ? WHERE key = ?", (value, key))
    connection.close()
    with pytest.raises(BrokenIndex):
        Index.open(folder)


@pytest.mark.parametrize("damage", ["missing", "empty", "truncated", "garbage", "short", "flat"])
def test_damaged_vectors_are_a_broken_index(folder, damage):
    """Whatever is wrong with the arrays, the error is ours."""
    path = generation_folder(folder, 1) / "vectors.npy"
    if damage == "missing":
        shutil.rmtree(path.parent)
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "truncated":
        path.write_bytes(path.read_bytes()[:-5])
    elif damage == "garbage":
        path.write_bytes(b"garbage" * 50)
    elif damage == "short":
        np.save(path, np.zeros((2, 3), dtype=np.float32))
    else:
        np.save(path, np.float32(3.0))
    with pytest.raises(BrokenIndex, match="--rebuild"):
        Index.open(folder)


def test_vectors_are_not_unpickled(folder):
    """An object array, which only pickle could read, is refused."""
    np.save(generation_folder(folder, 1) / "vectors.npy", np.array([{}, {}, {}]), allow_pickle=True)
    with pytest.raises(BrokenIndex):
        Index.open(folder)


def test_readers_see_the_old_state_until_the_commit(folder):
    """A reader opened while a writer is at work reads what was there before."""
    with IndexWriter(folder) as writer:
        seen = {}

        def look(generation):
            (generation / "other").write_bytes(b"1")
            seen["ids"] = Index.open(folder).ids

        writer.commit(
            changed=[audited("new")], removed=["a/y"], vectors=np.zeros((3, 3)), write_arrays=look, meta={}
        )
    assert seen["ids"] == ("a/y", "a/z", "b/x")
    assert Index.open(folder).ids == ("a/z", "b/x", "new")


def test_an_open_reader_keeps_its_generation(folder):
    """Opened before a commit, it goes on with its own tools and vectors, and knows that it is old."""
    index = Index.open(folder)
    assert index.is_current()
    before = np.array(index.vectors)
    write(
        folder,
        [audited("a/y", "changed", level=5), audited("c")],
        removed=["b/x"],
        vectors=np.full((3, 3), 9, dtype=np.float32),
    )
    assert not index.is_current()
    assert index.vectors.tolist() == before.tolist()
    assert index.ids == ("a/y", "a/z", "b/x")
    assert index.tool("a/y").level == index.levels[0] == 1
    assert index.tool("b/x").tool.name == "x"
    assert [a.tool.id for a in index.scan()] == list(index.ids)
    newer = Index.open(folder)
    assert newer.is_current()
    assert newer.ids == ("a/y", "a/z", "c")


def test_an_open_reader_does_not_hold_up_writers(folder):
    """Any number of commits pass a reader that stays open, a rebuild included."""
    index = Index.open(folder)
    for number in range(3):
        write(folder, [audited(f"n{number}")])
    with IndexWriter(folder, rebuild=True) as writer:
        writer.commit(
            changed=[audited("only")],
            removed=[],
            vectors=np.zeros((1, 3)),
            write_arrays=lambda _: None,
            meta={},
        )
    assert index.tool("b/x").level == 4
    assert Index.open(folder).ids == ("only",)


def _commit(folder, number):
    """One more commit, of a tool that is large and another one each time."""
    write(folder, [audited("large", f"{number} " * 5_000)])


def test_readers_that_follow_one_another_let_the_log_begin_anew(folder):
    """A process that always has one open renews it; the log is as long as a few changes, not as all."""
    log = folder / "index.sqlite-wal"
    index, sizes = Index.open(folder), []
    for number in range(12):
        _commit(folder, number)
        newer = Index.open(folder)
        index.close()
        index = newer
        index.renew()
        assert index.tool("large").tool.description.startswith(f"{number} ")
        sizes.append(log.stat().st_size)
    assert max(sizes) <= 2 * sizes[0]


def test_a_reader_renews_itself_only_to_the_same_state(folder):
    """What was opened before a commit, or before new verdicts, goes on seeing what it saw."""
    first, second = Index.open(folder), Index.open(folder)
    with IndexWriter(folder) as writer:
        writer.revise({"a/y": Verdict(Level.CRITICAL)})
    second.renew()
    assert second.tool("a/y").level == 1
    write(folder, [], removed=["a/y"])
    first.renew()
    assert first.tool("a/y").level == 1
    assert Index.open(folder).ids == ("a/z", "b/x")


def test_a_database_that_took_the_place_of_ours_is_another(folder):
    """Though it is in the same generation: it was deleted and indexed again."""
    index = Index.open(folder)
    shutil.rmtree(folder)
    write(folder, [audited("a/y", level=4)])
    assert Index.open(folder).generation == index.generation
    assert not index.is_current()
    index.renew()
    assert index.tool("a/y").level == 1


def test_an_index_without_a_mark_is_read(folder):
    """Those of older versions have none until they are written again."""
    with closing(sqlite3.connect(folder / DATABASE)) as database, database:
        database.execute("DELETE FROM meta WHERE key = 'made'")
    index = Index.open(folder)
    assert index.is_current()
    write(folder, [])
    assert not index.is_current()
    made = Index.open(folder).meta["made"]
    write(folder, [])
    assert Index.open(folder).meta["made"] == made


def test_a_closed_reader_stays_closed(folder):
    """To renew it opens nothing that nobody would close."""
    index = Index.open(folder)
    index.close()
    index.renew()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        index.tool("a/y")


def test_a_folder_that_is_gone_renews_nobody(folder):
    """The open reader goes on."""
    index = Index.open(folder)
    shutil.rmtree(folder)
    index.renew()
    assert index.tool("a/y").level == 1


def test_a_folder_that_may_not_be_looked_at_renews_nobody(folder, monkeypatch):
    """Whatever the system says against it, the open reader goes on."""
    index = Index.open(folder)

    def refused(database):
        raise PermissionError(13, "Permission denied", str(database))

    monkeypatch.setattr("toolwise.store.index.connect_to_read", refused)
    index.renew()
    assert index.tool("a/y").level == 1


def test_more_tools_than_a_query_takes_are_found(folder):
    """SQLite has a limit of its own, and the order is that asked for."""
    many = [f"t{number:04}" for number in range(1_200)]
    write(folder, [audited(id_) for id_ in many])
    index = Index.open(folder)
    index._connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 999)
    assert [a.tool.id for a in index.tools(many[::-1])] == many[::-1]


def test_a_closed_reader_lets_go(folder):
    """After close the database is no longer used."""
    index = Index.open(folder)
    index.close()
    with pytest.raises(sqlite3.ProgrammingError):
        index.tool("a/y")


def test_one_index_serves_many_threads(folder):
    """Lookups from several threads at once give each its own answer."""
    index = Index.open(folder)
    wrong = []

    def look(id_):
        for _ in range(100):
            if index.tool(id_).tool.id != id_:
                wrong.append(id_)

    threads = [threading.Thread(target=look, args=(id_,)) for id_ in index.ids * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_readers_opening_during_many_commits_see_whole_states(tmp_path):
    """Every state a reader opens has as many vectors as tools and vectors that belong to them."""
    write(tmp_path, [audited("t000")], vectors=np.zeros((1, 1), dtype=np.float32))
    stop = threading.Event()
    wrong: list[object] = []

    def read():
        while not stop.is_set():
            try:
                index = Index.open(tmp_path)
                if not (len(index) == len(index.vectors) == index.generation == index.vectors[-1, 0] + 1):
                    wrong.append(index.generation)
                index.close()
            except Exception as error:
                wrong.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    for n in range(1, 25):
        vectors = np.full((n + 1, 1), n, dtype=np.float32)
        write(tmp_path, [audited(f"t{n:03}")], vectors=vectors)
    stop.set()
    thread.join()
    assert not wrong


READ_ONLY = """
import mmap, os, sys  # numpy asks for mmap late, when the standard library may be out of reach
from toolwise.store import Index
if os.geteuid() == 0:
    os.setuid(65534)
index = Index.open(sys.argv[1])
print(index.ids, index.is_current(), index.tool("a").tool.name)
"""


def test_an_index_that_may_not_be_written_can_be_read():
    """As from a read-only mount or another user's folder."""
    with tempfile.TemporaryDirectory() as parent:
        Path(parent).chmod(0o755)
        folder = Path(parent, "index")
        write(folder, [audited("a")])
        for path in [*folder.rglob("*"), folder]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY, str(folder)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        for path in [folder, *folder.rglob("*")]:
            path.chmod(0o755)
    assert (done.stdout, done.stderr) == ("('a',) True a\n", "")


def test_what_is_guessed_of_capabilities_is_read_back(tmp_path):
    """Verdicts as they were written, in hundredths; where nothing is guessed, what is said is certain."""
    private = frozenset({Capability.PRIVATE})
    told = {
        "a": Verdict(capabilities=private, chances=(0.57, 0.29, 0.0)),
        "b": Verdict(capabilities=private),
        "c": Verdict(chances=(0.0, 0.0, 0.0)),
        "d": Verdict(capabilities=frozenset(Capability), chances=(1.0, 0.99, 0.01)),
    }
    write(tmp_path, [replace(audited(id_), verdict=verdict) for id_, verdict in told.items()])
    with closing(Index.open(tmp_path)) as index:
        assert [one.verdict for one in index.scan()] == [*told.values()]
        assert index.capabilities.tolist() == [1, 1, 0, 7]
        expected = [[0.57, 0.29, 0], [1, 0, 0], [0, 0, 0], [1, 0.99, 0.01]]
        assert index.chances == pytest.approx(np.array(expected))
