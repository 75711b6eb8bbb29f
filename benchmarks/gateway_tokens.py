"""Definition tokens an agent sees with and without the gateway, over real MCP servers.

    python -m benchmarks.gateway_tokens [--config examples/gateway/mcp.json] [--into results]

The servers have to be on the path; those that do not start are left out and named.

    pip install mcp-server-git mcp-server-time mcp-server-ecommerce mcp-server-spreadsheet
    pip install office-word-mcp-server excel-mcp-server
    npm install @playwright/mcp @modelcontextprotocol/server-everything
    npm install @modelcontextprotocol/server-filesystem @modelcontextprotocol/server-memory

Without the gateway the agent sees every definition in every turn.  With it, it sees the gateway's own two
tools in every turn, and once per request the answer of ``find_tools``.  Tokens are characters divided by
four: of the compact JSON of name, description and input schema, and of the whole text of an answer.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import numpy as np
from mcp import Client

from toolwise.bench.provenance import provenance, write
from toolwise.cli.gateway import read_servers
from toolwise.expose import definition_tokens, token_counter
from toolwise.records import Tool
from toolwise.serve.gateway.gateway import Gateway
from toolwise.serve.gateway.protocol import GatewayServer
from toolwise.serve.gateway.settings import GatewaySettings

REQUESTS = (
    "What time is it in Lisbon when it is half past two in Tokyo?",
    "Show me what has changed in the repository since the last commit and commit it with a short message.",
    "Read notes.txt and put a summary of it into a new Word document with a heading.",
    "Add a table with three columns to the end of report.docx and make its first row bold.",
    "Open the shop's page in a browser and take a screenshot of it.",
    "Fill in the form on the contact page and press the send button.",
    "Where is order 1042, and when will it arrive?",
    "Refund the customer for the broken lamp and tell me how much stock of it is left.",
    "Make a pivot table of sales by region in sales.xlsx.",
    "Draw a bar chart from cells A1 to B12 of the sheet Budget.",
    "Remember that Ada works at the observatory and is a friend of Carl.",
    "What do we know about Carl?",
    "Which files in the folder are larger than a megabyte?",
    "Move all pictures into the folder archive.",
    "Write the numbers 1 to 10 into column C of the sheet and add them up.",
    "Which branches does the repository have, and who made the last five commits?",
    "Convert the document minutes.docx to PDF and protect it with a password.",
    "Which products sold best last month?",
    "Add two numbers, 17 and 25.",
    "Find every cell that holds the word overdue and colour it red.",
)


async def measured(config: Path, state: Path) -> dict[str, Any]:
    """Servers, tools and tokens before and after."""
    counter = token_counter(None)
    gateway = Gateway(read_servers(config), state, GatewaySettings(start_wait=90, start_timeout=90))
    async with gateway.running():
        await gateway.settled.wait()
        index = gateway.view.selector.index
        per_server = Counter(server for server, _ in gateway.view.own_names.values())
        away = sorted(set(gateway.upstreams) - set(per_server))
        async with Client(GatewayServer(gateway)) as agent:
            own = [
                Tool(tool.name, tool.name, description=tool.description or "", parameters=tool.input_schema)
                for tool in (await agent.list_tools()).tools
            ]
            answers = [
                (await agent.call_tool("find_tools", {"task": request})).structured_content or {}
                for request in REQUESTS
            ]
            texts = [
                (await agent.call_tool("find_tools", {"task": request})).content[0] for request in REQUESTS
            ]
    return {
        "servers": dict(sorted(per_server.items())),
        "not_started": away,
        "tools": len(index),
        "tokens_before": int(index.tokens.sum()),
        "tokens_listed": sum(definition_tokens(tool, counter) for tool in own),
        "requests": len(REQUESTS),
        "tools_per_answer": float(np.mean([len(answer["tools"]) for answer in answers])),
        "tokens_per_answer": float(np.mean([len(text.text) / 4 for text in texts])),  # type: ignore[union-attr]
        "empty_answers": sum(not answer["tools"] for answer in answers),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--config", type=Path, default=Path("examples/gateway/mcp.json"))
    parser.add_argument("--into", default="results")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        found = anyio.run(measured, options.config, Path(scratch))
    if not found["tools"]:
        raise SystemExit("none of the servers is on the path; the docstring says how they are installed.")
    command = ["python", "-m", "benchmarks.gateway_tokens", *sys.argv[1:]]
    before, listed, answer = (found[k] for k in ("tokens_before", "tokens_listed", "tokens_per_answer"))
    rows = [
        "| what the agent sees | tokens | saved |",
        "|---|---:|---:|",
        f"| every definition, in every turn | {before:,} | |",
        f"| the gateway's own tools, in every turn | {listed:,} | {1 - listed / before:.1%} |",
        f"| one answer of `find_tools` (mean) | {answer:,.0f} | |",
        f"| own tools and one answer | {listed + answer:,.0f} | {1 - (listed + answer) / before:.1%} |",
    ]
    servers = ", ".join(f"{name} ({count})" for name, count in found["servers"].items())
    away = f" Not started: {', '.join(found['not_started'])}." if found["not_started"] else ""
    notes = (
        f"{found['tools']} tools of {len(found['servers'])} servers: {servers}.{away} {found['requests']} "
        f"requests, {found['tools_per_answer']:.1f} tools per answer, {found['empty_answers']} were empty. "
        "Tokens are characters divided by four. An answer holds schemas, risk, reasons and alternatives."
    )
    payload = {"provenance": provenance(command), "results": found}
    write(options.into, "gateway_tokens", payload, "\n".join(rows), notes)
    print("\n".join(rows), notes, sep="\n\n")


if __name__ == "__main__":
    main()
