"""Every error toolwise raises, in one tree.

    ToolwiseError
    ├── CatalogueError        a source of tools could not be read
    │   ├── SourceNotFound        the path or address leads nowhere
    │   ├── UnknownFormat         the content is none of the formats we read
    │   └── ServerUnreachable     an MCP server did not start or answer
    ├── BrokenIndex           an index on disk cannot be used
    │   ├── IndexNotFound         the folder holds no index
    │   ├── IndexVersionError     the index was written in another format version
    │   ├── IndexBusy             another process is writing the index
    │   └── EncoderMismatch       the index was built with another encoder
    ├── EncoderError          an encoder cannot be loaded or fails
    ├── AnnotatorError        an annotator of the audit cannot be used
    │   └── QuestionRefused       an endpoint does not take one question
    ├── RequestError          what was asked for makes no sense
    │   ├── UnknownTool           no tool has this id
    │   └── InvalidRequest        a request, or a file of requests, is malformed
    ├── PolicyError           a policy is malformed or contradicts itself
    ├── ExportError           a tool set cannot be written in the asked-for shape
    ├── ConfigError           a setting is unknown or has a wrong value
    ├── RegistryError         no component, or two, of this kind and name
    ├── MissingExtra          an optional dependency is not installed
    ├── EvaluationError       a metric, qrels, run or split makes no sense
    ├── PeerError             a rival of the bench failed, hung or answered nonsense
    └── GatewayError          the gateway cannot start or serve
        ├── UpstreamUnavailable   an upstream server is away, or was lost during a call
        └── CallRefused           the policy, the budget or a person does not admit a call

Messages say what was found, what was expected and what to do; the facts are
attributes as well.  ``exit_code`` is the status the command line ends with.
"""

from __future__ import annotations

from typing import Any


class ToolwiseError(Exception):
    """Root of the tree: catch this to catch everything toolwise raises on purpose."""

    exit_code = 1

    def __init__(self, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.facts = facts

    def __getattr__(self, name: str) -> Any:
        facts = self.__dict__.get("facts", {})
        if name in facts:
            return facts[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class CatalogueError(ToolwiseError):
    """A source of tools could not be read."""

    exit_code = 3


class SourceNotFound(CatalogueError):
    """The path or address of a source leads nowhere."""


class UnknownFormat(CatalogueError):
    """The content of a source is none of the formats toolwise reads."""


class ServerUnreachable(CatalogueError):
    """An MCP server did not start, or did not answer."""


class BrokenIndex(ToolwiseError):
    """An index on disk cannot be used."""

    exit_code = 4


class IndexNotFound(BrokenIndex):
    """The folder holds no index."""


class IndexVersionError(BrokenIndex):
    """The index was written in a format version this toolwise does not read."""


class IndexBusy(BrokenIndex):
    """Another process is writing the index."""


class EncoderMismatch(BrokenIndex):
    """The index was built with another encoder than the one asked for."""


class EncoderError(ToolwiseError):
    """An encoder cannot be loaded, or fails on a text."""

    exit_code = 5


class AnnotatorError(ToolwiseError):
    """An annotator of the audit cannot be used, or its endpoint refuses."""

    exit_code = 14


class QuestionRefused(AnnotatorError):
    """An endpoint does not take one question; others it may take."""


class RequestError(ToolwiseError):
    """What was asked for makes no sense."""

    exit_code = 6


class UnknownTool(RequestError):
    """No tool of the index has this id."""


class InvalidRequest(RequestError):
    """A request, or a file of requests, is malformed."""


class PolicyError(ToolwiseError):
    """A policy is malformed or contradicts itself."""

    exit_code = 7


class ExportError(ToolwiseError):
    """A tool set cannot be written in the asked-for shape."""

    exit_code = 8


class ConfigError(ToolwiseError):
    """A setting is unknown or has a wrong value."""

    exit_code = 9


class RegistryError(ToolwiseError):
    """No component, or more than one, has this kind and name."""

    exit_code = 9


class MissingExtra(ToolwiseError):
    """An optional dependency is not installed."""

    exit_code = 10


class EvaluationError(ToolwiseError):
    """A metric, qrels, a run or a split of data makes no sense."""

    exit_code = 11


class PeerError(ToolwiseError):
    """A rival of the bench is not installed, failed, hung or answered nonsense."""

    exit_code = 12


class GatewayError(ToolwiseError):
    """The gateway cannot start, or cannot serve what was asked."""

    exit_code = 13


class UpstreamUnavailable(GatewayError):
    """An upstream server is away, or was lost during a call."""


class CallRefused(GatewayError):
    """The policy, the budget of the session or a person does not admit a call."""
