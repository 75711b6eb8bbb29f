"""Write the measured numbers into README.md, between its markers, from the files in ``results/``.

python -m benchmarks.readme
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
CASES = (
    *("ultratool", "sealtools in", "sealtools out", "toollens"),
    *("toolbench all", "livemcp", "mcp_bench", "mcp_tasks test"),
)
RIVALS = (
    *("hybrid", "callbus-hybrid", "callbus-bm25", "agent-tool-router"),
    *("fastmcp", "graph-tool-call", "dehydrator", "bm25s"),
)


def result(name: str) -> Any:
    """A file of results."""
    return json.loads((ROOT / "results" / f"{name}.json").read_text(encoding="utf-8"))


def _system(case: Any, name: str) -> Any:
    return next(entry for entry in case["systems"] if entry["system"] == name)


def quality() -> str:
    """NDCG@5 / COMP@5 of our retrievers on test splits."""
    cases = {case["name"]: case for case in result("retrieval")["cases"]}
    systems = ("bm25", "dense", "hybrid")
    lines = [f"| requests | tools | {' | '.join(systems)} |", "|---|---:|---:|---:|---:|"]
    for name in CASES:
        cells = []
        for system in systems:
            metrics = _system(cases[name], system)["metrics"]
            cells.append(f"{100 * metrics['ndcg@5']['mean']:.1f} / {100 * metrics['comp@5']['mean']:.1f}")
        lines.append(f"| {name} | {cases[name]['tools']:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def rivals() -> str:
    """NDCG@5 of other tool retrievers and CPU time per request."""
    cases = {case["name"]: case for case in result("rivals/retrieval")["cases"]}
    lines = [
        f"| system | {' | '.join(cases)} | CPU ms at 4,076 tools |",
        "|---|" + "---:|" * (len(cases) + 1),
    ]
    for name in RIVALS:
        cells = []
        for case in cases.values():
            entry = _system(case, name)
            part = f" (n={entry['requests']})" if entry["requests"] < case["requests"] else ""
            cells.append(f"{100 * entry['metrics']['ndcg@5']['mean']:.1f}{part}")
        cells.append(f"{_system(cases['sealtools in'], name)['cpu_ms']:,.1f}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def encoders() -> str:
    """COMP@5 of the hybrid with the static table, with untuned MiniLM and with minilm."""
    files = {
        folder: {case["name"]: case for case in result(f"encoders/{folder}encoders")["cases"]}
        for folder in ("", "packaged/")
    }
    systems = {
        "packaged/": {"hybrid": "static", "hybrid:minilm": "minilm"},
        "": {
            "hybrid:onnx:.weights/minilm": "untuned MiniLM",
            "hybrid:onnx:.weights/mpnet": "untuned MPNet",
        },
    }
    names = list(files["packaged/"])
    lines = [f"| hybrid with | {' | '.join(names)} |", "|---|" + "---:|" * len(names)]
    for folder, name, shown in ((f, name, shown) for f in systems for name, shown in systems[f].items()):
        values = [100 * _system(files[folder][case], name)["metrics"]["comp@5"]["mean"] for case in names]
        lines.append(f"| {shown} | " + " | ".join(f"{value:.1f}" for value in values) + " |")
    return "\n".join(lines)


def speed() -> str:
    """Sentences on time and memory."""
    rows = result("select")["results"]
    index, again = rows["index, from nothing"], rows["index, nothing changed"]
    cold, warm = rows["select, cold process (median of 7)"], rows["select in process, toolwise, warmed"]
    return (
        f"13,945 tools are indexed in {index['seconds']:.1f} s and {index['peak_mb']:.0f} MB, and looked "
        f"through again in {again['seconds']:.1f} s when nothing changed.\n"
        f"A selection takes {warm['p50_ms']:.1f} ms (p95 {warm['p95_ms']:.1f}) in process and "
        f"{cold['seconds']:.1f} s as a cold command."
    )


def small() -> str:
    """What the whole product delivers on small libraries that nothing was trained on."""
    lines = [
        "| 15 small libraries | first tool right | all needed in the first five | all needed delivered "
        "| tools delivered | wrongly empty | rightly empty |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, encoder in (("small", "static"), ("small-minilm", "`minilm`")):
        found = result(name)["results"]["all"]
        shares = [
            f"{100 * found[key]:.1f} %"
            for key in ("first", "in five", "covered", "wrongly empty", "rightly empty")
        ]
        shares.insert(3, f"{found['size']:.1f}")
        lines.append(f"| {encoder} | {' | '.join(shares)} |")
    return "\n".join(lines)


def sets() -> str:
    """COMP@5 of the ranking and of the best set of five."""
    names = [case["name"] for case in result("sets/ranking/retrieval")["cases"]]
    systems = {
        "hybrid": "ranking (hybrid)",
        "sets-default": "best set of five",
        "hybrid:minilm": "ranking, `minilm`",
        "sets-default:minilm": "best set, `minilm`",
    }
    lines = [f"| COMP@5 of | {' | '.join(names)} |", "|---|" + "---:|" * len(names)]
    for system, shown in systems.items():
        folder = "ranking-minilm" if system.endswith("minilm") else "ranking"
        cases = {case["name"]: case for case in result(f"sets/{folder}/retrieval")["cases"]}
        found = [
            f"{100 * _system(cases[name], system)['metrics']['comp@5']['mean']:.1f}" if name in cases else ""
            for name in names
        ]
        lines.append(f"| {shown} | {' | '.join(found)} |")
    return "\n".join(lines)


def experience() -> str:
    """A sentence on what remembering past requests brings."""
    past = result("sets/folds")["past"]
    before, after = past["past 0%"], past["past 50%"]
    return (
        "With one half of a workspace's requests for its experience (about 50; all were written to differ), "
        f"the other half is complete in five for\n{100 * after['sets']:.1f} % instead of "
        f"{100 * before['sets']:.1f} %, for the ranking alone {100 * after['hybrid']:.1f} instead of "
        f"{100 * before['hybrid']:.1f} ([out of fold](results/sets/folds.md)).\n{learned()}"
    )


def learned() -> str:
    """A sentence on libraries whose requests speak their own language."""
    cases = {case["name"]: case for case in result("sets/sets")["cases"]}

    def of(case: str) -> str:
        values = [
            100 * _system(cases[case], name)["metrics"]["comp@5"]["mean"]
            for name in ("sets-default", "sets-experienced")
        ]
        return f"{values[0]:.1f} to {values[1]:.1f} %"

    def told(case: str) -> str:
        return f"{cases[case]['training']:,} for {cases[case]['tools']:,} tools"

    return (
        "Where many requests are told whose words no tool says, the more: with the training requests of "
        f"UltraTool ({told('ultratool')}, by\ncross-validation) from {of('ultratool')} complete; with those "
        f"of ToolLens ({told('toollens')}) from {of('toollens')} on requests for\nthe same sets, and from "
        f"{of('toollens scenes')} for other sets; with those of ToolBench, which are of another kind than "
        f"most\nof its test, from {of('toolbench')} ([sets](results/sets/sets.md)). The form of this "
        "learning was looked at on requests\nof these tests: the figures are somewhat optimistic."
    )


def gateway() -> str:
    """A sentence on the tokens an agent sees."""
    found = result("gateway_tokens")["results"]
    share = 1 - found["tokens_listed"] / found["tokens_before"]
    return (
        f"In front of {len(found['servers'])} real servers with {found['tools']} tools, the list in every "
        f"turn falls from {found['tokens_before']:,} tokens to {found['tokens_listed']} "
        f"({100 * share:.0f} % less); "
        f"one answer of `find_tools` takes {found['tokens_per_answer']:,.0f}, with the schemas of "
        f"{found['tools_per_answer']:.1f} tools."
    )


def risk() -> str:
    """The risk-aware reranker on UltraTool, the paper's query."""
    case = next(c for c in result("risk")["cases"] if c["name"] == "ultratool step_query")
    rows = {
        "encoder@untuned": "untuned MiniLM",
        "paper+rel@untuned": "as published: relevance head",
        "paper@untuned": "as published: and risk head",
        "paper+graph+rule@untuned": "as published: and graph, rule filter",
        "default+rel@untuned": "ours: relevance head",
        "default@untuned": "ours: and risk head",
        "default+graph+rule@untuned": "ours: and graph, rule filter",
    }
    shown = ("ndcg@5", "comp@5", "rvr@5", "needrisk-recall@5")
    lines = ["| system | NDCG@5 | COMP@5 | RVR@5 | NeedRisk-Recall@5 |", "|---|---:|---:|---:|---:|"]
    for name, label in rows.items():
        metrics = _system(case, name)["metrics"]
        lines.append(f"| {label} | " + " | ".join(f"{100 * metrics[m]['mean']:.1f}" for m in shown) + " |")
    return "\n".join(lines)


def safety() -> str:
    """Sentences on what is weak."""
    heads = result("heads")
    dev, test = (heads[split]["rules and head, static"] for split in ("dev", "test"))
    abstain = {case["name"]: case for case in result("abstain")["cases"]}
    turned = [
        100 * _system(abstain[f"mcp_tasks {split}"], "toolwise")["metrics"]["abstain-recall"]["mean"]
        for split in ("dev", "test")
    ]
    few, more = sorted((dev["recall_4"], test["recall_4"]))
    exact = sorted((dev["precision_4"], test["precision_4"]))
    return (
        f"- Levels agree with labels at a quadratic kappa of {test['kappa']:.2f} to {dev['kappa']:.2f} on "
        f"servers never seen;\n  {100 * few:.0f} to {100 * more:.0f} % of the tools labelled 4 or 5 are "
        f"given 4 or 5, and {100 * exact[0]:.0f} to {100 * exact[1]:.0f} % of those given 4 or 5 are so "
        "labelled.\n"
        "  It reads English; of other languages it knows little more than deletion.\n"
        "- Of requests that sound plausible but no tool can serve, "
        f"{min(turned):.0f} to {max(turned):.0f} % get the empty answer; so do\n"
        f"  {100 * result('sets/folds')['results']['all']['empty']:.1f} % of those that some tool serves "
        "([out of fold](results/sets/folds.md))."
    )


BLOCKS = {
    "quality": quality,
    "rivals": rivals,
    "encoders": encoders,
    "speed": speed,
    "small": small,
    "safety": safety,
    "sets": sets,
    "experience": experience,
    "gateway": gateway,
    "risk": risk,
}


def filled(text: str) -> str:
    """``text`` with every block between its markers made anew."""
    for name, make in BLOCKS.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        text = pattern.sub(lambda match, make=make: f"{match[1]}{make()}\n{match[2]}", text)  # type: ignore[misc]
    return text


def main() -> None:
    readme = ROOT / "README.md"
    readme.write_text(filled(readme.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
