"""What an ONNX file holds beside its trees, as far as it has a name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from treewarden.ppdm_models.formats.onnx._file import Operator
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind

REST = "names of operators and values, and whatever else a file of the same trees need not hold"
NODE_NUMBERS = "nodes_hitrates", "nodes_hitrates_as_tensor"


def leaks_beside(operator: Operator) -> Iterator[Leak]:
    """Yield what of a file is no part of its trees, as far as it has a name."""
    model = operator.model
    graph = model.graph
    nodes = list(graph.node)
    documented = [model, graph, *nodes, *graph.input, *graph.output, *graph.initializer]
    documented += [attribute for node in nodes for attribute in node.attribute]
    entries = list(model.metadata_props)
    for part in (graph, *nodes, *graph.input, *graph.output, *graph.initializer):
        entries += _metadata(part)
    rates = [name for name in NODE_NUMBERS if operator.attributes.get(name)]
    makers = {name for node in nodes for name in node.input}
    unused = sum(tensor.name not in makers for tensor in graph.initializer)
    unused += len(graph.sparse_initializer)
    found = {
        "metadata_props": (len(entries), "entries of metadata"),
        "doc_string": (sum(bool(part.doc_string) for part in documented), "descriptions"),
        "graph/initializer": (unused, "numbers that no operator reads"),
        "functions": (len(model.functions), "functions that no tree needs"),
        "training_info": (len(model.training_info), "parts about the training"),
        "graph/node": (len(rates), "numbers of each node that no prediction needs (hitrates)"),
    }
    for where, (number, what) in found.items():
        if number:
            yield Leak(LeakKind.UNKNOWN, where, what, removable=True)


def _metadata(part: Any) -> list[Any]:  # noqa: ANN401  # protobuf
    """Return the metadata of a part, which older versions of the library do not know."""
    return list(getattr(part, "metadata_props", ()))
