"""Writes an ensemble as a PMML 4.4 MiningModel: each tree as its own writer has it, in a segment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lxml import etree

from treewarden.ppdm_models.codecs.pmml.write import NAMESPACE, as_bytes, document_of
from treewarden.ppdm_models.errors import OutputError
from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Link, Member
from treewarden.ppdm_models.tree.predicate import Always
from treewarden.ppdm_models.tree.tree import Node, Quality, Task, Tree

METHODS = {
    Combination.SUM: "sum",
    Combination.AVERAGE: "average",
    Combination.WEIGHTED_AVERAGE: "weightedAverage",
    Combination.WEIGHTED_SUM: "weightedSum",
    Combination.MEDIAN: "median",
    Combination.WEIGHTED_MEDIAN: "x-weightedMedian",
    Combination.MAJORITY_VOTE: "majorityVote",
    Combination.WEIGHTED_MAJORITY_VOTE: "weightedMajorityVote",
    Combination.MAX: "max",
    Combination.SELECT_FIRST: "selectFirst",
    Combination.SELECT_ALL: "selectAll",
}


def written_ensemble(ensemble: Ensemble) -> bytes:
    """Return the ensemble as PMML.

    Raises:
        OutputError: it holds what a plain MiningModel of trees cannot say; names it.
    """
    problem = _unsayable(ensemble)
    if problem:
        notes = ensemble.notes if ensemble.link is Link.UNKNOWN else ()
        raise OutputError(ensemble.source, f"{problem} cannot be said in PMML here", notes)
    root, schema = _frame(ensemble)
    model = _add(root, "MiningModel", functionName=str(ensemble.task))
    model.append(schema)
    if ensemble.base:
        targets = _add(_add(model, "Targets"), "Target", rescaleConstant=repr(ensemble.base[0]))
        if ensemble.target:
            targets.set("field", ensemble.target)
    method = METHODS[ensemble.combination]
    segmentation = _add(model, "Segmentation", multipleModelMethod=method)
    parts: list[bytes] = []
    for segment in _segments(ensemble):
        segmentation.append(segment)
        start, within, end = _around_segments(as_bytes(root))
        parts += [within] if parts else [start, within]
        segmentation.remove(segment)
    return b"".join([*parts, end])


def _segments(ensemble: Ensemble) -> Iterator[etree._Element]:
    """Yield the segment of each tree, one at a time: all of a large forest would take more memory than its text."""
    for number, member in enumerate(ensemble.members, 1):
        assert isinstance(member.model, Tree)
        tree = replace(member.model, target=member.model.target or ensemble.target)
        weight = number_text(member.weight)
        segment = etree.Element(f"{{{NAMESPACE}}}Segment", {"id": str(number), "weight": weight})
        _add(segment, "True")
        segment.append(_parts(tree)[1])
        yield segment


def _around_segments(document: bytes) -> tuple[bytes, bytes, bytes]:
    """Return a document that holds one segment as what is before it, the segment, and what is behind it."""
    start = document.index(b"\n", document.index(b"<Segmentation ")) + 1
    end = document.rindex(b"\n", 0, document.rindex(b"</Segmentation>")) + 1
    return document[:start], document[start:end], document[end:]


def _unsayable(ensemble: Ensemble) -> str:
    """Return what about the ensemble has no place in a plain MiningModel, in words; "" where nothing."""
    if ensemble.combination not in METHODS:
        return f"a combination by {ensemble.combination}"
    if ensemble.link is not Link.IDENTITY:
        return f"a link of the kind {ensemble.link}"
    if ensemble.base and (ensemble.task is Task.CLASSIFICATION or len(ensemble.base) > 1):
        return "a starting score of each class"
    for number, member in enumerate(ensemble.members, 1):
        found = _unsayable_member(member)
        if found:
            return f"{found} (part {number})"
    return ""


def _unsayable_member(member: Member) -> str:
    if not isinstance(member.model, Tree):
        return "a part that is no tree"
    if not isinstance(member.test, Always):
        return "a tree that speaks for some records only"
    if member.output is not None:
        return "a tree that speaks for one class"
    if any(node.outputs is not None for node in member.model.nodes):
        return "several numbers per leaf"
    return ""


def _frame(ensemble: Ensemble) -> tuple[etree._Element, etree._Element]:
    """Return a document with the header and all fields but no model, and the mining schema of all fields."""
    leaf = Node(0, "0", None, score=ensemble.classes[0] if ensemble.classes else 0.0)
    bare = Tree(
        (leaf,),
        ensemble.features,
        ensemble.target,
        ensemble.classes,
        ensemble.task,
        quality=Quality.ABSENT,
        source=ensemble.source,
    )
    root, model = _parts(bare)
    root.remove(model)
    schema = model.find(f"{{{NAMESPACE}}}MiningSchema")
    assert schema is not None
    return root, schema


def _parts(tree: Tree) -> tuple[etree._Element, etree._Element]:
    """Return the document that a tree makes on its own, and the model in it."""
    root = document_of(tree)
    model = root.find(f"{{{NAMESPACE}}}TreeModel")
    assert model is not None
    return root, model


def _add(parent: etree._Element, name: str, **attributes: str) -> etree._Element:
    return etree.SubElement(parent, f"{{{NAMESPACE}}}{name}", attributes)
