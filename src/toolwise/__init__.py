"""toolwise decides which tools an LLM agent gets to see: a small, complete and safe set.

>>> import toolwise                                                        # doctest: +SKIP
>>> toolwise.build_index(["tools.jsonl"], "index")                         # doctest: +SKIP
>>> selector = toolwise.Selector.open("index")                             # doctest: +SKIP
>>> exposure = selector.select("refund order 1182", policy="default")      # doctest: +SKIP
>>> [tool.id for tool in exposure.tools]                                   # doctest: +SKIP
"""

from toolwise.catalog import from_definitions, load
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
