"""Sheets that people filled in: what counts as a judgement, what is refused, what it changes."""

from pathlib import Path

import pytest

from toolwise import Index, from_definitions, index_catalogue
from toolwise.audit.sheet import Fault, Row, from_jsonl, to_jsonl
from toolwise.auditing import audit_index, waiting
from toolwise.errors import IndexNotFound
from toolwise.judging import accept, acknowledge, sheet
from toolwise.records import PERSON, Capability, Judgement, Level, Permission, Verdict
from toolwise.store import Ledger

SHOP = {
    "list_orders": "List the orders of a customer",
    "send_parcel": "Send a parcel",
    "run_code": "Run a shell",
}


@pytest.fixture
def folder(tmp_path) -> Path:
    """An index of the shop."""
    tools = [{"name": name, "description": text} for name, text in SHOP.items()]
    index_catalogue(from_definitions(tools, server="shop"), tmp_path / "i", encoder="static")
    return tmp_path / "i"


def row(folder: Path, name: str, level: int | None = 2, **fields: object) -> Row:
    """Ada's row on a tool of the shop as it is now."""
    tool = Index.open(folder).tool(f"shop/{name}").tool
    values = {
        "line": 2,
        "id": tool.id,
        "content_hash": tool.content_hash,
        "level": None if level is None else Level(level),
        "permissions": None,
        "capabilities": None,
        "who": "Ada",
        "reason": "",
        **fields,
    }
    return Row(**values)


def test_a_signed_row_is_a_judgement(folder):
    """It stands in the ledger with its reason and definition, and the index has its level."""
    report = accept(folder, [row(folder, "run_code", 2, reason="in a sandbox")])
    assert (report.taken, report.refused) == (("shop/run_code",), ())
    assert [(c.id, c.after) for c in report.changed] == [("shop/run_code", 2)]
    (judgement,) = Ledger(folder).history("shop/run_code")
    assert (judgement.annotator, judgement.who, judgement.reason) == (PERSON, "Ada", "in a sandbox")
    (known,) = Ledger(folder).definitions([judgement.content_hash]).values()
    assert known.description == "Run a shell"
    audited = Index.open(folder).tool("shop/run_code")
    assert audited.level == 2
    assert "in a sandbox" in audited.verdict.evidence[0].because


def test_flags_that_are_named_replace_and_flags_that_are_not_stay(folder):
    """A sheet without the columns leaves them; an empty cell says none."""
    before = Index.open(folder).tool("shop/run_code").verdict
    assert before.permissions
    accept(folder, [row(folder, "run_code", 2)])
    assert Index.open(folder).tool("shop/run_code").verdict.permissions == before.permissions
    only = {"permissions": frozenset({Permission.CODE}), "capabilities": frozenset({Capability.PRIVATE})}
    accept(folder, [row(folder, "run_code", 2, **only)])
    verdict = Index.open(folder).tool("shop/run_code").verdict
    assert (verdict.permissions, verdict.capabilities) == (only["permissions"], only["capabilities"])
    accept(folder, [row(folder, "run_code", 2, permissions=frozenset(), capabilities=frozenset())])
    verdict = Index.open(folder).tool("shop/run_code").verdict
    assert (verdict.permissions, verdict.capabilities) == (frozenset(), frozenset())


def test_unsigned_rows_are_passed_over(folder):
    """An exported sheet that nobody filled in changes nothing."""
    rows = list(from_jsonl("\n".join(to_jsonl(sheet(folder)))))
    report = accept(folder, rows)
    assert (report.taken, report.passed_over, report.changed) == ((), 3, ())
    assert not Ledger(folder).exists()


def test_with_a_name_for_the_sheet_what_was_altered_counts(folder):
    """Rows that say what the index says are still nobody's."""
    rows = [row(folder, "run_code", 1, who=""), row(folder, "list_orders", None, who="")]
    rows.append(row(folder, "send_parcel", int(Index.open(folder).tool("shop/send_parcel").level), who=""))
    report = accept(folder, rows, who="Bo")
    assert (report.taken, report.passed_over) == (("shop/run_code",), 2)
    assert Ledger(folder).latest()["shop/run_code"][PERSON].who == "Bo"


def test_the_good_rows_are_taken_and_the_bad_ones_named(folder):
    """Unknown tools, other definitions, empty levels, second rows, and what the reading found already."""
    rows = [
        Fault(2, "", "not JSON"),
        row(folder, "run_code", line=3, id="shop/nothing"),
        row(folder, "run_code", line=4, content_hash="0" * 64),
        row(folder, "run_code", line=5, content_hash=""),
        row(folder, "run_code", None, line=6),
        row(folder, "run_code", 2, line=7),
        row(folder, "run_code", 5, line=8),
        row(folder, "list_orders", 3, line=9),
    ]
    report = accept(folder, rows)
    assert report.taken == ("shop/run_code", "shop/list_orders")
    assert [(fault.line, fault.id) for fault in report.refused] == [
        (2, ""),
        (3, "shop/nothing"),
        (4, "shop/run_code"),
        (5, "shop/run_code"),
        (6, "shop/run_code"),
        (8, "shop/run_code"),
    ]
    whys = " / ".join(fault.why for fault in report.refused)
    for part in ("no such tool", "another one now", "content_hash is empty", "level is empty", "earlier row"):
        assert part in whys
    assert Index.open(folder).tool("shop/run_code").level == 2


def test_what_stands_already_is_not_written_again(folder):
    """A sheet that went out after a judgement and comes back unchanged adds nothing."""
    flags = {"permissions": frozenset(), "reason": "by hand"}
    accept(folder, [row(folder, "run_code", 2, **flags), row(folder, "list_orders", 4)])
    rows = list(from_jsonl("\n".join(to_jsonl(sheet(folder)))))
    report = accept(folder, rows)
    assert (report.taken, report.known) == ((), ("shop/list_orders", "shop/run_code"))
    assert len(Ledger(folder).history("shop/run_code")) == 1


def test_a_changed_mind_is_a_new_judgement(folder):
    """The earlier one stays in the history."""
    for level in (2, 5):
        accept(folder, [row(folder, "run_code", level)])
    assert [j.verdict.level for j in Ledger(folder).history("shop/run_code")] == [2, 5]
    assert Index.open(folder).tool("shop/run_code").level == 5


def test_a_sheet_shows_votes_what_waits_and_who_decided(folder):
    """And, if asked, only what waits."""
    audit_index(folder, ["rules"])
    tool = Index.open(folder).tool("shop/list_orders").tool
    Ledger(folder).add([Judgement(tool.id, "llm:m", tool.content_hash, Verdict(Level.CRITICAL), "")])
    accept(folder, [row(folder, "run_code", 2, reason="ok")])
    lines = {line.audited.tool.name: line for line in sheet(folder)}
    assert lines["list_orders"].waits
    assert lines["list_orders"].votes["llm:m"] == 5
    assert (lines["run_code"].person.who, lines["run_code"].waits) == ("Ada", False)
    assert lines["send_parcel"].person is None
    assert [line.audited.tool.name for line in sheet(folder, only_waiting=True)] == [
        w.tool.name for w in waiting(folder)
    ]


def test_a_mistyped_folder_is_not_made(folder):
    """There is nothing to judge in it."""
    for act in (sheet, lambda where: accept(where, [])):
        with pytest.raises(IndexNotFound):
            act(folder / "typo")
    assert not (folder / "typo").exists()


def test_what_a_person_said_before_a_change_is_said_again_when_the_change_is_accepted(folder):
    """Level, flags and all; of a tool that did not change, nothing is written."""
    accept(folder, [row(folder, "run_code", 2, permissions=frozenset({Permission.CODE}))])
    tools = [{"name": name, "description": f"{text} now"} for name, text in SHOP.items()]
    index_catalogue(from_definitions(tools, server="shop"), folder, encoder="static")
    assert [w.tool.id for w in waiting(folder)] == ["shop/run_code"]
    report = acknowledge(folder, ["shop/run_code", "shop/send_parcel"], who="Ida")
    assert (report.taken, report.unchanged) == (("shop/run_code",), ("shop/send_parcel",))
    assert waiting(folder) == ()
    *_, judgement = Ledger(folder).history("shop/run_code")
    assert (judgement.who, judgement.verdict.level) == ("Ida", 2)
    audited = Index.open(folder).tool("shop/run_code")
    assert (audited.level, audited.verdict.permissions) == (2, {Permission.CODE})
    assert acknowledge(folder).taken == ()


def test_flags_that_a_person_names_are_that_persons_word(folder):
    """So that they are no longer taken for a prediction."""
    accept(folder, [row(folder, "run_code", 2, capabilities=frozenset({Capability.PRIVATE}))])
    said = {(e.claim, e.source, e.because) for e in Index.open(folder).tool("shop/run_code").verdict.evidence}
    assert ("capability:private", PERSON, "Ada says so") in said
