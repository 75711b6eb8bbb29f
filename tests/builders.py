"""Small records and indexes for tests of several rooms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np

from toolwise.protocols import Floats
from toolwise.records import (
    AuditedTool,
    Candidate,
    Capability,
    Evidence,
    ExposedTool,
    Exposure,
    Finding,
    Level,
    Permission,
    Severity,
    Tool,
    ToolText,
    Verdict,
)
from toolwise.retrieve import bm25
from toolwise.store import IndexWriter
from toolwise.text import split_identifier


class WordEncoder:
    """A fake encoder whose vectors can be worked out by hand: one axis per word of a fixed list."""

    fingerprint = "words:1"

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self.dim = len(words)

    def encode_queries(self, texts: Sequence[str]) -> Floats:
        """Unit vectors of word counts; zero where no word is known."""
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in enumerate(texts):
            found = split_identifier(text)
            rows[row] = [found.count(word) for word in self.words]
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)

    def encode_tools(self, tools: Sequence[Tool]) -> Floats:
        """The vectors of the tools' names and descriptions."""
        return self.encode_queries([f"{tool.name} {tool.text.description}" for tool in tools])


def tool(id_: str, description: str = "", **fields: object) -> Tool:
    """A tool called as the last part of its id, on the server before it."""
    server, _, name = id_.rpartition("/")
    values = {
        "name": name,
        "server": server,
        "description": description,
        "parameters": {"type": "object", "properties": {}},
        "source": "jsonl",
        "text": ToolText(description),
        "content_hash": sha256(f"{name}|{description}".encode()).hexdigest(),
        **fields,
    }
    return Tool(id_, **values)  # type: ignore[arg-type]


def audited(
    id_: str,
    description: str = "",
    *,
    level: int | None = 1,
    permissions: Iterable[Permission] = (),
    tokens: int = 10,
    **fields: object,
) -> AuditedTool:
    """A tool with a bare verdict."""
    verdict = Verdict(None if level is None else Level(level), frozenset(permissions))
    return AuditedTool(tool(id_, description, **fields), verdict, tokens)


def rich_tool() -> AuditedTool:
    """A tool that uses every field of its records, with text of many scripts."""
    return AuditedTool(
        Tool(
            id="ünï côdé/工具 🧰",
            name="工具 🧰",
            server="ünï côdé",
            title='Ti"tle\n',
            description="наст\u200bройка \x00 \U0001f468\u200d\U0001f469 \u202e",
            parameters={"type": "object", "properties": {"ключ": {"enum": [1, 2.5, None, True, "é"]}}},
            returns=True,
            annotations={"readOnlyHint": False},
            source="mcp",
            text=ToolText("настройка", ("ключ", "clé"), "é 1"),
            content_hash="ab" * 32,
        ),
        Verdict(
            Level.HIGH,
            frozenset({Permission.SHELL, Permission.CODE}),
            frozenset({Capability.EXTERNAL}),
            (Evidence("level>=4", "rules", 'name says "工具"'),),
            (Finding("hidden-unicode", Severity.HIGH, "description", "\\u200b"),),
        ),
        123,
    )


def write(
    folder: Path,
    tools: Sequence[AuditedTool],
    *,
    removed: Iterable[str] = (),
    vectors: Floats | None = None,
    dim: int = 3,
    lexical: bool = False,
    write_arrays: Callable[[Path], None] | None = None,
    **meta: str,
) -> int:
    """Add ``tools`` to the index in ``folder``; vectors that are not given count up by row."""
    with IndexWriter(folder) as writer:
        gone = set(removed)
        ids = sorted((set(writer.hashes()) | {a.tool.id for a in tools}) - gone)
        if vectors is None:
            vectors = np.arange(len(ids) * dim, dtype=np.float32).reshape(len(ids), dim)

        def arrays(generation: Path) -> None:
            if lexical:
                by_id = sorted((a.tool for a in tools), key=lambda tool: tool.id)
                bm25.build(by_id).save(generation / bm25.FOLDER, show_progress=False)

        return writer.commit(
            changed=tools,
            removed=gone,
            vectors=vectors,
            write_arrays=write_arrays or arrays,
            meta={"encoder": "static", "fingerprint": "words:1", **meta},
        )


def pool(*scores: float) -> list[Candidate]:
    """Candidates ``t0``, ``t1``, ... with these scores, best first."""
    return [Candidate(row, f"t{row}", score) for row, score in enumerate(scores)]


def exposure(*tools: Tool) -> Exposure:
    """An answer that holds ``tools``."""
    from toolwise.expose import export_name

    shown = tuple(ExposedTool(t.id, export_name(t.id), t.server, 0.5, 2, "matches x", t) for t in tools)
    return Exposure("q1", "a request", not shown, "because", shown, (), 10 * len(shown))
