"""An annotator by its specification: ``NAME`` or ``NAME:ARGUMENT``; and which annotators vote as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from toolwise import registry
from toolwise.audit.resolve import resolve
from toolwise.errors import AnnotatorError
from toolwise.protocols import Annotator
from toolwise.records import Tool, Verdict

RULES = "rules"
"""The one vote of everything that reads a definition without having learned."""
HEAD = "head"
_APART = (HEAD,)
"""Annotators without an argument that have a vote of their own."""


class Together:
    """Several annotators with one vote: their verdicts resolved by :func:`toolwise.audit.resolve.resolve`."""

    name = RULES

    def __init__(self, annotators: Sequence[Annotator]) -> None:
        self._annotators = tuple(annotators)

    def annotate(self, tools: Sequence[Tool]) -> list[Verdict]:
        """One verdict per tool, in order."""
        views = [annotator.annotate(tools) for annotator in self._annotators]
        return [resolve([view[i] for view in views]) for i in range(len(tools))]


def local_names() -> tuple[str, ...]:
    """The votes that need neither argument nor network: ``rules``, and ``head`` where it is registered."""
    return (RULES, *(name for name in _APART if name in registry.names("annotator")))


def is_local(specification: str) -> bool:
    """Whether an annotator costs nothing to ask again."""
    return specification.partition(":")[0] in local_names()


def local_annotators() -> list[Annotator]:
    """Those of :func:`local_names`, loaded."""
    return [load_annotator(name) for name in local_names()]


def load_annotator(specification: str, *, answers: Path | None = None) -> Annotator:
    """``rules`` (word lists, hints, languages, poisoning and plugins as one), ``head`` or ``llm:MODEL``.

    ``answers`` is a file for annotators that keep what they paid for.  Raises
    RegistryError for an unknown name, AnnotatorError for one that has no vote
    of its own or lacks its argument, MissingExtra without an optional dependency.
    """
    name, _, argument = specification.partition(":")
    if name == RULES and not argument:
        return Together([registry.get("annotator", member)() for member in members()])
    factory = registry.get("annotator", name)
    if not _needs_argument(factory) and name not in _APART:
        raise AnnotatorError(
            f"the annotator {specification!r} has no vote of its own: it votes as part of {RULES!r}. "
            f"Write {RULES}.",
            annotator=specification,
        )
    if _needs_argument(factory) and not argument:
        raise AnnotatorError(
            f"the annotator {name!r} needs to know which model: write {name}:MODEL.", annotator=specification
        )
    options: dict[str, Any] = {"answers": answers} if "answers" in signature(factory).parameters else {}
    annotator: Annotator = factory(*filter(None, [argument]), **options)
    return annotator


def members() -> tuple[str, ...]:
    """The registered annotators that vote together as ``rules``."""
    return tuple(
        name
        for name in registry.names("annotator")
        if name not in _APART and not _needs_argument(registry.get("annotator", name))
    )


def _needs_argument(factory: Callable[..., Annotator]) -> bool:
    return any(
        parameter.default is Parameter.empty and parameter.kind not in _VARIADIC
        for parameter in signature(factory).parameters.values()
    )


_VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
