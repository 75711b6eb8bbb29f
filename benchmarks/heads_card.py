"""The model card of the packaged risk heads, from ``results/heads.json`` and the weights.

    python -m benchmarks.heads_card [--results results/heads.json]

Run it after the heads are trained and measured; the section on errors is written by hand.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from toolwise.audit.head_weights import ENCODERS, PACKAGED, load

LEVELS = ("kappa", "exact", "auc_4", "recall_4", "precision_4", "capabilities", "permissions")
UNSEEN = (*LEVELS[:5], "under_rated", *LEVELS[5:])
FLAGS = ("private", "untrusted", "external", "shell", "write", "network", "credentials", "code")

HEAD = """# The risk heads

Two files, one per encoder; the annotator `head` reads them with numpy alone. `static.safetensors` reads
vectors of the packaged static table and is the default; `minilm.safetensors` reads those of
`toolwise-minilm` and is used where it is asked for.
"""
BODY = """
## What they are

For one tool: P(level >= 2), ..., P(level >= 5), and a probability for each of three capabilities and five
permissions. The level is decided by cuts of the expected level that give levels the spread of the labels; a
flag by a cut of its probability (best F1). All cuts and the calibration (Platt scaling) come from held-out
folds of training workspaces.

- Ensemble of two perceptrons (384 units, ReLU) over the unit vector x 8 and 97 named facts: what the word
  lists of the rules say (action, level, permissions, capabilities, nouns in name and description),
  parameters by kind, lengths.
- A linear layer over hashed n-grams: words of name, description (600 characters), parameter names and
  server, word pairs of name and description, pieces of 3 to 5 characters of the name's words; CRC-32 into
  32,768 buckets, int8.
- **MCP hints are not read**: they are claims of the server, and a claim may raise a level but never lower
  one (`toolwise.audit.resolve` applies them). Only 90 training tools have any.
- No verdict where no word was met in training, where most letters are not Latin, or where the vector is
  zero.

## How they were made

```
python -m toolwise.learn.risk_head --data DATA --into src/toolwise/weights/heads
python -m benchmarks.heads --minilm FOLDER --test && python -m benchmarks.heads_card
```

Needs `toolwise[train]`, and `toolwise-minilm` for its head (`--encoder static` makes the other alone).
torch 2.13 on CPU, one thread, seed 0: about two minutes of processor time per head, and that of encoding
14,407 texts. With `--fold FOLDER` it makes the head of a fold, for the encoder there. A file is
bound to the fingerprint of its encoder: after another table it has to be trained again.

## Data

Labels of `mcp_tasks`: 6,379 tools of 52 training workspaces (our labels, Apache-2.0; tools from TOUCAN's
server listings, MIT); three votes of language-model annotators of one family, levels trained on the share
of votes. No tool of a reserved server, of a dev or of a test workspace was used. Level 5 has 62 examples,
shell 38, code 94, network 153. The labels are consistent (kappa between annotators .93 to .95), but no
person has checked a sample yet: the heads repeat what those annotators think.

Labels of our own writing (`training/labels.jsonl`, Apache-2.0): 8,028 tools of 392 small libraries as firms
and households might have them, judged by one language-model annotator each, of the same family and by the
same rubric; how well these agree with the labels of `mcp_tasks`: `results/labels.md`.

The encoders `static` and `minilm` have seen the *texts* of training tools, and requests for them, never
their levels; cross-validation is a little too good for it. Untuned MiniLM, beside them for comparison, has
seen none. Dev and test servers are unseen by all. The word lists of the rules, whose verdict is among the
facts, were developed on two thirds of the training workspaces: the other third is reported by itself.
"""
ERRORS = """
## What they get wrong

- **Levels 2 and 3, 3 and 4**: nearly all errors are by one, where annotators waver too (small edits 2 or 3,
  single deletions 3 or 4). About every third tool said to be 4 or more is less by the labels, and every
  third 4 is said to be less.
- **Level 5** has few examples: the heads find less than half. `toolwise.audit.resolve` keeps a 5 that the
  rules give unless the head finds it less probable than .02, and a 4 unless less probable than .1.
- **Words of two meanings**: "add two numbers" is rated 2 with a write, for what is called "add" mostly
  writes.
- **Descriptions without a verb of doing** ("corrects the counted quantity of a product") are rated too low.
- **Poisoned or hidden instructions** are no feature: another annotator looks for them.
- **What a description leaves out or lies about**: the heads read words, and a tool that calls itself
  harmless in its text looks less harmful. Use them beside the rules and a person, not instead.
- **Rare flags** (shell, network, credentials, code): few examples; see F1 above. The rules' word for shell,
  write, credentials and code stands beside the head's.
- **Other languages**: no verdict in other scripts; in Latin ones it leans on parameter names.
"""

Row = Mapping[str, Any]


def grid(first: str, columns: Sequence[str], rows: Mapping[str, Row]) -> list[str]:
    lines = [f"| {first} | {' | '.join(columns)} |", "|---|" + "---:|" * len(columns)]
    for name, row in rows.items():
        cells = (f"{row[column]:.3f}" if column in row else "" for column in columns)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return [*lines, ""]


def files() -> list[str]:
    rows = []
    for path in (PACKAGED / f"{encoder}.safetensors" for encoder in ENCODERS):
        content = path.read_bytes()
        reads = load(path).fingerprint[:24]
        digest = hashlib.sha256(content).hexdigest()
        rows.append(f"| `{path.name}` | {len(content):,} | `{digest}` | `{reads}...` |")
    return ["| file | bytes | sha256 | fingerprint of its encoder |", "|---|---:|---|---|", *rows]


def confusion(name: str, counts: Sequence[Sequence[int]], seed: int) -> list[str]:
    title = f"## Confusion, {name} (held-out folds, seed {seed})"
    lines = [title, "", "| label \\ said | 1 | 2 | 3 | 4 | 5 | recall |", "|---|" + "---:|" * 6]
    for level, row in enumerate(counts, 1):
        cells = " | ".join(map(str, row))
        lines.append(f"| **{level}** | {cells} | {row[level - 1] / sum(row):.2f} |")
    return [*lines, ""]


def curve(name: str, bins: Sequence[Sequence[float]]) -> list[str]:
    lines = [f"Calibration of P(level >= 4), {name}:", "", "| said | came true | tools |", "|---:|---:|---:|"]
    return [*lines, *(f"| {said:.2f} | {true:.2f} | {count} |" for said, true, count in bins), ""]


def hints(found: Mapping[str, Row]) -> list[str]:
    lines = ["## Declared hints of other servers (mcp_annotated)", ""]
    for name, row in found.items():
        lines.append(
            f"- {name}: AUC of the expected level, delete-like destructive "
            f"({row['destructive and delete-like']}) against read-only ({row['read-only']}) "
            f"{row['auc']:.3f}; of {row['tools']} tools {row['below the bound, head']} are below what "
            f"their hints imply, "
            f"{row['below the bound, resolved']} after `resolve`; read-only ones at 4 or more: "
            f"{row['read-only at 4 or more, head']}."
        )
    return lines


def card(found: Mapping[str, Any]) -> str:
    folds, seeds = found["cross-validation"], found["seeds"]
    lines = [HEAD, *files(), BODY]
    lines += [f"## Cross-validation by workspace (five folds; seeds {', '.join(map(str, seeds))})", ""]
    means = {name: one["mean"] for name, one in folds.items()} | {"rules alone": found["rules on train"]}
    lines += grid("encoder", LEVELS, means)
    lines += ["Small libraries of our own writing, by library:", ""]
    lines += grid("encoder", LEVELS, found["small libraries"])
    lines += ["On the third of workspaces that the word lists were not developed on:", ""]
    lines += grid("encoder", LEVELS, {name: one["held third"] for name, one in folds.items()})
    lines += ["F1 by flag:", "", *grid("encoder", FLAGS, means)]
    lines += ["`recall_4`, `precision_4`: level 4 or more. `capabilities`, `permissions`: mean F1.", ""]
    for name in ENCODERS:
        if name in folds:
            lines += confusion(name, folds[name]["confusion"], seeds[0])
            lines += curve(name, folds[name]["calibration"])
    for split in ("dev", "test"):
        if split in found:
            scores = {name: row for name, row in found[split].items() if isinstance(row, dict)}
            lines += [f"## {split}: four workspaces of unseen servers", "", *grid("", UNSEEN, scores)]
    return "\n".join([*lines, *hints(found["hints"]), ERRORS.rstrip()]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("results/heads.json"))
    options = parser.parse_args()
    found = json.loads(options.results.read_text(encoding="utf-8"))
    (PACKAGED / "README.md").write_text(card(found), encoding="utf-8")


if __name__ == "__main__":
    main()
