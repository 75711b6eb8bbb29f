"""From sources to an index: read, audit, encode, write; only what changed is done again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from toolwise.audit.load import local_annotators
from toolwise.audit.lookalikes import CODES, across
from toolwise.audit.votes import combine, votes_of
from toolwise.catalog import load, with_text
from toolwise.config import settings
from toolwise.encode.load import check_fingerprint, choose
from toolwise.errors import CatalogueError, ServerUnreachable, ToolwiseError
from toolwise.expose import TokenCounter, definition_tokens, original_ids, token_counter
from toolwise.protocols import Annotator, Encoder, Floats, Progress, silent
from toolwise.records import AuditedTool, Catalogue, Finding, Problem, Tool
from toolwise.retrieve import bm25, elsewhere
from toolwise.store import Index, IndexWriter, Ledger
from toolwise.text import count

PIPELINE_VERSION = "3"
"""Goes up when one definition may be read, judged or tokenised differently: then all tools are done again."""

_BATCH = 512


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What indexing changed; ids in order."""

    folder: Path
    encoder: str
    tools: int
    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    problems: tuple[Problem, ...]
    stale: tuple[str, ...] = ()
    """Of the tools judged now, those that :func:`toolwise.auditing.drifted` has from now on."""

    @property
    def unchanged(self) -> int:
        """Tools that were there before, with the same definition."""
        return self.tools - len(self.added) - len(self.changed)


def build_index(
    sources: Sequence[str | Path] | str | Path,
    into: str | Path,
    *,
    encoder: str | None = None,
    rebuild: bool = False,
    progress: Progress = silent,
) -> IndexReport:
    """Make the index in ``into`` hold the tools of ``sources``, no more and no less.

    ``encoder`` is a specification (see :func:`toolwise.encode.load.load_encoder`);
    by default the one the index was made with, or that of the settings.
    Tools of a server that could not be reached stay as they were.  Raises
    CatalogueError, also where no source holds a tool and the index does, unless
    it is made anew; EncoderError, EncoderMismatch, IndexBusy.
    """
    if isinstance(sources, str | Path):
        sources = [sources]
    catalogue = load(sources, progress=progress, text=False)  # texts cost more than hashes: only if needed
    if not catalogue.tools and not catalogue.unreachable and not rebuild:
        _refuse_emptying(catalogue, Path(into))
    return index_catalogue(catalogue, into, encoder=encoder, rebuild=rebuild, progress=progress)


def _refuse_emptying(catalogue: Catalogue, into: Path) -> None:
    """Raise CatalogueError where an index holds tools that sources without any would take away."""
    try:
        with closing(Index.open(into)) as index:
            held = len(index)
    except ToolwiseError:
        return
    if held:
        told = "".join(f" {problem.source}: {problem.message}." for problem in catalogue.problems[:3])
        raise CatalogueError(
            f"no source holds a tool, and the index {into} holds {count(held, 'tool')}; nothing was changed."
            f"{told} Give sources that hold tools, or --rebuild to make the index anew.",
            source=str(into),
        )


def index_catalogue(
    catalogue: Catalogue,
    into: str | Path,
    *,
    encoder: str | None = None,
    rebuild: bool = False,
    annotators: Sequence[Annotator] | None = None,
    progress: Progress = silent,
) -> IndexReport:
    """Like :func:`build_index`, from tools already read; ``annotators`` judge in place of the local ones."""
    with IndexWriter(into, rebuild=rebuild) as writer:
        specification, model = choose(encoder or writer.meta.get("encoder") or settings().encoder)
        check_fingerprint(model, writer.meta, writer.folder)
        known = writer.hashes()
        tools = _with_unreachable(catalogue, writer)
        _refuse_silence(catalogue, tools)
        original_ids(tool.id for tool in tools)
        fresh = [tool for tool in tools if known.get(tool.id) != tool.content_hash]
        removed = tuple(sorted(known.keys() - {tool.id for tool in tools}))
        counter = token_counter(settings().tokenizer)
        made = {"pipeline": PIPELINE_VERSION, "counter": counter.name}
        redo = any(writer.meta.get(key) != value for key, value in made.items()) or (
            bool(known) and not writer.is_intact()
        )
        made["elsewhere"] = elsewhere.edition()  # another edition alone reads no tool anew
        stale: tuple[str, ...] = ()
        if fresh or removed or redo or writer.meta.get("elsewhere") != made["elsewhere"]:
            tools = [with_text(tool) for tool in tools]
            new = {tool.id for tool in fresh}
            todo = [tool for tool in tools if redo or tool.id in new]
            shared = across(tools)
            again = () if redo else _shared_anew(shared, new, writer)
            judged = [tool for tool in tools if redo or tool.id in new or tool.id in again]
            judges = local_annotators() if annotators is None else annotators
            changed, stale = _audited(judged, judges, shared, counter, Ledger(writer.folder), progress)
            vectors = _vectors(tools, todo, known, writer, model, progress)
            writer.commit(
                changed=changed,
                removed=removed,
                vectors=vectors,
                write_arrays=partial(_write_arrays, tools, vectors, model, writer.arrays, progress),
                meta={"encoder": specification, "fingerprint": model.fingerprint, **made},
            )
    return IndexReport(
        folder=Path(into),
        encoder=specification,
        tools=len(tools),
        added=tuple(tool.id for tool in fresh if tool.id not in known),
        changed=tuple(tool.id for tool in fresh if tool.id in known),
        removed=removed,
        problems=catalogue.problems,
        stale=stale,
    )


def _write_arrays(
    tools: Sequence[Tool], vectors: Floats, model: Encoder, before: Path, progress: Progress, folder: Path
) -> None:
    """What belongs to a generation beside its vectors; ``before`` is the folder of the last one."""
    progress("lexical index", 0, 1)
    bm25.build(tools).save(folder / bm25.FOLDER, show_progress=False)
    progress("lexical index", 1, 1)
    progress("operations elsewhere", 0, 1)
    elsewhere.keep(folder, model, vectors, before)
    progress("operations elsewhere", 1, 1)


def _with_unreachable(catalogue: Catalogue, writer: IndexWriter) -> list[Tool]:
    """The tools in order of id, with the last good listing of servers that could not be reached."""
    tools = {tool.id: tool for tool in catalogue.tools}
    for kept in writer.server_tools(catalogue.unreachable):
        tools.setdefault(kept.tool.id, kept.tool)
    return [tools[id_] for id_ in sorted(tools)]


def _refuse_silence(catalogue: Catalogue, tools: Sequence[Tool]) -> None:
    """Raise ServerUnreachable where servers should have been listed and there is no tool at all."""
    if catalogue.unreachable and not tools:
        silent_servers = {p.tool: p.message for p in catalogue.problems if p.tool in catalogue.unreachable}
        reasons = "; ".join(f"{server}: {why}" for server, why in silent_servers.items())
        raise ServerUnreachable(
            f"no MCP server could be listed ({reasons}). Correct the entries or disable them.",
            servers=silent_servers,
        )


def _shared_anew(
    shared: Mapping[str, Sequence[Finding]], new: Collection[str], writer: IndexWriter
) -> frozenset[str]:
    """Ids of unchanged tools that the others show in another light than what the index holds of them."""
    before = writer.findings(CODES)
    return frozenset(
        id_
        for id_ in (shared.keys() | before.keys()) - set(new)
        if set(shared.get(id_, ())) != set(before.get(id_, ()))
    )


def _audited(
    tools: Sequence[Tool],
    annotators: Sequence[Annotator],
    shared: Mapping[str, Sequence[Finding]],
    counter: TokenCounter,
    ledger: Ledger,
    progress: Progress,
) -> tuple[list[AuditedTool], tuple[str, ...]]:
    """The tools with what annotators and the ledger come to, and ids of those with stale judgements.

    ``shared`` are the findings by id that only the whole catalogue shows.
    """
    audited: list[AuditedTool] = []
    stale: list[str] = []
    for start in range(0, len(tools), _BATCH):
        batch = tools[start : start + _BATCH]
        known = ledger.of([tool.id for tool in batch]) if ledger.exists() else {}
        for tool, votes in zip(batch, votes_of(batch, annotators), strict=True):
            outcome = combine([*known.get(tool.id, ()), *votes], tool.content_hash)
            verdict = outcome.among(shared.get(tool.id, ()))
            audited.append(AuditedTool(tool, verdict, definition_tokens(tool, counter)))
            if outcome.stale and not outcome.decided:
                stale.append(tool.id)
        progress("audit", start + len(batch), len(tools))
    return audited, tuple(stale)


def _vectors(
    tools: Sequence[Tool],
    todo: Sequence[Tool],
    known: dict[str, str],
    writer: IndexWriter,
    model: Encoder,
    progress: Progress,
) -> Floats:
    """Vectors (N, D) of ``tools``: those in ``todo`` encoded now, the others taken from the index."""
    old_rows = {id_: row for row, id_ in enumerate(known)}
    new_rows = {tool.id: row for row, tool in enumerate(tools)}
    encoded = {tool.id for tool in todo}
    vectors = np.zeros((len(tools), model.dim), dtype=np.float32)
    kept = [tool.id for tool in tools if tool.id not in encoded]
    if kept:
        vectors[[new_rows[id_] for id_ in kept]] = writer.vectors()[[old_rows[id_] for id_ in kept]]
    for start in range(0, len(todo), _BATCH):
        batch = todo[start : start + _BATCH]
        vectors[[new_rows[tool.id] for tool in batch]] = model.encode_tools(batch)
        progress("encode", start + len(batch), len(todo))
    return vectors
