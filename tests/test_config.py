"""Settings from a file and the environment."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from toolwise.config import Settings, load
from toolwise.errors import ConfigError


def _file(folder: Path, text: str, name: str = "toolwise.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_without_file_and_variables_there_are_defaults(tmp_path):
    """Every setting has one."""
    assert load({}, tmp_path) == Settings()


def test_the_file_of_the_folder_is_read(tmp_path):
    """toolwise.toml in the working directory."""
    _file(tmp_path, 'policy = "strict"\ndepth = 7\nplugins = false\n')
    found = load({}, tmp_path)
    assert (found.policy, found.depth, found.plugins) == ("strict", 7, False)


def test_variables_win_over_the_file(tmp_path):
    """TOOLWISE_NAME overrides, and is converted to the setting's type."""
    _file(tmp_path, 'policy = "strict"\ndepth = 7\n')
    found = load(
        {"TOOLWISE_DEPTH": "9", "TOOLWISE_PLUGINS": "0", "TOOLWISE_DATA": "/d", "DEPTH": "1"}, tmp_path
    )
    assert (found.policy, found.depth, found.plugins, found.data) == ("strict", 9, False, Path("/d"))


def test_another_file_can_be_named(tmp_path):
    """TOOLWISE_CONFIG replaces the file of the folder."""
    _file(tmp_path, "depth = 7\n")
    other = _file(tmp_path, "depth = 8\n", "other.toml")
    assert load({"TOOLWISE_CONFIG": str(other)}, tmp_path).depth == 8


def test_a_named_file_must_exist(tmp_path):
    """A typo in TOOLWISE_CONFIG is not silently the defaults."""
    missing = tmp_path / "missing.toml"
    with pytest.raises(
        ConfigError, match=r"TOOLWISE_CONFIG names .*missing\.toml, which does not exist"
    ) as caught:
        load({"TOOLWISE_CONFIG": str(missing)}, tmp_path)
    assert caught.value.path == missing


def test_an_unknown_setting_is_named(tmp_path):
    """The message holds the key and the known settings, and not the value, which may be a secret."""
    _file(tmp_path, 'encoderr = "s3cret"\n')
    with pytest.raises(ConfigError, match=r"no setting called 'encoderr'; .*depth, encoder,") as caught:
        load({}, tmp_path)
    assert caught.value.setting == "encoderr"
    assert "s3cret" not in str(caught.value)


def test_an_unknown_variable_is_named(tmp_path):
    """A slip in a variable is no silent default; other programs' variables are not looked at."""
    with pytest.raises(ConfigError, match=r"TOOLWISE_POLCY; .*TOOLWISE_POLICY.*TOOLWISE_CONFIG") as caught:
        load({"TOOLWISE_POLCY": "s3cret"}, tmp_path)
    assert caught.value.setting == "TOOLWISE_POLCY"
    assert "s3cret" not in str(caught.value)
    assert load({"OTHER_POLCY": "x"}, tmp_path) == Settings()


def test_a_folder_is_no_file_of_settings(tmp_path):
    """Neither under the usual name nor named."""
    (tmp_path / "toolwise.toml").mkdir()
    with pytest.raises(ConfigError, match=r"toolwise\.toml cannot be read: Is a directory"):
        load({}, tmp_path)
    with pytest.raises(ConfigError, match=r"TOOLWISE_CONFIG names .*, which cannot be read: Is a directory"):
        load({"TOOLWISE_CONFIG": str(tmp_path)}, tmp_path)


def test_a_file_that_may_not_be_read_is_a_config_error(tmp_path, monkeypatch):
    """With the system's reason."""

    def refuse(self, **kwargs):
        raise PermissionError(13, "Permission denied", str(self))

    _file(tmp_path, "depth = 7\n")
    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(ConfigError, match=r"toolwise\.toml cannot be read: Permission denied"):
        load({}, tmp_path)


def test_brackets_without_end_are_a_config_error(tmp_path):
    """The parser gives up on them."""
    _file(tmp_path, f"depth = {'[' * 100_000}\n")
    with pytest.raises(ConfigError, match="not valid TOML"):
        load({}, tmp_path)


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("depth = 0\n", "depth"),
        ('depth = "many"\n', "depth"),
        ("policy = 3\n", "policy"),
        ("[encoder]\n", "encoder"),
    ],
)
def test_a_wrong_value_in_the_file_is_named(tmp_path, text, setting):
    """The message says which setting and where to set it."""
    _file(tmp_path, text)
    with pytest.raises(
        ConfigError, match=rf"'{setting}'.*toolwise\.toml or TOOLWISE_{setting.upper()}"
    ) as caught:
        load({}, tmp_path)
    assert caught.value.setting == setting


def test_a_wrong_variable_is_named(tmp_path):
    """As for the file."""
    with pytest.raises(ConfigError, match="'depth' has the value 'deep'"):
        load({"TOOLWISE_DEPTH": "deep"}, tmp_path)


@pytest.mark.parametrize("content", [b"depth = \n", b"\xff\xfe", b"depth == 3"])
def test_bad_toml_is_a_config_error(tmp_path, content):
    """Neither broken syntax nor a wrong encoding ends in a traceback."""
    (tmp_path / "toolwise.toml").write_bytes(content)
    with pytest.raises(ConfigError, match="not valid TOML"):
        load({}, tmp_path)


def test_settings_are_frozen():
    """Nobody changes them on the way."""
    with pytest.raises(ValidationError):
        Settings().depth = 3


@pytest.mark.parametrize("source", ["file", "variable"])
def test_a_key_is_never_shown(tmp_path, source):
    """Neither the settings nor an error about them print the API key."""
    assert "s3cret" not in repr(Settings(openai_api_key="s3cret"))
    if source == "file":
        _file(tmp_path, 'openai_api_key = ["s3cret"]\n')
        environment = {}
    else:
        environment = {"TOOLWISE_OPENAI_API_KEY": "s3cret", "TOOLWISE_DEPTH": "deep"}
    with pytest.raises(ConfigError) as caught:
        load(environment, tmp_path)
    assert "s3cret" not in str(caught.value)
