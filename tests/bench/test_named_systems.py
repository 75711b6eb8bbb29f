"""The table of systems that the papers name."""

from toolwise.bench.baselines import ADAPTERS, BASELINES
from toolwise.bench.named_systems import NAMED_SYSTEMS, NamedSystem, State, named_systems_markdown
from toolwise.bench.risk import Plan
from toolwise.bench.sets import SET_HEADS
from toolwise.bench.systems import SYSTEMS, known


def test_what_runs_here_is_a_system_of_the_bench():
    """Every name in that state can be given to the bench."""
    runs = {system.run for system in NAMED_SYSTEMS if system.state is State.RUNS}
    assert runs
    runs -= {name for name in runs if Plan.parse(name)}
    assert runs <= BASELINES.keys() | SYSTEMS.keys() | set(SET_HEADS)


def test_adapters_are_named_as_they_are_called():
    """A reranker by an adapter of the bench, an encoder as the dense system of that encoder."""
    for system in NAMED_SYSTEMS:
        if system.state is State.ADAPTER:
            adapter, _, argument = system.run.partition(":")
            assert adapter in ADAPTERS.keys() | {"dense", "hybrid"}, system.name
            assert f"{adapter}:" in {name.partition(":")[0] + ":" for name in known()}, system.name
            assert argument, system.name
        elif system.state is not State.RUNS:
            assert not system.run, system.name


def test_nothing_the_papers_compare_is_missing():
    """The baselines and ablations of both papers, by the names they give them."""
    risk = (
        "BM25,ToolRet-BGE-large,CE-MiniLM-L6,CE-MiniLM-L12,BGE-Reranker-v2-m3,mxbai-rerank-large,MonoT5-base,"
        "MonoT5-large,Qwen2-0.5B-Reranker,Qwen2-1.5B-Reranker"
    ).split(",")
    sets = "BM25,Contriever,ToolLLaMA-Retriever,ToolRerank,COLT,ToolGen,DeepSets,Set Transformer".split(",")
    by_name = {system.name: system for system in NAMED_SYSTEMS}
    assert len(by_name) == len(NAMED_SYSTEMS)
    assert all(by_name[name].papers in {"risk", "both"} for name in risk)
    assert all(by_name[name].papers in {"set", "both"} for name in sets)
    assert {system.papers for system in NAMED_SYSTEMS} == {"risk", "set", "both"}
    assert {system.role for system in NAMED_SYSTEMS} == {"baseline", "method", "ablation", "related work"}


def test_the_table_is_markdown_with_the_counts_above():
    """States in their order, names as code, bars escaped."""
    systems = [
        NamedSystem("Later", "set", "baseline", State.NOT_YET, note="a|b"),
        NamedSystem("Now", "risk", "baseline", State.RUNS, "bm25"),
    ]
    assert named_systems_markdown(systems).splitlines() == [
        "2 systems (runs here: 1; adapter, no weights here: 0; not yet: 1; ranks no tools: 0).",
        "",
        "| system | paper | there as | state | name here | note |",
        "|---|---|---|---|---|---|",
        "| Now | risk | baseline | runs here | `bm25` |  |",
        "| Later | set | baseline | not yet |  | a\\|b |",
    ]


def test_every_row_of_the_table_is_shown():
    """One line a system, each with six cells."""
    lines = named_systems_markdown().splitlines()[4:]
    assert len(lines) == len(NAMED_SYSTEMS)
    assert all(line.count(" | ") == 5 for line in lines)
