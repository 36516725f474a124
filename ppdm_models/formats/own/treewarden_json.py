"""treewarden's own JSON: a flat list of nodes with everything a tree can publish (treewarden.schema.json)."""

from __future__ import annotations

from dataclasses import replace

from treewarden.ppdm_models.errors import OutputError, TreeFormatError
from treewarden.ppdm_models.formats import Format, Opened, Writer
from treewarden.ppdm_models.formats.common.json import lines_of_entries
from treewarden.ppdm_models.formats.own._entries import odd_treatments
from treewarden.ppdm_models.formats.own._read import read_document, surplus_texts, tree_of
from treewarden.ppdm_models.formats.own._write import written
from treewarden.ppdm_models.semantics.partition import PartitionProblem, problems
from treewarden.ppdm_models.semantics.support import checked
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.ppdm_models.tree.side_channels import odd_names
from treewarden.ppdm_models.tree.tree import NoTrueChild, Tree


class TreewardenJson(Format, Writer):
    """One object per file; children that overlap or leave gaps are an error."""

    accounts_for_all = True

    def sniff(self, data: bytes) -> bool:
        return data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"{" and b'"treewarden-tree"' in data

    def open(self, data: bytes, source: str) -> Opened:
        tree = _read(data, source)
        leaks = (*odd_names(tree), *odd_treatments(tree), *surplus_texts(tree))
        return Opened(tree, leaks)

    def write(self, model: Model) -> bytes:
        if not isinstance(model, Tree):
            raise OutputError(
                model.source, "treewarden_json holds one tree, and this is an ensemble"
            )
        for problem in problems(model):
            if problem.kind != "skipped" and not _is_allowed(problem, model):
                raise OutputError(
                    model.source, f"{problem.describe(model)}; only PMML can hold such a tree"
                )
        return written(model)


def _read(data: bytes, source: str) -> Tree:
    tree = tree_of(read_document(data, source), source)
    lines = lines_of_entries(data, "nodes")
    if len(lines) == len(tree.nodes):
        placed = zip(tree.nodes, lines, strict=True)
        tree = replace(tree, nodes=tuple(replace(node, line=line) for node, line in placed))
    tree = checked(tree)
    partition_problems = [problem for problem in problems(tree) if not _is_allowed(problem, tree)]
    wrong = next((problem for problem in partition_problems if problem.kind != "skipped"), None)
    if wrong is not None:
        raise TreeFormatError(tree.where(tree.nodes[wrong.node]), wrong.words(tree))
    if partition_problems:
        note = f"{partition_problems[0].describe(tree)} ({len(partition_problems)} such nodes)"
        tree = replace(tree, notes=(*tree.notes, note))
    return tree


def _is_allowed(problem: PartitionProblem, tree: Tree) -> bool:
    """A record that no child takes is none where the parent then predicts."""
    return problem.kind == "gap" and tree.no_true_child is NoTrueChild.LAST_PREDICTION


FORMAT = TreewardenJson()
