"""Rows of our own catalogue format: one object per tool with an id of its own."""

from __future__ import annotations

from toolwise.catalog.merge import unique
from toolwise.catalog.normalise import ABSENT, make_tool, problems
from toolwise.catalog.plain import Fault
from toolwise.catalog.shape import schema_key, shape_of
from toolwise.records import Catalogue, Json, Problem, Tool
from toolwise.schema import kind


class RowReader:
    """Reads ``{"id", "name", "description", "parameters", "server" or "group", "returns", "annotations"}``.

    Ids are kept as they are, blanks and slashes included.
    """

    def recognises(self, content: object) -> bool:
        """Whether most items of ``content`` are rows with an id."""
        return shape_of(content) == "rows"

    def read(self, content: object, source: str, server: str) -> Catalogue:
        """Read a list of rows, or a single one; ``server`` counts where a row names none."""
        rows = content if isinstance(content, list) else [content]
        tools: list[Tool] = []
        found: list[Problem] = []
        for number, row in enumerate(rows, 1):
            tool, more = read_row(row, source=source, server=server, label=f"#{number}")
            tools += [tool] if tool else []
            found += more
        return unique(tools, found, source)


def read_row(row: Json, *, source: str, server: str, label: str) -> tuple[Tool | None, list[Problem]]:
    """The tool of one row and its problems; ``label`` names it where it has no id."""
    if not isinstance(row, dict):
        return None, [Problem(source, label, "", f"the row is {kind(row)}; expected an object", kept=False)]
    faults: list[Fault] = []
    group, more = _server(row, server)
    faults += more
    tool_id, name = row.get("id"), row.get("name")
    if not isinstance(tool_id, str) or not tool_id:
        if not isinstance(name, str) or not name:
            message = "the row has neither an id nor a name; left out"
            return None, [Problem(source, label, "/id", message, kept=False)]
        tool_id = f"{group}/{name}" if group else name
        faults.append(("/id", f"the id is {_missing(row, 'id')}; {tool_id!r} is used"))
    elif not isinstance(name, str) or not name:
        name = tool_id
        faults.append(("/name", f"the name is {_missing(row, 'name')}; the id is used"))
    key = schema_key(row)
    tool, more = make_tool(
        id=tool_id,
        name=str(name),
        server=group,
        title=row.get("title", ""),
        description=row.get("description", ABSENT),
        parameters=row[key] if key else ABSENT,
        returns=row.get("returns", row.get("outputSchema")),
        annotations=row.get("annotations"),
        source="jsonl",
        pointers={"parameters": f"/{key}"},
    )
    return tool, problems([*faults, *more], source=source, tool=tool.id)


def _missing(row: dict[str, Json], key: str) -> str:
    return ("empty" if row[key] == "" else kind(row[key])) if key in row else "missing"


def _server(row: dict[str, Json], default: str) -> tuple[str, list[Fault]]:
    for key in ("server", "group"):
        value = row.get(key)
        if isinstance(value, str):
            return value or default, []
        if value is not None:
            return default, [(f"/{key}", f"is {kind(value)}; expected a string. It is ignored")]
    return default, []
