"""The ledger: rows are added, the last one counts, nothing is lost."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import rich_tool, tool, write

from toolwise.errors import BrokenIndex, IndexBusy, IndexVersionError
from toolwise.records import PERSON, Evidence, Judgement, Level, Permission, Verdict
from toolwise.store import Ledger, now


def judged(id_="a/x", level=2, annotator="rules", content_hash="h1", **fields):
    """A judgement with a bare level."""
    verdict = Verdict(None if level is None else Level(level))
    at = fields.pop("at", "2026-05-31T12:00:00+00:00")
    return Judgement(id_, annotator, content_hash, fields.pop("verdict", verdict), at, **fields)


def test_a_ledger_that_is_not_there_is_empty_and_makes_no_file(tmp_path):
    """Reading, and undoing nothing, leave the folder as it is."""
    ledger = Ledger(tmp_path)
    assert not ledger.exists()
    assert (ledger.of(), ledger.latest(), ledger.history("a/x"), ledger.definitions(["h"])) == (
        {},
        {},
        [],
        {},
    )
    assert ledger.undo() is None
    assert list(tmp_path.iterdir()) == []


def test_everything_comes_back_as_it_went_in(tmp_path):
    """Verdict with evidence and findings, who, when and why, and the definition without its text."""
    audited = rich_tool()
    given = judged(
        audited.tool.id, annotator=PERSON, verdict=audited.verdict, who="Zoë 🧰", reason="=1+1\nread it"
    )
    Ledger(tmp_path).add([given], [audited.tool])
    assert Ledger(tmp_path).of() == {audited.tool.id: [given]}
    old = Ledger(tmp_path).definitions([audited.tool.content_hash, "h"])[audited.tool.content_hash]
    assert (old.id, old.description, old.parameters) == (
        audited.tool.id,
        audited.tool.description,
        audited.tool.parameters,
    )
    assert old.annotations == {"readOnlyHint": False}


def test_the_last_judgement_of_each_annotator_counts(tmp_path):
    """History keeps the earlier ones, in order."""
    ledger = Ledger(tmp_path)
    rows = [judged(level=2), judged(level=3, annotator="llm:m"), judged(level=4)]
    ledger.add(rows[:1])
    ledger.add(rows[1:])
    assert ledger.latest() == {"a/x": {"rules": rows[2], "llm:m": rows[1]}}
    assert ledger.history("a/x") == rows


def test_undo_takes_back_the_last_and_keeps_it_in_the_history(tmp_path):
    """The one before counts again; a second undo takes that; then there is none."""
    ledger = Ledger(tmp_path)
    first = judged(level=2, annotator=PERSON, who="Ada")
    second = judged(level=5, annotator=PERSON, who="Ada")
    ledger.add([first, judged(level=1), second])
    assert ledger.undo() == second
    assert ledger.latest()["a/x"] == {PERSON: first, "rules": judged(level=1)}
    assert ledger.history("a/x", retracted=True)[-1] == second
    assert [ledger.undo(), ledger.undo()] == [first, None]
    assert ledger.latest() == {"a/x": {"rules": judged(level=1)}}
    assert ledger.judged() == {"a/x"}


def test_undo_may_be_limited_to_a_person_and_a_tool(tmp_path):
    """Ada does not take back what Bo said."""
    ledger = Ledger(tmp_path)
    ada, bo = (judged(id_, annotator=PERSON, who=who) for id_, who in (("a/x", "Ada"), ("a/y", "Bo")))
    ledger.add([ada, bo])
    assert ledger.undo(who="Ada", tool="a/y") is None
    assert ledger.undo(who="Ada") == ada
    assert ledger.of() == {"a/y": [bo]}
    assert ledger.judged() == {"a/y"}


def test_only_the_tools_asked_for_are_read(tmp_path):
    """Of more tools than one statement takes; unknown ones are not in the answer."""
    ledger = Ledger(tmp_path)
    rows = [judged(f"t/{n:04}") for n in range(1200)]
    ledger.add(rows)
    wanted = [f"t/{n:04}" for n in range(0, 1200, 2)] + ["t/none"]
    assert list(ledger.of(wanted)) == wanted[:-1]
    assert ledger.of([]) == {}


def test_a_definition_is_kept_once_as_it_was_first(tmp_path):
    """The same hash is the same definition."""
    ledger = Ledger(tmp_path)
    one = tool("a/x", "Does a thing")
    ledger.add([judged()], [one])
    ledger.add([judged()], [one])
    assert ledger.definitions([one.content_hash, "unknown"]).keys() == {one.content_hash}


def test_rows_are_kept_all_or_none(tmp_path):
    """What fails in the middle leaves nothing behind."""
    ledger = Ledger(tmp_path)
    ledger.add([judged("a/kept")])
    broken = judged("a/broken", reason=object())
    with pytest.raises(AttributeError):
        ledger.add([judged("a/lost"), broken])
    missing = judged("a/missing", content_hash=None)
    with pytest.raises(BrokenIndex):
        ledger.add([judged("a/lost"), missing])
    assert list(ledger.of()) == ["a/kept"]


def test_words_of_a_terminal_that_are_no_text_are_kept_readable(tmp_path):
    """A half character does not lose the judgement."""
    Ledger(tmp_path).add([judged(annotator=PERSON, who="A\udce9a", reason="\ud83d")])
    assert [(j.who, j.reason) for j in Ledger(tmp_path).history("a/x")] == [("A\ufffda", "\ufffd")]
    verdict = Verdict(evidence=(Evidence("level>=3", "llm:m", "half \ud83d"),))
    Ledger(tmp_path).add([judged("a/y", verdict=verdict)])
    assert Ledger(tmp_path).latest()["a/y"]["rules"].verdict.evidence[0].because == "half \ufffd"


def test_making_the_index_again_keeps_the_ledger(tmp_path):
    """Neither a commit nor a rebuild touches the file."""
    from toolwise.store import IndexWriter

    Ledger(tmp_path).add([judged()])
    write(tmp_path, [])
    with IndexWriter(tmp_path, rebuild=True):
        pass
    assert Ledger(tmp_path).of() == {"a/x": [judged()]}


@pytest.mark.parametrize("content", [b"garbage" * 200, b"SQLite format 3\x00" + b"\xff" * 2000])
def test_a_damaged_file_is_named_and_not_replaced(tmp_path, content):
    """Reading, adding and undoing say what it holds and what to do."""
    path = tmp_path / "audit.sqlite"
    path.write_bytes(content)
    ledger = Ledger(tmp_path)
    for act in (ledger.of, ledger.undo, lambda: ledger.add([judged()])):
        with pytest.raises(BrokenIndex, match=r"audit.sqlite cannot be .*copy"):
            act()
    assert path.read_bytes() == content


def test_a_damaged_row_is_a_broken_index(tmp_path):
    """A verdict that cannot be read is not taken for an empty one."""
    Ledger(tmp_path).add([judged()])
    with sqlite3.connect(tmp_path / "audit.sqlite") as connection:
        connection.execute("UPDATE judgements SET verdict = '['")
    connection.close()
    with pytest.raises(BrokenIndex, match="cannot be read"):
        Ledger(tmp_path).latest()


def test_a_foreign_database_is_left_alone(tmp_path):
    """Tables of another program are refused, and stay."""
    with sqlite3.connect(tmp_path / "audit.sqlite") as connection:
        connection.execute("CREATE TABLE hammers (weight)")
    connection.close()
    with pytest.raises(BrokenIndex, match="cannot be read"):
        Ledger(tmp_path).of()
    with pytest.raises(BrokenIndex, match="cannot be written"):
        Ledger(tmp_path).add([judged()])


def test_a_file_of_a_later_toolwise_is_refused(tmp_path):
    """The message names both formats."""
    Ledger(tmp_path).add([judged()])
    with sqlite3.connect(tmp_path / "audit.sqlite") as connection:
        connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(IndexVersionError, match="format 9; this toolwise knows format 1") as caught:
        Ledger(tmp_path).of()
    assert (caught.value.found, caught.value.expected) == (9, 1)


def test_a_blank_file_left_by_a_stopped_writer_is_an_empty_ledger(tmp_path):
    """It is read as empty and filled by the next writer."""
    (tmp_path / "audit.sqlite").touch()
    assert Ledger(tmp_path).of() == {}
    Ledger(tmp_path).add([judged()])
    assert list(Ledger(tmp_path).of()) == ["a/x"]


def test_while_another_process_writes_the_ledger_is_busy(tmp_path, monkeypatch):
    """Writers wait for a while and say so; readers go on."""
    monkeypatch.setattr("toolwise.store.ledger._WAIT_SECONDS", 0.05)
    Ledger(tmp_path).add([judged()])
    other = sqlite3.connect(tmp_path / "audit.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(IndexBusy, match="another process is writing"):
        Ledger(tmp_path).add([judged()])
    assert list(Ledger(tmp_path).of()) == ["a/x"]
    other.close()


def test_processes_write_at_once_and_lose_nothing(tmp_path):
    """Three writers of eight judgements each leave twenty-four."""
    code = (
        "import sys\n"
        "from toolwise.records import Judgement, Verdict\n"
        "from toolwise.store import Ledger\n"
        "for n in range(8):\n"
        "    Ledger(sys.argv[1]).add([Judgement(f'{sys.argv[2]}/{n}', 'rules', 'h', Verdict(), '')])\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, tmp_path, str(n)]) for n in range(3)]
    assert [process.wait(timeout=60) for process in running] == [0, 0, 0]
    assert len(Ledger(tmp_path).of()) == 24


def test_a_mistyped_folder_is_not_made(tmp_path):
    """There is no index to judge."""
    with pytest.raises(BrokenIndex, match="cannot be written"):
        Ledger(tmp_path / "typo").add([judged()])
    assert not (tmp_path / "typo").exists()


def test_now_is_utc_to_the_second():
    """As text that sorts by time."""
    assert len(now()) == len("2026-05-31T12:00:00+00:00")
    assert now().endswith("+00:00")


@settings(max_examples=15)  # each writes to the disk
@given(
    rows=st.lists(
        st.tuples(st.sampled_from("xyz"), st.sampled_from(["rules", PERSON]), st.integers(1, 5)), max_size=8
    ),
    undone=st.integers(0, 3),
)
def test_the_ledger_is_a_list_with_the_last_words_taken_back(
    tmp_path_factory: pytest.TempPathFactory, rows, undone
):
    """What stands are all rows but the last so many of people."""
    folder: Path = tmp_path_factory.mktemp("ledger")
    ledger = Ledger(folder)
    expected = [
        judged(id_, level, annotator, reason=str(n)) for n, (id_, annotator, level) in enumerate(rows)
    ]
    ledger.add(expected)
    for _ in range(undone):
        ledger.undo()
    for last in [j for j in expected if j.annotator == PERSON][::-1][:undone]:
        expected.remove(last)
    assert [j for judgements in ledger.of().values() for j in judgements] == sorted(
        expected, key=lambda j: (j.tool, int(j.reason))
    )


def test_permissions_and_evidence_of_a_person_survive(tmp_path):
    """A whole verdict is a whole verdict."""
    verdict = Verdict(
        Level.HIGH,
        frozenset({Permission.SHELL}),
        evidence=(Evidence("capability:none", PERSON, "Ada says so"),),
    )
    Ledger(tmp_path).add([judged(verdict=verdict)])
    assert Ledger(tmp_path).latest()["a/x"]["rules"].verdict == verdict


def test_a_folder_where_the_ledger_should_be_is_refused(tmp_path):
    """It is not taken for a ledger that nobody has begun."""
    (tmp_path / "audit.sqlite").mkdir()
    with pytest.raises(BrokenIndex, match=r"audit\.sqlite cannot be read"):
        Ledger(tmp_path).judged()
