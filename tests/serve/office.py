"""An MCP server over stdio of 2025-06-18 whose tools stand in a file and do what their names say.

    python office.py TOOLS.json [--journal FILE] [--hang] [--pages N] [--garbage]

Reads the file at every tools/list.  A tool does what the last word of its name says: ``slow`` never answers,
``fails`` answers with an error, ``refuses`` with one of JSON-RPC, ``dies`` ends the process, ``announces``
says that the list has changed, ``nonsense`` answers what is no result, ``huge`` answers four million letters,
``steps`` reports progress twice; every other one answers its arguments.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

PARSER = argparse.ArgumentParser()
PARSER.add_argument("tools", type=Path)
PARSER.add_argument("--journal", type=Path)
PARSER.add_argument("--hang", action="store_true")
PARSER.add_argument("--garbage", action="store_true")
PARSER.add_argument("--pages", type=int, default=1)
PARSER.add_argument("--resources", action="store_true")


def say(message: dict[str, Any]) -> None:
    """Write one message at once."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
    sys.stdout.flush()


class Office:
    """The server; one request at a time, and those that never end are let be."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.did: list[Any] = []

    def note(self, *what: Any) -> None:
        """Add a line to the journal."""
        if self.options.journal:
            with self.options.journal.open("a", encoding="utf-8") as file:
                file.write(json.dumps(what) + "\n")

    def listed(self, cursor: str | None) -> dict[str, Any]:
        """Page of the list that begins at ``cursor``."""
        tools = json.loads(self.options.tools.read_text(encoding="utf-8"))
        size = -(-len(tools) // self.options.pages) or 1
        start = int(cursor or 0)
        page: dict[str, Any] = {"tools": tools[start : start + size]}
        return page | ({"nextCursor": str(start + size)} if start + size < len(tools) else {})

    def call(self, number: Any, params: dict[str, Any]) -> dict[str, Any] | None:
        """The answer to a call; None where there is none."""
        name, arguments = params["name"], params.get("arguments", {})
        self.note("call", name, arguments)
        answer = {
            "content": [{"type": "text", "text": json.dumps(arguments)}],
            "structuredContent": {"got": arguments, "by": name},
        }
        match name.rpartition("_")[2]:
            case "slow":
                return None
            case "dies":
                sys.exit("I die")
            case "fails":
                answer = {"content": [{"type": "text", "text": "out of paper"}], "isError": True}
            case "refuses":
                return {"error": {"code": -32000, "message": f"not {arguments}"}}
            case "nonsense":
                answer = {"content": "no list"}
            case "huge":
                answer = {"content": [{"type": "text", "text": "x" * 4_000_000}]}
            case "environment":
                answer["structuredContent"] = {"environment": dict(os.environ)}
            case "announces":
                say({"method": "notifications/tools/list_changed"})
            case "steps":
                token = params.get("_meta", {}).get("progressToken")
                for step in (1, 2):
                    told = {"progressToken": token, "progress": step, "total": 2}
                    say({"method": "notifications/progress", "params": told})
        return {"result": answer}

    def answer(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """The answer to a request."""
        method, params = request["method"], request.get("params", {})
        if method == "initialize":
            can: dict[str, Any] = {"tools": {"listChanged": True}}
            if self.options.resources:
                can |= {"resources": {}, "prompts": {}}
            info = {"name": "office", "version": "1"}
            return {"result": {"protocolVersion": "2025-06-18", "capabilities": can, "serverInfo": info}}
        if method == "tools/list":
            self.note("list")
            return {"result": self.listed(params.get("cursor"))}
        if method == "tools/call":
            return self.call(request["id"], params)
        if method == "resources/read":
            return {"result": {"contents": [{"uri": params["uri"], "text": "shelf 3"}]}}
        return {"error": {"code": -32601, "message": "Method not found"}}

    def run(self) -> None:
        """Serve until standard input ends."""
        sys.stderr.write("the office is open\n")
        if self.options.hang:
            time.sleep(600)
        for line in sys.stdin:
            if self.options.garbage:
                sys.stdout.write("please wait ...\n{half\n")
            request = json.loads(line)
            if "id" not in request:
                self.note(request["method"])
            elif reply := self.answer(request):
                say({"id": request["id"]} | reply)


if __name__ == "__main__":
    Office(PARSER.parse_args()).run()
