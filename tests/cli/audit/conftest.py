"""An index on which two annotators disagree."""

import shutil
from pathlib import Path

import pytest

from toolwise.audit.load import load_annotator
from toolwise.auditing import audit_index
from toolwise.records import UNKNOWN_LEVEL, Judgement, Level, Verdict
from toolwise.store import Index, Ledger, now

MODEL = {"calendar/get_event": 5, "mail/send_email": 1, "orders/purge_archived_orders": 1}
"""What the model says of the three tools on which it is of another mind than the rules."""
ODD = tuple(MODEL)


@pytest.fixture(scope="session")
def disputed(demo_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo catalogue after an audit by the rules and a model."""
    folder = tmp_path_factory.mktemp("disputed") / "index"
    shutil.copytree(demo_index, folder)
    index = Index.open(folder)
    tools = [audited.tool for audited in index.scan()]
    index.close()
    rules = load_annotator("rules").annotate(tools)
    Ledger(folder).add(
        Judgement(
            tool.id,
            "llm:tiny",
            tool.content_hash,
            Verdict(Level(MODEL.get(tool.id, said.level or UNKNOWN_LEVEL))),
            now(),
        )
        for tool, said in zip(tools, rules, strict=True)
    )
    audit_index(folder, ["rules"])
    return folder


@pytest.fixture
def judged(disputed: Path, tmp_path: Path) -> Path:
    """A copy of it to write to."""
    return Path(shutil.copytree(disputed, tmp_path / "index"))
