"""``toolwise train``: models made better by the user's own requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolwise.cli import feedback, reranker_training
from toolwise.cli.render import progress_bar, words
from toolwise.text import count

if TYPE_CHECKING:
    from toolwise.learn.encoder import Sources

app = typer.Typer(
    help="Make the encoder better with your own requests (extra \\[train]).", no_args_is_help=True
)

Traces = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help='JSONL of {"query", "tools"}, or of {"request", "called", "outcome"}.'),
]
FromLog = Annotated[
    bool, typer.Option("--from-log", help="Learn from the log of the gateway whose state folder DIR is.")
]
_MEASURES = (
    ("complete", "complete in the best five"),
    ("found", "needed tools in the best five"),
    ("exact", "exactly right"),
)
_ENOUGH = 40
"""Traces of which four in five are enough to learn how requests are read."""
_FEW = 10
"""Held-out traces below which shares say little."""


@app.callback()
def train() -> None:
    r"""Make the encoder better with your own requests (extra \[train])."""


app.command("feedback")(feedback.feedback)
app.command("reranker")(reranker_training.reranker)


@app.command("encoder")
def encoder(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the index that holds the tools.")],
    requests: Annotated[
        Path, typer.Option(metavar="FILE", help='JSONL of {"id", "query", "tools"}: requests with the tools.')
    ],
    into: Annotated[Path, typer.Option(metavar="DIR2", help="Folder to write the encoder to.")],
    workspaces: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help='JSON list of {"id", "tools"}: the library of each workspace.'),
    ] = None,
    base: Annotated[
        str, typer.Option(metavar="BASE", help="static, minilm:FOLDER or the folder of another encoder.")
    ] = "static",
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the requests; not for static.")] = 3,
    held: Annotated[
        float, typer.Option(min=0, max=0.5, help="Share kept out of training to choose by.")
    ] = 0.1,
    seed: Annotated[int, typer.Option(help="Decides every draw.")] = 0,
    half: Annotated[bool, typer.Option("--half", help="Multiply in bfloat16; not for static.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the measures as JSON on stdout.")] = False,
) -> None:
    """Tune an encoder on requests and the tools that served them; a stopped training goes on where it was."""
    sources = _sources(folder, requests, workspaces, held, seed)
    if base == "static":
        found = _static(sources, into, seed)
    else:
        found = _transformer(base, sources, into, epochs, seed, bfloat16=half)
    if as_json:
        print(json.dumps(found))
    _say(found, into, "static" if base == "static" else "onnx")


@app.command("sets")
def sets(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the index that holds the tools.")],
    traces: Traces = None,
    from_log: FromLog = False,
    held: Annotated[
        float, typer.Option(min=0.05, max=0.5, help="Share kept out of training to judge by.")
    ] = 0.2,
    seed: Annotated[int, typer.Option(help="Decides every draw.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the measures as JSON on stdout.")] = False,
) -> None:
    """Teach the set scorer of an index what its requests were served by; worse weights change nothing."""
    from toolwise.cli.set_training import learn_on, sources

    folder, examples = sources(folder, traces, from_log=from_log)
    found = learn_on(folder, examples, held, seed)
    if as_json:
        print(json.dumps(found))
    console = words()
    for name, label in _MEASURES:
        steps = [_shown(found[kind][name]) for kind in ("before", "experienced", "after")]
        console.print(
            f"{label} on {count(found['held'], 'held-out trace')}: {steps[0]} before, "
            f"{steps[1]} remembering the others, {steps[2]} with new weights as well"
        )
    _say_remembered(folder, found)
    if found["replaced"]:
        console.print(f"the weights of {folder} are replaced; the old ones are kept beside them")
    else:
        console.print("new weights are not better on the held-out traces: none are kept", style="yellow")


@app.command("experience")
def experience(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the index that holds the tools.")],
    traces: Traces = None,
    from_log: FromLog = False,
    held: Annotated[float, typer.Option(min=0.05, max=0.5, help="Share kept aside to judge by.")] = 0.2,
    seed: Annotated[int, typer.Option(help="Decides every draw.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the measures as JSON on stdout.")] = False,
) -> None:
    """Remember which tools served past requests, and learn from them how requests are to be read."""
    from toolwise.cli.set_training import remember, sources

    folder, examples = sources(folder, traces, from_log=from_log)
    found = remember(folder, examples, held, seed)
    if as_json:
        print(json.dumps(found))
    for name, label in _MEASURES:
        words().print(
            f"{label} on {count(found['held'], 'held-out trace')}: {_shown(found['before'][name])} before, "
            f"{_shown(found['after'][name])} remembering the others"
        )
    _say_remembered(folder, found)


def _shown(share: float | None) -> str:
    return "unknown" if share is None else f"{share:.1%}"


def _say_remembered(folder: Path, found: dict[str, Any]) -> None:
    from toolwise.retrieve.experience import FILE

    console = words()
    console.print("(these shares are from before any policy, and before the question whether a tool serves)")
    if found["held"] < _FEW:
        console.print(f"{count(found['held'], 'trace')} is little to judge by: more traces tell more")
    if not found["remembered"]:
        stays = "; what was remembered before stays" if (folder / FILE).is_file() else ""
        console.print(f"the others remembered serve held-out traces worse: not kept{stays}", style="yellow")
        return
    told = count(found["kept"] + found["held"], "trace")
    console.print(
        f"{folder} remembers which tools served these {told}, in place of whatever it remembered before "
        f"({FILE}: no text, but vectors tell roughly what was asked)"
    )
    if found["adapted"]:
        console.print(
            "it has learned to read such requests: words that no tool says lead to the tools that served them"
        )
    else:
        console.print(f"with {_ENOUGH} traces or more it may learn to read words that no tool says as well")
    if not found["believed"]:
        console.print("it answers by the ranking: sets of the present weights complete clearly fewer traces")


def _sources(folder: Path, requests: Path, workspaces: Path | None, held: float, seed: int) -> Sources:
    from toolwise.evaluate.jsonl import read_tasks, read_workspaces
    from toolwise.learn.traces import of_traces, sources_of
    from toolwise.store import Index

    tasks = read_tasks(requests)
    spaces = read_workspaces(workspaces) if workspaces is not None else None
    index = Index.open(folder)
    own = of_traces([audited.tool for audited in index.scan()], tasks, spaces)
    index.close()
    if own.left_out:
        words().print(
            f"{own.left_out} of {len(tasks)} requests left out: no tools, or tools that the index lacks",
            style="yellow",
        )
    return sources_of(own.libraries, held, seed)


def _static(sources: Sources, into: Path, seed: int) -> dict[str, Any]:
    from toolwise.learn.static_tuning import report, tune_static

    with progress_bar() as progress:
        return report(*tune_static(sources, into, seed=seed, progress=progress))


def _transformer(
    base: str, sources: Sources, into: Path, epochs: int, seed: int, *, bfloat16: bool
) -> dict[str, Any]:
    from toolwise.learn.encoder import Plan, best_device, tune
    from toolwise.learn.export_onnx import export
    from toolwise.learn.teacher import verify

    name, _, folder = base.partition(":")
    path = Path(folder if name == "minilm" and folder else base)
    if name == "minilm" and folder:
        verify(path)
    plan = Plan(epochs=epochs, seed=seed, bfloat16=bfloat16, device=best_device())
    with progress_bar() as progress:
        state = tune(path, sources, into, plan, progress)
    export(into, into)
    if not state.measured:
        return {"before": {}, "after": {}}
    return {"before": state.measured[0], "after": state.measured[state.best]}


def _say(found: dict[str, Any], into: Path, kind: str) -> None:
    console = words()
    for name, label in (("ndcg", "NDCG@5"), ("complete", "COMP@5")):
        if name in found["before"] and found["before"] != found["after"]:
            before, after = found["before"][name], found["after"][name]
            console.print(f"{label} on held-out requests: {before:.3f} before, {after:.3f} after")
    if found["before"] and found["after"]["ndcg"] <= found["before"]["ndcg"]:
        console.print("no better than before on held-out requests: more requests may help", style="yellow")
    console.print(f"use it with: toolwise index ... --encoder {kind}:{into}")
