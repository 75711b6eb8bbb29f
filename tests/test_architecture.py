"""The house rules, read from the imports and the syntax of every module."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import toolwise

ROOT = Path(toolwise.__file__).parent
FOUNDATION = {
    "records",
    "protocols",
    "errors",
    "text",
    "concealed",
    "wrong_value",
    "hygiene",
    "schema",
    "threads",
    "config",
    "registry",
    "whole_file",
}
ROOMS = {
    "catalog",
    "audit",
    "encode",
    "store",
    "retrieve",
    "rerank",
    "sets",
    "policy",
    "expose",
    "learn",
    "evaluate",
}
OVER_ROOMS = {"auditing", "indexing", "judging", "methods", "pipeline", "explain", "tuning"}
SKINS = {"cli", "bench", "serve", "__main__"}
MAY_PRINT = {"cli", "__main__"}
DOOR = "toolwise"
MAY_ENTER = {
    "audit": {"encode"},
    "retrieve": {"store", "encode"},
    "rerank": {"store", "encode"},
    "sets": {"store", "encode", "retrieve", "audit"},
    "learn": {"encode", "catalog", "retrieve", "audit", "rerank", "sets", "expose"},
}
"""Rooms that may import other rooms."""
HEAVY = {"torch", "transformers"}
NEVER_AT_START = {
    "mcp",
    "httpx2",
    "onnxruntime",
    "sentence_transformers",
    "torch",
    "transformers",
}
LONGEST_FILE = 400
NO_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}


@dataclass(frozen=True)
class Import:
    """One import statement: who, what, where, and whether it runs at module level."""

    importer: str
    target: str
    line: int
    on_import: bool
    typing_only: bool


@cache
def trees() -> dict[str, tuple[Path, ast.Module]]:
    """Dotted module name -> path and syntax tree, for the whole package."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = ("toolwise", *path.relative_to(ROOT).with_suffix("").parts)
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = (path, ast.parse(path.read_text(encoding="utf-8"), str(path)))
    return found


@cache
def imports() -> tuple[Import, ...]:
    """Every import of the package."""
    return tuple(found for name, (_, tree) in trees().items() for found in _imports_of(name, tree))


def _imports_of(name: str, tree: ast.Module) -> Iterator[Import]:
    stack: list[tuple[ast.AST, bool, bool]] = [(tree, True, False)]
    while stack:
        node, on_import, typing_only = stack.pop()
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(name, alias.name, node.lineno, on_import, typing_only)
        elif isinstance(node, ast.ImportFrom):
            for target in _targets(name, node):
                yield Import(name, target, node.lineno, on_import, typing_only)
        elif isinstance(node, ast.If) and _is_type_checking(node.test):
            stack += [(child, on_import, True) for child in node.body]
            stack += [(child, on_import, typing_only) for child in node.orelse]
            continue
        inside = on_import and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        stack += [(child, inside, typing_only) for child in ast.iter_child_nodes(node)]


def _targets(importer: str, node: ast.ImportFrom) -> list[str]:
    """The modules a ``from`` import reads: a name that is itself a module counts as that module."""
    base = node.module or ""
    if node.level:
        package = importer.split(".") if _is_package(importer) else importer.split(".")[:-1]
        base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])
    submodules = {f"{base}.{alias.name}" for alias in node.names} & trees().keys()
    plain = len(submodules) < len(node.names)
    return [*sorted(submodules), *([base] if plain else [])]


def _is_package(name: str) -> bool:
    return trees()[name][0].name == "__init__.py"


def _is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def part_of(module: str) -> str:
    """The room, or top-level module, that holds a module of the package."""
    return module.split(".")[1] if "." in module else DOOR


def own(found: Import) -> bool:
    """Whether an import stays within the package."""
    return found.target.split(".")[0] == "toolwise"


def shown(found: Import) -> str:
    """An import as a line to look up."""
    return f"{found.importer}:{found.line} imports {found.target}"


def allowed(part: str) -> set[str]:
    """The parts of the house that ``part`` may import."""
    if part in FOUNDATION:
        return FOUNDATION
    if part in ROOMS:
        return FOUNDATION | {part} | MAY_ENTER.get(part, set())
    if part in OVER_ROOMS:
        return FOUNDATION | ROOMS | OVER_ROOMS
    if part == DOOR:
        return FOUNDATION | ROOMS | OVER_ROOMS
    return FOUNDATION | ROOMS | OVER_ROOMS | SKINS


def test_every_module_has_a_place_in_the_house():
    """A new top-level module or room is a decision, made here."""
    parts = {part_of(name) for name in trees()}
    assert parts - {DOOR} <= FOUNDATION | ROOMS | OVER_ROOMS | SKINS
    assert parts >= FOUNDATION


def test_imports_point_downwards():
    """Foundation imports foundation; rooms are strangers but for the named pairs; only skins import skins."""
    wrong = [shown(i) for i in imports() if own(i) and part_of(i.target) not in allowed(part_of(i.importer))]
    assert not wrong, "\n".join(wrong)


def test_rooms_do_not_import_the_door():
    """What is inside never depends on what the package promises outside."""
    wrong = [shown(i) for i in imports() if i.target == DOOR and part_of(i.importer) not in SKINS]
    assert not wrong, "\n".join(wrong)


def test_evaluate_imports_no_room():
    """Numbers are computed from rows, not from the things measured."""
    inside = [i for i in imports() if part_of(i.importer) == "evaluate" and own(i)]
    wrong = [shown(i) for i in inside if part_of(i.target) not in FOUNDATION | {"evaluate"}]
    assert not wrong, "\n".join(wrong)


def test_only_learning_needs_torch():
    """Torch and transformers are for learn and the sentence-transformers encoder."""
    wrong = [
        shown(i)
        for i in imports()
        if i.target.split(".")[0] in HEAVY
        and part_of(i.importer) != "learn"
        and i.importer != "toolwise.encode.sentence_transformers"
    ]
    assert not wrong, "\n".join(wrong)


def test_heavy_and_optional_packages_are_imported_where_they_are_used():
    """Importing a module of ours loads none of them."""
    wrong = [
        shown(i)
        for i in imports()
        if i.target.split(".")[0] in NEVER_AT_START
        and i.on_import
        and not i.typing_only
        and part_of(i.importer) != "serve"  # only the command that serves imports it
    ]
    assert not wrong, "\n".join(wrong)


def test_modules_form_no_cycle():
    """Module-level imports can be put in an order."""
    graph: dict[str, set[str]] = {name: set() for name in trees()}
    for found in imports():
        if own(found) and found.on_import and not found.typing_only and found.target in graph:
            graph[found.importer].add(found.target)
    for edges in graph.values():
        edges.discard(DOOR)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def _calls(tree: ast.Module, *names: str) -> list[int]:
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
    ]


def test_only_the_command_line_prints():
    """A library that prints breaks whoever speaks over stdout."""
    wrong = {
        n: lines
        for n, (_, tree) in trees().items()
        if part_of(n) not in MAY_PRINT and (lines := _calls(tree, "print"))
    }
    assert not wrong


def test_only_config_reads_the_environment():
    """os.environ, os.getenv and their kin occur in config alone."""
    names = {"environ", "environb", "getenv", "getenvb"}
    wrong = []
    for name, (_, tree) in trees().items():
        if name == "toolwise.config":
            continue
        for node in ast.walk(tree):
            by_attribute = (
                isinstance(node, ast.Attribute)
                and node.attr in names
                and isinstance(node.value, ast.Name)
                and node.value.id == "os"
            )
            by_import = (
                isinstance(node, ast.ImportFrom)
                and node.module == "os"
                and {a.name for a in node.names} & names
            )
            if by_attribute or by_import:
                wrong.append(f"{name}:{node.lineno}")
    assert not wrong


def test_nothing_is_unpickled_or_evaluated():
    """Neither pickle and its kin, nor eval, exec and compile of text."""
    risky = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}
    wrong = [shown(i) for i in imports() if i.target.split(".")[0] in risky]
    wrong += [
        f"{name}:{line}"
        for name, (_, tree) in trees().items()
        for line in _calls(tree, "eval", "exec", "compile", "__import__")
    ]
    assert not wrong


def test_arrays_are_loaded_without_pickle():
    """Every np.load says allow_pickle=False."""
    wrong = []
    for name, (_, tree) in trees().items():
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "load"
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id in {"np", "numpy"}
            ):
                given = {k.arg: getattr(k.value, "value", None) for k in node.keywords}
                if given.get("allow_pickle") is not False:
                    wrong.append(f"{name}:{node.lineno}")
    assert not wrong


def test_user_input_is_not_asserted():
    """An assert vanishes under -O; errors of the house do not."""
    wrong = [
        f"{name}:{node.lineno}"
        for name, (_, tree) in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Assert)
    ]
    assert not wrong


def test_no_error_is_swallowed_blindly():
    """There is no bare except."""
    wrong = [
        f"{name}:{node.lineno}"
        for name, (_, tree) in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler) and node.type is None
    ]
    assert not wrong


def test_no_file_is_too_long():
    """A file stops at 400 lines."""
    long = {
        name: lines
        for name, (path, _) in trees().items()
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > LONGEST_FILE
    }
    assert not long


def test_names_say_what_they_hold():
    """No module is a drawer for odds and ends."""
    assert not {name for name in trees() if set(name.split(".")) & NO_NAMES}


def test_every_module_says_what_it_is():
    """Each starts with a docstring."""
    assert not [name for name, (_, tree) in trees().items() if not ast.get_docstring(tree)]


def test_the_door_is_light():
    """Importing the package loads no optional, heavy or terminal library."""
    code = (
        "import sys, toolwise\n"
        "heavy = 'torch transformers sentence_transformers mcp httpx2 onnxruntime rich typer'.split()\n"
        "print(' '.join(name for name in heavy if name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == ""
