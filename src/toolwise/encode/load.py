"""An encoder by its specification: ``NAME``, ``NAME:ARGUMENT``, or ``auto`` for what is installed."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter, signature
from pathlib import Path

from toolwise import registry
from toolwise.errors import EncoderError, EncoderMismatch, MissingExtra
from toolwise.protocols import Encoder

AUTO = "auto"
"""The specification that leaves the choice to what is installed."""
BETTER, PACKAGED = "minilm", "static"
"""What ``auto`` stands for: the first where it is installed, else the second."""


def choose(specification: str) -> tuple[str, Encoder]:
    """The encoder of a specification and what to write down for it: ``auto`` as the name of what was found.

    ``auto`` is ``minilm`` where its distribution and onnxruntime are installed,
    else ``static``.  Raises what :func:`load_encoder` raises, so EncoderError
    where ``minilm`` is installed but damaged.
    """
    if specification != AUTO:
        return absolute(specification), load_encoder(specification)
    if BETTER in registry.names("encoder"):
        try:
            return BETTER, load_encoder(BETTER)
        except (MissingExtra, ImportError):  # without onnxruntime it is as good as absent
            pass
    return PACKAGED, load_encoder(PACKAGED)


def load_encoder(specification: str) -> Encoder:
    """``static``, ``minilm``, ``static:FOLDER``, ``onnx:FOLDER``, ``sentence-transformers:NAME``, ...

    Raises RegistryError for an unknown name, EncoderError where the argument is
    missing or does not load, MissingExtra where an optional dependency is absent.
    """
    if specification == AUTO:
        return choose(AUTO)[1]
    name, _, argument = specification.partition(":")
    if name == BETTER and name not in registry.names("encoder"):
        raise MissingExtra(
            "the encoder 'minilm' is not installed, or other packages are switched off (TOOLWISE_PLUGINS=0). "
            'Run: pip install "toolwise[minilm]"',
            extra="minilm",
        )
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
