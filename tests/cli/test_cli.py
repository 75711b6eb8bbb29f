"""The command line, in process: data on stdout, words on stderr, exit codes as documented."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.conftest import DEMO


def test_index_reports_what_it_did_on_stderr(run: Run, tmp_path: Path) -> None:
    """A first run adds, a second finds nothing to do; stdout stays empty."""
    first = run("index", DEMO, "--into", tmp_path / "i")
    assert (first.code, first.out) == (0, "")
    assert "123 added, 0 changed, 0 removed, 0 unchanged" in first.err
    second = run("index", DEMO, "--into", tmp_path / "i")
    assert "0 added, 0 changed, 0 removed, 123 unchanged" in second.err


def test_index_json_lists_changes(run: Run, tmp_path: Path) -> None:
    """With --json the report is data."""
    source = tmp_path / "s.json"
    source.write_text(
        json.dumps({"tools": [{"name": "a", "inputSchema": None}, {"name": "b"}]}), encoding="utf-8"
    )
    report = json.loads(run("index", source, "--into", tmp_path / "i", "--json").out)
    assert report["added"] == ["s/a", "s/b"]
    assert {p["tool"] for p in report["problems"]} >= {"s/a"}
    source.write_text(
        json.dumps({"tools": [{"name": "a", "description": "now described"}]}), encoding="utf-8"
    )
    result = run("index", source, "--into", tmp_path / "i")
    assert "changed: s/a" in result.err
    assert "removed: s/b" in result.err


def test_select_json_is_the_contract(run: Run, demo_index: Path) -> None:
    """One object with the promised keys, nothing else on stdout."""
    result = run("select", demo_index, "draft an email to Ida", "--json")
    answer = json.loads(result.out)
    assert list(answer) == ["id", "query", "abstained", "reason", "tools", "withheld", "tokens"]
    assert answer["query"] == "draft an email to Ida"
    assert "mail/draft_email" in [tool["id"] for tool in answer["tools"]]
    assert result.err == ""


def test_select_for_a_person_shows_tools_levels_reasons_and_savings(run: Run, demo_index: Path) -> None:
    """The plain answer names each tool, its level and what was saved."""
    out = run("select", demo_index, "draft an email to Ida").out
    assert "mail/draft_email" in out
    assert "L3" in out
    assert "for all 123 tools" in out


@pytest.mark.parametrize(
    ("shape", "keys"),
    [
        ("openai", {"type", "function"}),
        ("anthropic", {"name", "description", "input_schema"}),
        ("langchain", {"name", "description", "args_schema"}),
    ],
)
def test_select_format_prints_a_host_shape(run: Run, demo_index: Path, shape: str, keys: set[str]) -> None:
    """Each host gets a list of its own objects."""
    tools = json.loads(run("select", demo_index, "draft an email", "--format", shape).out)
    assert tools
    assert all(set(tool) == keys for tool in tools)


def test_select_format_mcp_is_a_listing(run: Run, demo_index: Path) -> None:
    """The MCP shape is a tools/list result with hints where the source has them."""
    listing = json.loads(run("select", demo_index, "search my mailbox", "--format", "mcp").out)
    tool = next(tool for tool in listing["tools"] if tool["name"] == "mail__search")
    assert tool["annotations"] == {"readOnlyHint": True, "openWorldHint": False}
    assert tool["inputSchema"]["required"] == ["query"]


def test_limits_on_the_command_line_replace_those_of_the_policy(run: Run, demo_index: Path) -> None:
    """--max-tools, --max-risk, --allow, --deny, --pin and --budget-tokens bind."""

    def chosen(*options: object) -> dict[str, int]:
        answer = json.loads(run("select", demo_index, "send an email to a customer", "--json", *options).out)
        return {tool["id"]: tool["level"] for tool in answer["tools"]}

    assert len(chosen("--max-tools", 1)) == 1
    assert max(chosen("--max-risk", 3).values()) <= 3
    assert set(chosen("--allow", "mail/*")) <= {
        i for i in chosen("--policy", "open", "--max-tools", 50) if "mail/" in i
    }
    assert not any(i.startswith("mail/") for i in chosen("--deny", "mail/*"))
    assert "hr/get_leave_balance" in chosen("--pin", "hr/get_leave_balance")
    budget = json.loads(run("select", demo_index, "send an email", "--json", "--budget-tokens", 200).out)
    assert budget["tokens"] <= 200


def test_a_policy_file_is_used(run: Run, demo_index: Path, tmp_path: Path) -> None:
    """A TOML file on top of a built-in policy."""
    file = tmp_path / "careful.toml"
    file.write_text('extends = "strict"\nmax_tools = 2\n', encoding="utf-8")
    answer = json.loads(run("select", demo_index, "list my emails", "--json", "--policy", file).out)
    assert len(answer["tools"]) <= 2
    assert all(tool["level"] <= 2 for tool in answer["tools"])


def test_many_requests_are_answered_in_order(run: Run, demo_index: Path) -> None:
    """One JSON object per row, ids kept."""
    requests = DEMO.parent / "requests.jsonl"
    result = run("select", demo_index, "--from", requests)
    ids = [json.loads(line)["id"] for line in requests.read_text(encoding="utf-8").splitlines()]
    assert [json.loads(line)["id"] for line in result.out.splitlines()] == ids
    assert result.code == 0


def test_a_bad_row_loses_no_other_and_keeps_its_place(run: Run, demo_index: Path) -> None:
    """The row is named on stderr, answered with its error in place, and the exit code says so."""
    rows = (
        '{"id": "a", "query": "draft an email"}\nnot json\n{"id": "c"}\n{"id": "d", "query": "find orders"}\n'
    )
    result = run("select", demo_index, "--from", "-", stdin=rows)
    answers = [json.loads(line) for line in result.out.splitlines()]
    assert [a["id"] for a in answers] == ["a", "2", "c", "d"]
    assert [a["abstained"] for a in answers] == [False, True, True, False]
    assert answers[1]["reason"].startswith("invalid request: not JSON")
    assert "-:2: not JSON" in result.err
    assert result.code == 6


def test_show_lists_tools_and_shows_one_whole(run: Run, demo_index: Path) -> None:
    """The list has all ids; one tool has its evidence and the name it is exported under."""
    assert run("show", demo_index).out.count("\n") >= 124
    out = run("show", demo_index, "mail/send_email").out
    assert "mail__send_email" in out
    assert "evidence" in out
    whole = json.loads(run("show", demo_index, "mail/send_email", "--json").out)
    assert whole["parameters"]["type"] == "object"
    assert whole["level"] == 4


def test_audit_show_json_is_the_contract(run: Run, demo_index: Path) -> None:
    """One object per tool with the promised keys; the two poisoned tools have findings."""
    rows = [json.loads(line) for line in run("audit", "show", demo_index, "--json").out.splitlines()]
    assert len(rows) == 123
    assert all(
        list(row) == ["id", "level", "permissions", "capabilities", "chances", "evidence", "findings"]
        for row in rows
    )
    codes = {row["id"]: {f["code"] for f in row["findings"]} for row in rows}
    assert "hidden-unicode" in codes["web/convert_currency"]
    assert "agent-instruction" in codes["web/translate_text"]
    assert all(set(f) == {"code", "severity", "field", "text"} for row in rows for f in row["findings"])


def test_audit_show_filters(run: Run, demo_index: Path) -> None:
    """--min-level and --findings narrow the list."""
    risky = [
        json.loads(line)
        for line in run("audit", "show", demo_index, "--json", "--min-level", 5).out.splitlines()
    ]
    assert risky
    assert all(row["level"] == 5 for row in risky)
    found = [
        json.loads(line) for line in run("audit", "show", demo_index, "--json", "--findings").out.splitlines()
    ]
    assert all(row["findings"] for row in found)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("select", "{index}"), 2, "give either a REQUEST or --from"),
        (("select", "{index}", "x", "--json", "--format", "mcp"), 2, "either --json or --format"),
        (("index", "{tmp}/nowhere.json", "--into", "{tmp}/i"), 3, "nowhere.json"),
        (("select", "{tmp}/no-index", "x"), 4, "holds no index"),
        (("index", "{demo}", "--into", "{tmp}/i", "--encoder", "static:{tmp}/none"), 5, "none"),
        (("show", "{index}", "mail/serch"), 6, "did you mean 'mail/search'"),
        (("select", "{index}", "--from", "{tmp}/none.jsonl"), 6, "cannot be read"),
        (("select", "{index}", "x", "--policy", "lax"), 7, "'lax'"),
        (("select", "{index}", "x", "--policy", ""), 7, "no policy called ''"),
        (("select", "{index}", "x", "--max-risk", "9"), 2, "Invalid value for '--max-risk'"),
        (("select", "{index}", "x", "--max-tools", "0"), 2, "Invalid value for '--max-tools'"),
        (("select", "{index}", "x", "--max-tools", "101"), 2, "Invalid value for '--max-tools'"),
        (("select", "{index}", "x", "--budget-tokens", "0"), 2, "Invalid value for '--budget-tokens'"),
        (("select", "{index}", "half \udc80"), 6, "the request holds half a character"),
        (("audit", "show", "{index}", "--min-level", "9"), 2, "Invalid value for '--min-level'"),
        (
            ("select", "{index}", "x", "--method", "magic"),
            9,
            "there are bm25, dense, dual-head, hybrid, toolwise",
        ),
        (("index", "{demo}", "--into", "{tmp}/i", "--encoder", "magic"), 9, "no encoder called 'magic'"),
    ],
)
def test_a_users_mistake_ends_in_one_clear_line_and_a_code(
    run: Run, demo_index: Path, tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    """No traceback, nothing on stdout, the facts on stderr."""
    filled = [a.format(index=demo_index, tmp=tmp_path, demo=DEMO) for a in arguments]
    result = run(*filled)
    assert (result.code, result.out) == (code, "")
    assert words in result.err
    assert "Traceback" not in result.err


def test_a_closed_pipe_is_no_error(demo_index: Path) -> None:
    """`toolwise show DIR | head -1` ends quietly."""
    command = f"{sys.executable} -m toolwise show {demo_index} --json | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, env=os.environ)
    assert json.loads(done.stdout)["id"]
    assert "Traceback" not in done.stderr


def test_the_version_is_printed(run: Run) -> None:
    """--version prints name and version."""
    assert run("--version").out.startswith("toolwise 0.")
