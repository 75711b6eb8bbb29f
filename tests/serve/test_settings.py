"""The settings file of a gateway."""

from hashlib import sha256
from pathlib import Path

import pytest

from toolwise.errors import ConfigError
from toolwise.serve.gateway.settings import GatewaySettings, load_settings


def write(folder: Path, content: str) -> Path:
    path = folder / "gateway.toml"
    path.write_text(content, encoding="utf-8")
    return path


def test_without_a_file_the_defaults_hold():
    """Quarantine, approval from level 4, the flow guard on, nothing remembered of arguments."""
    settings = load_settings(None)
    assert settings == GatewaySettings()
    assert (settings.changed, settings.approve_level, settings.flow_guard) == ("quarantine", 4, True)
    assert (settings.keep_arguments, settings.dynamic_lists, settings.split_calls) == (False, False, False)


def test_a_whole_file_is_read(tmp_path: Path):
    """Profiles and tokens are tables by name."""
    digest = sha256(b"secret").hexdigest()
    settings = load_settings(
        write(
            tmp_path,
            f"""
            changed = "warn"
            max_calls = 9
            [profiles.files]
            tasks = ["read files"]
            size = 4
            [tokens.ann]
            sha256 = "{digest}"
            scopes = ["read"]
            profile = "files"
            """,
        )
    )
    assert settings.profiles["files"].size == 4
    assert settings.tokens["ann"].scopes == {"read"}
    assert settings.caller_of("secret") == "ann"
    assert settings.caller_of("Secret") is None
    assert settings.caller_of(digest) is None


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("max_calls = ", "is not TOML"),
        ("colour = 1", "there is no setting called colour"),
        ("max_calls = 0", "max_calls = 0: expected 1 or more"),
        ('[tokens.ann]\nsha256 = "plain"', "tokens.ann.sha256"),
        ('tokens = "plain"', "tokens: expected a table"),
        (f'[tokens.ann]\nsha256 = "{"0" * 64}"\nscopes = ["root"]', "tokens.ann.scopes"),
        (
            f'[tokens.ann]\nsha256 = "{"0" * 64}"\nprofile = "x"',
            "token 'ann' is for profile 'x'; there are none",
        ),
        ("[profiles.'a b']\nsize = 1", "profiles.a b"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, content: str, words: str):
    """The message says where, and repeats no token that was pasted by mistake."""
    with pytest.raises(ConfigError) as caught:
        load_settings(write(tmp_path, content))
    assert words in caught.value.message
    assert "plain" not in caught.value.message.replace("gateway.toml", "")


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path):
    """A name on the command line is meant."""
    with pytest.raises(ConfigError, match="cannot be read"):
        load_settings(tmp_path / "none.toml")
