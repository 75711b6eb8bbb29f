"""Files that are replaced as a whole: a reader finds the old content or the new, never half of it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

READABLE = 0o644
"""Permissions of a file that anybody on the machine may read."""


def replace_file(path: Path, content: str | bytes, mode: int = READABLE) -> None:
    """Write ``content`` (text as UTF-8, line ends as they are) to ``path``; on failure it stays as it was.

    Raises OSError with the name of ``path`` itself.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    fresh = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        fresh.chmod(mode)
        fresh.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        fresh.unlink(missing_ok=True)
