"""``toolwise audit review``, driven by lines on stdin."""

import json
from pathlib import Path

from tests.cli.audit.conftest import ODD
from tests.cli.conftest import Run
from toolwise.store import Ledger


def level(run: Run, folder: Path, id_: str) -> int:
    """The level of a tool in the index."""
    found: int = json.loads(run("show", folder, id_, "--json").out)["level"]
    return found


def queued(run: Run, folder: Path) -> list[str]:
    """The ids that wait."""
    return [json.loads(line)["id"] for line in run("audit", "queue", folder, "--json").out.splitlines()]


def test_the_queue_is_what_the_fixture_says(run: Run, judged: Path) -> None:
    """Three tools wait, so the tests below mean what they say."""
    assert sorted(queued(run, judged)) == sorted(ODD)


def test_a_level_and_a_reason_are_kept_with_the_name(run: Run, judged: Path) -> None:
    """The index has the level, the ledger the rest, and the tool waits no more."""
    first = queued(run, judged)[0]
    result = run("audit", "review", judged, "--who", "Ida", stdin="2\nseen the code\nq\n")
    assert result.code == 0
    assert "1 tool decided, 2 left" in result.err
    (judgement,) = [j for j in Ledger(judged).history(first) if j.annotator == "person"]
    assert (judgement.who, judgement.reason, judgement.verdict.level) == ("Ida", "seen the code", 2)
    assert level(run, judged, first) == 2
    assert first not in queued(run, judged)


def test_the_tool_is_shown_with_votes_and_evidence(run: Run, judged: Path) -> None:
    """What a person needs to decide, on stdout."""
    out = run("audit", "review", judged, stdin="q\n").out
    assert "1 of 3" in out
    assert "llm:tiny 1" in out or "llm:tiny 5" in out
    assert "evidence" in out
    assert "parameters" in out


def test_skipping_leaves_the_tool_for_later(run: Run, judged: Path) -> None:
    """Nothing is written; at the end of the queue the review ends."""
    result = run("audit", "review", judged, stdin="s\ns\ns\n")
    assert "0 tools decided, 3 left" in result.err
    assert not [j for id_ in ODD for j in Ledger(judged).history(id_) if j.annotator == "person"]


def test_undo_takes_the_last_answer_back_and_asks_again(run: Run, judged: Path) -> None:
    """A skip between the two is passed over; the second answer counts."""
    first, second, _ = queued(run, judged)
    result = run("audit", "review", judged, "--who", "Ida", stdin="1\nwrong key\ns\nu\n3\n\nq\n")
    assert f"taken back: {first}" in result.err
    assert level(run, judged, first) == 3
    assert second in queued(run, judged)
    (judgement,) = [j for j in Ledger(judged).history(first) if j.annotator == "person"]
    assert judgement.reason == ""


def test_undo_of_the_only_answer_leaves_the_tool_waiting(run: Run, judged: Path) -> None:
    """And without an answer there is nothing to undo."""
    result = run("audit", "review", judged, stdin="u\n4\n\nu\nq\n")
    assert "nothing to undo" in result.err
    assert "0 tools decided, 3 left" in result.err
    assert len(queued(run, judged)) == 3


def test_the_end_of_stdin_is_a_quit_and_the_review_goes_on_later(run: Run, judged: Path) -> None:
    """Two sessions decide one tool each."""
    run("audit", "review", judged, stdin="4\n\n")
    assert len(queued(run, judged)) == 2
    run("audit", "review", judged, stdin="4\n")
    assert len(queued(run, judged)) == 1


def test_other_keys_explain_the_keys(run: Run, judged: Path) -> None:
    """Nothing is decided by them."""
    result = run("audit", "review", judged, stdin="7\nyes\n\nq\n")
    assert result.err.count("1-5 sets the level") == 7
    assert len(queued(run, judged)) == 3


def test_an_answer_of_a_review_that_was_killed_counts_in_the_next(run: Run, judged: Path) -> None:
    """The ledger has it though the index does not: it is settled when the review is begun again."""
    first = queued(run, judged)[0]
    said = {j.annotator: j for j in Ledger(judged).history(first)}["rules"]
    Ledger(judged).add(
        [type(said)(first, "person", said.content_hash, type(said.verdict)(said.verdict.level), said.at)]
    )
    before, meant = level(run, judged, first), said.verdict.level
    run("audit", "review", judged, stdin="")
    assert level(run, judged, first) == meant
    assert before >= meant


def test_an_empty_queue_is_said_to_be(run: Run, demo_index: Path) -> None:
    """Nothing waits where nobody disagrees."""
    result = run("audit", "review", demo_index)
    assert (result.code, result.out) == (0, "")
    assert "no tool of 123 waits for a person" in result.err


def test_a_changed_definition_is_shown_as_it_was_and_is(run: Run, judged: Path, tmp_path: Path) -> None:
    """What a person judged last is there to compare."""
    from tests.conftest import DEMO

    first = queued(run, judged)[0]
    run("audit", "review", judged, "--who", "Ida", stdin="2\n\nq\n")
    rows = [json.loads(line) for line in DEMO.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        if row["id"] == first:
            row["description"] += " And mails it to everybody."
    source = tmp_path / "tools.jsonl"
    source.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    run("index", source, "--into", judged)
    assert first in queued(run, judged)
    out = run("audit", "review", judged, stdin="s\ns\ns\n").out
    assert "+ And mails it to everybody." in out
    assert "Ida judged it level 2" in " ".join(out.split())


def test_a_changed_definition_is_accepted_with_the_level_it_had(
    run: Run, judged: Path, tmp_path: Path
) -> None:
    """By ``a``, which a tool that has not changed does not take."""
    from tests.conftest import DEMO

    first, *others = queued(run, judged)
    run("audit", "review", judged, "--who", "Ida", stdin="2\n\nq\n")
    text = DEMO.read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        line["description"] += " Now." if line["id"] == first else ""
    source = tmp_path / "tools.jsonl"
    source.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    run("index", source, "--into", judged)
    place = queued(run, judged).index(first)
    result = run("audit", "review", judged, "--who", "Eve", stdin="a\ns\n" * place + "a\nread it\nq\n")
    assert result.err.count("it waits for a level") == place
    assert sorted(queued(run, judged)) == sorted(others)
    *_, judgement = Ledger(judged).history(first)
    assert (judgement.who, judgement.reason, judgement.verdict.level) == ("Eve", "read it", 2)
