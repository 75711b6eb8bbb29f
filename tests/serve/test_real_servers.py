"""Real MCP servers behind the gateway."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_types import CreateMessageResult, ElicitResult, ListRootsResult, Root, TextContent
from pydantic import FileUrl

from tests.serve.harness import (
    ERAS,
    call,
    client,
    found,
    names,
    node,
    outcomes,
    python_server,
    running,
    text,
    until,
)
from toolwise.serve.gateway import upstream

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def audit() -> None:
    """The real one."""


def reference(folder: Path) -> dict[str, Any]:
    """Five servers: three in JavaScript, two in Python."""
    (folder / "files").mkdir()
    subprocess.run(["git", "init", "-q", str(folder / "files")], check=True)
    return {
        "files": node("mcp-server-filesystem", str(folder / "files")),
        "memory": node("mcp-server-memory", env={"MEMORY_FILE_PATH": str(folder / "memory.jsonl")}),
        "everything": node("mcp-server-everything", "stdio"),
        "git": python_server("git"),
        "time": python_server("time"),
    }


async def test_five_servers_are_listed_found_and_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Both eras on both sides: results, structure, errors, progress, resources, prompts, a death."""
    monkeypatch.setattr(upstream, "FIRST_WAIT", 0.1)
    heard: list[float] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append(done)

    async with running(tmp_path, reference(tmp_path), start_wait=35) as gateway:
        assert all(each.status.connected for each in gateway.upstreams.values())
        spoken = {name: each.status.protocol for name, each in gateway.upstreams.items()}
        assert spoken["git"] == spoken["time"] == "2026-07-28"
        assert spoken["files"] < "2026"
        assert len(gateway.view.names) == 52
        for era in ERAS:
            async with client(gateway, era) as agent:
                assert await names(agent) == ["find_tools", "call_tool"]
                assert "time__get_current_time" in await found(agent, "What time is it in Lisbon now?")
                assert "files__read_text_file" in await found(agent, "Read the text file notes.txt")
                zone = await call(agent, "time__get_current_time", timezone="Europe/Lisbon")
                assert json.loads(text(zone))["timezone"] == "Europe/Lisbon"
                path = str(tmp_path / "files" / f"{era}.txt")
                assert not (await call(agent, "files__write_file", path=path, content="hello")).is_error
                read = await call(agent, "files__read_text_file", path=path)
                assert read.structured_content == {"content": "hello"}
                outside = await call(agent, "files__read_text_file", path="/etc/hostname")
                assert outside.is_error
                status = await call(agent, "git__git_status", repo_path=str(tmp_path / "files"))
                assert f"{era}.txt" in text(status)
                weather = await call(agent, "everything__get-structured-content", location="Chicago")
                assert set(weather.structured_content or {}) == {"temperature", "conditions", "humidity"}
                heard.clear()
                long = {
                    "name": "everything__trigger-long-running-operation",
                    "arguments": {"duration": 0.2, "steps": 2},
                }
                await agent.call_tool("call_tool", long, progress_callback=progress)
                await until(lambda: heard == [1, 2])
                listed = (await agent.list_resources()).resources
                contents = (await agent.read_resource(str(listed[0].uri))).contents
                assert contents[0].text  # type: ignore[union-attr]
                templates = (await agent.list_resource_templates()).resource_templates
                assert all(each.uri_template.startswith("toolwise://everything/") for each in templates)
                prompts = [each.name for each in (await agent.list_prompts()).prompts]
                assert "everything__simple-prompt" in prompts
                assert (await agent.get_prompt("everything__simple-prompt")).messages
        server = gateway.upstreams["everything"]
        os.kill(child_of("server-everything"), signal.SIGKILL)
        await until(lambda: not server.status.connected)
        async with client(gateway) as agent:
            assert "is not connected" in text(await call(agent, "everything__echo", message="x"))
            assert not (await call(agent, "time__get_current_time", timezone="UTC")).is_error
            await until(lambda: server.status.connected)
            assert text(await call(agent, "everything__echo", message="back")) == "Echo: back"


@pytest.mark.parametrize("era", ERAS)
async def test_the_reference_server_asks_a_person_a_model_and_for_folders(tmp_path: Path, era: str):
    """Over stdio in an older revision; what it asks before any call is refused and harms no server."""
    asked: list[str] = []

    async def person(context: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"name": "Ann Example"})

    async def model(context: Any, params: Any) -> CreateMessageResult:
        asked.append(params.system_prompt)
        return CreateMessageResult(
            role="assistant", content=TextContent(type="text", text="forty-two"), model="m"
        )

    async def folders(context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl("file:///home/ann"))])

    (tmp_path / "files").mkdir()
    servers = {
        "everything": node("mcp-server-everything", "stdio"),
        "files": node("mcp-server-filesystem", str(tmp_path / "files")),
    }
    able: dict[str, Any] = {
        "elicitation_callback": person,
        "sampling_callback": model,
        "list_roots_callback": folders,
    }
    forward = {"forward_sampling": ["every*"], "forward_roots": ["*"], "allow_calls": ["everything/*"]}
    async with (
        running(tmp_path, servers, start_wait=35, **forward) as gateway,
        client(gateway, era, **able) as agent,
    ):
        assert "Ann Example" in text(await call(agent, "everything__trigger-elicitation-request"))
        sampled = await call(agent, "everything__trigger-sampling-request", prompt="What is it?", maxTokens=9)
        assert "forty-two" in text(sampled)
        assert "/home/ann" in text(await call(agent, "everything__get-roots-list"))
        assert asked[0].startswith("The server 'everything', not toolwise, asks:")
        assert asked[1].startswith("This is asked by the MCP server 'everything', not by the user.")
        allowed = text(await call(agent, "files__list_allowed_directories"))
        assert str(tmp_path / "files") in allowed


def child_of(name: str) -> int:
    """The process below this one whose command line names ``name``."""
    found = subprocess.run(
        ["pgrep", "-P", str(os.getpid()), "-f", name], capture_output=True, text=True, check=True
    )
    return int(found.stdout.split()[0])


@pytest.mark.slow
async def test_the_shop_of_seventy_tools_is_searched_and_called(tmp_path: Path):
    """mcp-server-ecommerce, where it is installed."""
    if shutil.which("mcp-server-ecommerce") is None:
        pytest.skip("mcp-server-ecommerce is not on the path")
    servers = {"shop": {"command": "mcp-server-ecommerce"}}
    async with running(tmp_path, servers, start_wait=35) as gateway, client(gateway) as agent:
        assert len(gateway.view.names) >= 60
        chosen = await found(agent, "Find the order of a customer and tell its status")
        assert any("order" in name for name in chosen)
        assert outcomes(gateway) == []


@pytest.mark.slow
async def test_a_browser_is_driven(tmp_path: Path):
    """playwright-mcp with Chromium, where both are installed."""
    chromium = shutil.which("chromium")
    if shutil.which("playwright-mcp") is None or chromium is None:
        pytest.skip("playwright-mcp or chromium is not on the path")
    page = tmp_path / "page.html"
    page.write_text("<title>Orchard</title><h1>Apples</h1>", encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--isolated", "--allow-unrestricted-file-access"]
    entry = {"command": "playwright-mcp", "args": [*options, "--executable-path", chromium]}
    async with (
        running(tmp_path, {"web": entry}, start_wait=35, approve_level=6) as gateway,
        client(gateway) as agent,
    ):
        with anyio.fail_after(30):
            seen = await call(agent, "web__browser_navigate", url=page.as_uri())
        assert "Orchard" in text(seen)
