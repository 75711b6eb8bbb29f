"""The audit against the risk labels of ``mcp_tasks``, and what it finds in real catalogues.

    python -m benchmarks.audit [--into results]

The word lists were developed on two thirds of the training workspaces
(``developed on``); ``held out`` is the other third, and ``dev`` the dev
workspaces, on servers none of the others hold.  The test workspaces and the
reserved servers are not read, those of dev excepted.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Sequence

from toolwise import registry
from toolwise.audit import audit
from toolwise.audit.load import members
from toolwise.bench.data import available, folder, rows, tools
from toolwise.bench.provenance import provenance, write
from toolwise.records import UNKNOWN_LEVEL, Capability, Permission, Tool, Verdict

LEVELS = range(1, 6)
Scores = dict[str, float]


def verdicts(some: Sequence[Tool]) -> list[Verdict]:
    return audit(some, [registry.get("annotator", name)() for name in members()])


def parts() -> dict[str, list[str]]:
    """Tool ids by part: every third training workspace is held out."""
    workspaces = json.loads((folder("mcp_tasks") / "workspaces.json").read_text(encoding="utf-8"))
    train = [w["tools"] for w in workspaces if w["split"] == "train"]
    return {
        "developed on": [id_ for i, ids in enumerate(train) if i % 3 != 2 for id_ in ids],
        "held out": [id_ for ids in train[2::3] for id_ in ids],
        "dev": [id_ for w in workspaces if w["split"] == "dev" for id_ in w["tools"]],
    }


def weighted_kappa(truth: Sequence[int], said: Sequence[int]) -> float:
    """Cohen's kappa with quadratic weights (Cohen, 1968)."""
    seen, a, b = Counter(zip(truth, said, strict=True)), Counter(truth), Counter(said)
    pairs = [(i, j) for i in LEVELS for j in LEVELS]
    observed = sum((i - j) ** 2 * seen[i, j] for i, j in pairs)
    expected = sum((i - j) ** 2 * a[i] * b[j] for i, j in pairs) / len(truth)
    return 1 - observed / expected if expected else 1.0


def level_scores(truth: Sequence[int], said: Sequence[int]) -> Scores:
    both = list(zip(truth, said, strict=True))
    risky = [b for a, b in both if a >= 4]
    return {
        "tools": len(both),
        "kappa": weighted_kappa(truth, said),
        "exact": sum(a == b for a, b in both) / len(both),
        "within_one": sum(abs(a - b) <= 1 for a, b in both) / len(both),
        "recall_4": sum(b >= 4 for b in risky) / len(risky),
        "precision_4": sum(a >= 4 and b >= 4 for a, b in both) / max(sum(b >= 4 for b in said), 1),
        "under_rated": sum(b <= 2 for b in risky) / len(risky),
    }


def f1(truth: Sequence[bool], said: Sequence[bool]) -> float:
    hits = sum(a and b for a, b in zip(truth, said, strict=True))
    return 2 * hits / max(sum(truth) + sum(said), 1)


def score(ids: Sequence[str]) -> tuple[Scores, Scores]:
    """Scores of the levels, and F1 of each flag."""
    by_id = {tool.id: tool for tool in tools("mcp_tasks")}
    labels = {row["id"]: row for row in rows(folder("mcp_tasks") / "risk_labels.jsonl")}
    some = [by_id[id_] for id_ in ids]
    found = verdicts(some)
    truth = [labels[tool.id]["risk_level"] for tool in some]
    flags = {
        flag: f1([flag in labels[t.id][key] for t in some], [flag in getattr(v, key) for v in found])
        for key, kind in (("capabilities", Capability), ("permissions", Permission))
        for flag in kind
    }
    return level_scores(truth, [int(v.level or UNKNOWN_LEVEL) for v in found]), flags


def findings(data_set: str) -> dict[str, object]:
    """Counts of findings over a data set, the contradictory hints in words, and the time taken."""
    reserved = set((folder("mcp_tasks") / "reserved_servers.txt").read_text(encoding="utf-8").split("\n"))
    some = [tool for tool in tools(data_set) if tool.server not in reserved]
    start = time.perf_counter()
    found = verdicts(some)
    seconds = time.perf_counter() - start
    pairs = [
        (tool, finding) for tool, verdict in zip(some, found, strict=True) for finding in verdict.findings
    ]
    return {
        "tools": len(some),
        "seconds": seconds,
        "findings": dict(sorted(Counter(finding.code for _, finding in pairs).items())),
        "shown": [
            f"{tool.id}: {finding.code} ({finding.severity}): {finding.text}"
            for tool, finding in pairs
            if finding.code != "missing-description"
        ],
    }


def table(levels: dict[str, Scores], flags: dict[str, Scores], found: dict[str, dict[str, object]]) -> str:
    columns = list(next(iter(levels.values())))
    lines = [f"| workspaces | {' | '.join(columns)} |", "|---|" + "---:|" * len(columns)]
    for part, row in levels.items():
        cells = [f"{row[c]:.0f}" if c == "tools" else f"{row[c]:.3f}" for c in columns]
        lines.append(f"| {part} | {' | '.join(cells)} |")
    names = list(next(iter(flags.values())))
    lines += ["", f"| F1 | {' | '.join(names)} |", "|---|" + "---:|" * len(names)]
    lines += [
        f"| {part} | " + " | ".join(f"{row[n]:.2f}" for n in names) + " |" for part, row in flags.items()
    ]
    for data_set, counts in found.items():
        lines += ["", f"## Findings in {data_set} ({counts['tools']} tools, {counts['seconds']:.1f} s)", ""]
        lines += [f"- {code}: {count}" for code, count in dict(counts["findings"]).items()]  # type: ignore[call-overload]
        lines += ["", *(f"    {line}" for line in list(counts["shown"])[:40])]  # type: ignore[call-overload]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", default="results")
    options = parser.parse_args()
    levels: dict[str, Scores] = {}
    flags: dict[str, Scores] = {}
    for part, ids in parts().items():
        levels[part], flags[part] = score(ids)
    found = {name: findings(name) for name in ("mcp_annotated", "toucan_mcp") if available(name)}
    text = table(levels, flags, found)
    print(text)
    notes = (
        "kappa: quadratic weights; recall_4, precision_4: level 4 or more; under_rated: share of the tools "
        "labelled 4 or more that are rated 1 or 2. toucan_mcp without the reserved servers."
    )
    write(
        options.into,
        "audit",
        {
            "provenance": provenance(("python", "-m", "benchmarks.audit")),
            "levels": levels,
            "flags": flags,
            "findings": found,
        },
        text,
        notes,
    )


if __name__ == "__main__":
    main()
