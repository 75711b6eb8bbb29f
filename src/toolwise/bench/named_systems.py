"""Every system that either paper names, and what became of it here.

The papers are *risk* (risk-aware reranking for tool retrieval) and *set*
(HYSET, set-level tool retrieval).  Nothing is left out silently: what does not
run says so, and what is no retriever is listed as such.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How far a system is from being measured here."""

    RUNS = "runs here"
    ADAPTER = "adapter, no weights here"
    NOT_YET = "not yet"
    NO_RETRIEVER = "ranks no tools"


@dataclass(frozen=True)
class NamedSystem:
    """One system of the papers."""

    name: str
    papers: str
    """``risk``, ``set`` or ``both``."""
    role: str
    """What it is in the paper: ``baseline``, ``method``, ``ablation`` or ``related work``."""
    state: State
    run: str = ""
    """Its name in the bench where it runs, or the name to give where weights are installed."""
    note: str = ""


_R, _A, _N, _O = State.RUNS, State.ADAPTER, State.NOT_YET, State.NO_RETRIEVER
_LEARNS = "learns from train; hyset:ENCODER and so on for another encoder than the default"
_ENCODER = "any bi-encoder runs as dense:ENCODER or hybrid:ENCODER"
_HEADS = "FORM+STEP@ENCODER; the form default is ours, any encoder may stand behind the @"
_QWEN = "the paper gives no checkpoint; any with one output that sentence-transformers' CrossEncoder loads"

NAMED_SYSTEMS: tuple[NamedSystem, ...] = (
    NamedSystem("BM25", "both", "baseline", _R, "bm25", "our tokenisation, Lucene's variant"),
    NamedSystem(
        "ToolRet-BGE-large",
        "risk",
        "baseline",
        _A,
        "dense:sentence-transformers:mangopy/ToolRet-trained-bge-large-en-v1.5",
        f"first stage and backbone of the paper; {_ENCODER}",
    ),
    NamedSystem(
        "CE-MiniLM-L6",
        "risk",
        "baseline",
        _A,
        "cross-encoder:cross-encoder/ms-marco-MiniLM-L6-v2",
        "python -m toolwise.learn.cross_encoder trains one of this shape on permissive data",
    ),
    NamedSystem(
        "CE-MiniLM-L12", "risk", "baseline", _A, "cross-encoder:cross-encoder/ms-marco-MiniLM-L12-v2"
    ),
    NamedSystem("BGE-Reranker-v2-m3", "risk", "baseline", _A, "cross-encoder:BAAI/bge-reranker-v2-m3"),
    NamedSystem(
        "mxbai-rerank-large", "risk", "baseline", _A, "cross-encoder:mixedbread-ai/mxbai-rerank-large-v1"
    ),
    NamedSystem("MonoT5-base", "risk", "baseline", _A, "monot5:castorini/monot5-base-msmarco"),
    NamedSystem("MonoT5-large", "risk", "baseline", _A, "monot5:castorini/monot5-large-msmarco"),
    NamedSystem("Qwen2-0.5B-Reranker", "risk", "baseline", _A, "cross-encoder:FOLDER", _QWEN),
    NamedSystem("Qwen2-1.5B-Reranker", "risk", "baseline", _A, "cross-encoder:FOLDER", _QWEN),
    NamedSystem(
        "Rule filter",
        "risk",
        "method",
        _R,
        "rule-filter",
        "over the hybrid; over BM25 as rule-filter-bm25; vectors of our default encoder",
    ),
    NamedSystem("Dual-head reranker (Core)", "risk", "method", _R, "paper@untuned", _HEADS),
    NamedSystem("ToolGraph smoothing (Core+Graph)", "risk", "method", _R, "paper+graph@untuned"),
    NamedSystem("Core+Graph+Rule", "risk", "method", _R, "paper+graph+rule@untuned"),
    NamedSystem("Maximal marginal relevance", "both", "ablation", _R, "mmr", "related work in risk"),
    NamedSystem("Facility location", "set", "ablation", _R, "facility-location"),
    NamedSystem(
        "Cardinality prediction", "set", "ablation", _R, "cardinality", "ridge regression; learns from train"
    ),
    NamedSystem("DeepSets", "set", "ablation", _R, "deepsets", _LEARNS),
    NamedSystem("Set Transformer", "set", "ablation", _R, "set-transformer", _LEARNS),
    NamedSystem("HYSET, shared M", "set", "ablation", _R, "hyset-shared-m", _LEARNS),
    NamedSystem("HYSET, identity M", "set", "ablation", _R, "hyset-identity-m", _LEARNS),
    NamedSystem("HYSET, no F_set", "set", "ablation", _R, "hyset-no-f-set", _LEARNS),
    NamedSystem("HYSET, uniform pooling", "set", "ablation", _R, "hyset-uniform-pooling", _LEARNS),
    NamedSystem("HYSET, no shortlist expansion", "set", "ablation", _R, "hyset-no-expansion", _LEARNS),
    NamedSystem(
        "HYSET (BERT)", "set", "method", _R, "hyset", "over our encoders, not the paper's; learns from train"
    ),
    NamedSystem("HYSET (Qwen2.5-1.5B)", "set", "method", _N),
    NamedSystem(
        "Contriever",
        "set",
        "baseline",
        _A,
        "dense:sentence-transformers:facebook/contriever-msmarco",
        f"the paper's is tuned on ToolBench; {_ENCODER}",
    ),
    NamedSystem(
        "Sentence-BERT",
        "set",
        "related work",
        _A,
        "dense:sentence-transformers:NAME",
        f"a family; {_ENCODER}",
    ),
    NamedSystem(
        "Dense passage retrieval",
        "set",
        "related work",
        _A,
        "dense:sentence-transformers:NAME",
        _ENCODER,
    ),
    NamedSystem(
        "BGE",
        "risk",
        "related work",
        _A,
        "dense:sentence-transformers:BAAI/bge-large-en-v1.5",
        f"base of ToolRet-BGE; {_ENCODER}",
    ),
    NamedSystem(
        "ToolLLaMA-Retriever",
        "set",
        "baseline",
        _N,
        note="the BERT-base retriever of ToolBench; nobody has tried its weights here",
    ),
    NamedSystem("Qwen2.5-1.5B retriever", "set", "baseline", _N, note="tuned backbone of HYSET (Qwen)"),
    NamedSystem("ToolRerank", "both", "baseline", _N),
    NamedSystem("COLT", "set", "baseline", _N),
    NamedSystem("ToolGen", "both", "baseline", _N, note="generates tool tokens; needs a GPU"),
    NamedSystem("Differentiable search index", "set", "related work", _N),
    NamedSystem("SkillRouter", "set", "related work", _N),
    NamedSystem("CRAFT", "risk", "related work", _N),
    NamedSystem("Re-Invoke", "risk", "related work", _N, note="needs a language model to rewrite tools"),
    NamedSystem("ToolDreamer", "risk", "related work", _N, note="needs a language model to rewrite requests"),
    NamedSystem(
        "RankRAG",
        "risk",
        "related work",
        _N,
        note="a tuned language model; llm-reranker:MODEL asks any chat endpoint, and is no result",
    ),
    NamedSystem("FA*IR", "risk", "related work", _N, note="fair top-k ranking of people, not of tools"),
    NamedSystem("ToolLLM / ToolLLaMA-2-7B", "both", "related work", _O, note="an agent"),
    NamedSystem("Gorilla", "both", "related work", _O, note="an agent"),
    NamedSystem("HuggingGPT", "both", "related work", _O, note="an agent"),
    NamedSystem("Toolformer", "set", "related work", _O, note="an agent"),
    NamedSystem("ReAct", "set", "related work", _O, note="a prompting scheme"),
)


def named_systems_markdown(systems: Sequence[NamedSystem] = NAMED_SYSTEMS) -> str:
    """The systems as one Markdown table, states in the order of :class:`State`, with the counts above it."""
    counts = "; ".join(f"{state}: {sum(s.state is state for s in systems)}" for state in State)
    lines = [
        f"{len(systems)} systems ({counts}).",
        "",
        "| system | paper | there as | state | name here | note |",
        "|---|---|---|---|---|---|",
    ]
    order = list(State)
    for system in sorted(systems, key=lambda s: order.index(s.state)):
        run = f"`{system.run}`" if system.run else ""
        cells = [system.name, system.papers, system.role, str(system.state), run, system.note]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"
