"""``toolwise train sets``, run as a user runs it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from toolwise.cli import app
from toolwise.records import ExposedTool, Exposure, Tool
from toolwise.retrieve.experience import FILE, read
from toolwise.serve.gateway.memory import Call, Caller, Memory
from toolwise.sets.default import weights_of
from toolwise.sets.default_weights import load, plain, save
from toolwise.store import Index

RUN = CliRunner()
NOUNS = ("order", "invoice", "team", "ticket", "parcel")


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """An index of a finder and a canceller for each noun, with weights that know nothing."""
    rows = []
    for noun in NOUNS:
        needs = {"type": "object", "properties": {f"{noun}_id": {}}, "required": [f"{noun}_id"]}
        rows.append({"id": f"shop/list_{noun}s", "name": f"list_{noun}s", "description": f"List {noun}s."})
        rows.append(
            {
                "id": f"shop/cancel_{noun}",
                "name": f"cancel_{noun}",
                "description": f"Cancel a {noun}.",
                "parameters": needs,
            }
        )
    (tmp_path / "tools.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    made = RUN.invoke(app, ["index", str(tmp_path / "tools.jsonl"), "--into", str(tmp_path / "index")])
    assert made.exit_code == 0, made.output
    save(plain(), weights_of(tmp_path / "index"), {})
    return tmp_path / "index"


def fingerprint(index: Path) -> str:
    """Of the encoder that an index was made with."""
    opened = Index.open(index)
    found = str(opened.meta["fingerprint"])
    opened.close()
    return found


def pairs() -> list[dict[str, object]]:
    """Whoever cancels looks up first."""
    words = ("please", "now", "for me", "today", "at once", "soon")
    return [
        {"query": f"cancel the {noun} {word}", "tools": [f"shop/list_{noun}s", f"shop/cancel_{noun}"]}
        for noun in NOUNS
        for word in words
    ]


def written(folder: Path, rows: list[dict[str, object]]) -> str:
    """The path of a file of traces."""
    path = folder / "traces.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(path)


def test_traces_make_the_scorer_better(index: Path, tmp_path: Path):
    """Better weights go into the index, the old ones stay beside them, and the measures are printed."""
    pytest.importorskip("torch", reason="the [train] extra is not installed")
    done = RUN.invoke(app, ["train", "sets", str(index), "--traces", written(tmp_path, pairs()), "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["kept"] + found["held"] == len(pairs())
    assert found["after"]["loss"] < found["experienced"]["loss"]
    assert found["experienced"]["complete"] >= found["before"]["complete"]
    assert found["replaced"]
    assert found["remembered"]
    assert load(weights_of(index)).sizes.any()
    assert not load(weights_of(index).with_name("previous.safetensors")).sizes.any()


def test_worse_weights_change_nothing(index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Where held-out traces got no better, the index is left as it was."""
    pytest.importorskip("torch", reason="the [train] extra is not installed")
    monkeypatch.setattr("toolwise.learn.sets.better", lambda before, after: False)
    monkeypatch.setattr("toolwise.learn.experience.no_worse", lambda before, after: False)
    before = weights_of(index).read_bytes()
    done = RUN.invoke(app, ["train", "sets", str(index), "--traces", written(tmp_path, pairs())])
    assert done.exit_code == 0, done.output
    assert "none are kept" in done.stderr
    assert "not kept" in done.stderr
    assert not (index / FILE).exists()
    assert weights_of(index).read_bytes() == before
    assert len(list(weights_of(index).parent.iterdir())) == 1


def test_what_served_is_remembered_without_training(index: Path, tmp_path: Path):
    """A request like a past one finds what served it, though its words say otherwise; no text is kept."""
    other = [{"query": f"the piano sounds flat {n}", "tools": ["shop/cancel_team"]} for n in range(8)]
    rows = [*pairs(), *other]
    asked = ["select", str(index), "the piano sounds flat", "--method", "hybrid", "--json"]
    before = json.loads(RUN.invoke(app, asked).stdout)
    done = RUN.invoke(app, ["train", "experience", str(index), "--traces", written(tmp_path, rows)])
    assert done.exit_code == 0, done.output
    assert "remembers which tools served these 38 traces" in " ".join(done.stderr.split())
    after = json.loads(RUN.invoke(app, asked).stdout)
    assert before["tools"] == []
    assert after["tools"][0]["id"] == "shop/cancel_team"
    assert "served such a request before" in after["tools"][0]["reason"]
    assert b"piano" not in (index / FILE).read_bytes()


def test_words_that_no_tool_has_are_learned(index: Path, tmp_path: Path):
    """Forty traces speak of storks, which no tool does."""
    words = ("please", "now", "today", "soon", "quickly", "again", "first", "last")
    nouns = ("order", "invoice", "team", "ticket", "parcel")
    rows = [{"query": f"stork {a} {b}", "tools": ["shop/cancel_team"]} for a in words for b in nouns]
    done = RUN.invoke(app, ["train", "experience", str(index), "--traces", written(tmp_path, rows), "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["remembered"]
    assert found["adapted"]
    assert found["after"]["complete"] == 1
    assert "has learned to read such requests" in done.stderr
    past = read(index / FILE, ["shop/cancel_team"], fingerprint(index))
    assert past is not None
    assert past.lessons.adapter is not None
    shown = " ".join(RUN.invoke(app, ["show", str(index)]).stderr.split())
    assert "remembers what served 40 past requests, and reads requests as they teach" in shown
    (index / FILE).unlink()
    assert "no experience of past requests" in RUN.invoke(app, ["show", str(index)]).stderr
    (index / FILE).write_bytes(b"damaged")
    assert "cannot be read" in RUN.invoke(app, ["show", str(index)]).stderr


@pytest.mark.parametrize("part", [".", "index"])
def test_the_log_of_a_gateway_is_learned_from(index: Path, part: str):
    """Whether its state folder is given or the index within; what was called and went well has served."""
    memory = Memory(index.parent)
    for number in range(12):
        tool = "shop/cancel_team"
        shown = (ExposedTool(tool, tool, "shop", 0.5, 1, "", Tool(tool, tool)),)
        answer = Exposure("", f"it has never arrived {number}", False, "", shown, (), 10)
        exposure = memory.exposed(Caller("ann", ""), answer, 100, 2.0)
        memory.called(Caller("ann", ""), Call(tool, 1, {}, "ok", "", 4.0), exposure)
    memory.close()
    done = RUN.invoke(app, ["train", "experience", str(index.parent / part), "--from-log", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["kept"] + json.loads(done.stdout)["held"] == 12
    assert (index / FILE).is_file()


def test_one_source_is_asked_for(index: Path, tmp_path: Path):
    """Neither and both are refused."""
    for given in ([], ["--from-log", "--traces", written(tmp_path, pairs())]):
        done = RUN.invoke(app, ["train", "experience", str(index), *given])
        assert done.exit_code != 0
        assert "--from-log" in str(done.exception) + done.output


def test_a_folder_without_a_log_is_named_as_it_was_given(index: Path):
    """And not the one around it."""
    done = RUN.invoke(app, ["train", "experience", str(index), "--from-log"])
    assert f"{index} holds no log" in str(done.exception) + done.output


def test_traces_that_no_tool_served_are_no_experience(index: Path, tmp_path: Path):
    """Nothing fitted any of them: there is nothing to remember, and nothing to measure."""
    rows = [{"query": f"sing {number}", "tools": []} for number in range(12)]
    done = RUN.invoke(app, ["train", "experience", str(index), "--traces", written(tmp_path, rows), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["before"]["complete"] is None
    assert "unknown" in done.stderr
    assert not (index / FILE).exists()


def test_one_request_asked_often_is_one_trace(index: Path, tmp_path: Path):
    """It would else be remembered and judged by at once."""
    asked = ("it has never arrived", "It has  never arrived")
    rows = [{"query": asked[number % 2], "tools": ["shop/cancel_team"]} for number in range(20)]
    done = RUN.invoke(app, ["train", "experience", str(index), "--traces", written(tmp_path, rows)])
    assert done.exit_code != 0
    assert "1 trace" in str(done.exception) + done.output


def test_what_serves_nobody_better_is_not_remembered(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The index is left as it was."""
    monkeypatch.setattr("toolwise.learn.experience.no_worse", lambda before, after: False)
    again = ["train", "experience", str(index), "--traces", written(tmp_path, pairs())]
    done = RUN.invoke(app, again)
    assert done.stderr.endswith("not kept\n")
    assert "6 traces is little to judge by" in done.stderr
    assert not (index / FILE).exists()
    (index / FILE).write_bytes(b"of before")
    assert "what was remembered before stays" in " ".join(RUN.invoke(app, again).stderr.split())
    assert (index / FILE).read_bytes() == b"of before"


def test_logged_traces_count_by_their_outcome(index: Path, tmp_path: Path):
    """What was called and ended well is an example; what failed is none."""
    from toolwise.cli.set_training import read_examples

    rows = [
        {"request": "a", "exposed": [], "called": ["shop/cancel_order"], "outcome": "success"},
        {"request": "b", "exposed": [], "called": ["shop/cancel_order"], "outcome": "failure"},
        {"request": "c", "exposed": [], "called": ["shop/list_orders"], "outcome": 0.5},
    ]
    examples = read_examples(Path(written(tmp_path, rows)))
    assert [(one.text, one.reward) for one in examples] == [("a", 1.0), ("c", 0.5)]
    assert examples[0].tools == {"shop/cancel_order"}


def test_too_few_traces_are_refused(index: Path, tmp_path: Path):
    """Traces of unknown tools do not count; the message says how many are needed."""
    rows = [*pairs()[:3], {"query": "x", "tools": ["shop/none"]}]
    done = RUN.invoke(app, ["train", "sets", str(index), "--traces", written(tmp_path, rows)])
    assert done.exit_code != 0
    assert "1 of 4 traces left out: the index lacks shop/none" in done.stderr
    assert "3 traces" in str(done.exception) + done.output


def test_a_line_that_is_no_trace_is_named(index: Path, tmp_path: Path):
    """The line number is in the message."""
    done = RUN.invoke(app, ["train", "sets", str(index), "--traces", written(tmp_path, [{"tools": 3}])])
    assert done.exit_code != 0
    assert "traces.jsonl:1" in str(done.exception) + done.output


def test_a_damaged_experience_is_made_again(index: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    """Ranking goes on without it, and the command that the warning names works on the index that has it."""
    (index / FILE).write_bytes(b"damaged")
    asked = RUN.invoke(app, ["select", str(index), "cancel the team"])
    assert asked.exit_code == 0, asked.output
    assert "make it again with toolwise train experience" in caplog.text
    done = RUN.invoke(app, ["train", "experience", str(index), "--traces", written(tmp_path, pairs())])
    assert done.exit_code == 0, done.output
    assert RUN.invoke(app, ["select", str(index), "cancel the team"]).exit_code == 0
