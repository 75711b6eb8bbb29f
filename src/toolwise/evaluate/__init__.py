"""Runs and gold sets to numbers: metrics, intervals, comparisons, files, splits.

Imports no other room, so it scores anyone's run.
"""

from toolwise.evaluate.compare import Comparison, compare
from toolwise.evaluate.judgements import Answer, Qrels, Row, Run, Task
from toolwise.evaluate.metric import Metric, metric_names, parse_metrics
from toolwise.evaluate.score import Mean, evaluate, means
from toolwise.evaluate.splits import Overlap, overlaps, refuse_overlap, scene_disjoint, scene_folds

__all__ = [
    "Answer",
    "Comparison",
    "Mean",
    "Metric",
    "Overlap",
    "Qrels",
    "Row",
    "Run",
    "Task",
    "compare",
    "evaluate",
    "means",
    "metric_names",
    "overlaps",
    "parse_metrics",
    "refuse_overlap",
    "scene_disjoint",
    "scene_folds",
]
