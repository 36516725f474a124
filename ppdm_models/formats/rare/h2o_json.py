"""H2O's trees as JSON: what PrintMojo writes (with record counts), and the arrays of H2OTree (without)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.json import JsonPart, opens_json, read_part
from treewarden.ppdm_models.formats.common.json_layout import opened_plainly, plain_json
from treewarden.ppdm_models.formats.common.node_order import (
    bounded,
    features_named,
    simplest,
    unique,
)
from treewarden.ppdm_models.formats.rare._h2o_model import bare_tree, ensemble_of
from treewarden.ppdm_models.formats.rare._h2o_nodes import (
    H2oColumn,
    nodes_of_arrays,
    nodes_of_mojo,
    plain_arrays,
)
from treewarden.ppdm_models.semantics.support import with_support
from treewarden.ppdm_models.tree.ensemble import Ensemble
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind, unread_rest
from treewarden.ppdm_models.tree.tree import Quality, Tree

REST = "paths in words, the server's names, and other content that the same tree does not need"


class H2oJson(Format):
    """A whole model as PrintMojo prints it, or one tree as H2OTree holds it."""

    how_to_export = "export it again (docs/recipes/h2o.md)"
    accounts_for_all = True

    def sniff(self, data: bytes) -> bool:
        if opens_json(data) != b"{":
            return False
        if b'"algo_full_name"' in data:
            return True
        mojo = b'"n_tree_groups"' in data and b'"trees"' in data
        return mojo or (b'"root_node_id"' in data and b'"left_children"' in data)

    def open(self, data: bytes, source: str) -> Opened:
        if b'"algo_full_name"' in data:
            raise TreeFormatError(
                source,
                "it contains no tree: the details of an H2O model; give its MOJO, or the output of PrintMojo",
            )
        document = read_part(data, source)
        leaks = tuple(_leaks(document))
        if document.get("left_children") is None:
            return Opened(simplest(_mojo(document)), (*leaks, unread_rest("h2o_json")))
        tree = _one_tree(document)
        return opened_plainly(
            data,
            tree,
            leaks,
            form="h2o_json",
            write=lambda: plain_json(plain_arrays(tree, document)),
            read=lambda plain: _one_tree(read_part(plain, source)),
            difference=REST,
        )


def _leaks(document: JsonPart) -> Iterator[Leak]:
    model = document.get("model_id")
    if model is not None:
        yield Leak(LeakKind.IDENTIFIER, model.pointer, "the server's name for the model")


def _one_tree(document: JsonPart) -> Tree:
    nodes = nodes_of_arrays(document)
    names = list(dict.fromkeys(part.text() for part in document["features"] if part.value))
    unique(names, "features", document.source, limits.FEATURES)
    json_part = document.get("tree_class")
    of = "" if json_part is None else f", for class {json_part.text()!r}"
    number = document["tree_number"].whole()
    note = f"{document.source}: the file contains only tree number {number} of a model{of}"
    return replace(
        bare_tree(nodes, features_named(names, nodes, document.source), document.source),
        quality=Quality.ABSENT,
        notes=(note,),
    )


def _mojo(document: JsonPart) -> Ensemble:
    params, parts = document["params"], document["trees"]
    if not 0 < len(parts) <= limits.TREES:
        raise parts.refused(
            f"contains {len(parts):,} trees; give a model with 1 to {limits.TREES:,}"
        )
    columns: dict[int, H2oColumn] = {}
    for part in document["domainValues"]:
        labels = unique((item.label() for item in part["values"]), "categories", part.where, 10**6)
        columns[part["colId"].whole()] = H2oColumn(part["colName"].text(), labels)
    forest = bounded((nodes_of_mojo(part["root"], columns) for part in parts), document.source)
    names = list(dict.fromkeys(column.name for _, column in sorted(columns.items())))
    unique(names, "features", document.source, limits.FEATURES)
    values = {column.name: column.labels for column in columns.values() if column.labels}
    tested = (node for nodes in forest for node in nodes)
    features = features_named(names, tested, document.source, values=values)
    trees = [with_support(bare_tree(nodes, features, document.source)) for nodes in forest]
    return ensemble_of(document, params, trees, features)


FORMAT = H2oJson()
