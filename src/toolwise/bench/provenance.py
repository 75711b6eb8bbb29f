"""Where a number comes from, and how results are written."""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from toolwise.records import Json
from toolwise.whole_file import replace_file

_PACKAGES = ("toolwise", "numpy", "bm25s", "tokenizers", "matplotlib")


def provenance(command: Sequence[str], encoder: str = "") -> dict[str, Json]:
    """Commit, command, versions and machine of this run."""
    return {
        "commit": _git("rev-parse", "--short", "HEAD")
        + ("+changes" if _git("status", "--porcelain", "src") else ""),
        "command": " ".join(command),
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "versions": {name: found for name in _PACKAGES if (found := _version(name))},
        "machine": f"{platform.machine()}, {platform.system()}",
        "encoder": encoder,
    }


def write(into: str | Path, name: str, payload: Mapping[str, Json], table: str, notes: str = "") -> None:
    """Write ``NAME.json`` and ``NAME.md`` into a folder, each replaced as a whole.

    ``payload`` holds ``provenance`` beside the results.
    """
    folder = Path(into)
    folder.mkdir(parents=True, exist_ok=True)
    origin = payload["provenance"]
    head = f"# {name}\n\nMade by `{origin['command']}` at commit {origin['commit']}"
    head += f", encoder `{str(origin['encoder'])[:24]}`.\n" if origin["encoder"] else ".\n"
    parts = [head, table, *([notes] if notes else [])]
    replace_file(folder / f"{name}.json", json.dumps({**payload, "notes": notes}, indent=1) + "\n")
    replace_file(folder / f"{name}.md", "\n\n".join(part.strip() for part in parts) + "\n")


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
