"""The size of a definition."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builders import tool

from toolwise.encode.static import PACKAGED
from toolwise.errors import ConfigError
from toolwise.expose import definition_tokens, token_counter


def test_a_size_by_hand():
    """Characters of the compact JSON by four, rounded up."""
    text = '{"name":"s__get","description":"Gets it","inputSchema":{"type":"object","properties":{}}}'
    assert len(text) == 89
    assert definition_tokens(tool("s/get", "Gets it")) == 23  # 89 / 4 = 22.25


def test_letters_count_as_letters():
    """Not as their escapes."""
    plain, chinese = tool("a", "xxxx"), tool("a", "查询天气")
    assert definition_tokens(plain) == definition_tokens(chinese)


@pytest.mark.parametrize("schema", [None, True, [], {"a": float("nan")}, {"a": "\ud800"}])
def test_any_schema_has_a_size(schema):
    """A broken one too."""
    assert definition_tokens(tool("a", parameters=schema)) > 0


def test_deep_schemas_have_a_size():
    """400 levels."""
    schema: object = {}
    for _ in range(400):
        schema = {"properties": {"p": schema}}
    assert definition_tokens(tool("a", parameters=schema)) > 400


def test_what_the_host_does_not_show_does_not_count():
    """The result schema, hints and title stay out."""
    bare = tool("a", "x")
    full = tool("a", "x", returns={"type": "object"}, annotations={"readOnlyHint": True}, title="A title")
    assert definition_tokens(bare) == definition_tokens(full)


@given(st.text(st.characters(codec="utf-8"), max_size=200))
def test_the_size_grows_with_the_text(description):
    """By a token for every four characters of its JSON, to within one."""
    extra = len(json.dumps(description, ensure_ascii=False)) - 2
    assert abs(definition_tokens(tool("a", description)) - definition_tokens(tool("a")) - extra / 4) < 1


def test_a_tokenizer_counts_where_one_is_given():
    """The packaged WordPiece file splits what characters only measure; its name tells it apart."""
    counter = token_counter(PACKAGED / "tokenizer.json")
    assert counter.name.startswith("tokenizer:")
    assert counter.count("search the web") == 3
    assert token_counter(None).count("search the web") == 4
    assert definition_tokens(tool("a/search", "search the web"), counter) != definition_tokens(
        tool("a/search", "search the web")
    )


def test_a_file_that_is_no_tokenizer_is_refused(tmp_path):
    """The setting is named."""
    (tmp_path / "t.json").write_text("{}", encoding="utf-8")
    for path in (tmp_path / "t.json", tmp_path / "none.json"):
        with pytest.raises(ConfigError, match="setting 'tokenizer'"):
            token_counter(path)
