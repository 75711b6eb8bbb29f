"""Our own writing: libraries that ask for what they have, and folds that share nothing."""

import json
from collections import Counter
from pathlib import Path

import pytest

from toolwise.errors import CatalogueError, SourceNotFound
from toolwise.learn.data import Library, Request
from toolwise.learn.own_words import (
    DISTRICTS,
    ELSEWHERE,
    answerable,
    asked_more,
    asked_too,
    districts,
    operation_libraries,
    requests,
    services_of,
    small_libraries,
    small_talk,
    unit,
    without_fold,
)
from toolwise.records import Tool
from toolwise.retrieve.elsewhere import operations

OWN = Path(__file__).parents[2] / "training"


@pytest.fixture(scope="module")
def small():
    return small_libraries(OWN)


@pytest.fixture(scope="module")
def made():
    return operation_libraries(OWN)


def test_small_libraries_have_tools_with_parameters_and_requests_of_every_kind(small):
    """Names are unique, every tool is read, a fifth of the requests or so is served by nothing."""
    assert len({library.name for library in small}) == len(small) > 50
    needed = Counter(min(len(request.gold), 2) for library in small for request in library.requests)
    assert all(needed[count] > 0.1 * needed.total() for count in (0, 1, 2))
    described = [tool.parameters is not None for library in small for tool in library.tools]
    assert sum(described) > 0.9 * len(described)


def test_a_library_keeps_the_rows_of_its_gold_tools(tmp_path):
    """Ids become rows; an empty gold set stays empty."""
    tools = [{"id": f"s/{name}", "name": name, "group": "s", "parameters": {}} for name in "ab"]
    asked = [{"query": "b please", "gold": ["s/b"]}, {"query": "c please", "gold": []}]
    row = {"name": "one", "about": "", "tools": tools, "requests": asked}
    (tmp_path / "libraries.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    (library,) = small_libraries(tmp_path)
    assert library.name == "small/one"
    assert [request.gold for request in library.requests] == [(1,), ()]
    assert [request.text for request in answerable(library).requests] == ["b please"]


def test_unknown_tools_and_missing_folders_are_named(tmp_path):
    """A gold id that is no tool is a mistake of the writing; so is one that is no operation."""
    with pytest.raises(SourceNotFound, match="--own"):
        small_libraries(tmp_path)
    row = {"name": "one", "about": "", "tools": [], "requests": [{"query": "x", "gold": ["s/b"]}]}
    (tmp_path / "libraries.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(CatalogueError, match="'s/b'"):
        small_libraries(tmp_path)
    (tmp_path / "requests.jsonl").write_text('{"ids": ["no/such"], "request": "x"}\n', encoding="utf-8")
    with pytest.raises(CatalogueError, match="'no/such'"):
        requests(tmp_path)


def test_nearly_every_operation_is_asked_for_and_no_request_twice():
    """In words of its own: no request is a part of what it asks for says of itself."""
    told = requests(OWN)
    assert len({one.text.casefold() for one in told}) == len(told)
    assert len({row for one in told for row in one.rows}) > 0.95 * len(operations())
    assert not [one for one in told for row in one.rows if one.text in operations()[row].text.description]


def test_districts_share_no_service_and_are_about_as_large():
    """Each service is in one; none has less than a quarter of the operations."""
    parts = districts()
    assert len(parts) == DISTRICTS
    services = [service for part in parts for service in part]
    assert len(services) == len(set(services)) == len({one.server for one in operations()})
    count = Counter(one.server for one in operations())
    assert min(sum(count[service] for service in part) for part in parts) > len(operations()) / 4


def test_operations_of_a_library_are_of_one_district_and_serve_its_requests(made):
    """Gold rows are those of the request that was written for these operations."""
    asked = {one.text: {operations()[row].id for row in one.rows} for one in requests(OWN)}
    for library in made:
        assert {tool.server for tool in library.tools} <= services_of([library.name])
        for request in library.requests:
            assert {library.tools[row].id for row in request.gold} == asked[request.text]


def test_a_fold_takes_whole_districts_and_each_library_once(made, small):
    """Three folds: every library is out once, and no service of a fold's district stays."""
    every = (*small, *made)
    out = []
    for part in range(3):
        kept, gone = without_fold(every, part, 3)
        assert {unit(library.name) for library in kept}.isdisjoint(unit(library.name) for library in gone)
        assert len(kept) + len(gone) == len(every)
        services = services_of([library.name for library in gone])
        left = [library for library in kept if library.name.startswith(ELSEWHERE)]
        assert services.isdisjoint(tool.server for library in left for tool in library.tools)
        out += [library.name for library in gone]
    assert sorted(out) == sorted(library.name for library in every)


def test_workspaces_are_asked_our_own_requests_too(tmp_path):
    """In place of theirs; a workspace without any is left out, an unknown tool is named."""
    tools = tuple(Tool(f"s/{name}", name) for name in "ab")
    spaces = [Library(f"mcp_tasks/w{n}", tools, (Request("theirs", (0,)),)) for n in (1, 2)]
    row = {"workspace": "mcp_tasks/w2", "query": "b please", "gold": ["s/b"]}
    (tmp_path / "workspaces.jsonl").write_text(json.dumps(row) + "\n\n", encoding="utf-8")
    (found,) = asked_too(spaces, tmp_path)
    assert found == Library("mcp_tasks/w2", tools, (Request("b please", (1,)),))
    (tmp_path / "workspaces.jsonl").write_text(json.dumps(row | {"gold": ["s/c"]}), encoding="utf-8")
    with pytest.raises(CatalogueError, match="'s/c'"):
        asked_too(spaces, tmp_path)
    (tmp_path / "workspaces.jsonl").write_text("{\n", encoding="utf-8")
    with pytest.raises(CatalogueError, match="line 1"):
        asked_too(spaces, tmp_path)


def test_what_serves_our_own_requests_is_learned_beside_theirs(tmp_path):
    """After theirs, and none that nothing serves; other libraries are as they were."""
    tools = tuple(Tool(f"s/{name}", name) for name in "ab")
    spaces = [Library(f"mcp_tasks/w{n}", tools, (Request("theirs", (0,)),)) for n in (1, 2)]
    rows = [{"workspace": "mcp_tasks/w2", "query": q, "gold": g} for q, g in (("b", ["s/b"]), ("c", []))]
    (tmp_path / "workspaces.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    first, second = asked_more(spaces, tmp_path)
    assert first == spaces[0]
    assert second.requests == (Request("theirs", (0,)), Request("b", (1,)))


def test_another_small_library_moves_none_to_another_fold(small):
    """The fold is that of a library's name."""
    folds = [{library.name for library in without_fold(small, part, 3)[1]} for part in range(3)]
    fewer = [{library.name for library in without_fold(small[1:], part, 3)[1]} for part in range(3)]
    assert [fold - {small[0].name} for fold in folds] == fewer
    assert min(map(len, folds)) > len(small) / 4


def test_small_talk_is_cut_by_what_is_said(tmp_path):
    """Every line is of one fold, whichever others there are."""
    (tmp_path / "talk.txt").write_text("hello\n\nthank you\nbye\n", encoding="utf-8")
    folds = [small_talk(part, 3, tmp_path) for part in range(3)]
    assert sorted(line for fold in folds for line in fold) == ["bye", "hello", "thank you"]
    (tmp_path / "talk.txt").write_text("thank you\n", encoding="utf-8")
    assert [("thank you" in fold) for fold in folds] == [bool(small_talk(k, 3, tmp_path)) for k in range(3)]
