"""Sources in, index out, and what a second run does."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from toolwise import Index, Selector, build_index, from_definitions, index_catalogue
from toolwise.audit.load import load_annotator
from toolwise.auditing import settle
from toolwise.config import settings
from toolwise.encode.static import PACKAGED
from toolwise.errors import BrokenIndex, CatalogueError, EncoderMismatch, IndexBusy, ServerUnreachable
from toolwise.records import Catalogue, Evidence, Judgement, Level, Problem, Verdict
from toolwise.retrieve import elsewhere
from toolwise.store import IndexWriter, Ledger


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


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids of the tools encoded for the index, in order; no annotator that encodes for itself is asked."""
    from toolwise.encode.static import StaticEncoder

    found: list[str] = []
    original = StaticEncoder.encode_tools
    monkeypatch.setattr(
        StaticEncoder,
        "encode_tools",
        lambda self, tools: (found.extend(t.id for t in tools), original(self, tools))[1],
    )
    monkeypatch.setattr("toolwise.indexing.local_annotators", lambda: [load_annotator("rules")])
    return found


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


def test_only_changed_tools_are_encoded_again(tmp_path: Path, encoded: list[str]) -> None:
    """Of three tools one is new, one changed, one the same, one gone."""
    index_catalogue(shop(*GOOD, definition("old", "Gone soon")), tmp_path / "i")
    encoded.clear()
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


def servers(**tools: str) -> Catalogue:
    """A catalogue of one tool a server, described alike."""
    made = [from_definitions([definition(name, "Get it")], server=server) for server, name in tools.items()]
    return Catalogue(tuple(tool for catalogue in made for tool in catalogue.tools))


def told(folder: Path, id_: str) -> list[str]:
    """The codes of the findings on a tool."""
    return [finding.code for finding in Index.open(folder).tool(id_).verdict.findings]


def test_a_new_lookalike_is_told_of_the_older_tool_too(tmp_path: Path, encoded: list[str]) -> None:
    """What did not change is judged again without being encoded; when the twin goes, so does the finding."""
    index_catalogue(servers(a="get_modern", c="weigh"), tmp_path / "i")
    assert told(tmp_path / "i", "a/get_modern") == []
    encoded.clear()
    report = index_catalogue(servers(a="get_modern", b="get_modem", c="weigh"), tmp_path / "i")
    assert (report.added, report.changed, encoded) == (("b/get_modem",), (), ["b/get_modem"])
    assert told(tmp_path / "i", "a/get_modern") == told(tmp_path / "i", "b/get_modem") == ["lookalike-name"]
    assert told(tmp_path / "i", "c/weigh") == []
    index_catalogue(servers(a="get_modern", c="weigh"), tmp_path / "i")
    assert told(tmp_path / "i", "a/get_modern") == []


def test_an_impostor_in_other_letters_is_level_4_until_its_model_goes(tmp_path: Path) -> None:
    """Only the impostor has the finding, and it is found when the honest tool comes second too."""
    fake = "wei\u0261h"
    index_catalogue(servers(b=fake), tmp_path / "i")
    alone = Index.open(tmp_path / "i").tool(f"b/{fake}").level
    index_catalogue(servers(a="weigh", b=fake), tmp_path / "i")
    assert "lookalike-name" in told(tmp_path / "i", f"b/{fake}")
    assert told(tmp_path / "i", "a/weigh") == []
    assert Index.open(tmp_path / "i").tool(f"b/{fake}").level == 4
    index_catalogue(servers(b=fake), tmp_path / "i")
    assert Index.open(tmp_path / "i").tool(f"b/{fake}").level == alone


def test_without_a_change_tools_are_not_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second run costs hashes, no more."""
    index_catalogue(servers(a="get_modern", b="get_modem"), tmp_path / "i")
    monkeypatch.setattr("toolwise.indexing.across", lambda tools: pytest.fail("compared"))
    assert index_catalogue(servers(a="get_modern", b="get_modem"), tmp_path / "i").unchanged == 2


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


def test_folders_of_the_user_are_left_alone(tmp_path: Path) -> None:
    """An index in a folder of one's own removes nothing it did not make."""
    for name in ("generation-logs", "generation-2024", "generation-000001"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "keep.txt").write_text("mine", encoding="utf-8")
    for tools in (GOOD, GOOD[:1], GOOD, GOOD[:1]):
        index_catalogue(shop(*tools), tmp_path)
    kept = {path.parent.name for path in tmp_path.glob("*/keep.txt")}
    assert kept == {"generation-logs", "generation-2024", "generation-000001"}
    assert len([p for p in tmp_path.glob("generation-*") if (p / "vectors.npy").exists()]) == 2


def test_lost_arrays_are_made_again(tmp_path: Path) -> None:
    """Though no tool changed, an index without its vectors or its BM25 arrays is repaired."""
    index_catalogue(shop(*GOOD), tmp_path / "i")
    for lost in ("vectors.npy", "bm25"):
        path = Index.open(tmp_path / "i").arrays / lost
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        assert index_catalogue(shop(*GOOD), tmp_path / "i").unchanged == 2
        assert Selector.open(tmp_path / "i").select("send a parcel").tools


@pytest.mark.parametrize("damage", [b"", b"garbage"])
def test_damaged_arrays_are_a_broken_index(tmp_path: Path, damage: bytes) -> None:
    """Empty or garbled files are named, with the remedy."""
    index_catalogue(shop(*GOOD), tmp_path / "i")
    for path in (Index.open(tmp_path / "i").arrays / "bm25").iterdir():
        path.write_bytes(damage)
    with pytest.raises(BrokenIndex, match="--rebuild"):
        Selector.open(tmp_path / "i")


def test_a_damaged_verdict_is_a_broken_index(tmp_path: Path) -> None:
    """The tool is named."""
    index_catalogue(shop(*GOOD), tmp_path / "i")
    with sqlite3.connect(tmp_path / "i" / "index.sqlite") as connection:
        connection.execute("UPDATE tools SET verdict = '[' WHERE id = 'shop/send_parcel'")
    connection.close()
    with pytest.raises(BrokenIndex, match="shop/send_parcel"):
        Index.open(tmp_path / "i").tool("shop/send_parcel")


def test_a_foreign_database_is_not_written_to(tmp_path: Path) -> None:
    """A table of the same name with other columns is refused, and stays."""
    with sqlite3.connect(tmp_path / "index.sqlite") as connection:
        connection.execute("CREATE TABLE tools (hammer TEXT)")
    connection.close()
    with pytest.raises(BrokenIndex, match="cannot be written"):
        index_catalogue(shop(*GOOD), tmp_path)


def test_no_tool_at_all_because_no_server_answers_is_an_error(tmp_path: Path) -> None:
    """With tools of other sources, or an old listing, it is a reported problem instead."""
    why = Problem("hosts.json", "shop", "", "it failed", kept=False)
    down = Catalogue((), (why,), unreachable=("shop",))
    with pytest.raises(ServerUnreachable, match="shop: it failed"):
        index_catalogue(down, tmp_path / "i")
    others = Catalogue(shop(GOOD[0]).tools, (why,), unreachable=("other",))
    assert index_catalogue(others, tmp_path / "i").tools == 1


def test_a_relative_encoder_folder_means_the_same_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index keeps the full path."""
    (tmp_path / "w").symlink_to(PACKAGED, target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    index_catalogue(shop(*GOOD), tmp_path / "i", encoder="static:w")
    monkeypatch.chdir("/")
    assert Selector.open(tmp_path / "i").select("send a parcel").tools


def test_one_source_need_not_be_a_list(tmp_path: Path) -> None:
    """A single path is a source, not a list of letters."""
    source = tmp_path / "shop.json"
    source.write_text(json.dumps({"tools": list(GOOD)}), encoding="utf-8")
    assert build_index(str(source), tmp_path / "i").tools == 2


def test_another_token_counter_counts_all_tools_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No definition changed, yet the sizes are those of the tokenizer now."""
    index_catalogue(shop(*GOOD), tmp_path / "i")
    before = Index.open(tmp_path / "i").tokens.tolist()
    counting = settings().model_copy(update={"tokenizer": PACKAGED / "tokenizer.json"})
    monkeypatch.setattr("toolwise.indexing.settings", lambda: counting)
    assert index_catalogue(shop(*GOOD), tmp_path / "i").unchanged == 2
    assert Index.open(tmp_path / "i").tokens.tolist() != before


def test_another_edition_of_operations_elsewhere_reads_no_tool_anew(
    tmp_path: Path, encoded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operations are, and the nearest tool to each is one of those that are there then."""
    index_catalogue(shop(*GOOD), tmp_path / "i")
    first = Index.open(tmp_path / "i")
    before = elsewhere.read(first.arrays, first.meta["fingerprint"])
    assert before is not None
    monkeypatch.setattr(elsewhere, "edition", lambda: "of tomorrow")
    encoded.clear()
    report = index_catalogue(shop(*GOOD), tmp_path / "i")
    assert report.unchanged == 2
    assert not [id_ for id_ in encoded if id_.startswith("shop/")]
    now = Index.open(tmp_path / "i")
    assert now.generation == first.generation + 1
    assert elsewhere.read(now.arrays, now.meta["fingerprint"]) is not None
    index_catalogue(shop(*GOOD, definition("play_song", "Play a song or a playlist")), tmp_path / "i")
    last = Index.open(tmp_path / "i")
    after = elsewhere.read(last.arrays, last.meta["fingerprint"])
    assert after is not None
    assert (after.tensors()["nearest_tool"] >= before.tensors()["nearest_tool"] - 1e-3).all()
    assert (after.tensors()["nearest_tool"] > before.tensors()["nearest_tool"] + 0.1).any()


def test_sources_without_tools_do_not_empty_an_index(tmp_path):
    """A configuration that lost its servers is more likely a mistake than a wish; anew is anew."""
    (tmp_path / "tools.jsonl").write_text(
        '{"id": "s/a", "name": "a", "description": "Do a."}\n', encoding="utf-8"
    )
    (tmp_path / "mcp.json").write_text('{"mcpServers": {}}', encoding="utf-8")
    build_index([tmp_path / "tools.jsonl"], tmp_path / "i", encoder="static")
    with pytest.raises(CatalogueError, match=r"holds 1 tool; nothing was changed.*it names no servers"):
        build_index([tmp_path / "mcp.json"], tmp_path / "i")
    assert build_index([tmp_path / "tools.jsonl"], tmp_path / "i").removed == ()
    assert build_index([tmp_path / "mcp.json"], tmp_path / "i", rebuild=True).tools == 0
    assert build_index([tmp_path / "mcp.json"], tmp_path / "j", encoder="static").tools == 0


class Strict:
    """Says that all tools send outside, perhaps."""

    name = "head"

    def annotate(self, tools):
        """The same verdict for each."""
        told = (Evidence("level>=4", "head", "so"),)
        return [Verdict(Level.HIGH, evidence=told, chances=(0.0, 0.0, 0.2)) for _ in tools]


def test_other_annotators_may_judge(tmp_path):
    """In place of the local ones, their guesses with them."""
    index_catalogue(shop(*GOOD), tmp_path / "i", annotators=[Strict()])
    with closing(Index.open(tmp_path / "i")) as index:
        assert index.levels.tolist() == [4, 4]
        assert index.capabilities.tolist() == [0, 0]
        assert index.chances == pytest.approx(np.array([[0, 0, 0.2]] * 2))


def test_guesses_of_the_head_outlive_a_decision_on_another_tool(tmp_path):
    """Votes that a former head left in the ledger, without chances, are made anew where tools are settled."""
    index_catalogue(shop(*GOOD), tmp_path / "i")
    with closing(Index.open(tmp_path / "i")) as index:
        before, tools = index.chances.tolist(), [audited.tool for audited in index.scan()]
    former = Verdict(Level.LOW, evidence=(Evidence("level>=2", "head", "once"),))
    votes = [
        Judgement(tool.id, "head", tool.content_hash, former, "2026-01-01T00:00:00+00:00") for tool in tools
    ]
    Ledger(tmp_path / "i").add(votes, tools)
    settle(tmp_path / "i")
    with closing(Index.open(tmp_path / "i")) as index:
        assert index.chances.tolist() == before
        assert any(0 < chance < 1 for row in before for chance in row)
