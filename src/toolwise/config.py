"""Settings: one TOML file and ``TOOLWISE_*`` variables become one frozen value.

The file is ``toolwise.toml`` in the working directory, or the path in
``TOOLWISE_CONFIG``.  Variables override the file: ``TOOLWISE_ENCODER``,
``TOOLWISE_POLICY``, ... .  This module is the only reader of the environment.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from toolwise.errors import ConfigError
from toolwise.wrong_value import unread, wrong_value

_PREFIX = "TOOLWISE_"
_FILE = f"{_PREFIX}CONFIG"


class Settings(BaseModel):
    """Every setting with its default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    encoder: str = "auto"
    """``auto`` (``minilm`` where it is installed, else ``static``), or a specification: ``static``,
    ``minilm``, ``static:FOLDER``, ``onnx:FOLDER``, ``sentence-transformers:NAME``, ``openai:MODEL``."""
    policy: str = "default"
    """A built-in policy or the path of a TOML file."""
    method: str = "toolwise"
    """How requests are answered: a name of :func:`toolwise.methods.names`."""
    depth: int = Field(default=100, ge=1)
    """Candidates a retriever hands to the policy."""
    plugins: bool = True
    """Whether components from other installed packages may be used."""
    data: Path = Path("../shared/data")
    """The folder of data sets that tests and benchmarks read."""
    tokenizer: Path | None = None
    """A ``tokenizer.json`` that counts the tokens of definitions; None divides their characters by four."""
    openai_base_url: str = "https://api.openai.com/v1"
    """Base address of the OpenAI-compatible endpoint of the ``openai`` encoder and the ``llm`` annotator."""
    openai_api_key: str = Field(default="", repr=False)
    """Its key (sent as a bearer token where not empty)."""
    openai_dim: int | None = None
    """The vector size the endpoint is expected to return; None accepts what comes first."""
    llm_price_in: float | None = Field(default=None, ge=0)
    """Price of a million tokens that the ``llm`` annotator sends; None shows no cost."""
    llm_price_out: float | None = Field(default=None, ge=0)
    """Price of a million tokens that it gets back."""


def load(environment: Mapping[str, str], directory: Path) -> Settings:
    """Settings from ``directory``'s file and ``environment``.

    Raises ConfigError for an unreadable file, an unknown setting or a wrong value.
    """
    path = Path(environment.get(_FILE, directory / "toolwise.toml"))
    values = {**_values(path, required=_FILE in environment), **_variables(environment)}
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        wrong = wrong_value(error)
        name = wrong.where
        if wrong.unknown:
            raise ConfigError(
                f"{path.name}: there is no setting called {name!r}; the settings are {_known()}.",
                setting=name,
            ) from error
        field = Settings.model_fields.get(name.partition(".")[0])
        value = wrong.shown if field is None or field.repr else "(not shown)"
        raise ConfigError(
            f"setting {name!r} has the value {value}: expected {wrong.expected}. "
            f"Set it in {path.name} or {_PREFIX}{name.upper()}.",
            setting=name,
            expected=wrong.expected,
        ) from error


def _values(path: Path, *, required: bool) -> dict[str, object]:
    """What the file says; nothing where it does not exist and need not."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"{path} is not valid TOML: {unread(error)}. Correct the file.", path=path
        ) from error
    except FileNotFoundError as error:
        if not required:
            return {}
        raise ConfigError(
            f"{_FILE} names {path}, which does not exist. Correct or unset it.", path=path
        ) from error
    except OSError as error:
        named = f"{_FILE} names {path}, which" if required else path
        raise ConfigError(
            f"{named} cannot be read: {error.strerror or error}. Expected a TOML file of settings.", path=path
        ) from error


def _variables(environment: Mapping[str, str]) -> dict[str, object]:
    """Settings from variables, by their names in the file."""
    found = {key: value for key, value in environment.items() if key.startswith(_PREFIX) and key != _FILE}
    known = {_PREFIX + name.upper(): name for name in Settings.model_fields}
    for variable in sorted(found.keys() - known):
        raise ConfigError(
            f"there is no setting for the variable {variable}; the variables are "
            f"{', '.join([*sorted(known), _FILE])}.",
            setting=variable,
        )
    return {known[variable]: value for variable, value in found.items()}


def _known() -> str:
    return ", ".join(sorted(Settings.model_fields))


@cache
def settings() -> Settings:
    """The settings of this process, read once."""
    return load(os.environ, Path.cwd())


def environment() -> Mapping[str, str]:
    """The process environment, for the few things that must hand it on (MCP servers started over stdio)."""
    return os.environ
