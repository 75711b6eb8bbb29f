"""TREC run and qrels files.

    run      QUERY Q0 TOOL RANK SCORE NAME
    qrels    QUERY 0 TOOL 1

Ids are percent-encoded, for some hold blanks and slashes.  Qrels have no line
for a query that no tool serves, so the list of all queries lies beside them,
in ``<qrels>.queries``: ``QUERY<tab>=TEXT<tab>=WORKSPACE``, encoded likewise,
a field empty or absent where it is not known.  Delivered sets and sizes do not fit a TREC run;
the JSONL form keeps them (:mod:`toolwise.evaluate.jsonl`).
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, unquote

from toolwise.errors import EvaluationError
from toolwise.evaluate.judgements import Answer, Qrels, Run
from toolwise.evaluate.lines import numbered, refused, write


def encoded(text: str) -> str:
    """``text`` in the characters that cannot end a field."""
    return quote(text, safe="", errors="surrogatepass")


def decoded(field: str) -> str:
    """The text that was encoded as ``field``."""
    return unquote(field, errors="surrogatepass")


def queries_file(path: Path) -> Path:
    """Where the list of queries lies beside the qrels at ``path``."""
    return path.with_name(f"{path.name}.queries")


def write_run(run: Run, path: str | Path) -> None:
    """Write the rankings of a run, queries in its order.

    Raises EvaluationError for an empty id or a file that cannot be written.
    """
    tag = _id(run.name, "run")
    write(
        Path(path),
        [
            f"{_id(query, 'query')} Q0 {_id(tool, 'tool')} {rank} {score!r} {tag}"
            for query, answer in run.answers.items()
            for rank, (tool, score) in enumerate(answer.ranked, start=1)
        ],
    )


def read_run(path: str | Path, name: str | None = None) -> Run:
    """Read a TREC run; ranks follow from the scores, equal ones in order of id.

    The name is that of the first line, unless given.  Raises EvaluationError,
    naming the line.
    """
    path = Path(path)
    ranked: dict[str, dict[str, float]] = {}
    for number, line in numbered(path):
        fields = line.split()
        if len(fields) != 6:
            raise refused(path, number, f"found {len(fields)} fields, expected QUERY Q0 TOOL RANK SCORE NAME")
        query, tool = decoded(fields[0]), decoded(fields[2])
        name = name or decoded(fields[5])
        if tool in ranked.setdefault(query, {}):
            raise refused(path, number, f"tool {tool!r} stands twice in the ranking of query {query!r}")
        try:
            ranked[query][tool] = float(fields[4])
            Answer(((tool, ranked[query][tool]),))
        except (ValueError, EvaluationError) as error:
            raise refused(path, number, f"score {fields[4]!r} is not a finite number") from error
    return Run({query: Answer(tuple(scores.items())) for query, scores in ranked.items()}, name or path.stem)


def write_qrels(qrels: Qrels, path: str | Path) -> None:
    """Write qrels and, beside them, the list of all queries.

    Raises EvaluationError for an empty id or a file that cannot be written.
    """
    path = Path(path)
    listed = []
    for query in qrels.gold:
        known = (qrels.texts.get(query), qrels.clusters.get(query))
        fields = [_id(query, "query"), *("" if field is None else f"={encoded(field)}" for field in known)]
        listed.append("\t".join(fields).rstrip("\t"))
    lines = [
        f"{_id(query, 'query')} 0 {_id(tool, 'tool')} 1"
        for query, gold in qrels.gold.items()
        for tool in sorted(gold)
    ]
    write(queries_file(path), listed)
    write(path, lines)


def read_qrels(path: str | Path) -> Qrels:
    """Read qrels and the list of queries, where it lies beside them; else queries without gold are unknown.

    A relevance of 0 or less makes a tool no gold.  Raises EvaluationError, naming the line.
    """
    path = Path(path)
    listed = _listed(queries_file(path)) if queries_file(path).is_file() else None
    gold: dict[str, set[str]] = {query: set() for query in listed.gold} if listed else {}
    for number, line in numbered(path):
        fields = line.split()
        if len(fields) != 4:
            raise refused(path, number, f"found {len(fields)} fields, expected QUERY 0 TOOL RELEVANCE")
        query, tool = decoded(fields[0]), decoded(fields[2])
        if listed and query not in listed.gold:
            raise refused(path, number, f"query {query!r} is not in {queries_file(path)}; list it there")
        try:
            relevant = int(fields[3]) > 0
        except ValueError as error:
            raise refused(path, number, f"relevance {fields[3]!r} is not a whole number") from error
        gold.setdefault(query, set()).update([tool] if relevant else [])
    return Qrels(
        {query: frozenset(tools) for query, tools in gold.items()},
        listed.texts if listed else {},
        listed.clusters if listed else {},
    )


def _listed(path: Path) -> Qrels:
    """The queries of a list, without gold."""
    gold: dict[str, frozenset[str]] = {}
    texts: dict[str, str] = {}
    clusters: dict[str, str] = {}
    for number, line in numbered(path):
        fields = line.rstrip("\r").split("\t")
        query = decoded(fields[0].strip())
        if len(fields) > 3:
            raise refused(
                path, number, f"found {len(fields)} fields, expected QUERY, or with TEXT and WORKSPACE"
            )
        if query in gold:
            raise refused(path, number, f"query {query!r} stands twice; expected each query once")
        gold[query] = frozenset()
        for field, known in zip(fields[1:], (texts, clusters), strict=False):
            if field:
                known[query] = decoded(field.removeprefix("="))
    return Qrels(gold, texts, clusters)


def _id(text: str, what: str) -> str:
    if not text:
        raise EvaluationError(f"a {what} has an empty id, which a TREC file cannot hold. Name it.", what=what)
    return encoded(text)
