"""Queries, runs, risk labels and workspaces as JSON.

    queries       {"id", "query", "tools": [id...], "candidates"?: [id...], "workspace"?: id}
    runs          {"id", "ranked": [[id, score]...], "selected": [id...] | null, "tokens": n | null}
    risk labels   {"id", "risk_level": 1..5}
    workspaces    [{"id", "tools": [id...]}...], one JSON value

The first three are JSONL.  Rows that ``toolwise select --from FILE`` prints
are read as a run too: the order of the answer is its ranking.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from toolwise.errors import EvaluationError
from toolwise.evaluate.judgements import Answer, Qrels, Run, Task
from toolwise.evaluate.lines import is_jsonl, objects, refused, text_of, write
from toolwise.evaluate.trec import read_qrels as read_trec_qrels
from toolwise.evaluate.trec import read_run as read_trec_run
from toolwise.records import Json
from toolwise.wrong_value import unread

_LEVELS = range(1, 6)


def read_tasks(path: str | Path, field: str = "query") -> list[Task]:
    """The queries of a data set; ``field`` is the one that holds the text.

    Raises EvaluationError, naming the line, for a row that is none or an id met twice, and for a file
    without rows.
    """
    path = Path(path)
    tasks: list[Task] = []
    seen: set[str] = set()
    for number, row in objects(path):
        task = _task(path, number, row, field)
        if task.id in seen:
            raise refused(path, number, f"query id {task.id!r} stands twice; expected each id once")
        seen.add(task.id)
        tasks.append(task)
    if not tasks:
        raise EvaluationError(
            f'{path} holds no queries. Expected lines of {{"id", "{field}", "tools"}}.', source=str(path)
        )
    return tasks


def _task(path: Path, number: int, row: Mapping[str, Json], field: str) -> Task:
    workspace = row.get("workspace")
    if not isinstance(row.get(field), str):
        raise refused(path, number, f"{field!r} is {row.get(field)!r}, expected the text of a query")
    if workspace is not None and not isinstance(workspace, str):
        raise refused(path, number, f"'workspace' is {workspace!r}, expected an id")
    gold = _ids(path, number, row, "tools")
    if gold is None:
        raise refused(path, number, "there is no gold set: expected 'tools', [] where nothing serves")
    return Task(
        id=_id(path, number, row),
        text=row[field],
        gold=frozenset(gold),
        candidates=_ids(path, number, row, "candidates"),
        workspace=workspace,
    )


def read_qrels(path: str | Path) -> Qrels:
    """Qrels from a JSONL file of queries or a TREC file, whichever it is.  Raises EvaluationError."""
    path = Path(path)
    return Qrels.of(read_tasks(path)) if is_jsonl(path) else read_trec_qrels(path)


def read_run(path: str | Path, name: str | None = None) -> Run:
    """A run from JSONL, from the output of ``toolwise select --from``, or from a TREC file.

    A JSONL run is named after its file unless ``name`` is given.  Raises
    EvaluationError, naming the line.
    """
    path = Path(path)
    if not is_jsonl(path):
        return read_trec_run(path, name)
    answers: dict[str, Answer] = {}
    for number, row in objects(path):
        query = _id(path, number, row)
        if query in answers:
            raise refused(path, number, f"query {query!r} is answered twice; expected one row per query")
        try:
            answers[query] = _answer(path, number, row)
        except EvaluationError as error:
            if error.facts.get("line") == number:
                raise
            raise refused(path, number, error.message.rstrip(".")) from error
    return Run(answers, name or path.stem)


def _answer(path: Path, number: int, row: Mapping[str, Json]) -> Answer:
    tokens = row.get("tokens")
    if not (tokens is None or (_is_int(tokens) and tokens >= 0)):
        raise refused(path, number, f"'tokens' is {tokens!r}, expected a whole number or null")
    if "ranked" in row:
        return Answer(_ranked(path, number, row["ranked"]), _ids(path, number, row, "selected"), tokens)
    tools = row.get("tools")
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        raise refused(path, number, "expected 'ranked', or 'tools' as `toolwise select --from` prints them")
    listed = [_id(path, number, tool) for tool in tools]
    return Answer.in_order(listed, listed, tokens)


def _ranked(path: Path, number: int, pairs: Json) -> tuple[tuple[str, float], ...]:
    if not isinstance(pairs, list) or not all(_is_pair(pair) for pair in pairs):
        raise refused(path, number, "'ranked' is not a list of [tool id, score]")
    return tuple((tool, float(score)) for tool, score in pairs)


def write_run(run: Run, path: str | Path) -> None:
    """Write a run as JSONL, whole.  Raises EvaluationError for a file that cannot be written."""
    write(
        Path(path),
        [
            json.dumps(
                {
                    "id": query,
                    "ranked": [list(pair) for pair in answer.ranked],
                    "selected": None if answer.selected is None else list(answer.selected),
                    "tokens": answer.tokens,
                },
                ensure_ascii=True,
            )
            for query, answer in run.answers.items()
        ],
    )


def read_levels(path: str | Path) -> dict[str, int]:
    """Tool ids to levels from a file of risk labels.  Raises EvaluationError, naming the line."""
    path = Path(path)
    levels: dict[str, int] = {}
    for number, row in objects(path):
        level, tool = row.get("risk_level"), _id(path, number, row)
        if not isinstance(level, int) or isinstance(level, bool) or level not in _LEVELS:
            raise refused(path, number, f"'risk_level' is {level!r}, expected a whole number from 1 to 5")
        if levels.setdefault(tool, level) != level:
            raise refused(path, number, f"tool {tool!r} has two levels, {levels[tool]} and {level}")
    return levels


def read_workspaces(path: str | Path) -> dict[str, frozenset[str]]:
    """Workspace ids to the tools they hold.  Raises EvaluationError."""
    path = Path(path)
    try:
        content = json.loads(text_of(path))
    except (ValueError, RecursionError) as error:
        raise EvaluationError(
            f'{path} is not JSON: {unread(error)}. Expected a list of {{"id", "tools"}}.', source=str(path)
        ) from error
    if not isinstance(content, list):
        raise EvaluationError(f'{path}: expected a list of {{"id", "tools"}}.', source=str(path))
    found: dict[str, frozenset[str]] = {}
    for number, row in enumerate(content, start=1):
        tools = row.get("tools") if isinstance(row, dict) else None
        if (
            tools is None
            or not _is_id_list(tools)
            or not isinstance(row.get("id"), str)
            or row["id"] in found
        ):
            raise EvaluationError(
                f'{path}: entry {number} is not {{"id": a new text, "tools": [id...]}}.', source=str(path)
            )
        found[row["id"]] = frozenset(tools)
    return found


def _id(path: Path, number: int, row: Mapping[str, Json]) -> str:
    if not isinstance(row.get("id"), str) or not row["id"]:
        raise refused(path, number, f"'id' is {row.get('id')!r}, expected a text that is not empty")
    found: str = row["id"]
    return found


def _ids(path: Path, number: int, row: Mapping[str, Json], key: str) -> tuple[str, ...] | None:
    """The tool ids under ``key``; None where it is absent or null."""
    value = row.get(key)
    if value is None:
        return None
    if not _is_id_list(value):
        raise refused(path, number, f"{key!r} is not a list of tool ids")
    return tuple(value)


def _is_id_list(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _is_int(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_pair(value: Json) -> bool:
    if not isinstance(value, list) or len(value) != 2 or not isinstance(value[0], str):
        return False
    return isinstance(value[1], int | float) and not isinstance(value[1], bool)
