"""``toolwise train feedback``: a scripted model acts on real servers, is judged, and leaves traces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the [gateway] extra is not installed")
pytest.importorskip("httpx2", reason="the [openai] extra is not installed")

from tests.audit.endpoint import KEY, Endpoint, Reply, endpoint
from tests.cli.conftest import Run
from tests.learn.script import calls, finishes, gives_up, is_judge, votes
from tests.serve.harness import READS, node, office, python_server, tool
from toolwise import build_index
from toolwise.config import settings
from toolwise.learn.agent import FINISH, GIVE_UP
from toolwise.learn.rewards import read_traces, training_traces

OFFICE = [
    tool("list_shelves", "List the shelves of the archive room.", **READS),
    tool("find_shelf_fails", "Find the shelf of the archive room that holds a box.", **READS),
    tool(
        "delete_all_shelves",
        "Permanently delete all shelves of the archive room; this cannot be undone.",
        annotations={"destructiveHint": True},
    ),
]
ASK = "List the shelves of the archive room."


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    """A chat endpoint that the settings name."""
    with endpoint() as found:
        monkeypatch.setenv("TOOLWISE_OPENAI_BASE_URL", found.url)
        monkeypatch.setenv("TOOLWISE_OPENAI_API_KEY", KEY)
        settings.cache_clear()
        yield found
    monkeypatch.undo()
    settings.cache_clear()


def write_config(folder: Path, **servers: Any) -> Path:
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    return folder / "mcp.json"


def write_requests(folder: Path, *texts: str) -> Path:
    lines = [json.dumps({"id": str(n), "query": text}) for n, text in enumerate(texts)]
    (folder / "requests.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder / "requests.jsonl"


def told(request: dict[str, Any]) -> str:
    """The request of the user that an agent was given."""
    text: str = request["messages"][1]["content"]
    return text


def act(there: Endpoint, scripts: dict[str, list[Reply]], verdict: str = "pass") -> None:
    """Play the script of each request, by its text; the judge says ``verdict``."""
    left = {text: list(replies) for text, replies in scripts.items()}

    def answer(request: dict[str, Any]) -> Reply:
        if is_judge(request):
            return votes(verdict)
        replies = left[told(request)]
        return replies.pop(0) if len(replies) > 1 else replies[0]

    there.answer = answer


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A folder with an index, a configuration and one request over the scripted office."""
    build_index([write_config(tmp_path, archive=office(tmp_path, "archive", OFFICE))], tmp_path / "i")
    write_requests(tmp_path, ASK)
    return tmp_path


def command(folder: Path, *more: object) -> tuple[object, ...]:
    known = ("--requests", folder / "requests.jsonl", "--config", folder / "mcp.json", "--model", "tiny")
    return ("train", "feedback", folder / "i", *known, "--into", folder / "traces.jsonl", *more)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
def test_from_requests_over_real_servers_to_traces(
    run: Run, there: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files, memory and time: a wrong tool, a way back, success; then free; and training reads the traces."""
    monkeypatch.setenv("TOOLWISE_METHOD", "hybrid")  # the script wants more tools than the set search shows
    settings.cache_clear()
    pytest.importorskip("mcp_server_time", reason="mcp-server-time is not installed: `make servers`")
    notes = tmp_path / "notes.txt"
    notes.write_text("buy milk", encoding="utf-8")
    servers = {
        "files": node("mcp-server-filesystem", str(tmp_path)),
        "memory": node("mcp-server-memory", env={"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}),
        "time": python_server("time"),
    }
    build_index([write_config(tmp_path, **servers)], tmp_path / "i")
    read, clock = "Read the text file notes.txt", "Convert 14:30 in Tokyo to New York time"
    graph = "Read the entire knowledge graph"
    write_requests(tmp_path, read, clock, graph)
    convert = {"source_timezone": "Asia/Tokyo", "time": "14:30", "target_timezone": "America/New_York"}
    act(
        there,
        {
            read: [
                calls("files__read_media_file", path=str(tmp_path / "other.txt")),
                gives_up(),
                calls("files__read_multiple_files", paths=[str(notes)]),
                finishes("It says: buy milk"),
            ],
            clock: [calls("time__convert_time", **convert), finishes("Half past midnight.")],
            graph: [calls("memory__read_graph"), finishes("It is empty.")],
        },
    )
    first = run(*command(tmp_path, "--json"))
    assert first.code == 0, first.err
    assert "tools are called for real, up to level 2: files/" in first.err
    said = json.loads(first.out)
    assert (said["traces"], said["known"], said["mean"], said["calls"]) == (3, 0, 1.0, 17)
    wrong, right, time, memory = [call for row in lines(tmp_path / "traces.jsonl") for call in row["called"]]
    assert (wrong, right) == (
        {"id": "files/read_media_file", "ok": False},
        {"id": "files/read_multiple_files", "ok": True},
    )
    assert time == {"id": "time/convert_time", "ok": True}
    assert memory == {"id": "memory/read_graph", "ok": True}
    judged = next(request for request in there.requests if is_judge(request))["messages"][1]["content"]
    assert "buy milk" in judged
    log = read_traces(tmp_path / "traces.jsonl")
    assert log.problems == ()
    assert [sorted(t.gold) for t in training_traces(log.traces)] == [
        ["files/read_multiple_files"],
        ["time/convert_time"],
        ["memory/read_graph"],
    ]
    before = (tmp_path / "traces.jsonl").read_bytes()
    again = run(*command(tmp_path, "--json"))
    assert (json.loads(again.out)["calls"], json.loads(again.out)["known"]) == (0, 3)
    assert (tmp_path / "traces.jsonl").read_bytes() == before
    assert len(there.requests) == 17


def test_the_budget_stops_the_run_and_the_same_command_goes_on(run: Run, there, archive: Path) -> None:
    """Three requests of two calls and one vote; 4 calls stop in the second, what is there is written."""
    texts = [f"{ASK} Floor {n}." for n in range(3)]
    write_requests(archive, *texts)
    script = [calls("archive__list_shelves"), finishes("None.")]
    act(there, {text: list(script) for text in texts})
    stopped = run(*command(archive, "--votes", 1, "--most-calls", 4))
    assert stopped.code == 0
    assert "1 trace in" in stopped.err
    assert "2 of 3 requests are left: the budget is spent; the same command goes on there" in stopped.err
    assert len(lines(archive / "traces.jsonl")) == 1
    act(there, {text: list(script) for text in texts})
    done = json.loads(run(*command(archive, "--votes", 1, "--json")).out)
    assert (done["traces"], done["known"], done["calls"], done["undecided"]) == (3, 1, 6, {})
    assert len(there.requests) == 10


def test_tools_above_the_level_are_not_offered(run: Run, there, archive: Path) -> None:
    """Level 2 is the highest unless told otherwise; what is withheld is counted; no policy is widened."""
    wanted = "Permanently delete all shelves of the archive room."
    write_requests(archive, wanted)
    act(there, {wanted: [finishes("I may not.")]}, "fail")
    risky = "archive/delete_all_shelves"
    result = run(*command(archive, "--policy", "open"))
    assert result.code == 0
    assert "withheld as above level 2: 1 tool; --max-risk decides" in result.err
    (row,) = lines(archive / "traces.jsonl")
    assert risky not in row["exposed"]
    assert row["outcome"] == 0.0
    assert "archive__delete_all_shelves" not in json.dumps(there.requests[0])
    run(*command(archive, "--policy", "open", "--max-risk", 5))
    assert risky in lines(archive / "traces.jsonl")[0]["exposed"]
    assert "archive__delete_all_shelves" in json.dumps(
        there.requests[4]["tools"]
    )  # after one run and three votes
    run(*command(archive, "--policy", "strict", "--max-risk", 5))  # its own highest level is 2
    assert risky not in lines(archive / "traces.jsonl")[0]["exposed"]


def test_a_server_that_is_gone_is_no_crash(run: Run, there, archive: Path) -> None:
    """The agent hears of it, the request stays undecided, and nothing is kept."""
    write_config(archive, archive={"command": str(archive / "no-such-server")})
    act(there, {ASK: [calls("archive__list_shelves"), finishes("I cannot reach it.")]}, "fail")
    result = run(*command(archive, "--json"))
    assert result.code == 0
    assert "server 'archive' is away" in result.err
    assert json.loads(result.out)["undecided"] == {"server": 1}
    assert "is not connected" in there.requests[1]["messages"][-1]["content"]
    assert lines(archive / "traces.jsonl") == []


def test_an_endpoint_that_fails_ends_the_run_with_what_is_there(run: Run, there, archive: Path) -> None:
    """Exit code 14; the first request is written, and the key is in no message."""
    texts = [f"{ASK} Floor {n}." for n in range(2)]
    write_requests(archive, *texts)
    refused = (401, {"error": f"expired: {KEY}"})
    act(there, {texts[0]: [finishes("None.")], texts[1]: [refused]})
    result = run(*command(archive))
    assert (result.code, KEY in result.err) == (14, False)
    assert [row["request"] for row in lines(archive / "traces.jsonl")] == texts[:1]


def test_the_judge_may_be_another_model(run: Run, there, archive: Path) -> None:
    """Acting by one, judging by the other, who is offered no functions."""
    act(there, {ASK: [finishes("None.")]})
    run(*command(archive, "--judge", "wise", "--votes", 2))
    assert [(r["model"], is_judge(r)) for r in there.requests] == [
        ("tiny", False),
        *[("wise", True)] * 2,
    ]
    names = [t["function"]["name"] for t in there.requests[0]["tools"]]
    assert names[-2:] == [FINISH, GIVE_UP]


@pytest.mark.parametrize(
    ("rows", "servers", "code", "words"),
    [
        ("nonsense", {"archive": {"command": "x"}}, 6, "holds no request"),
        ('{"query": "q"}', {"other": {"command": "x"}}, 6, "no tool of the index is of the servers other"),
        ('{"query": "q"}', {}, 3, "none of its 0 servers"),
    ],
)
def test_what_makes_no_sense_is_said_before_anything_starts(
    run: Run, there, archive: Path, rows: str, servers: dict[str, Any], code: int, words: str
) -> None:
    """No model is asked."""
    (archive / "requests.jsonl").write_text(rows, encoding="utf-8")
    write_config(archive, **servers)
    result = run(*command(archive))
    assert (result.code, there.requests) == (code, [])
    assert words in result.err


def test_a_limit_of_cost_without_prices_is_refused(run: Run, there, archive: Path) -> None:
    """It would never bind."""
    result = run(*command(archive, "--most-cost", 1))
    assert (result.code, there.requests) == (9, [])
    assert "llm_price_in" in result.err
