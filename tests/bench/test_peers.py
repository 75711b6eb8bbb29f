"""Rivals as processes: the protocol, what may go wrong with it, and the table of rivals."""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolwise.bench import peers
from toolwise.bench.peers import RIVALS, Rival, process
from toolwise.bench.peers.install import main
from toolwise.bench.peers.process import FOLDER, PeerProcess, available, install
from toolwise.encode.static import StaticEncoder
from toolwise.errors import PeerError
from toolwise.records import Tool

ADAPTERS = Path(peers.__file__).parent / "adapters"
TOOLS = [Tool(id=f"shop.{name}", name=name, description=f"{name} it") for name in ("find", "buy", "send")]
OWN_WIRE = f"import sys; sys.path.insert(0, {str(ADAPTERS)!r})\nfrom peer_wire import serve\n"
ANSWERS_BUILD = """
import json, os, sys, time
def say(answer): print(json.dumps(answer), flush=True)
sys.stdin.readline()
say({"ok": True, "cpu_s": 0.5, "wall_s": 1, "peak_mb": 10})
sys.stdin.readline()
"""


@pytest.fixture
def fake(tmp_path):
    """Make a process of a script's text; every process is closed at the end."""
    made = []

    def make(text, **limits):
        script = tmp_path / f"fake{len(made)}.py"
        script.write_text(text, encoding="utf-8")
        made.append(PeerProcess("fake", [sys.executable, str(script)], **{"search_s": 20.0, **limits}))
        return made[-1]

    yield make
    for one in made:
        one.close()


def _module(name):
    spec = importlib.util.spec_from_file_location(name, ADAPTERS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_a_rival_prints_does_not_reach_the_protocol(fake):
    """Prints from Python, from below it and from a child process go to stderr, whenever they come."""
    peer = fake(
        OWN_WIRE
        + """
import os, subprocess
class Noisy:
    def __init__(self): print("hello")
    def build(self, tools):
        os.write(1, b"{\\"ok\\": false}\\n")
        self.ids = [tool["id"] for tool in tools]
    def search(self, query, k):
        subprocess.run(["echo", "from a child"])
        print("still here")
        return self.ids
serve(Noisy)
"""
    )
    cost = peer.build(TOOLS)
    assert cost.cpu_s >= 0
    assert cost.wall_s >= 0
    assert cost.peak_mb > 1
    assert peer.search("anything", 2).ids == ("shop.find", "shop.buy")
    assert peer.search("anything", 9).ids == ("shop.find", "shop.buy", "shop.send")


def test_a_rival_gets_the_definitions_as_they_came(fake):
    """Name, description, parameters and server, with null where there are no parameters."""
    peer = fake(
        OWN_WIRE
        + """
class Echo:
    def build(self, tools): raise ValueError(repr(tools))
serve(Echo)
"""
    )
    tool = Tool(id="a.b", name="b", server="a", description="é", parameters=None)
    with pytest.raises(PeerError) as caught:
        peer.build([tool])
    row = {"id": "a.b", "name": "b", "description": "é", "parameters": None, "server": "a"}
    assert str(caught.value) == f"fake reports an error: ValueError: {[row]!r}"


def test_the_cpu_of_all_threads_counts(fake):
    """A rival that works in a thread is charged for it."""
    peer = fake(
        OWN_WIRE
        + """
import threading, time
def spin():
    end = time.thread_time() + 0.2
    while time.thread_time() < end: pass
class Threaded:
    def build(self, tools): pass
    def search(self, query, k):
        thread = threading.Thread(target=spin); thread.start(); thread.join()
        return []
serve(Threaded)
"""
    )
    assert peer.build(TOOLS).cpu_s < 0.1
    assert peer.search("anything", 2).cpu_s >= 0.2


def test_the_memory_of_whoever_started_it_is_not_the_rivals(fake):
    """A small rival of a large parent is small."""
    ballast = b"x" * 200_000_000
    peer = fake(OWN_WIRE + "class Small:\n    def build(self, tools): pass\nserve(Small)\n")
    assert 1 < peer.build(TOOLS).peak_mb < len(ballast) / 1e6


def test_a_reported_error_leaves_the_rival_running(fake):
    """After {"error": ...} the next request is answered; the error is quoted."""
    peer = fake(
        OWN_WIRE
        + """
class Picky:
    def build(self, tools): pass
    def search(self, query, k):
        if query == "bad": raise KeyError("no such word")
        return ["shop.buy", "shop.buy", "shop.find"]
serve(Picky)
"""
    )
    peer.build(TOOLS)
    with pytest.raises(PeerError, match="fake reports an error: KeyError: 'no such word'"):
        peer.search("bad", 5)
    assert peer.search("good", 5).ids == ("shop.buy", "shop.find")  # repeats are dropped by the wire


def test_a_library_that_does_not_load_is_an_error(fake):
    """An adapter whose constructor fails says so, to every request."""
    peer = fake(OWN_WIRE + "def make(): import no_such_library\nserve(make)\n")
    for _ in range(2):
        with pytest.raises(PeerError, match="ModuleNotFoundError: No module named 'no_such_library'"):
            peer.build(TOOLS)


def test_a_crash_is_told_with_the_last_words(fake):
    """The status and the end of stderr are in the message."""
    peer = fake(ANSWERS_BUILD + 'sys.stderr.write("out of luck\\n"); sys.exit(7)')
    assert peer.build(TOOLS).cpu_s == 0.5
    with pytest.raises(PeerError, match=r"ended with status 7 during 'search'") as caught:
        peer.search("anything", 5)
    assert caught.value.said == "out of luck"
    assert caught.value.peer == "fake"
    with pytest.raises(PeerError, match="fake does not run; build its tools first"):
        peer.search("anything", 5)
    assert peer.build(TOOLS).cpu_s == 0.5  # it starts again


def test_a_rival_that_stops_talking_but_lives_is_ended(fake):
    """Its output closed, there is nothing to wait for."""
    peer = fake(ANSWERS_BUILD + "os.close(1); time.sleep(60)")
    peer.build(TOOLS)
    with pytest.raises(PeerError, match="closed its output during 'search'"):
        peer.search("anything", 5)


def test_garbage_on_the_wire_is_quoted(fake):
    """A line that is no JSON object ends the conversation."""
    peer = fake(ANSWERS_BUILD + 'print("Loading model...", flush=True); time.sleep(60)')
    peer.build(TOOLS)
    with pytest.raises(PeerError, match=r"answered 'Loading model...\\n', which is not a JSON object"):
        peer.search("anything", 5)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ({"ids": ["shop.steal"], "cpu_s": 0, "peak_mb": 1}, "ids of no tool it was given: ['shop.steal']"),
        ({"ids": ["shop.buy", "shop.buy"], "cpu_s": 0, "peak_mb": 1}, "2 ids, 1 of them distinct, for k=2"),
        (
            {"ids": ["shop.buy", "shop.find", "shop.send"], "cpu_s": 0, "peak_mb": 1},
            "3 ids, 3 of them distinct",
        ),
        ({"ids": [3], "cpu_s": 0, "peak_mb": 1}, "lacks a list of ids"),
        ({"ids": [], "cpu_s": -1, "peak_mb": 1}, "cpu_s=-1, which is no amount"),
        ({"ids": [], "cpu_s": float("nan"), "peak_mb": 1}, "cpu_s=nan, which is no amount"),
        ({"ids": [], "peak_mb": 1}, "cpu_s=None, which is no amount"),
        ([], "not a JSON object"),
    ],
)
def test_answers_that_cannot_be_right_are_refused(fake, answer, complaint):
    """Foreign, repeated and surplus ids, and amounts that are none."""
    peer = fake(ANSWERS_BUILD + f"nan = float('nan')\nsay({answer!r})")
    peer.build(TOOLS)
    with pytest.raises(PeerError) as caught:
        peer.search("anything", 2)
    assert complaint in str(caught.value)


def test_a_slow_rival_is_ended_with_its_children(fake, tmp_path):
    """After the limit nothing of it runs any more."""
    pid_file = tmp_path / "pid"
    peer = fake(
        ANSWERS_BUILD
        + f"""
import subprocess
child = subprocess.Popen(["sleep", "60"])
open({str(pid_file)!r}, "w").write(str(child.pid))
time.sleep(60)
""",
        search_s=2.0,
    )
    peer.build(TOOLS)
    started = time.monotonic()
    with pytest.raises(PeerError, match=r"gave no answer to 'search' within 2 s"):
        peer.search("anything", 5)
    assert time.monotonic() - started < 20
    assert _gone(int(pid_file.read_text(encoding="utf-8")))


def _gone(pid):
    """Whether a process has ended; it may stay a zombie where nobody reaps orphans."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        status = Path(f"/proc/{pid}/stat")
        if status.exists() and status.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


def test_a_rival_that_does_not_read_cannot_block_us(fake):
    """A request larger than a pipe holds is given up in time as well."""
    peer = fake("import time; time.sleep(60)", build_s=0.5)
    large = [Tool(id="a.b", name="b", description="word " * 100_000)]
    with pytest.raises(PeerError, match=r"gave no answer to 'build' within 0.5 s"):
        peer.build(large)


def test_an_interrupt_leaves_no_timer_behind(fake, monkeypatch):
    """Whoever stops the bench need not wait for the limit of the rival's step."""

    def stopped(*arguments):
        raise KeyboardInterrupt

    rival = fake(ANSWERS_BUILD, build_s=60.0)
    before = set(threading.enumerate())
    monkeypatch.setattr(process, "_exchange", stopped)
    with pytest.raises(KeyboardInterrupt):
        rival.build(TOOLS)
    timers = set(threading.enumerate()) - before
    for timer in timers:
        timer.join(5.0)
    left = [timer for timer in timers if timer.is_alive()]
    for timer in left:
        timer.cancel()
    assert left == []


def test_keys_of_providers_stay_here(fake, monkeypatch):
    """A rival gets a small environment: one thread, nothing to download."""
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    peer = fake(
        OWN_WIRE
        + """
import os
class Env:
    def build(self, tools): raise ValueError(" ".join(f"{k}={v}" for k, v in os.environ.items()))
serve(Env)
"""
    )
    with pytest.raises(PeerError) as caught:
        peer.build(TOOLS)
    assert "secret" not in str(caught.value)
    assert "OMP_NUM_THREADS=1" in str(caught.value)
    assert "HF_HUB_OFFLINE=1" in str(caught.value)


def test_a_command_that_does_not_start_is_an_error(tmp_path):
    """The path and the reason are in the message."""
    with pytest.raises(PeerError, match=r"fake: .*nowhere does not start \(No such file or directory\)"):
        PeerProcess("fake", [str(tmp_path / "nowhere")]).start()


def test_a_rival_that_is_not_installed_is_an_error(tmp_path):
    """Asking for it names what to run; an unknown name lists the known ones."""
    with pytest.raises(PeerError, match=r"bm25s is not installed in .*; run `make peers`"):
        PeerProcess.of("bm25s", tmp_path)
    with pytest.raises(PeerError, match="'bm52s' is no rival; the rivals are agent-tool-router, bm25s, "):
        PeerProcess.of("bm52s", tmp_path)


def test_a_rival_is_told_another_table(tmp_path):
    """After its own arguments, by its full path; without one nothing is said."""
    row = peers.RIVALS["callbus-hybrid"]
    (tmp_path / row.home).mkdir()
    (tmp_path / row.home / "toolwise-requirements.txt").write_text(
        "\n".join(row.requirements) + "\n", encoding="utf-8"
    )
    plain = PeerProcess.of("callbus-hybrid", tmp_path)._command
    told = PeerProcess.of("callbus-hybrid", tmp_path, table=tmp_path / "fold")._command
    assert plain[-1] == "hybrid"
    assert told == (*plain, f"--table={tmp_path / 'fold'}")


def test_available_are_those_with_what_the_table_asks_for(tmp_path):
    """An environment with other pins, or none, does not count; variants share one."""
    assert available(tmp_path) == []
    for home, content in (
        ("bm25s", "bm25s==0.0.1\n"),
        ("callbus", "\n".join(RIVALS["callbus-bm25"].requirements) + "\n"),
    ):
        (tmp_path / home).mkdir()
        (tmp_path / home / "toolwise-requirements.txt").write_text(content, encoding="utf-8")
    assert available(tmp_path) == ["callbus-bm25", "callbus-hybrid"]


def test_installing_never_raises_for_one_rival(tmp_path, monkeypatch):
    """An unknown name and a Python that makes no environment are reported, in the order asked for."""
    monkeypatch.setattr(process.sys, "executable", str(tmp_path / "nowhere"))
    first, second = install(["nobody", "bm25s"], tmp_path)
    assert (first.name, first.ok, second.name, second.ok) == ("nobody", False, "bm25s", False)
    assert "'nobody' is no rival" in first.detail
    assert "No such file or directory" in second.detail
    assert available(tmp_path) == []


def test_the_report_has_a_line_per_rival(tmp_path, capsys):
    """A failure is indented below its rival, and is the exit status."""
    assert main(["nobody"], tmp_path) == 1
    name, detail = capsys.readouterr().out.splitlines()
    assert name.split() == ["nobody", "failed"]
    assert detail.startswith("    'nobody' is no rival")


@pytest.mark.slow
def test_pip_has_the_last_word_on_a_failure(tmp_path, monkeypatch):
    """What pip said last is the detail, and the environment does not count as installed."""
    missing = tmp_path / "absent.whl"
    monkeypatch.setitem(RIVALS, "absent", Rival("absent", (str(missing),), "bm25s_plain.py", "", "absent"))
    (result,) = install(["absent"], tmp_path / "homes")
    assert not result.ok
    assert "absent.whl" in result.detail
    assert len(result.detail.splitlines()) <= 5
    assert available(tmp_path / "homes") == []


def test_every_rival_is_pinned_and_has_an_adapter():
    """Names in order; every requirement exact; one environment, one list of requirements."""
    assert list(RIVALS) == sorted(RIVALS)
    homes = {}
    for name, rival in RIVALS.items():
        assert rival.name == name
        assert (ADAPTERS / rival.adapter).is_file()
        assert all(requirement.count("==") == 1 for requirement in rival.requirements)
        assert homes.setdefault(rival.home, rival.requirements) == rival.requirements
    used = {rival.adapter for rival in RIVALS.values()} | {"__init__.py", "peer_wire.py", "peer_vectors.py"}
    assert {path.name for path in ADAPTERS.glob("*.py")} == used


@pytest.mark.parametrize("path", sorted(ADAPTERS.glob("*.py")), ids=lambda path: path.stem)
def test_adapters_do_not_import_toolwise(path):
    """A rival's Python has no toolwise."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names = [node.module]
        assert not [name for name in names if name.split(".")[0] == "toolwise"]


def test_the_shared_vectors_are_those_of_our_encoder():
    """Read with or without toolwise, the table gives a text the same vector, and an unknown one zeros."""
    texts = ["refund an order", "Lower the heating", "x"]
    shared = _module("peer_vectors").StaticTable()
    ours = StaticEncoder()
    assert shared.dim == ours.dim
    np.testing.assert_allclose(shared.encode(texts), ours.encode_queries(texts), atol=1e-6)
    assert not shared.encode([""]).any()
    assert shared.lists(["x"])[0] == shared.encode(["x"])[0].tolist()


def test_the_shared_vectors_are_read_where_the_command_line_says(tmp_path, monkeypatch):
    """The table of another folder, in which every row is the first one of ours."""
    from safetensors.numpy import load_file, save_file

    module = _module("peer_vectors")
    table = load_file(module.FOLDER / "table.safetensors")
    save_file(
        {**table, "rows": np.ascontiguousarray(table["rows"][:1].repeat(len(table["rows"]), axis=0))},
        tmp_path / "table.safetensors",
    )
    (tmp_path / "tokenizer.json").write_bytes((module.FOLDER / "tokenizer.json").read_bytes())
    monkeypatch.setattr("sys.argv", ["adapter", "hybrid", f"--table={tmp_path}"])
    found = module.StaticTable().encode(["refund an order", "heating"])
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)


@given(st.lists(st.sampled_from(["", "a", "a_2", "a_3", "b", "t1"])))
def test_names_for_rivals_are_unique(names):
    """One name a tool, in order; the first bearer keeps its own, the second is number 2."""
    tools = [{"id": f"t{number}", "name": name} for number, name in enumerate(names)]
    found = _module("peer_wire").unique_names(tools)
    assert list(found.values()) == [tool["id"] for tool in tools]
    if names and names[0]:
        assert next(iter(found)) == names[0]
    assert [*_module("peer_wire").unique_names([{"id": i, "name": "a"} for i in "pqr"])] == [
        "a",
        "a_2",
        "a_3",
    ]


VERBS = ("find", "book", "cancel")
THINGS = ("hotel", "flight", "table", "doctor", "cinema", "taxi", "parcel", "locker", "gym", "museum")
THIRTY = [
    Tool(
        id=f"{thing}.{verb}",
        name=f"{verb}_{thing}",
        server=thing,
        description=f"{verb} a {thing} for someone",
        parameters={"type": "object", "properties": {"when": {"type": "string"}}},
    )
    for thing in THINGS
    for verb in VERBS
]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bm25s", "fastmcp"])
def test_installed_rivals_find_the_tool_that_is_named(name):
    """Of thirty tools the one that shares both words with the request comes first."""
    if name not in available(FOLDER):
        pytest.skip(f"{name} is not installed; run `make peers`")
    with PeerProcess.of(name, FOLDER) as peer:
        assert peer.build(THIRTY).peak_mb > 1
        for thing in THINGS:
            found = peer.search(f"please cancel the {thing}", 5)
            assert found.ids[0] == f"{thing}.cancel"
            assert len(found.ids) == 5
            assert found.cpu_s > 0
