"""Components by kind and name."""

import importlib.util
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import toolwise
from toolwise import registry
from toolwise.config import Settings
from toolwise.errors import RegistryError

KINDS = ("annotator", "encoder", "format", "reader", "retriever")


@pytest.fixture
def plugins(monkeypatch):
    """Registers entry points; the table is read afresh before and after."""
    added: list[EntryPoint] = []
    monkeypatch.setattr(registry, "entry_points", lambda group: [p for p in added if p.group == group])
    monkeypatch.setattr(registry, "settings", lambda: Settings(plugins=True))
    registry._table.cache_clear()
    yield added
    registry._table.cache_clear()


@pytest.mark.parametrize("kind", KINDS)
def test_every_built_in_lies_where_the_table_says(kind):
    """Each line of the table names a module file of the package that defines the attribute."""
    for name, place in registry._BUILT_IN[kind].items():
        module, _, attribute = place.partition(":")
        path = Path(toolwise.__file__).parent.joinpath(*module.split(".")[1:]).with_suffix(".py")
        assert path.is_file(), f"{kind} {name}: {module} does not exist"
        source = path.read_text(encoding="utf-8")
        assert f"class {attribute}" in source or f"def {attribute}" in source, (
            f"{kind} {name}: no {attribute}"
        )


def test_names_are_sorted():
    """The order of a listing never depends on the table."""
    assert registry.names("retriever") == ("bm25", "dense", "hybrid")


def test_a_component_is_imported_on_demand():
    """Get returns the object itself."""
    from toolwise.expose.formats import to_mcp

    assert registry.get("format", "mcp") is to_mcp


def test_an_unknown_kind_lists_the_kinds():
    """The message names what there is."""
    with pytest.raises(
        RegistryError, match=r"'widget'.*annotator, encoder, format, reader, reranker, retriever, scorer"
    ) as caught:
        registry.names("widget")
    assert caught.value.kind == "widget"


def test_an_unknown_name_lists_the_names():
    """The message names what there is."""
    with pytest.raises(RegistryError, match=r"no retriever called 'bm26'.*bm25, dense, hybrid") as caught:
        registry.get("retriever", "bm26")
    assert (caught.value.kind, caught.value.name) == ("retriever", "bm26")


def test_an_entry_point_adds_a_component(plugins):
    """A plugin is found by its name and loaded like a built-in."""
    plugins.append(EntryPoint("mine", "collections:OrderedDict", "toolwise.retriever"))
    assert "mine" in registry.names("retriever")
    from collections import OrderedDict

    assert registry.get("retriever", "mine") is OrderedDict


def test_a_plugin_may_not_take_a_name(plugins):
    """Two components of one name are an error that names both."""
    plugins.append(EntryPoint("bm25", "elsewhere:Thing", "toolwise.retriever"))
    with pytest.raises(RegistryError, match=r"toolwise\.retrieve\.bm25:Bm25Retriever and elsewhere:Thing"):
        registry.names("retriever")


def test_plugins_can_be_switched_off(plugins, monkeypatch):
    """With the setting off, entry points are not looked at."""
    plugins.append(EntryPoint("mine", "collections:OrderedDict", "toolwise.retriever"))
    monkeypatch.setattr(registry, "settings", lambda: Settings(plugins=False))
    assert "mine" not in registry.names("retriever")


def test_asking_for_names_imports_nothing(plugins):
    """A plugin whose module does not exist still has a name."""
    plugins.append(EntryPoint("ghost", "no_such_module_here:Thing", "toolwise.encoder"))
    assert "ghost" in registry.names("encoder")
    assert importlib.util.find_spec("no_such_module_here") is None
