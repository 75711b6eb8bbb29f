"""An encoder by its specification: ``NAME`` or ``NAME:ARGUMENT``."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter, signature
from pathlib import Path

from toolwise import registry
from toolwise.errors import EncoderError, EncoderMismatch
from toolwise.protocols import Encoder


def load_encoder(specification: str) -> Encoder:
    """``static``, ``static:FOLDER``, ``onnx:FOLDER``, ``sentence-transformers:NAME``, ``openai:MODEL``.

    Raises RegistryError for an unknown name, EncoderError where the argument is
    missing or does not load, MissingExtra where an optional dependency is absent.
    """
    name, _, argument = specification.partition(":")
    factory = registry.get("encoder", name)
    if argument:
        encoder: Encoder = factory(argument)
        return encoder
    if any(parameter.default is Parameter.empty for parameter in signature(factory).parameters.values()):
        raise EncoderError(
            f"the encoder {name!r} needs to know which model: write {name}:MODEL or {name}:FOLDER.",
            encoder=specification,
        )
    encoder = factory()
    return encoder


def absolute(specification: str) -> str:
    """A specification that means the same from any working directory: a folder in it gets its full path."""
    name, mark, argument = specification.partition(":")
    return f"{name}:{Path(argument).resolve()}" if mark and Path(argument).is_dir() else specification


def check_fingerprint(encoder: Encoder, meta: Mapping[str, str], folder: Path) -> None:
    """Raise EncoderMismatch unless ``encoder``'s vectors compare with those of an index.

    ``meta`` holds the index's ``encoder`` and ``fingerprint``; a new index has neither.
    """
    found = meta.get("fingerprint", encoder.fingerprint)
    if found != encoder.fingerprint:
        raise EncoderMismatch(
            f"{folder} was made with encoder {meta['encoder']!r} ({found}); "
            f"this one is {encoder.fingerprint}. "
            "Use the same encoder, or make the index again with `toolwise index --rebuild`.",
            folder=folder,
            found=found,
            expected=encoder.fingerprint,
        )
