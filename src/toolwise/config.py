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

_PREFIX = "TOOLWISE_"


class Settings(BaseModel):
    """Every setting with its default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    encoder: str = "static"
    """``static``, ``static:FOLDER``, ``onnx:FOLDER``, ``sentence-transformers:NAME``, ``openai:MODEL``."""
    policy: str = "default"
    """A built-in policy or the path of a TOML file."""
    method: str = "hybrid"
    """The retriever: ``bm25``, ``dense`` or ``hybrid``."""
    depth: int = Field(default=100, ge=1)
    """Candidates a retriever hands to the policy."""
    plugins: bool = True
    """Whether components from other installed packages may be used."""
    data: Path = Path("../shared/data")
    """The folder of data sets that tests and benchmarks read."""
    openai_base_url: str = "https://api.openai.com/v1"
    """Base address of the OpenAI-compatible endpoint of the ``openai`` encoder."""
    openai_api_key: str = Field(default="", repr=False)
    """Its key (sent as a bearer token where not empty)."""
    openai_dim: int | None = None
    """The vector size the endpoint is expected to return; None accepts what comes first."""


def load(environment: Mapping[str, str], directory: Path) -> Settings:
    """Settings from ``directory``'s file and ``environment``.

    Raises ConfigError for an unreadable file, an unknown setting or a wrong value.
    """
    path = Path(environment.get(f"{_PREFIX}CONFIG", directory / "toolwise.toml"))
    values: dict[str, object] = {}
    if path.is_file():
        try:
            values |= tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path} is not valid TOML: {error}. Correct the file.", path=path) from error
    elif f"{_PREFIX}CONFIG" in environment:
        raise ConfigError(
            f"TOOLWISE_CONFIG names {path}, which does not exist. Correct or unset it.", path=path
        )
    values |= {
        name: environment[_PREFIX + name.upper()]
        for name in Settings.model_fields
        if _PREFIX + name.upper() in environment
    }
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        known = ", ".join(sorted(Settings.model_fields))
        field = Settings.model_fields.get(name.partition(".")[0])
        value = repr(first["input"]) if field is None or field.repr else "(not shown)"
        raise ConfigError(
            f"setting {name!r} has the value {value}: {first['msg'].lower()}. "
            f"Set it in {path.name} or {_PREFIX}{name.upper()}; the settings are {known}.",
            setting=name,
        ) from error


@cache
def settings() -> Settings:
    """The settings of this process, read once."""
    return load(os.environ, Path.cwd())


def environment() -> Mapping[str, str]:
    """The process environment, for the few things that must hand it on (MCP servers started over stdio)."""
    return os.environ
