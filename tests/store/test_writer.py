"""Writing an index: one writer, whole states, nothing left behind."""

import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.builders import audited, write

from toolwise.errors import BrokenIndex, IndexBusy, IndexNotFound, IndexVersionError
from toolwise.records import Evidence, Finding, Level, Permission, Severity, Verdict
from toolwise.store import Index, IndexWriter, writer
from toolwise.store.index import generation_folder
from toolwise.store.schema import DATABASE


def _generations(folder):
    return sorted(path.name for path in folder.glob("generation-*"))


def test_a_new_folder_is_made(tmp_path):
    """Parents included; the first generation is 1."""
    assert write(tmp_path / "deep" / "er", [audited("a")]) == 1
    assert Index.open(tmp_path / "deep" / "er").generation == 1


def test_findings_by_code(tmp_path):
    """Of the codes asked for alone, tools without any left out."""
    some = [Finding(code, Severity.LOW, "name", f"'{code}'") for code in ("one", "two", "three")]
    told = {"s/a": tuple(some), "s/b": (some[1],), "s/c": ()}
    write(tmp_path, [replace(audited(id_), verdict=Verdict(findings=found)) for id_, found in told.items()])
    with IndexWriter(tmp_path) as found:
        assert found.findings({"one", "three"}) == {"s/a": (some[0], some[2])}
        assert found.findings({"two"}) == {"s/a": (some[1],), "s/b": (some[1],)}
        assert found.findings(()) == {}


def test_what_the_writer_tells_of_the_state(tmp_path):
    """Hashes in order of id, tools by server, vectors, settings."""
    write(tmp_path, [audited("s/b"), audited("s/a"), audited("t/c")], model="m")
    with IndexWriter(tmp_path) as found:
        assert list(found.hashes()) == ["s/a", "s/b", "t/c"]
        assert found.hashes()["s/b"] == audited("s/b").tool.content_hash
        assert [a.tool.id for a in found.server_tools(["s", "nowhere"])] == ["s/a", "s/b"]
        assert found.server_tools([]) == []
        assert found.vectors().shape == (3, 3)
        assert found.generation == 1
        assert found.meta["model"] == "m"


def test_changes_replace_and_removals_remove(tmp_path):
    """Three kinds of change in one commit."""
    write(tmp_path, [audited("a", "old"), audited("b"), audited("c")])
    assert write(tmp_path, [audited("a", "new"), audited("d")], removed=["b", "never-there"]) == 2
    index = Index.open(tmp_path)
    assert index.ids == ("a", "c", "d")
    assert index.tool("a").tool.description == "new"


def test_settings_stay_unless_given_anew(tmp_path):
    """A commit overwrites the settings it names."""
    write(tmp_path, [audited("a")], pipeline="1", other="x")
    write(tmp_path, [audited("a")], pipeline="2")
    assert Index.open(tmp_path).meta["pipeline"] == "2"
    assert Index.open(tmp_path).meta["other"] == "x"


def test_other_arrays_lie_beside_the_vectors(tmp_path):
    """What write_arrays puts into the folder is found by readers."""
    write(tmp_path, [audited("a")], write_arrays=lambda folder: (folder / "extra").write_bytes(b"1"))
    assert (Index.open(tmp_path).arrays / "extra").read_bytes() == b"1"


def test_old_generations_are_swept(tmp_path):
    """Only the newest and the one before stay."""
    for _ in range(4):
        write(tmp_path, [audited("a")])
    assert _generations(tmp_path) == ["generation-000003", "generation-000004"]


def test_an_error_while_writing_changes_nothing(tmp_path):
    """The old state stays, and the next commit passes."""
    write(tmp_path, [audited("a")])

    def fail(folder):
        raise OSError(28, "no space left")

    with pytest.raises(OSError, match="no space"):
        write(tmp_path, [audited("b")], write_arrays=fail)
    assert Index.open(tmp_path).ids == ("a",)
    assert write(tmp_path, [audited("c")]) == 2
    assert Index.open(tmp_path).ids == ("a", "c")


def test_an_error_in_the_tools_changes_nothing(tmp_path):
    """Half of the rows written is nothing written."""
    write(tmp_path, [audited("a")])

    def broken():
        yield audited("b")
        raise ValueError("half way")

    with pytest.raises(ValueError, match="half way"), IndexWriter(tmp_path) as found:
        found.commit(
            changed=broken(), removed=["a"], vectors=np.zeros((1, 3)), write_arrays=lambda _: None, meta={}
        )
    assert Index.open(tmp_path).ids == ("a",)


def test_leaving_without_commit_changes_nothing(tmp_path):
    """Opening a writer is not writing."""
    write(tmp_path, [audited("a")])
    with IndexWriter(tmp_path):
        pass
    assert Index.open(tmp_path).generation == 1


def test_vectors_must_fit_the_tools(tmp_path):
    """A commit no reader could open is refused, and the old state stays."""
    write(tmp_path, [audited("a")])
    with pytest.raises(ValueError, match=r"2 tools.*3 vectors"):
        write(tmp_path, [audited("b")], vectors=np.zeros((3, 3), dtype=np.float32))
    assert Index.open(tmp_path).ids == ("a",)


def test_a_writer_commits_once(tmp_path):
    """A second commit, without the lock, is refused and harms nothing."""
    with IndexWriter(tmp_path) as found:
        state = {"removed": [], "vectors": np.zeros((1, 3)), "write_arrays": lambda _: None, "meta": {}}
        found.commit(changed=[audited("a")], **state)
        with pytest.raises(RuntimeError, match="committed"):
            found.commit(changed=[audited("a", "again")], **state)
    assert Index.open(tmp_path).tool("a").tool.description == ""


def test_two_writers_are_one_too_many(tmp_path, monkeypatch):
    """The second is told so, and may come when the first is done."""
    monkeypatch.setattr(writer, "_WAIT_SECONDS", 0.05)
    write(tmp_path, [audited("a")])
    with IndexWriter(tmp_path), pytest.raises(IndexBusy, match="another process is writing"):
        IndexWriter(tmp_path)
    with IndexWriter(tmp_path) as second:
        assert second.generation == 1


def test_two_first_writers_are_one_too_many(tmp_path, monkeypatch):
    """Also where there is no index yet."""
    monkeypatch.setattr(writer, "_WAIT_SECONDS", 0.05)
    with IndexWriter(tmp_path), pytest.raises(IndexBusy):
        IndexWriter(tmp_path, rebuild=True)


def test_garbage_is_a_broken_index(tmp_path):
    """A writer does not overwrite what it does not know."""
    (tmp_path / DATABASE).write_bytes(b"precious, but no database; long enough to be looked at" * 100)
    with pytest.raises(BrokenIndex, match="cannot be written: file is not a database"):
        IndexWriter(tmp_path)
    assert (tmp_path / DATABASE).read_bytes().startswith(b"precious")


def test_a_file_in_the_way_is_a_broken_index(tmp_path):
    """The folder's name is taken by a file."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(BrokenIndex, match="file"):
        IndexWriter(tmp_path / "file")


def test_a_folder_in_the_way_of_the_database_is_a_broken_index(tmp_path):
    """What SQLite cannot open is our error, not a traceback."""
    (tmp_path / DATABASE).mkdir()
    with pytest.raises(BrokenIndex):
        IndexWriter(tmp_path)


def test_lost_vectors_are_a_broken_index(tmp_path):
    """The writer needs the old vectors, and says what to do without."""
    write(tmp_path, [audited("a")])
    shutil.rmtree(generation_folder(tmp_path, 1))
    with IndexWriter(tmp_path) as found, pytest.raises(BrokenIndex, match="--rebuild"):
        found.vectors()


def _age(folder, version):
    with sqlite3.connect(folder / DATABASE) as connection:
        connection.execute("UPDATE meta SET value = ? WHERE key = 'format'", (version,))
    connection.close()


def test_another_format_is_refused_and_can_be_rebuilt(tmp_path):
    """--rebuild starts from nothing, in the next generation."""
    write(tmp_path, [audited("a")])
    _age(tmp_path, "99")
    with pytest.raises(IndexVersionError, match=r"format 99.*--rebuild"):
        IndexWriter(tmp_path)
    with IndexWriter(tmp_path, rebuild=True) as found:
        assert found.hashes() == {}
        assert set(found.meta) <= {"generation"}
        found.commit(
            changed=[audited("b")], removed=[], vectors=np.zeros((1, 3)), write_arrays=lambda _: None, meta={}
        )
    assert Index.open(tmp_path).ids == ("b",)
    assert Index.open(tmp_path).generation == 2


def test_an_abandoned_rebuild_forgets_nothing(tmp_path):
    """The old state is there until the new one is."""
    write(tmp_path, [audited("a")])
    with IndexWriter(tmp_path, rebuild=True):
        pass
    assert Index.open(tmp_path).ids == ("a",)


KILLED = """
import os, signal, sys
from pathlib import Path
import numpy as np
from tests.builders import audited
from toolwise.store import IndexWriter

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

folder, moment = Path(sys.argv[1]), sys.argv[2]

def arrays(generation):
    (generation / "half").write_bytes(b"1")
    if moment == "arrays":
        die()

def tools():
    yield audited("b")
    if moment == "rows":
        die()

with IndexWriter(folder) as writer:
    if moment == "vectors":
        np.save = die
    if moment == "commit":  # all rows are written, the settings half
        writer._connection.create_function("die", 0, die)
        writer._connection.execute(
            "CREATE TEMP TRIGGER last AFTER INSERT ON main.meta BEGIN SELECT die(); END"
        )
    if moment == "sweep":
        IndexWriter._sweep = die
    vectors = np.zeros((2, 3), dtype=np.float32)
    writer.commit(changed=tools(), removed=[], vectors=vectors, write_arrays=arrays, meta={})
"""


@pytest.mark.parametrize(
    ("moment", "ids"),
    [
        ("vectors", ("a",)),
        ("arrays", ("a",)),
        ("rows", ("a",)),
        ("commit", ("a",)),
        ("sweep", ("a", "b")),
    ],
)
def test_a_killed_writer_leaves_a_whole_state(tmp_path, moment, ids):
    """Killed at any moment: the old state before the commit, the new after; the next writer cleans up."""
    for _ in range(2):
        write(tmp_path, [audited("a")])
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), moment],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert "generation-000003" in _generations(tmp_path)
    assert Index.open(tmp_path).ids == ids
    generation = write(tmp_path, [audited("c")])
    index = Index.open(tmp_path)
    assert index.ids == (*ids, "c")
    assert not (index.arrays / "half").exists()
    assert _generations(tmp_path) == [f"generation-{g:06d}" for g in (generation - 1, generation)]


def test_arrays_are_on_the_disk_before_the_tools_are(tmp_path, monkeypatch):
    """Every file and folder of the generation, and the folder of them all; the commit waits for it too."""
    synced = set()

    def sync(descriptor):
        with pytest.raises(IndexNotFound):
            Index.open(tmp_path)
        synced.add(os.fstat(descriptor).st_ino)

    monkeypatch.setattr(os, "fsync", sync)

    def arrays(folder):
        (folder / "bm25").mkdir()
        (folder / "bm25" / "terms").write_bytes(b"1")

    write(tmp_path, [audited("a")], write_arrays=arrays)
    folder = Index.open(tmp_path).arrays
    assert {path.stat().st_ino for path in (tmp_path, folder, *folder.rglob("*"))} <= synced
    with IndexWriter(tmp_path) as found:
        assert found._connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_folders_that_cannot_be_synchronised_are_no_obstacle(tmp_path, monkeypatch):
    """Some file systems refuse; that of a file is an error as before."""
    refused = stat.S_ISDIR
    monkeypatch.setattr(os, "fsync", lambda descriptor: _refuse(descriptor, refused))
    assert write(tmp_path, [audited("a")]) == 1
    refused = stat.S_ISREG
    with pytest.raises(OSError, match="Invalid argument"):
        write(tmp_path, [audited("b")])
    assert Index.open(tmp_path).ids == ("a",)


def _refuse(descriptor, refused):
    if refused(os.fstat(descriptor).st_mode):
        raise OSError(22, "Invalid argument")


def test_new_verdicts_change_nothing_else(tmp_path):
    """Level, flags and evidence are new; generation, arrays, definitions and the other tool stay."""
    write(tmp_path, [audited("a", level=1, tokens=7), audited("b", level=2)])
    before = Index.open(tmp_path)
    new = Verdict(
        Level.HIGH, frozenset({Permission.SHELL}), frozenset(), (Evidence("level>=4", "person", "so"),)
    )
    with IndexWriter(tmp_path) as writer:
        assert writer.revise({"a": new, "unknown": new}) == 1
    after = Index.open(tmp_path)
    assert [a.verdict for a in after.scan()] == [new, before.tool("b").verdict]
    assert after.levels.tolist() == [4, 2]
    assert after.tool("a").tool == before.tool("a").tool
    assert (after.generation, after.tool("a").tokens) == (before.generation, 7)
    assert (after.vectors == before.vectors).all()


def test_open_readers_keep_the_old_verdicts_and_know_it(tmp_path):
    """What was opened before stays whole; it is no longer current, and the next one is."""
    write(tmp_path, [audited("a", level=1)])
    reader = Index.open(tmp_path)
    with IndexWriter(tmp_path) as writer:
        writer.revise({"a": Verdict(Level.CRITICAL)})
    assert (reader.levels.tolist(), reader.tool("a").level) == ([1], 1)
    assert not reader.is_current()
    assert Index.open(tmp_path).is_current()
    with IndexWriter(tmp_path) as writer:
        assert writer.revise({}) == 1
    assert Index.open(tmp_path).is_current()


def test_left_by_an_error_no_verdict_changes(tmp_path):
    """A writer that revised has let the folder go; one that did not leaves it as it was."""
    write(tmp_path, [audited("a", level=1)])
    with pytest.raises(AttributeError), IndexWriter(tmp_path) as writer:
        writer.revise({"a": None})
    assert Index.open(tmp_path).levels.tolist() == [1]
    with IndexWriter(tmp_path) as writer:
        writer.revise({})
        with pytest.raises(RuntimeError, match="another one"):
            writer.revise({})


def test_a_writer_scans_what_it_holds(tmp_path):
    """In order of id."""
    write(tmp_path, [audited("b"), audited("a", level=3)])
    with IndexWriter(tmp_path) as writer:
        assert writer.scan() == list(Index.open(tmp_path).scan())
