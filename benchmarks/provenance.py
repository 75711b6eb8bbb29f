"""Where a number comes from, and how results are written."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path


def provenance(encoder: str = "") -> dict[str, object]:
    """Commit, command, versions and machine of this run."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    dirty = subprocess.run(
        ["git", "status", "--porcelain", "src"], capture_output=True, text=True, check=False
    )
    return {
        "commit": commit.stdout.strip() + ("+changes" if dirty.stdout.strip() else ""),
        "command": " ".join(["python", "-m", f"benchmarks.{Path(sys.argv[0]).stem}", *sys.argv[1:]]),
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("toolwise", "numpy", "bm25s", "tokenizers")},
        "machine": f"{platform.machine()}, {platform.system()}",
        "encoder": encoder,
    }


def write(
    into: str, name: str, origin: dict[str, object], results: object, table: str, notes: str = ""
) -> None:
    """Write ``NAME.json`` and ``NAME.md`` into a folder."""
    folder = Path(into)
    folder.mkdir(parents=True, exist_ok=True)
    payload = {"provenance": origin, "notes": notes, "results": results}
    (folder / f"{name}.json").write_text(json.dumps(payload, indent=1) + "\n", encoding="utf-8")
    head = f"# {name}\n\nMade by `{origin['command']}` at commit {origin['commit']}"
    head += f", encoder `{str(origin['encoder'])[:24]}`." if origin["encoder"] else "."
    text = f"{head}\n\n{table}\n"
    if notes:
        text += f"\n{notes}\n"
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
