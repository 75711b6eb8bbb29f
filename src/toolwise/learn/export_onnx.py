"""A tuned encoder as ONNX: the folder that the onnx encoder reads, its weights in eight bits.

    python -m toolwise.learn.export_onnx FOLDER --into FOLDER

Matrices become blocks of int8 with a scale each, multiplied as integers
(onnxruntime's MatMulNBits); a text's activations are rounded per token, so a
vector does not depend on the texts beside it.  Rows of the token table become
int8 with a scale each.  About a quarter of the float model's size.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toolwise.encode.onnx import EXPORT
from toolwise.encode.text import TEMPLATE
from toolwise.errors import EncoderError, MissingExtra
from toolwise.learn.text_model import TextModel, torch_of_extra
from toolwise.protocols import Floats

MODEL = "model.onnx"
TOKENIZER = "tokenizer.json"
BLOCK = 64
"""Weights of a matrix column that share a scale."""
OPSET = 18
_MICROSOFT = "com.microsoft"
_LEAST = 10_000
"""Smaller matrices stay float."""


def _onnx() -> Any:
    try:
        import onnx
    except ImportError as error:
        raise MissingExtra('the export needs onnx: pip install "toolwise[train]"', extra="train") from error
    return onnx


def float_model(model: TextModel) -> Any:
    """The ONNX model of ``model``: token ids and mask (N, T) in, ``sentence_embedding`` (N, D) out."""
    torch, onnx = torch_of_extra(), _onnx()
    network, first = model.network.cpu().eval(), model.first_token

    class Pooled(torch.nn.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            states = self.network(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
            weight = attention_mask.unsqueeze(-1).to(states.dtype)
            pooled = states[:, 0] if first else (states * weight).sum(1) / weight.sum(1)
            return torch.nn.functional.normalize(pooled, dim=1)

    sample = torch.ones(2, 7, dtype=torch.long)
    batch, length = torch.export.Dim("batch"), torch.export.Dim("length", max=512)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            Pooled().eval(),
            (sample, sample.clone()),
            input_names=["input_ids", "attention_mask"],
            output_names=["sentence_embedding"],
            dynamic_shapes=({0: batch, 1: length}, {0: batch, 1: length}),
            opset_version=OPSET,
            dynamo=True,
            verbose=False,
        )
    proto = program.model_proto
    onnx.checker.check_model(proto)
    return proto


def to_blocks(weights: Floats, block: int = BLOCK) -> tuple[NDArray[np.uint8], Floats]:
    """A matrix (K, N) as bytes (N, K / block, block) around 128 and scales (N, K / block); zeros fill up."""
    inner, outer = weights.shape
    count = -(-inner // block)
    padded = np.zeros((outer, count * block), np.float32)
    padded[:, :inner] = weights.T
    parts = padded.reshape(outer, count, block)
    scales = np.abs(parts).max(2) / 127
    levels = np.rint(parts / np.where(scales > 0, scales, 1)[:, :, None])
    return (levels + 128).astype(np.uint8), scales.astype(np.float32)


def to_rows(table: Floats) -> tuple[NDArray[np.int8], Floats]:
    """A table (V, D) as int8 and one scale per row (V, 1)."""
    scales = np.abs(table).max(1, keepdims=True) / 127
    levels = np.rint(table / np.where(scales > 0, scales, 1))
    return levels.astype(np.int8), scales.astype(np.float32)


def eight_bits(proto: Any) -> Any:
    """A copy of a float model with its large matrices and tables in eight bits.

    Raises EncoderError for a model in which there is nothing to shrink.
    """
    onnx = _onnx()
    found = onnx.ModelProto()
    found.CopyFrom(proto)
    graph = found.graph
    weights = {tensor.name: tensor for tensor in graph.initializer}
    groups = [_shrunk(onnx, graph, node, weights) for node in graph.node]
    if all(group == [node] for group, node in zip(groups, graph.node, strict=True)):
        raise EncoderError("the model holds no matrix to shrink; expected a float transformer.")
    nodes = [node for group in groups for node in group]
    del graph.node[:]
    graph.node.extend(nodes)
    used = {name for node in nodes for name in node.input}
    kept = [tensor for tensor in graph.initializer if tensor.name in used]
    del graph.initializer[:]
    graph.initializer.extend(kept)
    del graph.value_info[:]
    if not any(entry.domain == _MICROSOFT for entry in found.opset_import):
        found.opset_import.append(onnx.helper.make_opsetid(_MICROSOFT, 1))
    return found


def _shrunk(onnx: Any, graph: Any, node: Any, weights: dict[str, Any]) -> list[Any]:
    """``node``, or the nodes that do the same with eight-bit weights."""
    place = {"MatMul": 1, "Gather": 0}.get(node.op_type)
    if place is None or node.input[place] not in weights:
        return [node]
    name = node.input[place]
    matrix = onnx.numpy_helper.to_array(weights[name])
    if matrix.ndim != 2 or matrix.size < _LEAST or matrix.dtype != np.float32:
        return [node]
    return _multiply(onnx, graph, node, matrix) if place else _look_up(onnx, graph, node, matrix)


def _add(onnx: Any, graph: Any, name: str, values: Any) -> str:
    if all(tensor.name != name for tensor in graph.initializer):
        graph.initializer.append(onnx.numpy_helper.from_array(np.ascontiguousarray(values), name))
    return name


def _multiply(onnx: Any, graph: Any, node: Any, matrix: Floats) -> list[Any]:
    levels, scales = to_blocks(matrix)
    stem = node.input[1]
    inputs = [
        node.input[0],
        _add(onnx, graph, f"{stem}.levels", levels),
        _add(onnx, graph, f"{stem}.scales", scales.reshape(-1)),
    ]
    return [
        onnx.helper.make_node(
            "MatMulNBits",
            inputs,
            list(node.output),
            name=node.name,
            domain=_MICROSOFT,
            K=matrix.shape[0],
            N=matrix.shape[1],
            bits=8,
            block_size=BLOCK,
            accuracy_level=4,
        )
    ]


def _look_up(onnx: Any, graph: Any, node: Any, table: Floats) -> list[Any]:
    levels, scales = to_rows(table)
    stem, out = node.input[0], node.output[0]
    make = onnx.helper.make_node
    rows = [_add(onnx, graph, f"{stem}.levels", levels), node.input[1]]
    sizes = [_add(onnx, graph, f"{stem}.scales", scales), node.input[1]]
    return [
        make("Gather", rows, [f"{out}.levels"], name=f"{node.name}.levels", axis=0),
        make("Cast", [f"{out}.levels"], [f"{out}.wide"], name=f"{node.name}.wide", to=onnx.TensorProto.FLOAT),
        make("Gather", sizes, [f"{out}.scales"], name=f"{node.name}.scales", axis=0),
        make("Mul", [f"{out}.wide", f"{out}.scales"], [out], name=f"{node.name}.product"),
    ]


def without_notes(proto: Any) -> None:
    """Clear what the exporter notes beside the graph: stack traces with paths of the machine."""
    graph = proto.graph
    noted = [proto, graph, *graph.node, *graph.input, *graph.output, *graph.value_info, *graph.initializer]
    for part in noted:
        part.doc_string = ""
        if hasattr(part, "metadata_props"):
            del part.metadata_props[:]


def export(folder: Path, into: Path, small: bool = True, floor: float | None = None) -> None:
    """Write ``model.onnx`` and ``tokenizer.json`` of the encoder in ``folder`` to ``into``.

    ``small``: eight-bit weights; ``floor``: the cosine from which its vectors alone convince.
    Raises MissingExtra without torch or onnx, EncoderError for a folder that is no encoder.
    """
    onnx = _onnx()
    proto = float_model(TextModel(folder))
    if small:
        proto = eight_bits(proto)
    without_notes(proto)
    into.mkdir(parents=True, exist_ok=True)
    onnx.save_model(proto, str(into / MODEL))
    tokenizer = json.loads((folder / TOKENIZER).read_text(encoding="utf-8"))
    tokenizer["padding"] = tokenizer["truncation"] = None
    text = json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))
    (into / TOKENIZER).write_text(text, encoding="utf-8")
    told = {} if floor is None else {"floor": floor}
    (into / EXPORT).write_text(
        json.dumps({"template": TEMPLATE, "eight_bits": small} | told) + "\n", encoding="utf-8"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line and export."""
    parser = argparse.ArgumentParser(prog="python -m toolwise.learn.export_onnx", description=__doc__)
    parser.add_argument("folder", type=Path, help="folder of the encoder")
    parser.add_argument("--into", type=Path, required=True, help="folder to write")
    parser.add_argument("--float", action="store_true", help="keep the weights as they are")
    parser.add_argument("--floor", type=float, help="cosine from which its vectors alone convince")
    given = parser.parse_args(arguments)
    export(given.folder, given.into, small=not given.float, floor=given.floor)


if __name__ == "__main__":
    main()
