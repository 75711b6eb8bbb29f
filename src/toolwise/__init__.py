"""toolwise decides which tools an LLM agent gets to see: a small, complete and safe set.

>>> import toolwise                                                        # doctest: +SKIP
>>> toolwise.build_index(["tools.jsonl"], "index")                         # doctest: +SKIP
>>> selector = toolwise.Selector.open("index")                             # doctest: +SKIP
>>> exposure = selector.select("refund order 1182", policy="default")      # doctest: +SKIP
>>> [tool.id for tool in exposure.tools]                                   # doctest: +SKIP

Each name is loaded when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolwise.catalog.load import from_definitions, load
    from toolwise.errors import ToolwiseError
    from toolwise.indexing import IndexReport, build_index, index_catalogue
    from toolwise.pipeline import Selector
    from toolwise.policy import Policy, load_policy
    from toolwise.records import (
        AuditedTool,
        Capability,
        Catalogue,
        ExposedTool,
        Exposure,
        Finding,
        Level,
        Permission,
        Query,
        Tool,
        Verdict,
        Withheld,
    )
    from toolwise.store import Index

__all__ = [
    "AuditedTool",
    "Capability",
    "Catalogue",
    "ExposedTool",
    "Exposure",
    "Finding",
    "Index",
    "IndexReport",
    "Level",
    "Permission",
    "Policy",
    "Query",
    "Selector",
    "Tool",
    "ToolwiseError",
    "Verdict",
    "Withheld",
    "build_index",
    "from_definitions",
    "index_catalogue",
    "load",
    "load_policy",
]

_PLACES = {
    "catalog": (
        "from_definitions",
        "load",
    ),
    "errors": ("ToolwiseError",),
    "indexing": (
        "IndexReport",
        "build_index",
        "index_catalogue",
    ),
    "pipeline": ("Selector",),
    "policy": (
        "Policy",
        "load_policy",
    ),
    "records": (
        "AuditedTool",
        "Capability",
        "Catalogue",
        "ExposedTool",
        "Exposure",
        "Finding",
        "Level",
        "Permission",
        "Query",
        "Tool",
        "Verdict",
        "Withheld",
    ),
    "store": ("Index",),
}
_MODULE_OF = {name: module for module, names in _PLACES.items() for name in names}

if not TYPE_CHECKING:  # a type checker would take every name for one of ours

    def __getattr__(name: str) -> object:
        """A name of the door, from its module."""
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """What ``dir`` shows, the names of the door among it."""
    return sorted({*globals(), *__all__})
