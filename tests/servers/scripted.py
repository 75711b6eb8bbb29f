"""An MCP server over stdio that misbehaves as told: ``python scripted.py BEHAVIOUR``."""

import json
import os
import sys
import time
from typing import Any


def tool(name: str, description: str = "Does one thing.", **more: Any) -> dict[str, Any]:
    """A sound tool definition."""
    return {"name": name, "description": description, "inputSchema": {"type": "object"}} | more


def deep() -> dict[str, Any]:
    """A schema nested 400 deep."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(400):
        schema = {"type": "object", "properties": {"x": schema}}
    return schema


PAGES: dict[str, list[dict[str, Any]]] = {
    "paged": [
        {"tools": [tool("list_rooms", "List the meeting rooms.")], "nextCursor": "p2"},
        {"tools": [tool("water_plants", "Water the plants in the lobby.")], "nextCursor": "p3"},
        {"tools": [tool("open_door", "Open a door.")]},
    ],
    "stuck": [{"tools": [tool("only")], "nextCursor": "again"}],
    "empty-cursor": [{"tools": [tool("only")], "nextCursor": ""}],
    "number-cursor": [{"tools": [tool("only")], "nextCursor": 7}],
    "null-tools": [{"tools": None}],
    "bad-tool": [
        {
            "tools": [
                tool("first"),
                {"name": "broken", "description": "No schema.", "inputSchema": None},
                {"description": "I have no name.", "inputSchema": {}},
                "not even an object",
                tool(
                    "last", annotations={"readOnlyHint": True}, _meta={"a": 1}, title="Last", outputSchema={}
                ),
            ]
        }
    ],
    "deep": [{"tools": [tool("good"), tool("nested", inputSchema=deep())]}],
    "surrogate": [{"tools": [tool("good"), tool("half", "half a pair: \ud83d")]}],
    "garbage": [{"tools": [tool("survivor")]}],
    "environment": [{"tools": [tool("env", json.dumps(dict(os.environ)))]}],
    "arguments": [{"tools": [tool("args", json.dumps(sys.argv[2:]))]}],
}


def answer(behaviour: str, cursor: str | None) -> dict[str, Any]:
    """The result of one ``tools/list``."""
    if behaviour == "endless":
        page = int(cursor or 0)
        return {"tools": [tool(f"tool_{page}")], "nextCursor": str(page + 1)}
    pages = PAGES[behaviour]
    if behaviour == "paged":
        return pages[{None: 0, "p2": 1, "p3": 2}[cursor]]
    return pages[0]


def say(line: str) -> None:
    """Write one line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(behaviour: str) -> None:
    """Serve until standard input ends."""
    if behaviour == "exit":
        sys.exit("cannot find my\x1b[31m licence key")
    if behaviour == "hang":
        time.sleep(60)
    for line in sys.stdin:
        request = json.loads(line)
        if behaviour == "garbage":
            say("Server starting up, please wait ...\n{half a line")
        if "id" not in request:
            continue
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
        if request["method"] == "initialize":
            reply["result"] = {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "impostor", "version": "1"},
            }
        elif request["method"] == "tools/list":
            cursor = request.get("params", {}).get("cursor")
            if behaviour == "dies-on-page-2" and cursor:
                sys.exit("out of paper")
            reply["result"] = answer("paged" if behaviour == "dies-on-page-2" else behaviour, cursor)
        else:
            reply["error"] = {"code": -32601, "message": "Method not found"}
        say(json.dumps(reply))


if __name__ == "__main__":
    main(sys.argv[1])
