"""Sources in, index out, and what a second run does."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from toolwise import Index, Selector, build_index, from_definitions, index_catalogue
from toolwise.errors import EncoderMismatch, IndexBusy
from toolwise.records import Catalogue
from toolwise.store import IndexWriter


def definition(name: str, description: str) -> dict[str, object]:
    """A small MCP tool."""
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    return {"name": name, "description": description, "inputSchema": schema}


def shop(*definitions: dict[str, object]) -> Catalogue:
    """A catalogue of one server."""
    return from_definitions(definitions, server="shop")


GOOD = (
    definition("list_orders", "List the orders of a customer"),
    definition("send_parcel", "Send a parcel"),
)


def test_a_first_run_adds_everything(tmp_path: Path) -> None:
    """All tools are added, in order of id."""
    report = index_catalogue(shop(*GOOD), tmp_path / "i")
    assert (report.tools, report.added) == (2, ("shop/list_orders", "shop/send_parcel"))
    assert (report.changed, report.removed, report.unchanged) == ((), (), 0)
    assert Index.open(tmp_path / "i").ids == report.added


def test_a_second_run_with_nothing_changed_writes_nothing(tmp_path: Path) -> None:
    """The generation stays as it was."""
    index_catalogue(shop(*GOOD), tmp_path / "i")
    before = Index.open(tmp_path / "i").generation
    report = index_catalogue(shop(*GOOD), tmp_path / "i")
    assert (report.added, report.changed, report.removed, report.unchanged) == ((), (), (), 2)
    assert Index.open(tmp_path / "i").generation == before


def test_only_changed_tools_are_encoded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three tools one is new, one changed, one the same, one gone."""
    index_catalogue(shop(*GOOD, definition("old", "Gone soon")), tmp_path / "i")
    encoded: list[str] = []
    from toolwise.encode.static import StaticEncoder

    original = StaticEncoder.encode_tools
    monkeypatch.setattr(
        StaticEncoder,
        "encode_tools",
        lambda self, tools: (encoded.extend(t.id for t in tools), original(self, tools))[1],
    )
    changed = definition("send_parcel", "Send a parcel by bicycle")
    report = index_catalogue(shop(GOOD[0], changed, definition("weigh", "Weigh a parcel")), tmp_path / "i")
    assert (report.added, report.changed, report.removed) == (
        ("shop/weigh",),
        ("shop/send_parcel",),
        ("shop/old",),
    )
    assert encoded == ["shop/send_parcel", "shop/weigh"]


def test_vectors_after_a_change_equal_those_of_a_fresh_index(tmp_path: Path) -> None:
    """Reusing old vectors puts every one at the row of its tool."""
    tools = [definition(f"tool_{n}", f"Do the thing number {n} with parcels") for n in (5, 1, 9, 3)]
    index_catalogue(shop(*tools), tmp_path / "i")
    tools[1] = definition("tool_1", "Something else altogether")
    tools.insert(0, definition("tool_4", "Count pebbles"))
    index_catalogue(shop(*tools[:-1]), tmp_path / "i")
    index_catalogue(shop(*tools[:-1]), tmp_path / "fresh")
    old, new = Index.open(tmp_path / "i"), Index.open(tmp_path / "fresh")
    assert old.ids == new.ids
    assert (old.vectors == new.vectors).all()


def test_an_index_refuses_another_encoder(tmp_path: Path) -> None:
    """The message names both; --rebuild accepts it."""
    index_catalogue(shop(*GOOD), tmp_path / "i")
    with IndexWriter(tmp_path / "i") as writer:
        writer._connection.execute("UPDATE meta SET value = 'static:other' WHERE key = 'fingerprint'")
        writer._connection.execute("COMMIT")
    with pytest.raises(EncoderMismatch, match=r"static:other.*--rebuild"):
        index_catalogue(shop(*GOOD), tmp_path / "i")
    with pytest.raises(EncoderMismatch):
        Selector.open(tmp_path / "i")
    assert index_catalogue(shop(*GOOD), tmp_path / "i", rebuild=True).tools == 2
    assert Selector.open(tmp_path / "i").select("list orders").tools


def test_a_server_that_cannot_be_reached_keeps_its_last_listing(tmp_path: Path) -> None:
    """Tools of an unreachable server stay; those of a server that dropped them go."""
    index_catalogue(shop(*GOOD), tmp_path / "i")
    down = Catalogue((), (), unreachable=("shop",))
    assert index_catalogue(down, tmp_path / "i").tools == 2
    assert index_catalogue(Catalogue(()), tmp_path / "i").removed == ("shop/list_orders", "shop/send_parcel")


def test_an_index_may_be_empty(tmp_path: Path) -> None:
    """No tools make an index that answers every request with nothing."""
    index_catalogue(Catalogue(()), tmp_path / "i")
    assert Selector.open(tmp_path / "i").select("anything").abstained


def test_two_writers_do_not_mix(tmp_path: Path) -> None:
    """While one writes, the other is told to wait."""
    index_catalogue(shop(*GOOD), tmp_path / "i")
    with IndexWriter(tmp_path / "i"), pytest.raises(IndexBusy):
        index_catalogue(shop(GOOD[0]), tmp_path / "i")


def test_killed_in_the_middle_an_index_stays_readable(tmp_path: Path) -> None:
    """SIGKILL after the new arrays are written: readers see the old state, writers go on."""
    index_catalogue(shop(*GOOD), tmp_path / "i")
    source = tmp_path / "tools.json"
    source.write_text(json.dumps({"tools": [definition("late", "Too late")]}), encoding="utf-8")
    script = (
        "import os, signal, sys\n"
        "import toolwise.store.writer as w\n"
        "w.to_row = lambda tool: os.kill(os.getpid(), signal.SIGKILL)\n"
        "import toolwise\n"
        "toolwise.build_index([sys.argv[1]], sys.argv[2])\n"
    )
    done = subprocess.run([sys.executable, "-c", script, source, tmp_path / "i"], check=False, env=os.environ)
    assert done.returncode == -signal.SIGKILL
    assert Index.open(tmp_path / "i").ids == ("shop/list_orders", "shop/send_parcel")
    assert Selector.open(tmp_path / "i").select("send a parcel").tools
    report = build_index([source], tmp_path / "i")
    assert report.added == ("tools/late",)
    assert Index.open(tmp_path / "i").ids == ("tools/late",)
