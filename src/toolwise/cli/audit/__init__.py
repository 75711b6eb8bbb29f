"""``toolwise audit``: what the tools of an index can do, who says so, and what waits for a person."""

from toolwise.cli.audit import agreement, drift, exchange, flows, queue, review, run, sample, show
from toolwise.cli.audit.app import app

__all__ = ["agreement", "app", "drift", "exchange", "flows", "queue", "review", "run", "sample", "show"]
